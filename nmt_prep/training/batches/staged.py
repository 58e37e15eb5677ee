"""Epochs over text records with stages and modifiers: each epoch is a part of the stream through all stages."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from nmt_prep.base.columns import TextColumn, check_utf8
from nmt_prep.base.digests import check_regular
from nmt_prep.base.errors import ArgumentError, CorpusError, InvalidTextError, RecordsError
from nmt_prep.base.runtime import available_cores
from nmt_prep.base.sides import SIDES
from nmt_prep.config.problems import first_problem
from nmt_prep.config.training import TRAINING_FILE, TrainingSettings
from nmt_prep.text.blocks import spans
from nmt_prep.training.batches.epoch import EpochOrder, Window
from nmt_prep.training.batches.options import Options
from nmt_prep.training.batches.row_stream import WINDOW, TextStream
from nmt_prep.training.batches.vectors import Int64s
from nmt_prep.training.curriculum import BLOCK_ROWS
from nmt_prep.training.modifiers.block import Units, first_wrong
from nmt_prep.training.records.shard_reader import PairColumns
from nmt_prep.training.records.shuffle_plan import GlobalShuffle
from nmt_prep.training.records.text_records import LINKS, TextEncoder


def training_of(run_dir: Path, split: str, options: Options) -> tuple[TrainingSettings, Path]:
    """Returns the training settings with the options' subwords, and the directory that their paths are relative to."""
    if split != "train":
        for name, given in (("subwords", options.subwords), ("training", options.training)):
            if given and given != "config":
                raise ArgumentError(f"{name} is for split train, not for split {split}")
        return TrainingSettings(), run_dir
    training, base_dir = _settings_of(run_dir, options.training)
    if training.stages and (options.weights is not None or options.temperature is not None):
        name = "temperature" if options.weights is None else "weights"
        raise ArgumentError(f"the training stages mix the corpora, so {name} cannot; pass training=None with {name}")
    subwords = training.subwords if options.subwords == "config" else options.subwords or {}
    return training.model_copy(update={"subwords": subwords}), base_dir


def _settings_of(run_dir: Path, given: object) -> tuple[TrainingSettings, Path]:
    """Returns the training settings that a loader's argument ``training`` requests, and the directory of paths."""
    if isinstance(given, TrainingSettings) or given is None:
        return given or TrainingSettings(), Path.cwd()
    path = run_dir / TRAINING_FILE
    try:
        if given != "config":
            return TrainingSettings.model_validate_json(json.dumps(given)), Path.cwd()
        if not path.exists():
            return TrainingSettings(), run_dir
        data = json.loads(path.read_text("utf-8"))
        base_dir = run_dir / data.pop("base_dir")
        return TrainingSettings.model_validate_json(json.dumps(data)), base_dir
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        what = first_problem(error) if isinstance(error, ValidationError) else str(error)
        if given != "config":
            raise ArgumentError(f"training: {what}") from error
        raise RecordsError(f"{path}: {what}; run the config again") from error


