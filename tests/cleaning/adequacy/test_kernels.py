"""The native features and trees against their twins in tests/reference/adequacy.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from _nmt_prep_core import (
    ADEQUACY_FEATURES,
    ALIGN_ONE,
    LinkEvidence,
    Trees,
    WordNumbers,
    adequacy_features,
    count_adequacy_words,
    train_trees,
)
from hypothesis import assume, given
from hypothesis import strategies as st

from nmt_prep.base.columns import TextColumn
from nmt_prep.cleaning.adequacy.classifier import FEATURES
from nmt_prep.cleaning.align.word_vocabulary import words_of
from tests.cleaning.align.test_kernels import MODELS, OPTIONS, SHARES, WORDS, Both, numbered
from tests.reference import adequacy as reference
from tests.reference import align

LINE = st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=6)
PAIR = st.tuples(LINE, LINE)
KINDS = st.tuples(st.integers(0, 9), st.integers(1, 12), st.integers(0, 3))
RATIOS = (1.1, 0.9)


def packed(marks: Sequence[tuple[int, int, int]]) -> Any:
    return np.array([kind | characters << 4 | digits << 12 for kind, characters, digits in marks], np.uint32)


@given(st.text(st.sampled_from("aé字١٢3४.。?！,；:'«»()[]-_%$ \u0301٪"), min_size=1, max_size=12))
def test_marks_are_those_of_the_twin(line: str) -> None:
    column = TextColumn.from_strings([line])
    words = words_of(column)
    numbers, offsets, marks = WordNumbers(np.empty(0, np.uint64)).encode_marked(
        column.data, column.offsets, False, 4, 1
    )
    texts = [line.encode()[a:b].decode() for a, b in zip(words.begins, words.ends, strict=True)]
    assert offsets.tolist() == [0, len(texts)] == [0, len(numbers)]
    assert (marks & 15).tolist() == [reference.kind_of(text) for text in texts]
    assert (marks >> 4 & 255).tolist() == [len(text) for text in texts]


def test_numbers_of_all_scripts_have_the_same_digits() -> None:
    column = TextColumn.from_strings(["1,234 1234 ١٢٣٤ ۱۲۳۴ १२३४ １２３４ 4321"])
    *_, marks = WordNumbers(np.empty(0, np.uint64)).encode_marked(column.data, column.offsets, False, 4, 1)
    assert len(set((marks >> 12)[:6].tolist())) == 1
    assert marks[6] >> 12 != marks[0] >> 12


def is_decided(both: Both, counts: Any, pair: Any, origins: Any) -> bool:
    """Returns True if no choice of links is so close that rounding may decide."""
    for s, t, _ in origins:
        if np.any(np.abs(np.prod(align.by_diagonal(both.twin, s, t), axis=0) - align.LEAST_COUNTED) < 1e-4):
            return False
    first, second, forward, backward = align.support(both.twin, counts, *pair, origins, OPTIONS)
    values = np.concatenate([first, second])
    rows = [*backward, *forward.T]
    close = any(len(row) > 1 and np.sort(row)[-1] > 0 and np.ptp(np.sort(row)[-2:]) < 1e-3 for row in rows)
    near_zero = any(0 < cell < 1e-3 for row in rows for cell in row)
    return not close and not near_zero and not np.any(np.abs(values - 0.7) < 1e-2)


@given(
    MODELS,
    st.lists(PAIR, min_size=1, max_size=2),
    PAIR,
    st.lists(st.integers(-1, 2), min_size=2, max_size=2),
    st.data(),
)
def test_features_are_those_of_the_twin(
    both: Both, sample: list[Any], pair: Any, places: list[int], data: st.DataObject
) -> None:
    places = [min(place, len(sample) - 1) for place in places]
    used = {place for place in places if place >= 0}
    copies = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(sample), max_size=len(sample))))
    marks = [data.draw(st.lists(KINDS, min_size=len(side), max_size=len(side))) for side in pair]
    counts = {cell: count / ALIGN_ONE for cell, count in both.by_cell(both.counts).items()}
    judge = reference.judge(both.twin, counts, OPTIONS)
    usual = [reference.Usual.empty(WORDS) for _ in range(2)]
    known = []
    for (s, t), times in zip(sample, copies.tolist(), strict=True):
        origins = [(s, t, times)] if times else []
        assume(is_decided(both, counts, (s, t), origins))
        known.append(judge(s, t, origins))
        usual[0].add(s, known[-1][0], known[-1][2])
        usual[1].add(t, known[-1][1], known[-1][3])
    left = [side.copy() for side in usual]
    origins = [(*sample[place], int(copies[place])) for place in used if copies[place]]
    assume(is_decided(both, counts, pair, origins))
    for place in used:
        if copies[place]:
            left[0].add(sample[place][0], known[place][0], known[place][2], -int(copies[place]))
            left[1].add(sample[place][1], known[place][1], known[place][3], -int(copies[place]))
    first, second, links, back = judge(*pair, origins)
    source, first_gap = reference.side_features(pair[0], first, links, usual[0], left[0], SHARES)
    target, second_gap = reference.side_features(pair[1], second, back, usual[1], left[1], SHARES)
    expected = [
        *source,
        *target,
        *reference.joint_features(np.array(source), np.array(target), links, len(pair[1])),
        *reference.text_features(*marks, RATIOS),
    ]

    evidence = LinkEvidence(both.table, both.counts)
    options = tuple(OPTIONS.values())
    sums = np.zeros((2, 3, WORDS), np.int64)
    count_adequacy_words(both.aligner, numbered(sample), copies, evidence, options, sums[0], sums[1], 2)
    assert sums[:, 2].tolist() == [side.counts.tolist() for side in usual]
    assert sums[:, 1].tolist() == [side.links.tolist() for side in usual]
    assert sums[:, 0] / ALIGN_ONE == pytest.approx(np.array([side.values for side in usual]), abs=2e-2)
    judged, origin = (numbered([pair]), *map(packed, marks)), np.array([places], np.int32)
    given_counts = (numbered(sample), copies, origin, evidence, options, *sums, *RATIOS)
    found, gaps = adequacy_features(both.aligner, *judged, *given_counts, 1)
    assert found[0] == pytest.approx(np.array(expected, float), abs=5e-2)
    for weight, gap, begin in ((source[9], first_gap, 0), (target[9], second_gap, 2)):
        if weight > 0.1 and gap is not None:
            assert gaps[0, begin : begin + 2].tolist() == list(gap)


def test_pairs_of_a_corpus_are_their_own_origins() -> None:
    both = Both({(1, 1): 3 * ALIGN_ONE, (2, 2): ALIGN_ONE}, [0.1] * 16, 2.0)
    pairs = [([1, 2], [1, 2]), ([2], [2]), ([1, 1, 2], [2])]
    evidence, options = LinkEvidence(both.table, both.counts), tuple(OPTIONS.values())
    sums = np.zeros((2, 3, WORDS), np.int64)
    copies = np.array([1, 2, 0])
    count_adequacy_words(both.aligner, numbered(pairs), copies, evidence, options, *sums, 1)
    words = [np.zeros(sum(len(pair[side]) for pair in pairs), np.uint32) for side in (0, 1)]

    def features(places: Any) -> Any:
        origins = None if places is None else np.array(places, np.int32).reshape(-1, 2)
        given_counts: tuple[Any, ...] = (numbered(pairs), copies, origins, evidence, options, *sums, *RATIOS)
        return adequacy_features(both.aligner, numbered(pairs), *words, *given_counts, 2)[0].tolist()

    assert features(None) == features([[0, -1], [1, -1], [2, -1]])
    assert features(None) != features([[-1, -1], [-1, -1], [2, -1]])
    with pytest.raises(ValueError, match="a place is not in the sample"):
        features([[0, -1], [1, 3], [2, -1]])
    with pytest.raises(ValueError, match="there must be two places for each pair"):
        features([])


ROW = st.lists(st.integers(0, 5), min_size=3, max_size=3)


@given(
    st.lists(st.tuples(ROW, st.integers(0, 1)), min_size=2, max_size=12),
    st.lists(st.integers(-1, 1), min_size=3, max_size=3),
    st.integers(1, 4),
)
def test_trees_are_those_of_the_twin(labelled: list[tuple[list[int], int]], directions: list[int], leaves: int) -> None:
    rows, classes = [row for row, _ in labelled], [label for _, label in labelled]
    bins, kinds = np.array(rows, np.uint8).T.copy(), np.array(classes, np.uint8)
    arrays = train_trees(bins, kinds, np.array(directions, np.int8), 3, leaves, 0.5, 1.0, 1, 2)
    found = Trees(*arrays, 3).predict(np.array(rows, np.float64))
    forest = reference.boosted(rows, classes, directions, 3, leaves)
    assert found == pytest.approx([sum(tree.of(row) for tree in forest) for row in rows], abs=1e-4)


def test_trees_keep_to_directions() -> None:
    """More of a feature is never better, whatever the rows say."""
    assert len(FEATURES) == ADEQUACY_FEATURES
    assert {direction for _, direction in FEATURES} == {-1, 0, 1}
    rows = np.arange(60, dtype=np.uint8)[None]
    arrays = train_trees(rows, (np.arange(60) > 30).astype(np.uint8), np.array([-1], np.int8), 5, 4, 0.5, 1.0, 1, 1)
    falling = Trees(*arrays, 1).predict(rows.T.astype(np.float64))
    assert (np.diff(falling) <= 0).all()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("features", 1, "a feature is not known"),
        ("children", 0, "a child does not come after its parent"),
        ("children", 9, "a child does not come after its parent"),
        ("bounds", np.nan, "a value is not finite"),
        ("values", np.inf, "a value is not finite"),
        ("roots", 3, "a root is not a node"),
    ],
)
def test_damaged_trees_are_refused(name: str, value: float, message: str) -> None:
    arrays = {
        "features": np.array([0, -1, -1], np.int32),
        "bounds": np.array([1.0, 0, 0]),
        "children": np.array([1, 0, 0], np.int32),
        "values": np.array([0, 1.0, 2.0]),
        "roots": np.array([0], np.int32),
    }
    assert Trees(*arrays.values(), 1).predict(np.array([[1.0], [2.0]])).tolist() == [1.0, 2.0]
    arrays[name][0] = value
    with pytest.raises(ValueError, match=message):
        Trees(*arrays.values(), 1)
