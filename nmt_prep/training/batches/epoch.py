"""The order of an epoch: which shard parts each process reads, divided into windows.

The order is a pure function of the dataset and (seed, epoch, process), computed from the shards' indexes. Up to 16
consecutive blocks of a shard (about 256 pairs each) form a run; a keyed permutation of the runs is the order of the
epoch. Each process takes an equal part of it, and divides that into windows of equal size.

Corpora can be mixed in given proportions. Each pair's copy count is exact and needs no random number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.digests import seed_of
from nmt_prep.base.errors import ArgumentError, ConfigError, RecordsError
from nmt_prep.training.batches.options import Options
from nmt_prep.training.batches.vectors import Int64s, Vector, Vectors
from nmt_prep.training.records.dataset_json import CorpusInfo, DatasetInfo
from nmt_prep.training.records.document_index import Repeated, repeated_before
from nmt_prep.training.records.record_columns import REPEATED, SATURATED, Column, ShardIndex
from nmt_prep.training.records.shuffle_plan import GlobalShuffle
from nmt_prep.training.records.text_records import read_text

WINDOW_PAIRS = 131_072

_BLOCKS_PER_RUN = 16
_RUNS_WANTED = 1024
_MIXABLE = ("chunk", "text", "causal")  # Layouts whose records have the corpus of each pair


# The unit of reading is a run: up to 16 blocks (about 4,000 pairs) in a row, so that a shuffled epoch still reads files
# in long stretches. Within a run, pairs keep the order of the global shuffle, so its neighbors (or documents) are
# unrelated already. Where there are enough blocks, at least about 1,024 runs are made, so that small splits are mixed
# well too.
@dataclass(frozen=True)
class SplitIndex:
    """The indexes of a split's shards."""

    paths: tuple[Path, ...]  # the shards
    shards: tuple[ShardIndex, ...]  # their indexes
    packed: bool  # True if windows are counted in rows of packed pairs
    columns: Mapping[str, Column] = field(default_factory=dict)  # the columns of pairs other than their IDs, by name
    repeats: bool = False  # True if there are repeated segments
    corpora: int = SATURATED + 1  # number of corpora
    versions: tuple[tuple[int, int], ...] = ()  # size and modification time of each shard

    @classmethod
    def load(cls, records_dir: Path, info: DatasetInfo, split: str) -> SplitIndex:
        paths = tuple(records_dir / shard.file for shard in info.splits[split].shards)
        sized = [(path, shard.pairs) for path, shard in zip(paths, info.splits[split].shards, strict=True)]
        columns = {name: Column(sized, name) for name in info.columns if name not in REPEATED}
        shards, repeats = tuple(map(ShardIndex.load, paths)), len(columns) < len(info.columns)
        versions = tuple(map(_version, paths))
        for path, shard, version, known in zip(paths, shards, versions, info.splits[split].shards, strict=True):
            if (len(shard.pairs), version[0]) != (known.pairs, known.bytes):
                raise RecordsError(f"{path}: not the shard in dataset.json; restore it, or run the encode stage again")
        return cls(paths, shards, info.layout == "packed", columns, repeats, len(info.corpora[split]), versions)

    def text_of(self, run: int) -> pa.RecordBatch:
        """Reads a run's pairs, for layout ``text``."""
        shard, first, pairs = (int(column[run]) for column in (self.runs.shard, self.runs.first_pair, self.runs.pairs))
        text = read_text(self.paths[shard], first, pairs)
        if self.versions and _version(self.paths[shard]) != self.versions[shard]:  # the file has no checksums
            raise RecordsError(f"{self.paths[shard]}: was changed while it was read; begin again from a saved state")
        self._check_corpora(text.column("corpus").to_numpy(), self.paths[shard])
        return text

    def _check_corpora(self, corpora: npt.NDArray[Any], path: Path) -> None:
        if len(corpora) and not 0 <= corpora.min() <= corpora.max() < self.corpora:
            raise RecordsError(
                f"{path}: has a pair of corpus {corpora.max()}, of {self.corpora}; restore it, or run the encode stage "
                "again"
            )

    @cached_property
    def runs(self) -> Runs:
        """All runs, in the order of the shards."""
        blocks_per_run = min(max(sum(len(shard.blocks) for shard in self.shards) // _RUNS_WANTED, 1), _BLOCKS_PER_RUN)
        columns = [np.empty((0, 6), np.int64)]
        for number, shard in enumerate(self.shards):
            first = np.arange(0, len(shard.blocks), blocks_per_run)
            if len(first):
                sums = np.add.reduceat(shard.blocks[:, 1:], first)
                begins = np.cumsum(sums[:, 1]) - sums[:, 1]
                columns.append(np.column_stack([np.full(len(first), number), shard.blocks[first, 0], sums, begins]))
        return Runs(*np.concatenate(columns).T)

    @cached_property
    def pairs_before(self) -> list[int]:
        return list(accumulate((len(shard.pairs) for shard in self.shards), initial=0))

    @cached_property
    def run_ends(self) -> Int64s:
        """The offset in its shard at which each run ends: int64, shape ``[runs]``."""
        shard, start = self.runs.shard, self.runs.start
        last = np.flatnonzero(np.diff(shard, append=len(self.paths)))  # the last run of each shard
        ends = np.append(start[1:], 0)[: len(start)]
        ends[last] = [self.paths[number].stat().st_size for number in shard[last].tolist()]
        return ends

    def pairs_of(self, runs: Int64s) -> npt.NDArray[np.uint16]:
        """Returns the index entries for the pairs in some runs: uint16, shape ``[pairs, 3]``."""
        table = self.runs
        spans = zip(
            table.shard[runs].tolist(), table.first_pair[runs].tolist(), table.pairs[runs].tolist(), strict=True
        )
        parts = [self.shards[shard].pairs[first : first + pairs] for shard, first, pairs in spans]
        for part in parts:
            self._check_corpora(part[:, 2], self.paths[0].parent)
        return np.concatenate([np.empty((0, 3), np.uint16), *parts])

    def column_of(self, name: str, runs: Int64s) -> npt.NDArray[Any]:
        """Returns a column for the pairs in some runs: shape ``[pairs]``."""
        starts, column = self.starts_of(runs), self.columns[name]
        ends = starts + self.runs.pairs[runs]
        spans = zip(starts.tolist(), ends.tolist(), strict=True)
        return np.concatenate([column.values(0, 0), *(column.values(*span) for span in spans)])

    def repeated_of(self, runs: Int64s) -> Repeated | None:
        """Returns the repeated segments of some runs, numbered by the runs' pairs, or None without any."""
        if not self.repeats:
            return None
        table, parts, before = self.runs, [], 0
        for shard, first, pairs in np.column_stack([table.shard, table.first_pair, table.pairs])[runs].tolist():
            found = repeated_before(self.paths[shard], first, pairs)
            parts.append(found._replace(pairs=found.pairs + before))
            before += pairs
        return Repeated.joined(parts)

    def starts_of(self, runs: Int64s) -> Int64s:
        """Returns the index in the split of each run's first pair: int64, shape ``[runs]``."""
        return np.array(self.pairs_before, np.int64)[self.runs.shard[runs]] + self.runs.first_pair[runs]


def _version(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise RecordsError(f"{path}: cannot be read: {error.strerror}; restore it, or encode again") from error
    return found.st_size, found.st_mtime_ns


class Runs(NamedTuple):
    """The columns in a table of runs: int64, shape ``[runs]``. A run is a group of consecutive blocks in a shard."""

    shard: Int64s  # index of the shard
    start: Int64s  # byte offset in the shard
    records: Int64s
    pairs: Int64s
    rows: Int64s  # rows of packed pairs, without pairs that are longer than a row; 0 if not packed
    first_pair: Int64s  # index of the first pair in the shard


class Window(NamedTuple):
    """Part of a process's epoch whose pairs are sorted together."""

    runs: Int64s  # int64, indexes of the runs to read, in order
    skip: int  # number of pairs (rows, if packed) at the start of the first run that belong to the previous process
    take: int  # pair count (row count, if packed) of this window after the skipped ones


@dataclass(frozen=True)
class EpochOrder:
    """The windows of one process in one epoch."""

    index: SplitIndex  # indexes of the split
    seed: int | None  # decides the order, together with `epoch`; None keeps the order of the shards
    epoch: int = 0
    rank: int = 0  # index of the process
    world_size: int = 1  # number of processes
    window_pairs: int = WINDOW_PAIRS  # approximate size of a window, exceeded by at most one run

    @cached_property
    def key(self) -> int | None:
        """Key of the random numbers, together with the window index; None if nothing is shuffled."""
        if self.seed is None:
            return None
        return int(np.uint64(seed_of(f"{self.seed}\n{self.epoch}\nwindows of {self.rank}")).view(np.int64))

    @cached_property
    def order(self) -> Int64s:
        """All run indexes in the epoch's order, the same for all processes."""
        runs = len(self.index.runs.pairs)
        if self.seed is None:
            return np.arange(runs)
        return GlobalShuffle(runs, self.seed, f"runs of epoch {self.epoch}").rows_at(np.arange(runs))

    def windows(self) -> Iterator[Window]:
        """Yields the process's windows in order; none is empty."""
        # Processes cut the epoch by pairs (or rows), not by runs, so their parts differ by one at most. A run across a
        # cut is read by both processes: one takes its start, the other skips it. Windows are whole runs, as equal as
        # runs allow: window k ends with the run that reaches k equal shares.
        table = self.index.runs
        size = (table.rows if self.index.packed else table.pairs)[self.order]
        ends = np.cumsum(size)
        total = int(size.sum())
        begin, end = (total * part // self.world_size for part in (self.rank, self.rank + 1))
        if begin == end:
            return
        mine = np.flatnonzero((ends > begin) & (ends - size < end))
        pairs = np.cumsum(table.pairs[self.order][mine])
        # If there are several windows, the first one is small, so that the first batch is ready soon.
        first = self.window_pairs // 8 if pairs[-1] > self.window_pairs else 0
        rest = int(pairs[-1]) - first
        count = -(-rest // self.window_pairs)
        cuts = np.searchsorted(pairs, first + rest * np.arange(count) // count) + 1 if first else np.empty(0, np.int64)
        for part in np.split(mine, np.unique(cuts[cuts < len(mine)])):
            start = int(ends[part[0]] - size[part[0]])
            stop = min(int(ends[part[-1]]), end)
            skip = max(begin - start, 0)
            yield Window(self.order[part], skip, stop - start - skip)


class CorpusMix(NamedTuple):
    """Each pair's copy count in an epoch of mixed corpora.

    Pair ``rank`` of a corpus, counted in the order of the shards, is in the epoch
    ``((rank + 1) * draws + shift) // pairs - (rank * draws + shift) // pairs`` times. These numbers sum to exactly
    ``draws``, and differ by at most one within a corpus. With each epoch ``shift`` increases by ``draws``, so that over
    many epochs all pairs of a corpus are drawn equally often.
    """

    pairs: Int64s  # int64, shape `[corpora]`: pairs of each corpus; 1 for an empty corpus
    draws: Int64s  # int64, shape `[corpora]`: pairs of each corpus in an epoch, copies included
    shift: Int64s  # int64, shape `[corpora]`: offset of this epoch, from 0 to `pairs - 1`
    first_rank: Int64s  # int64, shape `[runs, corpora]`: rank of each corpus's first pair in each run

    @classmethod
    def of(
        cls, index: SplitIndex, corpora: Sequence[CorpusInfo], draws: Sequence[int], seed: int, epoch: int
    ) -> CorpusMix:
        count = len(corpora)
        runs = index.runs
        counts = np.zeros((len(runs.pairs), count), np.int64)
        for run in range(len(runs.pairs)):
            counts[run] = np.bincount(index.pairs_of(np.array([run]))[:, 2], minlength=count)
        pairs = np.maximum([corpus.pairs for corpus in corpora], 1)
        shift = [
            (seed_of(f"{seed}\n{corpus.name}") + epoch * drawn) % int(of)
            for corpus, drawn, of in zip(corpora, draws, pairs, strict=True)
        ]
        return cls(pairs, np.array(draws, np.int64), np.array(shift, np.int64), np.cumsum(counts, axis=0) - counts)

    def after(self, epochs: int) -> CorpusMix:
        return self._replace(shift=(self.shift + epochs * self.draws) % self.pairs)

    def copies(self, corpora: Vector, runs: Vector, run_pairs: Vector, on: Vectors) -> Vector:
        """Counts the epoch's copies of each pair in some runs: int64, shape ``[pairs]``.

        Args:
            corpora: int64, shape ``[pairs]``: corpus index of each pair.
            runs: int64, shape ``[runs]``: indexes of the runs that hold the pairs, in order.
            run_pairs: int64, shape ``[runs]``: pairs in each run.
        """
        kinds = len(self.pairs)
        group = on.repeat(on.span(0, on.size(runs)), run_pairs) * kinds + corpora
        sizes = on.counts(group, on.size(runs) * kinds)
        # The rank of a pair among the pairs of its corpus: first within its run, then within all shards.
        rank = on.inverse(on.argsort(group)) - on.take(on.sums_before(sizes), group)
        rank += on.take(self.first_rank.ravel(), on.repeat(runs, run_pairs) * kinds + corpora)
        pairs, draws, shift = (on.take(column, corpora) for column in (self.pairs, self.draws, self.shift))
        return ((rank + 1) * draws + shift) // pairs - (rank * draws + shift) // pairs


def corpus_mix(info: DatasetInfo, split: str, index: SplitIndex, options: Options) -> CorpusMix | None:
    """Returns an epoch's mix; None if each pair occurs once."""
    if options.weights is None and options.temperature is None and options.language_pairs is None:
        return None
    if info.layout not in _MIXABLE:
        raise ArgumentError(
            f"records of layout {info.layout} cannot be mixed by corpus; set records.layout to chunk or text and run "
            "again"
        )
    corpora = info.corpora[split]
    mixed = corpora if options.language_pairs is None else _only(corpora, options.language_pairs)
    draws = (
        weighted_draws(mixed, options.weights or {})
        if options.temperature is None
        else tempered_draws(mixed, options.temperature)
    )
    return CorpusMix.of(index, corpora, draws, options.seed, options.epoch)


def _only(corpora: Sequence[CorpusInfo], pairs: Sequence[str]) -> list[CorpusInfo]:
    """Returns the corpora; corpora in other languages count as empty."""
    known = dict.fromkeys(corpus.language_pair for corpus in corpora)
    if isinstance(pairs, str) or not pairs or not known.keys() >= set(pairs):
        listed = ", ".join(filter(None, known)) or "none, since the run has one language pair"
        raise ArgumentError(f"language_pairs is {pairs!r}; give a list of pairs of the split, which are {listed}")
    return [corpus if corpus.language_pair in pairs else corpus.model_copy(update={"pairs": 0}) for corpus in corpora]


def pair_numbers(info: DatasetInfo, split: str) -> Int64s | None:
    """Returns each corpus's index among the split's language pairs, int64, or None in a run with one pair."""
    known = info.language_pairs(split)
    return np.array([known.index(corpus.language_pair) for corpus in info.corpora[split]], np.int64) if known else None


def pair_groups(info: DatasetInfo, split: str, options: Options, *, packed: bool) -> Int64s | None:
    """Returns the language-pair index of each corpus, if a batch has only one pair: int64, shape ``[corpora]``."""
    if not options.one_pair:
        return None
    pairs = [corpus.language_pair for corpus in info.corpora[split]]
    if not all(pairs):
        raise ArgumentError("one_pair is for a run with several language pairs, but this run has one")
    if packed or info.layout not in _MIXABLE:
        raise ArgumentError(
            f"one_pair needs pairs that are not packed, in records of layout chunk or text, not {info.layout}"
        )
    known = list(dict.fromkeys(pairs))
    return np.array([known.index(pair) for pair in pairs], np.int64)


def weighted_draws(corpora: Sequence[CorpusInfo], weights: Mapping[str, float]) -> list[int]:
    """Returns each corpus's pair count in an epoch: its size times its weight (1 if it has none)."""
    unknown = sorted(set(weights) - {corpus.name for corpus in corpora})
    if unknown:
        raise ConfigError(
            f"weights names the corpus {unknown[0]!r}; the corpora are {', '.join(corpus.name for corpus in corpora)}"
        )
    wrong = [name for name, weight in weights.items() if not 0 <= weight < 1e6]
    if wrong:
        raise ConfigError(f"the weight of {wrong[0]!r} is {weights[wrong[0]]}; it must be from 0 to 1,000,000")
    return [round(corpus.pairs * weights.get(corpus.name, 1)) for corpus in corpora]


def tempered_draws(corpora: Sequence[CorpusInfo], temperature: float) -> list[int]:
    """Returns each corpus's pair count in an epoch, proportional to its size ** (1 / temperature).

    If the run has several language pairs, this holds for the language pairs; each is divided among its corpora by size.
    The numbers sum to the size of all corpora.
    """
    if not temperature > 0:
        raise ConfigError(f"temperature is {temperature}; it must be above 0, and values above 1 even out the sizes")
    groups: dict[str, list[int]] = {}
    for number, corpus in enumerate(corpora):
        groups.setdefault(corpus.language_pair or corpus.name, []).append(number)
    sizes = np.array([sum(corpora[number].pairs for number in group) for group in groups.values()], np.float64)
    powers = np.where(sizes > 0, (sizes / max(sizes.max(), 1)) ** (1 / temperature), 0)
    draws = [0] * len(corpora)
    for group, drawn in zip(groups.values(), _divided(int(sizes.sum()), powers), strict=True):
        own = np.array([corpora[number].pairs for number in group], np.float64)
        for number, count in zip(group, _divided(drawn, own), strict=True):
            draws[number] = count
    return draws


def _divided(total: int, weights: npt.NDArray[np.float64]) -> list[int]:
    """Divides a number by weights; rounds by largest remainder, where the earlier of equal remainders comes first."""
    if not total:
        return [0] * len(weights)
    shares = np.round(total * weights / weights.sum(), 6)  # the last digits of powers differ by processor
    counts = np.floor(shares).astype(np.int64)
    for place in np.argsort(counts - shares, kind="stable")[: total - int(counts.sum())]:
        counts[place] += 1
    return [int(count) for count in counts]
