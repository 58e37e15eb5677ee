"""Pairs from TSV files, such as the data sets of OpusTrainer, for a stream of lines."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from nmt_prep.base.columns import TextColumn, check_utf8
from nmt_prep.base.digests import check_regular
from nmt_prep.base.errors import CorpusError, InvalidTextError
from nmt_prep.corpora.blocks import spans
from nmt_prep.training.batches.row_stream import WINDOW
from nmt_prep.training.modifiers.block import Units, first_wrong
from nmt_prep.training.records.shuffle_plan import GlobalShuffle
from nmt_prep.training.records.text_records import LINKS


class FilePairs:
    """The pairs of TSV files, held in memory: source, target, and optional links.

    Args:
        files: the files, in the order of the corpora; ``.gz`` is decompressed.
        fields: number of columns of a line: longer lines are cut, shorter ones skipped; None for two columns and an
            optional third. Lines with an empty column are skipped.
        seed: decides the order of each epoch.
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
        """Returns a window of an epoch of a corpus; see :class:`Pairs`."""
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
            "are no links of words such as 0-0 1-2; correct them, or leave the column out with num_fields: 2"
        )
    return read
