"""How long the stages of a run take, scaled from measurements of their rounds in earlier runs on this machine.

The time of a round is a short start, and a part that is proportional to its work: the text, the sample, or the pairs
that a model is learned from. This part is inversely proportional to the number of busy workers, which is at most the
number of tasks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

from nmt_prep.config import Config
from nmt_prep.corpora.parts import PART_BYTES
from nmt_prep.engines.engine import BASE_MEMORY
from nmt_prep.pipeline.manifest import Workspace
from nmt_prep.pipeline.measured import kind_of, output_bytes, read_notes, text_bytes
from nmt_prep.pipeline.rounds import Round
from nmt_prep.pipeline.stage import AnyStage

BYTES_PER_PAIR = 150
"""Assumed bytes of both sides of a pair, line ends included."""

_LEARNING = re.compile("(align|translation|adequacy)-(?!select|scores|values|threshold|top)")
"""The names of rounds that process the training pairs of a model."""

_TRAINING_GROWTH = 0.85
"""Exponent p such that training time and memory grow as sample size ** p; below 1, because words repeat."""

_COUNTING = 20
"""Speed of counting the lines that a sample leaves out, divided by the speed of reading and writing a line."""

_COPYING = 1.5
"""Time to copy text when it is compiled, divided by the time to read it."""

_PLACES = 20
"""Line offsets take less than 1/20 of the bytes of a text, and a copy of the text takes more."""

_START = 0.1
"""Assumed seconds at the start of a round that do not grow with its work; at most half of the round."""

_SHORT = 0.02
"""Assumed time of a round that does not read all pairs, as a share of the time of a round that does."""


@dataclass(frozen=True)
class StageEstimate:
    """Estimated time, memory and disk space of a stage.

    Attributes:
        stage: name of the stage.
        seconds: duration of the stage.
        memory: peak bytes of the processes of one machine.
        scratch: bytes of files that are deleted at the end of the stage.
        output: bytes of files that stay.
        origin: description of the measurements that this was scaled from; empty if there are none.
    """

    stage: str
    seconds: float = 0.0
    memory: int = BASE_MEMORY
    scratch: float = 0.0
    output: float = 0.0
    origin: str = ""


@dataclass(frozen=True)
class Work:
    """The work of a run.

    Attributes:
        text: bytes of text.
        sample: bytes of the sample.
        workers: parallel tasks on all machines.
        workers_of_machine: parallel tasks on each machine.
        copied: bytes of text that compile copies, instead of recording the offsets of its lines; None if not known.
    """

    text: float
    sample: float
    workers: int
    workers_of_machine: int
    copied: float | None = None

    def in_round(self, stage: str, round_name: str, most_learned: int) -> float:
        """Returns the amount that a round's time is proportional to; without a name, for the rest of the stage."""
        if stage == "report":
            return 1.0
        if stage == "vocab":
            return self.sample if round_name == "count" else self.sample**_TRAINING_GROWTH
        if stage == "sample":
            return self.sample + self.text / _COUNTING
        if stage == "compile":
            return self.text + _COPYING * (self.copied or 0.0)
        pairs = self.text / BYTES_PER_PAIR
        return max(min(pairs, most_learned), 1.0) if _LEARNING.match(round_name) else self.text


def forecast(stage: AnyStage, config: Config, work: Work) -> StageEstimate:
    """Estimates a stage; without an origin if the stage was not measured on this machine.

    The time of a round is scaled from the measured run with the most similar amount of text.
    """
    notes = sorted(read_notes(kind_of(stage.name, config)), key=lambda note: abs(log(note.text / work.text)))
    if not notes:
        return StageEstimate(stage.name)
    rounds: dict[str, float] = {}
    memory = scratch = written = 0.0
    for note in notes:
        compares = work.copied is not None and note.rest is not None  # an unfinished stage has no written bytes
        copied = note.text if compares and note.written > note.text / _PLACES else 0.0
        then = Work(note.text, note.sample or work.sample or 1.0, note.workers, note.workers, copied)
        now = replace(work, sample=work.sample or then.sample, copied=work.copied if compares else 0.0)
        factors = {
            name: now.in_round(stage.name, name, most) / then.in_round(stage.name, name, most)
            for most in [stage.learns_from(config)]
            for name in ("", *note.rounds)
        }
        for name, measured in note.rounds.items():
            parts = 0.0 if _LEARNING.match(name) else now.text / PART_BYTES  # learning is divided by memory alone
            busy = min(now.workers, max(measured.tasks, min(measured.tasks * factors[name], parts)))
            factor = factors[name] * min(then.workers, measured.tasks) / busy
            rounds.setdefault(name, _scaled(measured.seconds, factor))
        if note.rest is not None:
            rounds.setdefault("", _scaled(note.rest, factors[""]))
        grown = factors[""] if stage.name == "vocab" else max(1.0, work.workers_of_machine / note.workers)
        memory = max(memory, (note.memory or 0) * grown)
        scratch = scratch or note.scratch * factors[""]
        written = written or note.written * factors[""]
    origin = f"measured {notes[0].made} on {notes[0].text / 1e6:,.0f} MB" + ", not to its end" * ("" not in rounds)
    return StageEstimate(stage.name, sum(rounds.values()), BASE_MEMORY + int(memory), scratch, written, origin)


def _scaled(seconds: float, factor: float) -> float:
    """Returns the time of a round, or of a stage outside of its rounds, with other work than measured."""
    start = min(_START, seconds / 2)
    return start + (seconds - start) * factor


def forecast_of_progress(
    stages: Sequence[AnyStage], config: Config, workspace: Workspace, workers: int
) -> dict[str, object]:
    """Returns the fields of the event ``stage_started`` from which progress is computed.

    These fields are the rounds of the stage, with their work in words and their shares of its time, and the seconds of
    the stages after it.

    Args:
        stages: the stage, and the stages after it.
        config: the config.
        workspace: the directory of the run.
        workers: number of parallel tasks.
    """
    rounds = [round_ for round_ in stages[0].rounds_for(config) if not round_.by_all]
    return {
        "rounds": [round_.name for round_ in rounds],
        "words": [round_.words or round_.name for round_ in rounds],
        "shares": shares_of(stages[0], config, rounds),
        "later": seconds_of(stages[1:], config, workspace, workers),
    }


def shares_of(stage: AnyStage, config: Config, rounds: Sequence[Round[Any, Any]]) -> list[float]:
    """Returns how much of the time of a stage each of its rounds takes, in any unit.

    The shares come from the last run on this machine. Without one, rounds over all pairs are assumed to take equal
    times.
    """
    notes = [note for note in read_notes(kind_of(stage.name, config)) if note.rounds]
    if notes:
        measured = notes[-1].rounds
        return [measured[round_.name].seconds if round_.name in measured else 0.0 for round_ in rounds]
    return [1.0 if round_.unit in ("pairs", "bytes", "lines") else _SHORT for round_ in rounds]


def seconds_of(stages: Sequence[AnyStage], config: Config, workspace: Workspace, workers: int) -> float | None:
    """Returns the time of later stages, scaled from earlier runs on this machine; None if the time of one is unknown.

    The text must be extracted.
    """
    text, sample = text_bytes(workspace), output_bytes(workspace, "sample", "sample")
    if not text:
        return None
    work = Work(text, sample, workers, workers)
    estimates = [forecast(stage, config, work) for stage in stages if not stage.outside]
    known = len(estimates) == len(stages) and all(estimate.origin for estimate in estimates)
    return sum(estimate.seconds for estimate in estimates) if known else None
