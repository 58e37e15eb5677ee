"""Outputs: the prepared pairs in the files of other trainers, one module per kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nmt_prep.config import Config
from nmt_prep.config.outputs import OutputOptions
from nmt_prep.training.outputs.fairseq import FAIRSEQ
from nmt_prep.training.outputs.huggingface import HUGGINGFACE
from nmt_prep.training.outputs.marian import MARIAN
from nmt_prep.training.outputs.megatron import MEGATRON
from nmt_prep.training.outputs.output import Form, Made, Output, RunFacts, ShardMade, ShardTask
from nmt_prep.training.outputs.text_output import TEXT

KINDS: tuple[Output[Any], ...] = (MARIAN, HUGGINGFACE, FAIRSEQ, MEGATRON, TEXT)  # All kinds of outputs


def kind_of(options: OutputOptions) -> Output[Any]:
    """Returns the kind of an output."""
    return next(kind for kind in KINDS if kind.kind == options.kind)


def wanted_outputs(config: Config) -> Mapping[str, OutputOptions]:
    """Returns a config's outputs, by their directories' names."""
    return {options.directory: options for options in config.outputs}


__all__ = [
    "KINDS",
    "Form",
    "Made",
    "Output",
    "OutputOptions",
    "RunFacts",
    "ShardMade",
    "ShardTask",
    "kind_of",
    "wanted_outputs",
]
