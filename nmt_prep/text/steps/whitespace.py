"""Step ``whitespace``: one space for every run of white space, and none at the ends of a line."""

from __future__ import annotations

from typing import Literal

from nmt_prep.text.step import NativeStep, StepContext, StepOptions, named_step


class WhitespaceOptions(StepOptions):
    """The spaces to keep."""

    mode: Literal["keep_no_break"] | None = None
    """keep_no_break, or null: no-break spaces of French stay"""


class Whitespace(NativeStep[WhitespaceOptions]):
    """Makes each run of white space one space."""

    options = WhitespaceOptions
    short = "mode"

    def __init__(self, options: WhitespaceOptions, context: StepContext) -> None:
        kept = options.mode is not None and context.base_language == "fr"
        self.native = named_step("whitespace_keep_no_break" if kept else "whitespace", "")
