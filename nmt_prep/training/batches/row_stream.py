"""The stream of pairs that the stage plan describes: as text, modified, from any row on.

Several threads make blocks of the plan independently. A corpus is read in windows of 65,536 pairs, in the order of an
epoch's runs; a window's pairs are mixed.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.base.errors import ConfigError
from nmt_prep.base.runtime import available_cores
from nmt_prep.config.training import TrainingSettings
from nmt_prep.training.batches.epoch import SplitIndex
from nmt_prep.training.batches.vectors import Int64s
from nmt_prep.training.curriculum import BLOCK_ROWS, MAX_ROWS, Curriculum, PlannedBlock, plan_stages
from nmt_prep.training.modifiers.block import Block, Units
from nmt_prep.training.records.dataset_json import DatasetInfo
from nmt_prep.training.records.shuffle_plan import GlobalShuffle
from nmt_prep.training.records.text_records import LINKS, read_text

WINDOW = 65_536  # Pairs of a window

_WINDOWS_KEPT = 8  # Windows in memory beyond two per corpus: threads may be a window apart
_FIRST_ROWS = 256  # Rows of the small block that a reader gets first
_TURNS = 4  # Minimum number of turns per reader in an epoch, where there are enough pairs


class Pairs(Protocol):
    """The pairs of a plan's corpora."""

    columns: tuple[str, ...]
    """Names of the columns other than ``source`` and ``target``."""

    units: Units
    """Unit of the numbers in links."""

    def window(self, corpus: int, epoch: int, number: int) -> pa.RecordBatch:
        """Returns window ``number`` of an epoch: up to 65,536 pairs from pair 65,536 * ``number`` on, in any order."""
        ...


class RecordPairs:
    """The pairs in records with layout ``text``; ``together`` treats all corpora as one corpus."""

    def __init__(self, index: SplitIndex, corpora: Sequence[str], seed: int, *, together: bool = False) -> None:
        self.units: Units = "words"
        self._index, self._seed, self._together = index, seed, together or len(corpora) == 1
        self._names = pa.array(list(corpora), pa.string())
        stored = [name for name in _columns_of(index) if name not in ("source", "target")]
        self._beside = [name for name in index.columns if name not in stored]  # not in the text: weights and the like
        self.columns = (*stored, *self._beside)

    @cached_property
    def _counts(self) -> Int64s:
        """Pair count per run for each corpus in the plan: int64, shape ``[runs, corpora]``."""
        runs, corpora = self._index.runs, len(self._names)
        if self._together:
            return runs.pairs[:, np.newaxis]
        rows = [np.bincount(self._corpora(run), minlength=corpora) for run in range(len(runs.pairs))]
        return np.array(rows, np.int64).reshape(-1, corpora)

    def _corpora(self, run: int) -> Int64s:
        return self._index.pairs_of(np.array([run]))[:, 2].astype(np.int64)

    def window(self, corpus: int, epoch: int, number: int) -> pa.RecordBatch:
        """Returns a window from a corpus's epoch; see :class:`Pairs`."""
        order, ends = self._order(corpus, epoch)
        begin, end = number * WINDOW, min((number + 1) * WINDOW, int(ends[-1]))
        first, last = np.searchsorted(ends, [begin, end - 1], side="right").tolist()
        parts = []
        for place in range(first, last + 1):
            before = int(ends[place] - self._counts[order[place], corpus])
            wanted = slice(max(begin - before, 0), end - before)
            parts.append(self._part(int(order[place]), corpus, wanted))
        return pa.Table.from_batches(parts).combine_chunks().to_batches()[0]

    def _order(self, corpus: int, epoch: int) -> tuple[Int64s, Int64s]:
        """Returns an epoch's runs in order, and how many pairs of the corpus come up to the end of each."""
        runs = np.flatnonzero(self._counts[:, corpus])
        shuffle = GlobalShuffle(len(runs), self._seed, f"runs of corpus {corpus} in epoch {epoch}")
        order = runs[shuffle.rows_at(np.arange(len(runs)))]
        return order, np.cumsum(self._counts[order, corpus])

    def _part(self, run: int, corpus: int, wanted: slice) -> pa.RecordBatch:
        text, pairs = self._index.text_of(run), int(self._index.runs.pairs[run])
        for name in self._beside:
            text = text.append_column(name, pa.array(self._index.column_of(name, np.array([run]))))
        names = self._names.take(text.column("corpus"))
        text = text.set_column(text.schema.get_field_index("corpus"), "corpus", names)
        if self._counts[run, corpus] == pairs:
            return text.slice(wanted.start, min(wanted.stop, pairs) - wanted.start)
        return text.take(pa.array(np.flatnonzero(self._corpora(run) == corpus)[wanted]))


