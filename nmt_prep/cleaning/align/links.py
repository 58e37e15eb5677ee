"""Links between the words in pairs, and between subword vocabulary pieces; lexical shortlists.

A shortlist has for each piece the linked pieces of the other language, with their shares. The program extract-lex
writes the same files, which Marian and Bergamot read: lines ``target source p(target | source)`` in ``lex.s2t``, and
lines ``source target p(source | target)`` in ``lex.t2s``. Pieces without a link count as linked to ``NULL``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import _nmt_prep_core as core
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.artefacts import atomic_write, writing
from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.cleaning.align.word_vocabulary import Words

if TYPE_CHECKING:
    from nmt_prep.subwords import Tokenizer

Symmetrization: TypeAlias = Literal[
    "intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and", "forward", "backward"
]
"""How to join the links of both directions, from Koehn et al. (2003), as in Moses. ``forward`` and ``backward`` are the
links in one direction alone: for the target words, and for the source words."""

SYMMETRIZATIONS: tuple[Symmetrization, ...] = get_args(Symmetrization)


@dataclass(frozen=True, slots=True)
class Links:
    """Links in pairs: pair i has the links ``links[offsets[i]:offsets[i + 1]]``."""

    # numbers of a source word and of a target word, from 0, ordered by source word, then target word: int32, shape
    # `[links, 2]`
    links: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]  # int64, shape `[pairs + 1]`
    too_long: int  # number of pairs that lack all or some links because of their length

    def __len__(self) -> int:
        return len(self.offsets) - 1


def pharaoh(links: Links) -> pa.Array:
    """Returns each pair's links as a line such as ``0-0 1-2``, empty without links: a ``large_string`` array."""
    return TextColumn(*core.link_lines(links.links.reshape(-1), links.offsets, "", 1)).to_arrow()


def pharaoh_text(links: Links, threads: int = 1) -> memoryview:
    """Returns the lines from :func:`pharaoh` as file content."""
    return core.link_lines(links.links.reshape(-1), links.offsets, "\n", threads)[0].data


def pieces_of(lines: TextColumn, rows: Ragged, tokenizer: Tokenizer) -> tuple[Words, npt.NDArray[np.bool_]]:
    """Returns piece positions in lines, and whether each line's positions are known: bool, shape ``[lines]``."""
    spans = tokenizer.piece_spans(lines, rows)
    return Words(spans.begins, spans.ends, rows.offsets), spans.known


def piece_links(links: Links, words: tuple[Words, Words], pieces: tuple[Words, Words]) -> Links:
    """Returns the piece links, sorted by source, then target.

    A piece and a word overlap if they have a byte in common. Two pieces are linked if they overlap with linked words.
    A pair has at most 1,024 links, and 16 more per piece on both sides; in a pair with more, the words with the most
    links have none.
    """
    spans = [(places.begins, places.ends, places.offsets) for places in (*words, *pieces)]
    numbers = np.ascontiguousarray(links.links, np.int32).reshape(-1)
    linked, offsets, cut = core.piece_links(numbers, links.offsets, *spans)
    return Links(linked.reshape(-1, 2), offsets, links.too_long + cut)


NULL = "NULL"  # Stands for the other side of a piece without a link

_PENDING = 1 << 22

Numbers: TypeAlias = "npt.NDArray[np.int64]"


class LexicalCounts:
    """Counts the links between pieces, which are numbered from 1; 0 is ``NULL``."""

    def __init__(self, source_pieces: int, target_pieces: int) -> None:
        self._sources, self._targets = source_pieces + 1, target_pieces + 1
        self._keys = self._counts = np.zeros(0, np.int64)
        self._pending: list[Numbers] = []
        self._size = 0

    def add(self, links: Links, source: Ragged, target: Ragged) -> None:
        """Adds pairs, given the links between their pieces and the IDs on both sides."""
        pair = np.repeat(np.arange(len(links)), np.diff(links.offsets))
        pieces, alone = [], []
        for side, rows in enumerate((source, target)):
            place, numbers = rows.offsets[pair] + links.links[:, side], rows.values.astype(np.int64) + 1
            linked = np.zeros(len(numbers), np.bool_)
            linked[place] = True
            pieces.append(numbers[place])
            alone.append(numbers[~linked])
        keys = np.concatenate([pieces[0] * self._targets + pieces[1], alone[0] * self._targets, alone[1]])
        self._pending.append(keys)
        self._size += len(keys)
        if self._size > _PENDING:
            self._settle()

    def rows(self, *, backward: bool = False, best: int | None = None) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """For each pair of linked pieces, returns given piece, other piece, count, and count of the given piece.

        The order is by given piece, then by descending count, then by other piece.

        Args:
            backward: true if the target piece is given.
            best: maximum number of other pieces for a given piece; None for all.
        """
        self._settle()
        sources, targets = self._keys // self._targets, self._keys % self._targets
        given, other = (targets, sources) if backward else (sources, targets)
        totals = np.bincount(given, self._counts, self._targets if backward else self._sources).astype(np.int64)
        order = np.lexsort((other, -self._counts, given))
        given, other, counts = given[order], other[order], self._counts[order]
        if best is not None:
            first = np.searchsorted(given, given)
            kept = np.arange(len(given)) - first < best
            given, other, counts = given[kept], other[kept], counts[kept]
        return given, other, counts, totals[given]

    def _settle(self) -> None:
        new, counts = np.unique(np.concatenate([np.zeros(0, np.int64), *self._pending]), return_counts=True)
        self._keys, place = np.unique(np.concatenate([self._keys, new]), return_inverse=True)
        sums = np.bincount(place, np.concatenate([self._counts, counts]), len(self._keys))
        self._counts = sums.astype(np.int64)
        self._pending, self._size = [], 0


def write_shortlist(
    counts: LexicalCounts,
    path: Path,
    pieces: tuple[Sequence[str], Sequence[str]],
    *,
    backward: bool = False,
    best: int | None = None,
) -> int:
    """Writes ``lex.s2t``, or with ``backward`` ``lex.t2s``, see :meth:`LexicalCounts.rows`; returns the line count."""
    given, other = ((NULL, *texts) for texts in (reversed(pieces) if backward else pieces))
    rows = counts.rows(backward=backward, best=best)
    with atomic_write(path) as beside, writing(path), beside.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_lines(given, other, rows))
    return len(rows[0])


def _lines(given: Sequence[str], other: Sequence[str], rows: tuple[Numbers, ...]) -> Iterator[str]:
    for piece, linked, count, total in zip(*(column.tolist() for column in rows), strict=True):
        yield f"{other[linked]} {given[piece]} {count / total:.7f}\n"
