"""Rounds that draw a sample of distinct pairs from parts, to train models on.

A pair is in the sample if a random number that follows from its text and the seed is small enough. So the sample does
not depend on the division into parts. Of pairs with equal normalized text, either all are drawn or none, and the sample
has one of them. The sample is divided into shards of similar size, by other bits of the hash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.cleaning.dedup.records import keys_of
from nmt_prep.cleaning.rejects import sample_keys
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.parts import BatchFile, PairFile
from nmt_prep.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds

KEY, ORDER = "key", "order"
"""Columns of a sample: a hash of the normalized pair, and the random number that follows from it and the seed."""

_ALL = 1 << 64

Keys: TypeAlias = "npt.NDArray[np.uint64]"


@dataclass(frozen=True)
class SelectTask:
    """A part to draw pairs from.

    Attributes:
        key: name of the task.
        part: the part.
        limit: pairs with smaller random numbers are in the sample.
        seed: seed of the random numbers.
        shards: number of shards that the sample is divided into.
        output: file to write.
    """

    key: str
    part: Path
    limit: int
    seed: int
    shards: int
    output: Path


Selected: TypeAlias = tuple[int, ...]
"""The number of pairs drawn from a part for each shard; each shard with pairs is a row group of the file."""


@dataclass(frozen=True)
class ShardTask:
    """A shard to join from the files of all parts.

    Attributes:
        key: name of the task.
        files: files with pairs of the shard, each with the number of the row group.
        output: file to write.
    """

    key: str
    files: tuple[tuple[Path, int], ...]
    output: Path


@dataclass(frozen=True)
class PairSample:
    """A sample of distinct pairs.

    Attributes:
        shards: the files, with the columns ``source``, ``target``, ``key`` and ``order``, sorted by ``order``.
        pairs: number of pairs in each file.
        selected: for each corpus, the files with the pairs drawn from its parts, which may repeat pairs.
        limits: for each corpus, the random number below which its pairs are in the sample.
    """

    shards: tuple[Path, ...]
    pairs: tuple[int, ...]
    selected: dict[str, tuple[Path, ...]]
    limits: dict[str, int]


def select_pairs(task: SelectTask, tick: Tick) -> Selected:
    """Writes the pairs of a part that are in the sample, one row group for each shard. It ticks for each pair.

    Raises:
        CorpusError: the part cannot be read.
        OutputError: the file cannot be written.
    """
    chosen: list[pa.RecordBatch] = []
    numbers: list[npt.NDArray[np.int64]] = []
    for batch in iter_pairs(task.part, columns=["source", "target"]):
        keys = keys_of(batch, ["pair"], "normalized")["pair"]
        order = sample_keys(keys[:, 0].view(np.int64), task.seed, KEY)
        inside = order <= np.uint64(task.limit - 1) if task.limit else np.zeros(len(order), np.bool_)
        columns = [*batch.columns, pa.array(keys[:, 0]), pa.array(order)]
        chosen.append(pa.record_batch(columns, [*batch.schema.names, KEY, ORDER]).filter(pa.array(inside)))
        numbers.append(((keys[inside, 1] >> np.uint64(32)) * np.uint64(task.shards) >> np.uint64(32)).astype(np.int64))
        tick(len(batch))
    shard_of = np.concatenate([np.zeros(0, np.int64), *numbers])
    counts = []
    with BatchFile(task.output) as output:
        for shard in range(task.shards):
            own = np.flatnonzero(shard_of == shard)
            group = _distinct(pa.Table.from_batches(chosen).take(pa.array(own))) if len(own) else None
            counts.append(0 if group is None else len(group))
            if group is not None:
                output.write(group)
    return tuple(counts)


def join_shard(task: ShardTask, tick: Tick) -> int:
    """Writes a shard with the distinct pairs of all parts; returns their number. It ticks for each pair that it reads.

    Raises:
        CorpusError: a file cannot be read.
        OutputError: the shard cannot be written.
    """
    found: list[pa.RecordBatch] = []
    seen: Keys = np.zeros(0, np.uint64)
    for path, group in task.files:
        for batch in iter_pairs(path, [group]):
            new = ~np.isin(column_of(batch, KEY), seen)
            found.append(batch.filter(pa.array(new)))
            seen = np.concatenate([seen, column_of(found[-1], KEY)])
            tick(len(batch))
    with BatchFile(task.output) as output:
        output.write(_distinct(pa.Table.from_batches(found)))
    return output.pairs


def column_of(batch: pa.RecordBatch, name: str) -> Keys:
    """Returns the column ``key`` or ``order`` of a batch of a sample."""
    return np.asarray(batch.column(name).to_numpy(zero_copy_only=False), np.uint64)


def _distinct(pairs: pa.Table) -> pa.RecordBatch:
    """Returns the first pair of each key, sorted by the random numbers."""
    batch = pairs.combine_chunks().to_batches(max_chunksize=None)[0]
    _, first = np.unique(column_of(batch, KEY), return_index=True)
    order = column_of(batch, ORDER)[first]
    return batch.take(pa.array(first[np.argsort(order)]))


def sample_limits(pairs: dict[str, int], most: int) -> dict[str, int]:
    """Returns, for each corpus, the random number below which pairs are in a sample of at most ``most`` pairs.

    Small corpora are in the sample as a whole; the others have equal numbers of pairs in it.

    Args:
        pairs: number of pairs of each corpus.
        most: number of pairs in the sample.
    """
    left, share = most, 0
    for number, size in enumerate(sorted(pairs.values())):
        share = left // (len(pairs) - number)
        if size > share:
            break
        left -= size
    else:
        return dict.fromkeys(pairs, _ALL)
    return {name: _ALL if size <= share else _ALL * share // size for name, size in pairs.items()}


class SampleRounds:
    """The two rounds of a sample, named after the stage's purpose."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        choosing, shuffling = "choosing pairs to learn from", "shuffling pairs to learn from"
        self._select = Round(f"{prefix}-select", select_pairs, Selected, made=_selected_file, words=choosing)
        self._join = Round(f"{prefix}-shards", join_shard, int, words=shuffling)
        self.rounds: tuple[Round[Any, Any], ...] = (self._select, self._join)

    def draw(
        self,
        texts: Mapping[str, Sequence[PairFile]],
        most: Mapping[str, int],
        shards_for: Callable[[int], int],
        seed: int,
        scratch: Path,
    ) -> Rounds[dict[str, PairSample]]:
        """Yields the rounds; returns a sample for each text.

        Args:
            texts: the parts of each text by its name.
            most: approximate maximum number of pairs in the sample of each text.
            shards_for: returns the number of shards of a sample, given its approximate number of pairs.
            seed: seed of the sample.
            scratch: directory for the files.
        """
        limits, tasks = {}, {}
        for name, parts in texts.items():
            pairs = _pairs(parts)
            limits[name] = sample_limits(pairs, most[name])
            shards = shards_for(min(most[name], sum(pairs.values())))
            tasks[name] = list(self._select_tasks(name, parts, limits[name], shards, seed, scratch))
        total = sum(part.pairs for parts in texts.values() for part in parts)
        selected = yield from self._select.run_groups(tasks, total)
        joins = {name: list(self._join_tasks(name, tasks[name], selected[name], scratch)) for name in texts}
        joined = yield from self._join.run_groups(joins, sum(sum(map(sum, drawn)) for drawn in selected.values()))
        samples = {}
        for name, parts in texts.items():
            files: dict[str, tuple[Path, ...]] = {}
            for part, task, drawn in zip(parts, tasks[name], selected[name], strict=True):
                files[part.corpus] = files.get(part.corpus, ()) + tuple(_selected_file(task, drawn))
            shards_of = tuple(task.output for task in joins[name])
            samples[name] = PairSample(shards_of, tuple(joined[name]), files, limits[name])
        return samples

    def _select_tasks(
        self, name: str, parts: Sequence[PairFile], limits: dict[str, int], shards: int, seed: int, scratch: Path
    ) -> Iterator[SelectTask]:
        for number, part in enumerate(parts):
            key = f"{self._prefix}-select-{name}-{number:05d}-of-{shards:02d}"  # the number of shards may have changed
            yield SelectTask(key, part.path, limits[part.corpus], seed, shards, scratch / f"{key}.parquet")

    def _join_tasks(
        self, name: str, tasks: Sequence[SelectTask], selected: Sequence[Selected], scratch: Path
    ) -> Iterator[ShardTask]:
        for shard in range(max((task.shards for task in tasks), default=0)):
            files = tuple(
                (task.output, sum(map(bool, drawn[:shard])))
                for task, drawn in zip(tasks, selected, strict=True)
                if drawn[shard]
            )
            if files:
                key = f"{self._prefix}-shard-{name}-{shard:02d}-of-{tasks[0].shards:02d}"
                yield ShardTask(key, files, scratch / f"{key}.parquet")


def _pairs(parts: Sequence[PairFile]) -> dict[str, int]:
    pairs: dict[str, int] = {}
    for part in parts:
        pairs[part.corpus] = pairs.get(part.corpus, 0) + part.pairs
    return pairs


def _selected_file(task: SelectTask, drawn: Selected) -> list[Path]:
    return [task.output] if any(drawn) else []
