"""Links of pieces from links of words."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.cleaning.align.links import Links, piece_links
from nmt_prep.cleaning.align.word_vocabulary import Words


def _spans(*lines: list[tuple[int, int]]) -> Words:
    flat = np.array([span for line in lines for span in line], np.int32).reshape(-1, 2)
    return Words(flat[:, 0], flat[:, 1], _offsets(lines))


def _links(*lines: list[tuple[int, int]]) -> Links:
    return Links(np.array([link for line in lines for link in line], np.int32).reshape(-1, 2), _offsets(lines), 0)


def _offsets(lines: Sequence[list[tuple[int, int]]]) -> npt.NDArray[np.int64]:
    return np.cumsum([0, *map(len, lines)]).astype(np.int64)


def _lists(links: Links) -> list[list[tuple[int, int]]]:
    pairs = [(first, second) for first, second in links.links.tolist()]
    return [pairs[first:last] for first, last in itertools.pairwise(links.offsets.tolist())]


def test_pieces_of_linked_words() -> None:
    """``the houses`` as the_ hous es_, ``die Häuser`` as die_ Häus er: the-die, houses-Häuser."""
    words = _spans([(0, 3), (3, 9)]), _spans([(0, 3), (3, 10)])
    pieces = _spans([(0, 3), (3, 7), (7, 9)]), _spans([(0, 3), (3, 8), (8, 10)])
    expected = [(0, 0), (1, 1), (1, 2), (2, 1), (2, 2)]
    assert _lists(piece_links(_links([(0, 0), (1, 1)]), words, pieces)) == [expected]
    # ``can't`` is one piece and two words; both words are linked to words of one piece.
    words = _spans([(0, 2), (2, 5)]), _spans([(0, 4), (4, 9)])
    pieces = _spans([(0, 5)]), _spans([(0, 9)])
    assert _lists(piece_links(_links([(0, 0), (1, 1)]), words, pieces)) == [[(0, 0)]]


def test_several_lines() -> None:
    words = _spans([(0, 1)], [], [(0, 1), (1, 2)]), _spans([(0, 2)], [(0, 1)], [(0, 1)])
    pieces = _spans([(0, 1)], [], [(0, 0), (0, 1), (1, 2)]), _spans([(0, 1), (1, 2)], [(0, 1)], [(0, 1)])
    links = _links([(0, 0)], [], [(1, 0)])
    assert _lists(piece_links(links, words, pieces)) == [[(0, 0), (0, 1)], [], [(2, 0)]]


def test_unequal_lines_and_a_link_without_a_word() -> None:
    with pytest.raises(ValueError, match="same lines"):
        piece_links(_links([]), (_spans([]), _spans([])), (_spans([]), _spans([], [])))
    spans = _spans([(0, 1)])
    for link in ((0, 1), (1, 0), (-1, 0)):
        with pytest.raises(ValueError, match="a link has no word"):
            piece_links(_links([link]), (spans, spans), (spans, spans))


@pytest.mark.parametrize(("size", "linked"), [(50, 2501), (60, 1), (8000, 1)])
def test_words_of_too_many_pieces_have_no_links(size: int, linked: int) -> None:
    """A pair may have 1,024 links and 16 per piece; the longer word exceeds this from 56 pieces on each side."""
    words = _spans([(0, 3), (4, 4 + size)], [(0, 1)])
    pieces = _spans([(0, 3), *((at, at + 1) for at in range(4, 4 + size))], [(0, 1)])
    found = piece_links(_links([(1, 1), (0, 0)], [(0, 0)]), (words, words), (pieces, pieces))
    assert [len(line) for line in _lists(found)] == [linked, 1]
    assert _lists(found)[0][0] == (0, 0)
    assert found.too_long == (linked == 1)


def test_links_of_many_words_are_bounded() -> None:
    spans = _spans([(at, at + 32) for at in range(0, 3200, 32)])
    pieces = _spans([(at, at + 1) for at in range(3200)])
    every = _links([(first, second) for first in range(100) for second in range(100)])
    found = piece_links(every, (spans, spans), (pieces, pieces))
    assert len(found.links) == 101 * 1024  # of 103,424 allowed; each pair of words has 1,024
    assert found.too_long == 1


_CUTS = st.lists(st.integers(1, 4), max_size=6)


@given(st.lists(st.tuples(_CUTS, _CUTS), max_size=4))
def test_overlap_by_bytes(lines: list[tuple[list[int], list[int]]]) -> None:
    """Cuts of one text into words and into pieces; the target is the source, and each word is linked to itself."""
    expected, words, pieces, links = [], [], [], []
    for word_sizes, piece_sizes in lines:
        total = min(sum(word_sizes), sum(piece_sizes))
        own = [span for span in _cut(word_sizes) if span[1] <= total]
        parts = [span for span in _cut(piece_sizes) if span[1] <= total]
        words.append(own)
        pieces.append(parts)
        links.append([(number, number) for number in range(len(own))])
        among = [{p for p, part in enumerate(parts) if max(part[0], w[0]) < min(part[1], w[1])} for w in own]
        expected.append(sorted({(a, b) for each in among for a in each for b in each}))
    spans = _spans(*words), _spans(*words)
    assert _lists(piece_links(_links(*links), spans, (_spans(*pieces), _spans(*pieces)))) == expected


def _cut(sizes: list[int]) -> list[tuple[int, int]]:
    ends = np.cumsum(sizes).tolist()
    return [(end - size, end) for size, end in zip(sizes, ends, strict=True)]
