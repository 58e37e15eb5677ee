"""Step ``unicode_punctuation``: ASCII punctuation and digits for East Asian ones."""

from __future__ import annotations

from typing import Literal

from nmt_prep.text.step import NamedStep, StepOptions


class UnicodePunctuationOptions(StepOptions):
    """The tool that the step follows."""

    like: Literal["moses"]
    """moses: as replace-unicode-punctuation.perl"""


class UnicodePunctuation(NamedStep[UnicodePunctuationOptions]):
    """ASCII punctuation and digits for East Asian and typographic ones."""

    options = UnicodePunctuationOptions
    short = "like"
