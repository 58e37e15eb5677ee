"""The native kernels of alignment against their twins in tests/reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from _nmt_prep_core import (
    ALIGN_JUMPS,
    ALIGN_ONE,
    LexicalTable,
    LinkEvidence,
    NativeAligner,
    NumberedPairs,
    count_cells,
    symmetrize_links,
)
from hypothesis import assume, given
from hypothesis import strategies as st

from nmt_prep.base.columns import TextColumn
from nmt_prep.cleaning.align.links import SYMMETRIZATIONS
from nmt_prep.cleaning.align.word_vocabulary import words_of
from tests.reference import align as reference

WORDS = 6
OPTIONS = {"pseudo": 2.0, "mix": 1e-3, "floor": -3.0}
SENTENCE = st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=14)
PAIRS = st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=4)
COUNTS = st.dictionaries(
    st.tuples(st.integers(1, WORDS - 1), st.integers(1, WORDS - 1)), st.integers(1, 5 * ALIGN_ONE), max_size=20
)
SHARES = [0.02, 0.4, 0.3, 0.18, 0.06, 0.04]


def numbered(pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> NumberedPairs:
    arrays = []
    for side in zip(*pairs, strict=True):
        arrays.append(np.array([word for words in side for word in words], np.int32))
        arrays.append(np.cumsum([0, *map(len, side)]).astype(np.int64))
    return NumberedPairs(*arrays)


class Both:
    """The same model, native and as a twin."""

    def __init__(self, counts: dict[tuple[int, int], int], jumps: Sequence[float], steepness: float) -> None:
        ordered = sorted(counts)
        offsets = np.searchsorted([s for s, _ in ordered], np.arange(WORDS + 1)).astype(np.int64)
        targets = np.array([t for _, t in ordered], np.int32)
        values = np.array([counts[cell] for cell in ordered], np.int64)
        self.cells = ordered
        self.table = LexicalTable(offsets, targets, values, WORDS)
        self.counts = self.table.placed(offsets, targets, values)
        shares = np.array(SHARES, np.float32)
        weights = np.array(jumps, np.float32)
        self.aligner = NativeAligner(self.table, shares, shares, weights, weights[::-1].copy(), 0.3, 0.03, steepness)
        forward, backward = reference.probabilities(counts)
        jumped = (weights.astype(np.float64), weights[::-1].astype(np.float64))
        self.twin = reference.Model(forward, backward, *[shares.tolist()] * 2, *jumped, 0.3, 0.03, steepness)

    def by_cell(self, slots: Any) -> dict[tuple[int, int], int]:
        offsets, targets, counts = self.table.rows_of(slots, 0)
        rows = np.repeat(np.arange(WORDS), np.diff(offsets))
        return dict(zip(zip(rows.tolist(), targets.tolist(), strict=True), counts.tolist(), strict=True))


MODELS = st.builds(
    Both,
    COUNTS,
    st.lists(st.floats(0.01, 1.0), min_size=ALIGN_JUMPS + 1, max_size=ALIGN_JUMPS + 1),
    st.floats(0.0, 6.0),
)


@given(st.text(st.sampled_from("aB1.,-!_ é\u0301字ァカーぁไทยาเก็ส្ខ\u17d2\u200b\u00a0ーｶ½①"), max_size=12))
def test_words_are_those_of_the_twin(line: str) -> None:
    words = words_of(TextColumn.from_strings([line]))
    text = line.encode()
    found = [text[begin:end].decode() for begin, end in zip(words.begins, words.ends, strict=True)]
    assert found == reference.words(line)


@given(PAIRS, st.floats(0, 6))
def test_cells_are_those_of_the_twin(pairs: list[tuple[list[int], list[int]]], steepness: float) -> None:
    offsets, targets, counts = count_cells(numbered(pairs), 0, True, WORDS, WORDS, steepness, 2)
    rows = np.repeat(np.arange(WORDS), np.diff(offsets))
    found = dict(zip(zip(rows.tolist(), targets.tolist(), strict=True), counts.tolist(), strict=True))
    expected = reference.cells(pairs, steepness, ALIGN_ONE)
    assert found == pytest.approx(expected, abs=64)  # single precision
    assert list(found) == sorted(expected)


@given(MODELS, PAIRS)
def test_links_near_the_diagonal_are_those_of_the_twin(both: Both, pairs: list[tuple[list[int], list[int]]]) -> None:
    counts = np.zeros_like(both.counts)
    both.aligner.expect(numbered(pairs), False, counts, 2)
    links = [(s, t, reference.agreed(*reference.by_diagonal(both.twin, s, t))) for s, t in pairs]
    assume(all(_is_clear(each) for each in links))
    expected = reference.expected(links, both.cells)
    found = both.by_cell(counts)
    assert {cell: count / ALIGN_ONE for cell, count in found.items()} == pytest.approx(expected, abs=1e-4)


@given(MODELS, PAIRS)
def test_links_by_jumps_are_those_of_the_twin(both: Both, pairs: list[tuple[list[int], list[int]]]) -> None:
    counts = np.zeros_like(both.counts)
    forward, backward = both.aligner.expect(numbered(pairs), True, counts, 1)
    results = [reference.by_jumps(both.twin, s, t) for s, t in pairs]
    links = [(s, t, reference.agreed(*result[:2])) for (s, t), result in zip(pairs, results, strict=True)]
    assume(all(_is_clear(each) for each in links))
    found = both.by_cell(counts)
    expected = reference.expected(links, both.cells)
    assert {cell: count / ALIGN_ONE for cell, count in found.items()} == pytest.approx(expected, abs=1e-3)
    assert forward / ALIGN_ONE == pytest.approx(sum(result[4] for result in results), abs=1e-3)
    assert backward / ALIGN_ONE == pytest.approx(sum(result[5] for result in results), abs=1e-3)


LONG = st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=40)


@given(MODELS, st.lists(st.tuples(LONG, LONG), min_size=2, max_size=20))
def test_pairs_do_not_depend_on_those_beside_them(both: Both, pairs: list[tuple[list[int], list[int]]]) -> None:
    """Several pairs are computed at once."""
    counts = [np.zeros_like(both.counts), np.zeros_like(both.counts)]
    together = both.aligner.expect(numbered(pairs), True, counts[0], 1)
    alone = [both.aligner.expect(numbered([pair]), True, counts[1], 1) for pair in pairs]
    assert counts[0].tolist() == counts[1].tolist()
    for direction, jumps in enumerate(together):
        assert jumps.tolist() == sum(each[direction] for each in alone).tolist()
    links, offsets, _ = both.aligner.link(numbered(pairs), 0, 2)
    for number, pair in enumerate(pairs):
        expected = both.aligner.link(numbered([pair]), 0, 1)[0]
        assert links.reshape(-1, 2)[offsets[number] : offsets[number + 1]].ravel().tolist() == expected.tolist()


@pytest.mark.parametrize("words", [256, 257, 724])
def test_long_pairs_are_linked(words: int) -> None:
    """Pairs of sentences with more than 65,536 pairs of words are computed one at a time."""
    numbers = np.arange(words + 1)
    table = LexicalTable(np.append(0, numbers), numbers[1:].astype(np.int32), numbers[1:], words + 1)
    shares, jumps = np.full(words + 1, 1 / words, np.float32), np.ones(ALIGN_JUMPS + 1, np.float32)
    aligner = NativeAligner(table, shares, shares, jumps, jumps, 0.3, 0.03, 2.0)
    source = list(range(1, words + 1))
    target = source[1::2] + source[::2]
    links, offsets, too_long = aligner.link(numbered([(source, target), ([1], [1]), (source[:9], target[:9])]), 0, 1)
    assert too_long == 0
    assert sorted(links.reshape(-1, 2)[: offsets[1]].tolist()) == sorted(
        [word - 1, at] for at, word in enumerate(target)
    )
    assert links.reshape(-1, 2)[offsets[1] : offsets[2]].tolist() == [[0, 0]]


def _is_clear(links: tuple[list[int], list[int], Any]) -> bool:
    """Returns True if no probability is so near the least one counted that rounding may decide."""
    return not np.any(np.abs(links[2] - reference.LEAST_COUNTED) < 1e-4)


@given(MODELS, PAIRS, st.sampled_from(SYMMETRIZATIONS))
def test_links_are_those_of_the_twin(both: Both, pairs: list[tuple[list[int], list[int]]], how: str) -> None:
    links, offsets, too_long = both.aligner.link(numbered(pairs), SYMMETRIZATIONS.index(how), 2)
    assert too_long == 0
    for number, (source, target) in enumerate(pairs):
        forward, backward, no_source, no_target, *_ = reference.by_jumps(both.twin, source, target)
        assume(_decided(forward.T, no_source) and _decided(backward, no_target))
        expected = reference.symmetrized(
            {(i, j) for j, i in reference.best(forward.T, no_source)}, reference.best(backward, no_target), how
        )
        found = links.reshape(-1, 2)[offsets[number] : offsets[number + 1]].tolist()
        assert found == sorted(map(list, expected))


def _decided(posterior: Any, none: Any) -> bool:
    """Returns True if the best choice of each step is clearly better than the second one."""
    choices = np.sort(np.column_stack([posterior, none]), axis=1)
    return bool((choices[:, -1] - choices[:, -2] > 1e-4).all()) and bool(
        np.all([len(row) < 2 or abs(np.sort(row)[-1] - np.sort(row)[-2]) > 1e-4 for row in posterior])
    )


@given(MODELS, PAIRS, st.integers(0, 3))
def test_scores_are_those_of_the_twin(both: Both, pairs: list[tuple[list[int], list[int]]], own: int) -> None:
    evidence = LinkEvidence(both.table, both.counts)
    copies = np.full(len(pairs), own, np.int64)
    found = both.aligner.score(numbered(pairs), evidence, copies, *OPTIONS.values(), 2)
    counts = {cell: count / ALIGN_ONE for cell, count in both.by_cell(both.counts).items()}
    for number, (source, target) in enumerate(pairs):
        assume(_is_clear((source, target, np.prod(reference.by_diagonal(both.twin, source, target), axis=0))))
        expected = reference.score(both.twin, counts, source, target, own, OPTIONS)
        assert found[number] == pytest.approx(expected, abs=2e-3)


def test_cells_of_rows_of_all_sizes_are_found() -> None:
    words = 1000
    cells = [*((1, target) for target in range(1, words, 3)), (2, 7), *((4, target) for target in range(1, words))]
    offsets = np.searchsorted([source for source, _ in cells], np.arange(words + 1)).astype(np.int64)
    targets = np.array([target for _, target in cells], np.int32)
    values = np.full(len(cells), ALIGN_ONE, np.int64)
    table = LexicalTable(offsets, targets, values, words)
    shares, jumps = np.full(words, 1 / words, np.float32), np.ones(ALIGN_JUMPS + 1, np.float32)
    aligner = NativeAligner(table, shares, shares, jumps, jumps, 0.3, 0.03, 2.0)
    pairs = [(source, target) for source in range(1, 5) for target in range(1, words)]
    evidence = LinkEvidence(table, table.placed(offsets, targets, values))
    lines = numbered([([source], [target]) for source, target in pairs])
    scores = aligner.score(lines, evidence, np.zeros(len(pairs), np.int64), 1e-3, 1e-3, -3.0, 1)
    assert [pair for pair, score in zip(pairs, scores, strict=True) if score > 1] == cells


GRIDS = st.integers(1, 6).flatmap(
    lambda rows: st.integers(1, 6).flatmap(
        lambda columns: st.tuples(*[st.lists(st.booleans(), min_size=rows * columns, max_size=rows * columns)] * 2).map(
            lambda flags: tuple(np.array(each, np.uint8).reshape(rows, columns) for each in flags)
        )
    )
)


@given(GRIDS, st.sampled_from(SYMMETRIZATIONS))
def test_symmetrization_is_that_of_the_twin(grids: tuple[Any, Any], how: str) -> None:
    found = symmetrize_links(*grids, SYMMETRIZATIONS.index(how)).reshape(grids[0].shape)
    forward, backward = ({(int(i), int(j)) for i, j in np.argwhere(grid)} for grid in grids)
    assert {(int(i), int(j)) for i, j in np.argwhere(found)} == reference.symmetrized(forward, backward, how)
