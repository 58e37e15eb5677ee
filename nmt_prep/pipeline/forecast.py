"""What is known in advance of the time that a run takes, for its progress."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nmt_prep.config import Config
from nmt_prep.pipeline.manifest import Workspace
from nmt_prep.pipeline.measured import MEASURED, kind_of, nearest_note, output_bytes, read_notes, text_bytes, work_of
from nmt_prep.pipeline.rounds import Round
from nmt_prep.pipeline.stage import AnyStage

_SHORT = 0.02
"""Share of a round that does not read all pairs, of one that does."""


def shares_of(stage: AnyStage, config: Config, rounds: Sequence[Round[Any, Any]]) -> list[float]:
    """Returns how much of the time of a stage each of its rounds takes, in any unit.

    It is what the last run on this machine took; else rounds over all pairs are assumed to take equal times.
    """
    notes = [note for note in read_notes(kind_of(stage.name, config)) if note.rounds]
    if notes:
        return [notes[-1].rounds.get(round_.name, 0.0) for round_ in rounds]
    return [1.0 if round_.unit in ("pairs", "bytes", "lines") else _SHORT for round_ in rounds]


def seconds_of(stages: Iterable[AnyStage], config: Config, workspace: Workspace, workers: int) -> float | None:
    """Returns the time of stages to come, scaled from earlier runs on this machine; None if one is unknown.

    The text must be extracted.
    """
    seconds, text = 0.0, text_bytes(workspace)
    for stage in stages:
        if stage.name not in MEASURED:
            if stage.outside:
                return None
            continue  # it takes almost no time
        sample = output_bytes(workspace, "sample", "sample")
        work = work_of(stage.name, text, sample)
        note = nearest_note(kind_of(stage.name, config), work)
        if note is None or not text:
            return None
        scale = work / note.work if work else 1.0  # no sample is made yet
        seconds += note.seconds * scale * note.workers / min(workers, note.workers)
    return seconds
