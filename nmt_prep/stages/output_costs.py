"""Estimates time and space of the stage outputs, for ``nmt-prep plan --estimate``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nmt_prep.config import Config
from nmt_prep.outputs import Form, kind_of, wanted_outputs
from nmt_prep.stages.output_text import LINE_SIZES
from nmt_prep.stages.outputs import form_of

_WRITING = 1.3e8
"""Bytes of text per second and worker for which the files of an output are written."""

_SPILLING = 8e7
"""Likewise for lines that are shuffled."""

_LINKING = 6e6
"""Likewise for lines that get links of pieces."""

_SPILLED_PAIR = 0.25
"""Bytes that spill files have for each byte of text, beside the lines."""


@dataclass(frozen=True)
class OutputCost:
    """Time and space of the outputs of a run.

    Attributes:
        seconds: time of one worker.
        scratch: bytes of spill files.
        written: bytes of their files.
    """

    seconds: float
    scratch: float
    written: float


def output_cost(config: Config, text: Mapping[str, float]) -> OutputCost:
    """Returns what the outputs take.

    Args:
        config: the config.
        text: bytes of text of each split.
    """
    seconds = written = 0.0
    lines: set[tuple[str, int, Form]] = set()
    for options in wanted_outputs(config).values():
        kind = kind_of(options)
        for split, size in text.items():
            written += kind.share * size
            seconds += size / _WRITING
            form = form_of(options, config, split)
            if form != "ids":
                lines.add((split, kind.shards(options, config, split), form))
    for split, _, form in lines:
        seconds += text[split] / (_SPILLING if form == "text" else _LINKING)
    scratch = sum((LINE_SIZES[form] + _SPILLED_PAIR) * text[split] for split, _, form in lines)
    return OutputCost(seconds, scratch, written)
