from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from _nmt_prep_core import band_hashes, bucket_edges, group_rows, sort_bands, verify_pairs
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import InvalidTextError
from nmt_prep.cleaning.dedup import near
from nmt_prep.cleaning.dedup.near import Bands
from tests.conftest import examples
from tests.reference import near as reference
from tests.reference.dedup import OLD_CHARACTERS

LINES = st.lists(
    st.one_of(
        st.text("abcdeé 0一二三いろパば゛ーสวัสดี한국!\u0301", max_size=12),
        st.text(OLD_CHARACTERS, max_size=8).filter(lambda text: "\n" not in text),
        st.sampled_from(["", "...", "a", "Ab", "abcd", "abcde", "世", "世界", "世界a", "a man in a blue shirt"]),
    ),
    min_size=1,
    max_size=6,
)


def columns(*sides: list[str]) -> list[np.ndarray]:
    return [array for side in map(TextColumn.from_strings, sides) for array in (side.data, side.offsets)]


@given(LINES)
@example(["ば" * 3, "ハ゜ー", "か\u3099か", "\u3099a", "\u0301x", "ーー"])
@settings(max_examples=examples(60))
def test_bands_are_those_of_the_twin(lines: list[str]) -> None:
    found = band_hashes(*columns(lines, lines[::-1]), 3, 2)
    assert found.tolist() == [reference.band_hashes(*pair, 3, 2) for pair in zip(lines, lines[::-1], strict=True)]


def test_more_functions_than_fit_into_one_block() -> None:
    found = band_hashes(*columns(["a man in a blue shirt"], ["ein Mann"]), 20, 3)
    assert found.tolist() == [reference.band_hashes("a man in a blue shirt", "ein Mann", 20, 3)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("A man!", ["aman"]),
        ("Hello, you", ["hell", "ello", "lloy", "loyo", "oyou"]),
        ("世界冠军", ["世界", "界冠", "冠军"]),
        ("ab世界", ["ab世界", "世界"]),
        ("no", ["no"]),
        ("世", ["世"]),
        ("...", ["..."]),
        ("ガス", ["カ\u3099", "\u3099ス"]),
        ("สวัสดี", ["สว", "วั", "ัส", "สด", "ดี"]),
    ],
)
def test_ngrams(line: str, expected: list[str]) -> None:
    assert reference.grams(line) == expected


def test_similarity_of_both_sides_must_reach_the_limit() -> None:
    own = columns(["abcdefg", "abcdefg", "abcdefg", "x"], ["abcdefg", "abcdefg", "abcdefg", "y"])
    others = columns(["abcdefg", "abcdef", "abcdefg"], ["abcdefg", "abcdefg", "abcdef"])  # 3 of 4 n-grams

    def similar(limit: float) -> list[bool]:
        candidates = np.array([[0, 0], [1, 1], [2, 2], [3, 0]])
        return verify_pairs(*own, *others, candidates, limit).tolist()

    assert similar(0.75) == [True, True, True, False]
    assert similar(np.nextafter(0.75, 1)) == [True, False, False, False]


@given(LINES, LINES, st.sampled_from([0.01, 0.25, 1 / 3, 0.5, 0.6, 0.75, 0.8, 1.0]))
@settings(max_examples=examples(60))
def test_the_first_similar_candidate_of_each_pair_is_verified(
    first: list[str], second: list[str], limit: float
) -> None:
    own, others = columns(first, first), columns(second, second[::-1])
    candidates = np.array([[a, b] for a in range(len(first)) for b in range(len(second))])
    expected = []
    for a in first:
        sides = zip(second, second[::-1], strict=True)
        similar = [min(reference.similarity(a, b), reference.similarity(a, c)) >= limit for b, c in sides]
        expected += [each and not any(similar[:place]) for place, each in enumerate(similar)]
    assert verify_pairs(*own, *others, candidates, limit).tolist() == expected


