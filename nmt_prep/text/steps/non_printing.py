"""Step ``non_printing``: a space for each character that is not printed."""

from __future__ import annotations

from typing import Literal

from _nmt_prep_core import simple_step

from nmt_prep.config import Section
from nmt_prep.text.step import NativeStep, StepContext


class NonPrintingOptions(Section):
    """The tool that the step follows."""

    like: Literal["moses"]
    """moses: as remove-non-printing-char.perl"""


class NonPrinting(NativeStep[NonPrintingOptions]):
    """A space for each character that is not printed: control characters, marks of direction, unassigned ones."""

    options = NonPrintingOptions
    short = "like"

    def __init__(self, options: NonPrintingOptions, context: StepContext) -> None:
        del options, context
        self.native = simple_step("non_printing")
