"""Links between the words of pairs, and between the pieces of subword vocabularies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import _nmt_prep_core as core
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.align.vocabulary import Words
from nmt_prep.columns import Ragged, TextColumn

if TYPE_CHECKING:
    from nmt_prep.subwords import Tokenizer

Symmetrization: TypeAlias = Literal[
    "intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and", "forward", "backward"
]
"""A method of joining the links of both directions, from Koehn et al. (2003), as in Moses. ``forward`` and ``backward``
are the links of one direction alone: of the target words, and of the source words."""

SYMMETRIZATIONS: tuple[Symmetrization, ...] = get_args(Symmetrization)


@dataclass(frozen=True, slots=True)
class Links:
    """Links of pairs: the links of pair i are ``links[offsets[i]:offsets[i + 1]]``.

    Attributes:
        links: numbers of a source word and of a target word, from 0, ordered by source word, then target word: int32,
            shape ``[links, 2]``.
        offsets: int64, shape ``[pairs + 1]``.
        too_long: number of pairs without links because of their length.
    """

    links: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    too_long: int

    def __len__(self) -> int:
        return len(self.offsets) - 1


def pharaoh(links: Links) -> pa.Array:
    """Returns the links of each pair as a line such as ``0-0 1-2``, empty without links: a ``large_string`` array."""
    data, offsets = core.link_lines(links.links.reshape(-1), links.offsets, "", 1)
    return pa.LargeStringArray.from_buffers(len(links), pa.py_buffer(offsets), pa.py_buffer(data))


def pharaoh_text(links: Links, threads: int = 1) -> memoryview:
    """Returns the lines of :func:`pharaoh` as the content of a file."""
    return core.link_lines(links.links.reshape(-1), links.offsets, "\n", threads)[0].data


def pieces_of(lines: TextColumn, rows: Ragged, tokenizer: Tokenizer) -> tuple[Words, npt.NDArray[np.bool_]]:
    """Returns the places of the pieces of lines, and True for lines whose places are known: bool, shape ``[lines]``.

    Args:
        lines: the lines.
        rows: ids of the lines.
        tokenizer: the tokenizer that gave the ids.
    """
    spans = tokenizer.piece_spans(lines, rows)
    return Words(spans.begins, spans.ends, rows.offsets), spans.known


def piece_links(links: Links, words: tuple[Words, Words], pieces: tuple[Words, Words]) -> Links:
    """Returns the links of pieces, sorted by source, then target.

    A piece and a word overlap if they have a byte in common. Two pieces are linked if they overlap with linked words.

    Args:
        links: links of the words.
        words: the words of the source and the target lines.
        pieces: the pieces of the source and the target lines, with positions of the same kind.

    Raises:
        ValueError: the arguments have different numbers of lines, or a link has no word.
    """
    spans = [(places.begins, places.ends, places.offsets) for places in (*words, *pieces)]
    numbers = np.ascontiguousarray(links.links, np.int32).reshape(-1)
    linked, offsets = core.piece_links(numbers, links.offsets, *spans)
    return Links(linked.reshape(-1, 2), offsets, links.too_long)
