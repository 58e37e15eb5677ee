"""Step ``unescape``: the characters that the entities of Moses' tokenizer stand for."""

from __future__ import annotations

from typing import Literal

from nmt_prep.text.step import NamedStep, StepOptions


class UnescapeOptions(StepOptions):
    """The tool that the step follows."""

    like: Literal["moses"]
    """moses: as deescape-special-chars.perl"""


class Unescape(NamedStep[UnescapeOptions]):
    """Characters for entities of Moses."""

    options = UnescapeOptions
    short = "like"