@dataclass(frozen=True, kw_only=True)
class StagedOrder(EpochOrder):
    """The blocks in the stage plan that a process reads in an epoch.

    An epoch has as many rows as the split has pairs; the last epoch ends with the last stage. The processes take turns
    with blocks, or share each block if there are few. A run's number is the index of its block's first row.
    """

    stream: TextStream
    encoder: TextEncoder  # encodes the text of the stream
    corpora: tuple[str, ...]  # corpus names in the split

    @classmethod
    def of(cls, order: EpochOrder, stream: TextStream, encoder: TextEncoder, corpora: tuple[str, ...]) -> StagedOrder:
        """Replaces the order of the same epoch and process by an order with stages."""
        given = (order.index, order.seed, order.epoch, order.rank, order.world_size, order.window_pairs)
        return cls(*given, stream=stream, encoder=encoder, corpora=corpora)

    @cached_property
    def rows(self) -> range:
        curriculum = self.stream.curriculum
        size = sum(len(shard.pairs) for shard in self.index.shards)
        end = (self.epoch + 1) * size
        return range(self.epoch * size, end if curriculum.rows is None else min(end, curriculum.rows))

    @cached_property
    def blocks(self) -> Int64s:
        """The first row of each block in the epoch: int64, shape ``[blocks]``."""
        firsts, row = list[int](), self.rows.start
        while row < self.rows.stop:
            firsts.append(row)
            row = self.stream.curriculum.end_of_block(row)
        return np.array(firsts, np.int64)

    @property
    def _share_blocks(self) -> bool:
        """True if turns with blocks would leave processes with much less than others, or with nothing."""
        return len(self.blocks) < 8 * self.world_size

    def windows(self) -> Iterator[Window]:
        """Yields the process's windows in order. ``take`` is 0, since modifiers decide the pair count."""
        mine = self.blocks if self._share_blocks else self.blocks[self.rank :: self.world_size]
        together = max(self.window_pairs // BLOCK_ROWS, 1)
        for part in np.split(mine, np.arange(1, len(mine), together)) if len(mine) else ():
            yield Window(part, 0, 0)

    def read(self, firsts: Int64s, epoch: int) -> PairColumns:
        """Returns the IDs of the pairs in some blocks within an epoch."""
        order = replace(self, epoch=epoch)
        with ThreadPoolExecutor(available_cores()) as pool:
            parts = list(pool.map(order._pairs, firsts.tolist()))
        return PairColumns.joined(parts)

    def _pairs(self, row: int) -> PairColumns:
        block = self.stream.block(self.stream.curriculum.block_at(row))
        begin, end = block.since(self.rows.start), block.since(self.rows.stop)
        if self._share_blocks:
            all_pairs = end - begin
            end = begin + all_pairs * (self.rank + 1) // self.world_size
            begin += all_pairs * self.rank // self.world_size
        columns: dict[str, Any] = {side: block.column(side) for side in SIDES}
        columns["corpus"] = pc.index_in(block.column("corpus"), pa.array(self.corpora, pa.string()))
        text = pa.RecordBatch.from_pydict(columns).slice(begin, end - begin)
        pairs = self.encoder.pairs(text, block.plan.first + begin, 0, threads=1)
        weighted = "weight" in self.index.columns
        return replace(pairs, weights=block.column("weight").to_numpy()[begin:end]) if weighted else pairs


class FilePairs:
    """The pairs of TSV files, held in memory: source, target, and optional links.

    Args:
        fields: column count per line: longer lines are cut, shorter lines skipped; None for two columns and an optional
            third. Lines with an empty column are skipped.
    """

    def __init__(self, files: Sequence[Path], fields: int | None, seed: int) -> None:
        self._tables = [_read_tsv(path, fields) for path in files]
        self._seed = seed
        self.units: Units = "spaced"
        linked = all(table.num_columns > 2 for table in self._tables)
        self.columns: tuple[str, ...] = (LINKS,) if linked else ()
        if not linked:
            self._tables = [table.select(["source", "target"]) for table in self._tables]
        self.sizes = [len(table) for table in self._tables]

    def window(self, corpus: int, epoch: int, number: int) -> pa.RecordBatch:
        """Returns a window from a corpus's epoch; see :class:`Pairs`."""
        table = self._tables[corpus]
        places = np.arange(number * WINDOW, min((number + 1) * WINDOW, len(table)))
        shuffle = GlobalShuffle(len(table), self._seed, f"lines of file {corpus} in epoch {epoch}")
        return table.take(pa.array(shuffle.rows_at(places)))


def _read_tsv(path: Path, fields: int | None) -> pa.RecordBatch:
    try:
        check_regular(path)
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise CorpusError(f"{path}: cannot be read: {error}") from error
    data = np.frombuffer(content, np.uint8)
    ends, tabs = np.flatnonzero(data == ord("\n")), np.flatnonzero(data == ord("\t"))
    if not content.endswith(b"\n"):
        ends = np.append(ends, len(data))
    starts = np.concatenate([[0], ends[:-1] + 1])
    try:
        check_utf8(TextColumn(data, np.append(starts, len(data))), 1)
    except InvalidTextError as error:
        raise CorpusError(f"{path}: {error}") from error
    first, after = np.searchsorted(tabs, starts), np.searchsorted(tabs, ends)
    count = min(fields or max(2, int((after - first).max()) + 1), 3)
    cuts = np.append(tabs, [len(data)] * 3)
    ranks = first[:, np.newaxis] + np.arange(3)
    marks = np.where(ranks < after[:, np.newaxis], cuts[ranks], ends[:, np.newaxis])  # ends of the columns
    begins = np.minimum(np.column_stack([starts, marks[:, :2] + 1]), ends[:, np.newaxis])
    there = np.arange(3) <= (after - first)[:, np.newaxis]
    good = (after - first + 1 >= (fields or 2)) & np.all(~there | (begins < marks) | (np.arange(3) >= count), axis=1)
    if not good.any():
        raise CorpusError(f"{path}: no line has {count} columns with text")
    named = enumerate(("source", "target", LINKS)[:count])
    read = pa.RecordBatch.from_pydict({name: spans(data, begins[good, at], marks[good, at]) for at, name in named})
    if count > 2 and (wrong := first_wrong(read.column(LINKS))) is not None:
        raise CorpusError(
            f"{path}, line {np.flatnonzero(good)[wrong] + 1}: {str(read.column(LINKS)[wrong])!r} in the third column "
            "are no links of words such as 0-0 1-2; correct them, or remove the column with num_fields: 2"
        )
    return read
