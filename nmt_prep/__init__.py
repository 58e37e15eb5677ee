"""Data preparation for neural machine translation: one YAML file in, training-ready batches out.

Importing the package is quick: each public name loads its module when it is first used, and only ``get_iterator``,
``get_infer_iterator``, ``BatchedInput`` and ``make_dataset`` load TensorFlow. :mod:`nmt_prep.torch` loads PyTorch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_prep.batches import BatchSource, read_records
    from nmt_prep.checks import load_config
    from nmt_prep.columns import Ragged
    from nmt_prep.config import Config
    from nmt_prep.errors import NmtPrepError
    from nmt_prep.input import BatchedInput, get_infer_iterator, get_iterator, make_dataset
    from nmt_prep.publishing.mirror import fetch_run
    from nmt_prep.runner import plan, run
    from nmt_prep.runs import open_run
    from nmt_prep.subwords import (
        ByteBPETokenizer,
        SentencePieceTokenizer,
        SubwordNMTTokenizer,
        T2TTokenizer,
        Tokenizer,
        load_tokenizer,
    )

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
    "nmt_prep.batches": ("BatchSource", "read_records"),
    "nmt_prep.columns": ("Ragged",),
    "nmt_prep.config": ("Config",),
    "nmt_prep.checks": ("load_config",),
    "nmt_prep.errors": ("NmtPrepError",),
    "nmt_prep.publishing.mirror": ("fetch_run",),
    "nmt_prep.input": ("BatchedInput", "get_infer_iterator", "get_iterator", "make_dataset"),
    "nmt_prep.runner": ("plan", "run"),
    "nmt_prep.runs": ("open_run",),
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
