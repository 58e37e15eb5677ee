"""Step ``unicode_punctuation``: ASCII punctuation and digits for East Asian ones."""

from __future__ import annotations

from typing import Literal

from _nmt_prep_core import simple_step

from nmt_prep.config import Section
from nmt_prep.text.step import NativeStep, StepContext


class UnicodePunctuationOptions(Section):
    """The tool that the step follows."""

    like: Literal["moses"]
    """moses: as replace-unicode-punctuation.perl"""


class UnicodePunctuation(NativeStep[UnicodePunctuationOptions]):
    """ASCII punctuation and digits for East Asian and typographic ones."""

    options = UnicodePunctuationOptions
    short = "like"

    def __init__(self, options: UnicodePunctuationOptions, context: StepContext) -> None:
        del options, context
        self.native = simple_step("unicode_punctuation")
