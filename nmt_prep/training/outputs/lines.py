"""Pairs as lines of text files: the text itself, or pieces separated by spaces."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import PieceTable, piece_lines

from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.base.sides import SIDES
from nmt_prep.config import Config
from nmt_prep.pipeline.engines import Tick
from nmt_prep.subwords import Tokenizer
from nmt_prep.subwords.piece_text import PieceText
from nmt_prep.training.outputs.output import RunFacts, ShardTask
from nmt_prep.training.outputs.output_pairs import TextBatch, TextPairs


def line_batches(task: ShardTask[Any], tick: Tick) -> Iterator[TextBatch]:
    """Yields the pairs of a task as lines: lines of text, or for ids lines of pieces without eos.

    Ticks are pairs that were read.
    """
    if isinstance(task.pairs, TextPairs):
        yield from task.text_batches(tick)
        return
    source, target = task_pieces(task)
    for batch in task.id_batches(tick):
        lines = source.lines(batch.sources), target.lines(batch.targets)
        yield TextBatch(*lines, batch.corpora, weights=batch.weights)


def link_problems(config: Config) -> Iterator[tuple[str, str]]:
    """Yields an output key and the reason for each setting that leaves the training split without piece links."""
    if config.align is None:
        yield "alignments", "the run has no links of words; add a section align"
    elif config.align.splits is not None and "train" not in config.align.splits:
        yield "alignments", "align.splits leaves out train; add it there"


def unlinked(batch: TextBatch) -> int:
    """Returns the number of pairs without a link; 0 for a batch without links."""
    return 0 if batch.links is None else pc.sum(pc.equal(pc.binary_length(batch.links), 0)).as_py() or 0


def weight_lines(weights: npt.NDArray[np.float32]) -> pa.Array:
    """Returns weights as their shortest decimal numbers, a ``large_string`` array."""
    return pa.array(weights, pa.float32()).cast(pa.large_string())


class Pieces:
    """Converts rows of ids to lines of pieces, natively."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Takes a tokenizer."""
        self._text = PieceText(tokenizer)
        pieces = TextColumn.from_strings(self._text.words())
        self._table = PieceTable(pieces.data, pieces.offsets)
        self._eos = -1 if tokenizer.eos_id is None else tokenizer.eos_id

    def lines(self, rows: Ragged) -> pa.Array:
        """Returns one line per row, without eos at its end, as a ``large_string`` array."""
        self._text.check(rows.values)
        return TextColumn(*self._table.lines(rows.values, rows.offsets, self._eos)).to_arrow()

    def column(self, rows: Ragged) -> PieceColumn:
        """Returns rows for :func:`piece_rows`."""
        self._text.check(rows.values)
        return self._table, rows.values, rows.offsets, self._eos


PieceColumn: TypeAlias = "tuple[PieceTable, npt.NDArray[np.int32], npt.NDArray[np.int64], int]"
"""A table of pieces, the values and offsets of rows of ids, and the id of eos."""


def piece_rows(*columns: PieceColumn) -> memoryview:
    r"""Returns lines of pieces as file content, each followed by ``\n``, with tabs between columns."""
    return piece_lines(columns).data


def task_pieces(task: ShardTask[Any]) -> tuple[Pieces, Pieces]:
    """Returns the pieces of both sides of a task."""
    source, target = (pieces_of(task.run.vocabularies[side].load()) for side in SIDES)
    return source, target


@functools.lru_cache(maxsize=2)
def pieces_of(tokenizer: Tokenizer) -> Pieces:
    """Returns the pieces of a tokenizer; each process converts them only once."""
    return Pieces(tokenizer)


def corpus_lines(run: RunFacts, split: str, corpora: npt.NDArray[np.int32]) -> pa.Array:
    """Returns the name of each pair's corpus, as a ``large_string`` array."""
    names = pa.array(list(run.corpora[split]), pa.large_string())
    return pc.take(names, pa.array(corpora))
