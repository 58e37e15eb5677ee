"""Results of planning, running, sharing and listing the stages of a config."""

from __future__ import annotations

from dataclasses import dataclass

from nmt_prep.health.warning import HealthWarning
from nmt_prep.pipeline.drivers import RoundState, Share
from nmt_prep.pipeline.manifest import Counts


@dataclass(frozen=True)
class Step:
    """A planned stage: whether it would run, and why."""

    stage: str
    fresh: bool
    reason: str


@dataclass(frozen=True)
class Outcome:
    """Result of a stage in a run; the warnings are those of the run that made its output."""

    stage: str
    ran: bool
    reason: str
    seconds: float
    counts: Counts
    warnings: tuple[HealthWarning, ...] = ()


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