def _columns_of(index: SplitIndex) -> list[str]:
    path = next((path for path, shard in zip(index.paths, index.shards, strict=True) if len(shard.pairs)), None)
    return [] if path is None else list(read_text(path, 0, 1).schema.names)


def stream_of_records(
    records_dir: Path,
    info: DatasetInfo,
    split: str,
    training: TrainingSettings,
    seed: int,
    base_dir: Path,
    key: str = "training",
) -> TextStream:
    """Returns a split's stream; without stages, each epoch has all pairs once."""
    sizes = {corpus.name: corpus.pairs for corpus in info.corpora[split]}
    several = [corpus for corpus in info.corpora[split] if corpus.language_pair]
    training = training.by_direction((corpus.name, corpus.language_pair) for corpus in several)
    names, together = list(sizes), not training.stages  # so that an epoch ends for all corpora at once
    if together:
        training, sizes = training.model_copy(update={"groups": {}}), {"all": sum(sizes.values())}
    pairs = RecordPairs(SplitIndex.load(records_dir, info, split), names, seed, together=together)
    return TextStream(plan_stages(training, sizes, seed, base_dir, key), pairs, seed)


@dataclass(frozen=True)
class StreamBlock:
    """The rows of a plan's block."""

    plan: PlannedBlock
    end: int  # the row after the block
    text: pa.RecordBatch  # the pairs before they were modified, with all columns
    pairs: Block  # the modified pairs

    def column(self, name: str) -> pa.Array:
        """Returns a column of the modified pairs, or the number of their ``row``.

        A pair that a modifier adds has the pair's value after it.
        """
        if name in ("source", "target", LINKS):
            return getattr(self.pairs, name)
        if name == "row":
            return pa.array(self.pairs.rows)
        return self.text.column(name).take(pa.array(self.pairs.rows - self.plan.first))

    def since(self, row: int) -> int:
        """Returns the number of modified pairs before a row."""
        return int(np.searchsorted(self.pairs.rows, row))


