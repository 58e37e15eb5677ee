"""Step ``lowercase``: lower case, as Moses' lowercase.perl.

Each character is mapped by itself, so that Σ becomes σ at the end of a word, too.
"""

from __future__ import annotations

from _nmt_prep_core import simple_step

from nmt_prep.config import Section
from nmt_prep.text.step import NativeStep, StepContext


class LowercaseOptions(Section):
    """There are none."""


class Lowercase(NativeStep[LowercaseOptions]):
    """Lower case."""

    options = LowercaseOptions

    def __init__(self, options: LowercaseOptions, context: StepContext) -> None:
        del options, context
        self.native = simple_step("lowercase")
