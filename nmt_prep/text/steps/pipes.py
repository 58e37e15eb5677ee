"""Step ``pipes``: deletes every ``|``, as clean-corpus-n.perl does in text without factors."""

from __future__ import annotations

from typing import Literal

from _nmt_prep_core import simple_step

from nmt_prep.config import Section
from nmt_prep.text.step import NativeStep, StepContext


class PipesOptions(Section):
    """What becomes of ``|``."""

    change: Literal["delete"]
    """delete: deletes them"""


class Pipes(NativeStep[PipesOptions]):
    """Deletes every ``|``."""

    options = PipesOptions
    short = "change"

    def __init__(self, options: PipesOptions, context: StepContext) -> None:
        del options, context
        self.native = simple_step("pipes")
