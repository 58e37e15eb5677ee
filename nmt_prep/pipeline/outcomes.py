"""What planning, running and sharing out a pipeline's stages come to."""

from __future__ import annotations

from dataclasses import dataclass

from nmt_prep.pipeline.drivers import RoundState, Share
from nmt_prep.pipeline.manifest import Counts


@dataclass(frozen=True)
class Step:
    """A stage in a plan: whether it would run, and why."""

    stage: str
    fresh: bool
    reason: str


@dataclass(frozen=True)
class Outcome:
    """What became of a stage in a run."""

    stage: str
    ran: bool
    reason: str
    seconds: float
    counts: Counts


@dataclass(frozen=True)
class ShareOutcome:
    """What became of a share: how many tasks were run now, and how far their round is; None where that is published."""

    share: Share
    ran: int
    state: RoundState | None


@dataclass(frozen=True)
class StageTasks:
    """How far a stage has come: published or not, why not, and its rounds of tasks as far as they are known."""

    stage: str
    published: bool
    reason: str
    rounds: tuple[RoundState, ...]
