"""Step ``pipes``: deletes every ``|``, as clean-corpus-n.perl does in text without factors."""

from __future__ import annotations

from typing import Literal

from nmt_prep.text.step import NamedStep, StepOptions


class PipesOptions(StepOptions):
    """What becomes of ``|``."""

    change: Literal["delete"]
    """delete: deletes them"""


class Pipes(NamedStep[PipesOptions]):
    """Deletes every ``|``."""

    options = PipesOptions
    short = "change"
