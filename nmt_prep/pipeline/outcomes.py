"""Results of planning, running, sharing and listing the stages of a config."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nmt_prep.base.artefacts import as_json
from nmt_prep.pipeline.drivers import RoundState, RoundTime, Share
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.warning import HealthWarning


@dataclass(frozen=True)
class Step:
    """A planned stage: whether it would run, and why."""

    stage: str
    fresh: bool
    reason: str


@dataclass(frozen=True, repr=False)
class Outcome:
    """Result of a stage in a run."""

    stage: str  # name of the stage
    ran: bool  # true if it ran now, false if it was fresh
    reason: str  # why it ran
    seconds: float  # duration
    counts: Counts
    warnings: tuple[HealthWarning, ...] = ()  # its warnings, or those of the earlier run that made its output
    processor_seconds: float = 0.0  # processor time of all processes
    rounds: tuple[RoundTime, ...] = ()  # the times of its rounds

    def __repr__(self) -> str:
        into, out = self.counts.pairs_in, self.counts.pairs_out
        pairs = "" if out is None else f" {out:,} pairs" + f" of {into:,}" * (into is not None and into != out)
        warned = f", {len(self.warnings)} warnings" * bool(self.warnings)
        return f"<{self.stage}:{pairs} in {self.seconds:.1f} s, {self.reason}{warned}>"

    @property
    def numbers(self) -> dict[str, Any]:
        """Stage, times and counts as JSON values, rounded."""
        return {
            "stage": self.stage,
            "seconds": round(self.seconds, 3),
            "processor_seconds": round(self.processor_seconds, 3),
            "rounds": {taken.round: taken.numbers for taken in self.rounds},
            **as_json(self.counts),
        }


@dataclass(frozen=True)
class ShareOutcome:
    """Result of running a share: how many tasks ran now, and the state of the round; None if the stage is complete."""

    share: Share
    ran: int
    state: RoundState | None


@dataclass(frozen=True)
class StageTasks:
    """Progress of a stage: whether it is complete, why not, and the rounds of tasks that are known so far."""

    stage: str
    complete: bool
    reason: str
    rounds: tuple[RoundState, ...]
