"""Data preparation for neural machine translation: one YAML file in, training-ready batches out.

Importing the package is quick: each public name loads its module when it is first used, and only ``get_iterator``,
``get_infer_iterator``, ``BatchedInput`` and ``make_dataset`` load TensorFlow. :mod:`nmt_prep.torch` loads PyTorch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_prep.base.columns import Ragged
    from nmt_prep.base.errors import NmtPrepError
    from nmt_prep.config import Config
    from nmt_prep.runs.checks import load_config
    from nmt_prep.runs.finished_run import open_run
    from nmt_prep.runs.runner import plan, run
    from nmt_prep.stages.publish.publication import fetch_run
    from nmt_prep.subwords import (
        ByteBPETokenizer,
        SentencePieceTokenizer,
        SubwordNMTTokenizer,
        T2TTokenizer,
        Tokenizer,
        load_tokenizer,
    )
    from nmt_prep.training.batches import BatchSource, read_records
    from nmt_prep.training.tensorflow import BatchedInput, get_infer_iterator, get_iterator, make_dataset

__version__ = "0.1.0"

__all__ = [
    "BatchSource",
    "BatchedInput",
    "ByteBPETokenizer",
    "Config",
    "NmtPrepError",
    "Ragged",
    "SentencePieceTokenizer",
    "SubwordNMTTokenizer",
    "T2TTokenizer",
    "Tokenizer",
    "__version__",
    "fetch_run",
    "get_infer_iterator",
    "get_iterator",
    "load_config",
    "load_tokenizer",
    "make_dataset",
    "open_run",
    "plan",
    "read_records",
    "run",
]

_MODULES = {
    "nmt_prep.training.batches": ("BatchSource", "read_records"),
    "nmt_prep.base.columns": ("Ragged",),
    "nmt_prep.config": ("Config",),
    "nmt_prep.runs.checks": ("load_config",),
    "nmt_prep.base.errors": ("NmtPrepError",),
    "nmt_prep.stages.publish.publication": ("fetch_run",),
    "nmt_prep.training.tensorflow": ("BatchedInput", "get_infer_iterator", "get_iterator", "make_dataset"),
    "nmt_prep.runs.runner": ("plan", "run"),
    "nmt_prep.runs.finished_run": ("open_run",),
    "nmt_prep.subwords": (
        "ByteBPETokenizer",
        "SentencePieceTokenizer",
        "SubwordNMTTokenizer",
        "T2TTokenizer",
        "Tokenizer",
        "load_tokenizer",
    ),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
