"""Blocks of pairs, as modifiers get and return them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import link_lines, parse_links, word_spans

from nmt_prep.base.columns import TextColumn
from nmt_prep.training.modifiers.draws import Draws, Keys, mixed, uniform

Rows: TypeAlias = "npt.NDArray[np.int64]"
Units: TypeAlias = Literal["words", "spaced", "pieces"]

Spans: TypeAlias = "tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int64]]"
"""Begins and ends of words or pieces in bytes, and their offsets by line."""

NEXT_KEY = 1 << 40  # Number of the draw that becomes a row's key for the next modifier
ADDED_KEY = NEXT_KEY + 1  # Number of the draw that becomes the key of an added row

_ANY = 1 << 31


class Line(NamedTuple):
    """A pair, and its links such as ``0-0 1-2``; None without links."""

    source: str
    target: str
    links: str | None


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive pairs of a stream.

    Attributes:
        source: lines without line ends: ``large_string``.
        target: lines of the other side, likewise.
        links: links of each pair as word numbers from 0, such as ``0-0 1-2``: ``large_string``; None without links.
        keys: key of each pair's draws: uint64, shape ``[pairs]``.
        rows: number of each pair in the stream, ascending: int64, shape ``[pairs]``. An added pair has the index of the
            pair after it, and a merged pair the index of its first pair. Other columns are looked up by this number.
        units: unit of the numbers in links: ``words`` of `words_of`, words between
            white space (``spaced``), or ``pieces`` of the vocabularies.
    """

    source: pa.LargeStringArray
    target: pa.LargeStringArray
    links: pa.LargeStringArray | None
    keys: Keys
    rows: Rows
    units: Units = "words"

    def __len__(self) -> int:
        return len(self.rows)

    def for_next(self) -> Block:
        """Returns the block with keys for the next modifier."""
        return replace(self, keys=mixed(self.keys, NEXT_KEY))

    def drawn(self, probability: float) -> Rows:
        """Returns the indexes of the pairs whose first draw is below the probability."""
        return np.flatnonzero(uniform(self.keys, 0) < probability)

    def draws(self, place: int) -> Draws:
        """Returns a pair's draws, without the first draw, which :meth:`drawn` takes."""
        return Draws(int(self.keys[place]), 1)

    def lines(self, places: Rows) -> list[Line]:
        """Returns the pairs at the given indexes."""
        sides = [column.take(pa.array(places)).to_pylist() for column in (self.source, self.target)]
        links = [None] * len(places) if self.links is None else self.links.take(pa.array(places)).to_pylist()
        return [Line(*line) for line in zip(*sides, links, strict=True)]

    def word_counts(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Returns the word count of each source and target: int64, shape ``[pairs]``.

        Raises:
            ValueError: the links count pieces.
        """
        if self.units == "pieces":
            raise ValueError("the links count pieces; put the modifier before the one that makes pieces")
        spaced = self.units == "spaced"
        source, target = (np.diff(spans_of(side, spaced=spaced)[2]) for side in (self.source, self.target))
        return source, target

    def taken(self, places: Rows) -> Block:
        """Returns a block with the pairs at the given indexes, in the order of the indexes."""
        wanted = pa.array(places)
        links = None if self.links is None else self.links.take(wanted)
        return Block(
            self.source.take(wanted), self.target.take(wanted), links, self.keys[places], self.rows[places], self.units
        )

    def edited(self, places: Rows, lines: Sequence[Line]) -> Block:
        """Returns the block with new pairs at the given indexes, which ascend."""
        if not len(places):
            return self
        text = pa.large_string()
        sources, targets, links = (list(column) for column in zip(*lines, strict=True))
        linked = None if self.links is None else pa.array(links, text)
        return self.with_columns(places, pa.array(sources, text), pa.array(targets, text), linked)

    def with_columns(
        self,
        places: Rows,
        source: pa.LargeStringArray,
        target: pa.LargeStringArray,
        links: pa.LargeStringArray | None = None,
    ) -> Block:
        """Returns the block with new columns at the given indexes, which ascend; the links stay if none are given."""
        if not len(places):
            return self
        mask = np.zeros(len(self), np.bool_)
        mask[places] = True
        where = pa.array(mask)
        return replace(
            self,
            source=pc.replace_with_mask(self.source, where, source),
            target=pc.replace_with_mask(self.target, where, target),
            links=self.links if links is None else pc.replace_with_mask(self.links, where, links),
        )


def spans_of(lines: pa.LargeStringArray, *, spaced: bool) -> Spans:
    """Returns the word spans in lines: words between ASCII white space if ``spaced``, else the aligner's words."""
    column = TextColumn.from_arrow(lines)
    return word_spans(column.data, column.offsets, spaced)


def numbers_of(
    links: pa.LargeStringArray, words: Sequence[npt.NDArray[np.int64]] | None = None
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Returns the links of pairs as numbers, two per link: int32; and the offset of each pair's links, in links: int64.

    A pair gets no links if its text is malformed, or if a link names a word that does not exist.

    Args:
        words: word count of each source and target: int64, shape ``[pairs]``, or None for any count.
    """
    column = TextColumn.from_arrow(links)
    source, target = words or [np.full(len(links), _ANY)] * 2
    return parse_links(column.data, column.offsets, source, target)


def first_wrong(links: pa.LargeStringArray) -> int | None:
    """Returns the index of the first text that is not links such as ``0-0 1-2``; None if all texts are links."""
    unread = np.flatnonzero(np.diff(numbers_of(links)[1]) == 0)
    blank = pc.equal(pc.ascii_trim(links.take(pa.array(unread)), " "), "").to_numpy(zero_copy_only=False)
    return None if blank.all() else int(unread[blank.argmin()])


def lines_of(numbers: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64]) -> pa.LargeStringArray:
    """Returns links as text; the inverse of :func:`numbers_of`."""
    return TextColumn(*link_lines(np.ascontiguousarray(numbers), offsets, "", 1)).to_arrow()


class LineModifier:
    """Base class of modifiers that change single pairs.

    Args:
        probability: share of the pairs to change.

    Raises:
        ValueError: an option is out of range.
    """

    scripts: ClassVar[str] = "all"
    """The scripts that the modifier changes; text in other scripts stays."""

    needs_links: ClassVar[bool] = False

    by_pair: ClassVar[bool] = True
    """True if each pair is changed independently of the other pairs."""

    def __init__(self, probability: float) -> None:
        check_share(probability=probability)
        self.probability = probability

    def __call__(self, block: Block) -> Block:
        """Returns the modified block."""
        places = block.drawn(self.probability)
        draws = Draws.of_rows(block.keys[places], 1)
        edits = [self.edit(line, drawn, block.units) for drawn, line in zip(draws, block.lines(places), strict=True)]
        return block.edited(places, edits)

    def edit(self, line: Line, draws: Draws, units: Units) -> Line:
        """Returns the modified pair; the same one if the modifier cannot work on it."""
        raise NotImplementedError


def check_share(**shares: object) -> None:
    """Checks that each keyword argument is a number from 0 to 1."""
    for name, share in shares.items():
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise ValueError(f"{name} is {share!r}; it must be a number from 0 to 1")


def check_text(**texts: object) -> None:
    """Checks that each keyword argument is text without tabs and line ends."""
    for name, text in texts.items():
        if not isinstance(text, str) or "\t" in text or "\n" in text:
            raise ValueError(f"{name} is {text!r}; it must be text without tabs and line ends")


def check_range(**bounds: object) -> None:
    """Checks that two keyword arguments are whole numbers, the first at least 1 and the second at least the first."""
    (low_name, low), (high_name, high) = bounds.items()
    if type(low) is not int or type(high) is not int or not 1 <= low <= high:
        raise ValueError(
            f"{low_name} is {low!r} and {high_name} is {high!r}; they must be whole numbers of "
            f"at least 1, and {high_name} not below {low_name}"
        )
