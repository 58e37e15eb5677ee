"""Rounds that learn a model of word alignment from shards of pairs.

The model is learned in the rounds of :func:`nmt_prep.align.model.rounds`. In each round, a task per shard counts with
the current model, and one task sums the counts and makes the next model. Counts are whole numbers, so the model does
not depend on the number of shards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nmt_prep.align.counts import Counts, merge
from nmt_prep.align.model import Model, shared_model
from nmt_prep.align.settings import Settings, rounds
from nmt_prep.align.training import Counter, updated
from nmt_prep.columns import TextColumn
from nmt_prep.corpora import iter_pairs
from nmt_prep.engines import Tick
from nmt_prep.engines.engine import BASE_MEMORY
from nmt_prep.errors import AlignmentModelError
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job

SETTINGS = Settings(table=1 << 22)
"""The size of the lexical table does not depend on the engine's memory, because models depend on the size."""

SCORE_SETTINGS = replace(SETTINGS, jumps=False)
"""Settings of models that score pairs and do not link their words."""

MODEL_MEMORY = 40 * SETTINGS.table
"""Approximate bytes of a model with the counts of a task."""

LEARNING_VERSION = 3
"""Must be increased if the same pairs give another model, or the same model gives other links or scores."""

MOST_SHARDS = 16
SHARD_PAIRS = 17_000
"""Approximate minimum number of pairs in a shard. A sample of 100,000 has six shards, an equal load for two workers."""


_CELL_MEMORY = 140
"""Approximate bytes, for making a model, per pair of words in its table."""

_PAIR_CELLS = 100
"""Estimated pairs of words that a pair of lines adds to a table that is not full."""

_SMALL_MODEL = 100_000_000
"""Bytes that making a model may take even if the engine has less memory."""


def learning_memory(pairs: int) -> int:
    """Returns an estimate of the bytes that a task needs to make a model from this many pairs."""
    return _CELL_MEMORY * min(SETTINGS.table, _PAIR_CELLS * pairs)


def check_memory(job: Job, pairs: int, section: str, models: int = 1) -> None:
    """Checks that the tasks that make models fit the memory of the engine.

    Args:
        job: the job of the stage.
        pairs: maximum number of pairs that a model learns from.
        section: part of the config with the option ``pairs``, for the message.
        models: number of models that are learned side by side.

    Raises:
        AlignmentModelError: the pairs do not fit into the memory.
    """
    engine, workers = job.config.engine, job.engine.workers
    side_by_side = min(models, workers)
    base = BASE_MEMORY * (1 if engine.kind == "local" else workers)
    share = max((engine.memory - base) // side_by_side, _SMALL_MODEL)
    needed = learning_memory(pairs)
    if needed <= share:
        return
    fitting = share // (_CELL_MEMORY * _PAIR_CELLS)
    raise AlignmentModelError(
        f"{section}: learning from {pairs:,} pairs takes about {(base + needed * side_by_side) / 1e6:,.0f} MB of "
        f"memory, but engine.memory is {engine.memory / 1e6:,.0f} MB; raise engine.memory, set {section}.pairs to "
        f"{fitting:,} or less, or name a model that was learned before ({section}.model)"
    )


def shards_in(memory: int) -> Callable[[int], int]:
    """Returns a function that gives the number of shards for a number of pairs to learn from.

    The number of shards is the number of tasks that fit into the memory of the run at once, at most 16.
    """
    return lambda pairs: min(max(memory // MODEL_MEMORY, 1), MOST_SHARDS, -(-pairs // SHARD_PAIRS))


@dataclass(frozen=True)
class StartTask:
    """A task that makes the initial model, from another model or without one."""

    key: str
    settings: Settings
    prior: Path | None
    output: Path


@dataclass(frozen=True)
class CountTask:
    """A shard whose links a model counts."""

    key: str
    model: Path
    shard: Path
    output: Path


@dataclass(frozen=True)
class UpdateTask:
    """A model to improve by the counts of all shards."""

    key: str
    model: Path
    counts: tuple[Path, ...]
    output: Path


def start_model(task: StartTask, tick: Tick) -> int:
    """Writes a model without counts; returns the number of its rounds so far.

    Raises:
        AlignmentModelError: the other model cannot be read.
        OutputError: the model cannot be written.
    """
    del tick
    model = Model.start(task.settings, None if task.prior is None else Model.load(task.prior))
    model.save(task.output)
    return model.rounds_done


def count_shard(task: CountTask, tick: Tick) -> int:
    """Counts the links of a shard; returns the number of its pairs. It ticks for each pair.

    Raises:
        CorpusError: the shard cannot be read.
        OutputError: the counts cannot be written.
    """
    counter = Counter(shared_model(task.model))
    for batch in iter_pairs(task.shard, columns=["source", "target"]):
        counter.add(TextColumn.from_arrow(batch.column("source")), TextColumn.from_arrow(batch.column("target")))
        tick(len(batch))
    counts = counter.counts()
    counts.save(task.output)
    return counts.pairs


def update_model(task: UpdateTask, tick: Tick) -> int:
    """Writes the model that follows from the counts of all shards; returns the number of its rounds so far.

    It ticks for each file of counts.

    Raises:
        OutputError: the model cannot be written.
    """

    def loaded() -> Iterator[Counts]:
        for path in task.counts:
            yield Counts.load(path)
            tick(1)

    model = updated(Model.load(task.model), merge(loaded()))
    model.save(task.output)
    return model.rounds_done


class LearningRounds:
    """The rounds that learn models, named after the stage's purpose."""

    def __init__(self, prefix: str, settings: Settings) -> None:
        self._prefix = prefix
        self._settings = settings
        words = "beginning to learn alignment"
        self._start = Round(f"{prefix}-start", start_model, int, unit="models", words=words)
        self._passes: dict[str, tuple[Round[CountTask, int], Round[UpdateTask, int]]] = {}
        for number, name in enumerate(rounds(settings), 1):
            words = f"learning alignment, pass {number}"
            self._passes[name] = (
                Round(f"{prefix}-{name}", count_shard, int, words=words),
                Round(f"{prefix}-{name}-model", update_model, int, unit="files", words=words),
            )
        self.rounds: tuple[Round[Any, int], ...] = sum(self._passes.values(), (self._start,))

    def learn(
        self, texts: Mapping[str, tuple[Sequence[Path], int, Path | None]], scratch: Path
    ) -> Rounds[dict[str, Path]]:
        """Yields the rounds; returns the file of the model of each text.

        Args:
            texts: for each text by its name: its shards, the number of pairs in them, and a model to begin with.
            scratch: directory for the files.
        """
        models = {name: scratch / f"{name}-start.model" for name in texts}
        yield from self._start.run(
            [
                StartTask(f"{self._prefix}-{name}-start", self._settings, prior, models[name])
                for name, (_, _, prior) in texts.items()
            ]
        )
        for step, (count, update) in self._passes.items():
            keys = {name: f"{self._prefix}-{name}-{step}" for name in texts}
            counts = [
                CountTask(f"{keys[name]}-{shard.stem}", models[name], shard, scratch / name / step / shard.stem)
                for name, (shards, _, _) in texts.items()
                for shard in shards
            ]
            yield from count.run(counts, sum(pairs for _, pairs, _ in texts.values()))
            updates = {}
            for name in texts:
                counted = tuple(task.output for task in counts if task.model == models[name])
                output = scratch / f"{name}-{step}.model"
                updates[name] = UpdateTask(f"{keys[name]}-model", models[name], counted, output)
            yield from update.run(updates.values(), len(counts))
            models = {name: task.output for name, task in updates.items()}
        return models
