"""Step ``truecase``: the words at the beginning of sentences in their usual case, as Moses' truecase.perl.

It works on tokens. ``truecase: MODEL`` names a model from train-truecaser.perl or ``nmt-prep words --train-truecaser``.
"""

from __future__ import annotations

import re
from pathlib import Path

from _nmt_prep_core import TextStep, simple_step, truecaser

from nmt_prep.config.section import Location
from nmt_prep.text.step import WHITE_SPACE, NativeStep, StepContext, StepOptions
from nmt_prep.text.text_file import file_lines

_WORD = re.compile(f"[^{WHITE_SPACE}]+")
_COUNTS = re.compile(r"\([0-9.]+(e[+-]?[0-9]+)?(/[0-9.]+(e[+-]?[0-9]+)?)?\)")


class TruecaseOptions(StepOptions):
    """A model, and how to use it."""

    model: Location
    """path: the model"""
    asr: bool = False
    """true or false: every word is put in lower case first, for text without case; as truecase.perl -a"""


class Truecase(NativeStep[TruecaseOptions]):
    """Puts words in their usual case."""

    options = TruecaseOptions
    short = "model"

    def __init__(self, options: TruecaseOptions, context: StepContext) -> None:
        path = context.file(options.model)
        if options.model == "train" and not path.exists():
            raise ValueError("train is for vocab.words, where a run learns a model; name a model")
        self.files = {"model": path}
        self.native = truecaser(_read_model(path), options.asr)

    def undo(self) -> TextStep:
        return simple_step("detruecase")


def _read_model(path: Path) -> list[list[str]]:
    """Returns each word's forms, the most frequent one first."""
    forms = []
    for number, line in enumerate(file_lines(path), 1):
        words = _WORD.findall(line)
        if not words or len(words) % 2 or not all(map(_COUNTS.fullmatch, words[1::2])):
            raise ValueError(
                f"{path}, line {number}: not a line of a truecasing model, such as 'Weg (3/4) weg (1)'; "
                "make one with nmt-prep words --train-truecaser"
            )
        forms.append(words[::2])
    return forms
