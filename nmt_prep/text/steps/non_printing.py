"""Step ``non_printing``: a space for each character that is not printed."""

from __future__ import annotations

from typing import Literal

from nmt_prep.text.step import NamedStep, StepOptions


class NonPrintingOptions(StepOptions):
    """The tool that the step follows."""

    like: Literal["moses"]
    """moses: as remove-non-printing-char.perl"""


class NonPrinting(NamedStep[NonPrintingOptions]):
    """A space for each character that is not printed: control characters, marks of direction, unassigned ones."""

    options = NonPrintingOptions
    short = "like"