@dataclass(frozen=True)
class TextStream:
    """The rows of a stage plan as modified text."""

    curriculum: Curriculum  # the plan
    pairs: Pairs  # the pairs of its corpora, in the same order
    seed: int  # decides the order within windows
    _windows: OrderedDict[tuple[int, int, int], Future[pa.RecordBatch]] = field(default_factory=OrderedDict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        for stage in self.curriculum.stages:
            if stage.modifiers.needing_links is not None and LINKS not in self.pairs.columns:
                raise ConfigError(
                    f"training: the modifier {stage.modifiers.needing_links} of stage {stage.name} needs links, which "
                    "the pairs lack; add a section align and run again"
                )

    def blocks(self, row: int = 0, part: int = 0, parts: int = 1, threads: int | None = None) -> Iterator[StreamBlock]:
        """Yields a reader's blocks from the block of ``row`` on; the first rows of the first block come first."""
        count = threads or available_cores()
        pool, has_ended = ThreadPoolExecutor(count, "nmt_prep stream"), sys.is_finalizing
        waiting: deque[Future[StreamBlock]] = deque()
        begun = False
        try:
            # Blocks are made by the pool in any order and delivered in the plan's order. Two per thread are under way;
            # the first is awaited at once, since training starts with it.
            for block in self._planned(row, part, parts):
                waiting.append(pool.submit(self.block, block))
                if len(waiting) > 2 * count or not begun:
                    begun = True
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            if not has_ended():  # after the program's end, the pool lacks its modules
                pool.shutdown(wait=False, cancel_futures=True)  # the garbage collector may close this in its threads

    def _planned(self, row: int, part: int, parts: int) -> Iterator[PlannedBlock]:
        """Yields the blocks to make; the first rows of the first block come before it, to be ready soon."""
        # Readers take turns. In a large stream a turn is a block, and a reader makes only its own: it skips to its
        # first block, which depends on the turn of `row`, and then takes every `parts`-th. In a small stream a turn is
        # less than a block, so every reader makes all blocks, and `places` selects its rows.
        if self.turn(parts) < BLOCK_ROWS:  # each block has rows of all readers
            part, parts = 0, 1
        stage = self.curriculum.stage_at(row)
        skipped = (part - int(self._turns(np.array([row]), stage, BLOCK_ROWS)[0])) % parts
        for _ in range(skipped):
            row = self.curriculum.end_of_block(row)
        for number, block in enumerate(self.curriculum.blocks(row, parts)):
            few = row - block.first + _FIRST_ROWS
            if not number and few < len(block) and self.curriculum.stages[block.stage].modifiers.by_pair:
                yield block.head(few)
            yield block

    def turn(self, parts: int) -> int:
        """Returns how many rows a reader takes in turn: a block, or a smaller power of two in a small stream."""
        rows = min(sum(self.curriculum.sizes), self.curriculum.rows or MAX_ROWS)
        return min(1 << (max(rows // (_TURNS * parts), 1).bit_length() - 1), BLOCK_ROWS)

    def _turns(self, rows: Int64s, stage: int, turn: int) -> Int64s:
        """Returns each row's turn in a stage, counted through all stages."""
        stages = self.curriculum.stages
        before = sum(-(-(each.rows or 0) // turn) for each in stages[:stage])
        return np.add((rows - stages[stage].first) // turn, before, dtype=np.int64)

    def places(self, block: StreamBlock, row: int, end: int | None, part: int, parts: int) -> Int64s:
        """Returns the positions of a reader's pairs in a block, from ``row`` to before ``end``."""
        places: Int64s = np.arange(block.since(row), len(block.pairs) if end is None else block.since(end))
        if parts == 1:
            return places
        mine = self._turns(block.pairs.rows[places], block.plan.stage, self.turn(parts)) % parts == part
        return np.compress(mine, places)

    def block(self, planned: PlannedBlock) -> StreamBlock:
        text = self._text(planned)
        rows = np.arange(planned.first, planned.first + len(planned))
        source, target = (text.column(name).cast(pa.large_string()) for name in ("source", "target"))
        links = None
        if LINKS in self.pairs.columns:
            links = pc.fill_null(text.column(LINKS), "").cast(pa.large_string())
        modifiers = self.curriculum.stages[planned.stage].modifiers
        modified = modifiers(Block(source, target, links, planned.keys, rows, self.pairs.units))
        return StreamBlock(planned, planned.first + len(planned), text, modified)

    def _text(self, planned: PlannedBlock) -> pa.RecordBatch:
        """Reads a block's pairs, in its order."""
        # A planned pair is a rank in its corpus's epoch. A rank is a window and a position in it, and the shuffle of
        # the window maps the position to a pair, so no rank needs those before it. The block is grouped by window
        # (`order`) and then put back. Ranks of a corpus ascend within a block, so each group is one range of positions.
        windows, ranks = np.divmod(planned.pairs, WINDOW)
        groups = np.stack([planned.corpora, planned.epochs, windows], axis=1)
        order = np.lexsort(groups.T[::-1])
        starts = np.flatnonzero(np.any(np.diff(groups[order], axis=0, prepend=-1), axis=1))
        parts = []
        for places in np.split(order, starts[1:]):
            corpus, epoch, number = (int(value) for value in groups[places[0]])
            small = self.curriculum.sizes[corpus] <= WINDOW  # read once, and shuffled in each epoch
            window = self._window(corpus, 0 if small else epoch, number)
            shuffle = GlobalShuffle(len(window), self.seed, f"window {number} of corpus {corpus} in epoch {epoch}")
            first, last = ranks[places[0]], ranks[places[-1]]  # the block has all ranks between them
            parts.append(window.take(pa.array(shuffle.positions(int(first), int(last - first) + 1))))
        if len(parts) == 1:
            return (
                parts[0] if np.array_equal(order, np.arange(len(order))) else parts[0].take(pa.array(np.argsort(order)))
            )
        whole = pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
        return whole.take(pa.array(np.argsort(order)))

    def _window(self, *key: *tuple[int, int, int]) -> pa.RecordBatch:
        """Returns a window; the thread that asks first reads it."""
        # The future is entered under the lock but filled outside of it: others wait for this window alone. If the
        # window falls out of the cache before that, its readers still hold the future.
        with self._lock:
            held = self._windows.get(key)
            mine = held is None
            if held is None:
                held = self._windows[key] = Future()
                if len(self._windows) > _WINDOWS_KEPT + 2 * len(self.curriculum.corpora):
                    self._windows.popitem(last=False)
            self._windows.move_to_end(key)
        if mine:
            try:
                held.set_result(self.pairs.window(*key))
            except BaseException as error:  # noqa: BLE001  (raised again where the result is taken)
                held.set_exception(error)
        return held.result()