def test_text_must_be_utf8_and_candidates_and_groups_exist() -> None:
    bad = [np.frombuffer(b"ab\xff", np.uint8), np.array([0, 3])]
    good = columns(["a"], ["b"])
    with pytest.raises(InvalidTextError, match="line 0"):
        band_hashes(*bad, *good[2:], 1, 1)
    for candidate in ([0, 1], [1, 0], [-1, 0], [0, -1]):
        with pytest.raises(ValueError, match="does not exist"):
            verify_pairs(*good, *good, np.array([candidate]), 0.5)
    with pytest.raises(ValueError, match="different numbers"):
        band_hashes(*good[:2], *columns(["a", "b"]), 1, 1)
    with pytest.raises(ValueError, match="does not exist"):
        group_rows(np.zeros((1, 1), np.uint64), np.array([2], np.uint32), 2)


RECORDS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 9)), min_size=1, max_size=30)


@given(RECORDS, st.integers(1, 4), st.integers(1, 10))
@settings(max_examples=examples(60))
def test_edges_lead_to_the_best_of_a_bucket(rows: list[tuple[int, int, int]], cap: int, limit: int) -> None:
    records = np.array(rows, np.uint64)
    expected, full = set(), 0
    for key in {key for key, *_ in rows}:
        bucket = sorted(row for row in rows if row[0] == key)
        full += len(bucket) > cap + 1
        expected |= {
            (worse[2], *better[1:]) for place, worse in enumerate(bucket) for better in bucket[: min(place, cap)]
        }
    sort_bands(records)
    found, after, counted = [], 0, 0
    while after < len(records):
        edges, after, more = bucket_edges(records, cap, after, limit)
        assert edges.tolist() == [list(edge) for edge in sorted(set(map(tuple, edges.tolist())))]
        assert len(edges) <= limit + cap
        found += [tuple(edge) for edge in edges.tolist()]
        counted += more
    assert set(found) == expected
    assert counted == full


@given(RECORDS, st.integers(1, 4), st.integers(1, 10), st.integers(0, 4))
@settings(max_examples=examples(60))
def test_the_number_of_comparisons_does_not_depend_on_ranges(
    rows: list[tuple[int, int, int]], cap: int, limit: int, split: int
) -> None:
    sizes = Counter(key for key, *_ in rows).values()
    found = near.BucketCounts()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near, "BUCKET_CAP", cap)
        patch.setattr(near, "EDGES_AT_ONCE", limit)
        for own in ([row for row in rows if row[0] < split], [row for row in rows if row[0] >= split]):
            list(near.edges_of(np.array(own, np.uint64).reshape(-1, 3), found))
    assert found.comparisons == sum(min(place, cap) for size in sizes for place in range(size))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 99)), max_size=20))
def test_rows_are_grouped_in_order(rows: list[tuple[int, int]]) -> None:
    numbers = np.array([[value, place] for place, (_, value) in enumerate(rows)], np.uint64).reshape(-1, 2)
    grouped, starts = group_rows(numbers, np.array([group for group, _ in rows], np.uint32), 5)
    expected = [[[value, place] for place, (own, value) in enumerate(rows) if own == group] for group in range(5)]
    assert grouped.tolist() == [row for group in expected for row in group]
    assert starts.tolist() == np.cumsum([0, *map(len, expected)]).tolist()


@pytest.mark.parametrize(
    ("similarity", "bands", "rows"),
    [
        (0.05, 64, 1),
        (0.25, 61, 1),
        (0.5, 14, 1),
        (0.6, 29, 2),
        (0.7, 32, 3),
        (0.75, 20, 3),
        (0.8, 22, 4),
        (0.9, 20, 8),
        (1.0, 1, 8),
    ],
)
def test_bands_for_a_similarity(similarity: float, bands: int, rows: int) -> None:
    assert Bands.of(similarity) == Bands(bands, rows)
    assert reference.bands_of(similarity) == (bands, rows)
