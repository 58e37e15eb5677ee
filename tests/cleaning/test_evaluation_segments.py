from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.errors import InvalidTextError
from nmt_prep.cleaning.evaluation_segments import KINDS, Matches, SegmentIndex
from tests.reference import segments as twin

Pair = tuple[str, str]

_WORDS = "alpha beta gamma Delta été 42 ἀρχή don't ｆull \u0301 - 한국어 x\u0301\u0323"
WORDS = _WORDS.split(" ")
HAN = list("世界冠军在北京的猫と犬ガ゙ラーサสวัสดี，。")
LINE = st.lists(st.sampled_from([f" {word}" for word in WORDS] + HAN), max_size=16).map("".join)
PAIRS = st.lists(st.tuples(LINE, LINE), min_size=1, max_size=6)


def lines(pairs: list[Pair], side: int) -> pa.Array:
    return pa.array([pair[side] for pair in pairs], pa.large_string())


def search(pairs: list[Pair], segments: list[Pair], coverage: float | None = 0.7) -> Matches:
    index = SegmentIndex(lines(segments, 0), lines(segments, 1), coverage)
    return index.search({"source": lines(pairs, 0), "target": lines(pairs, 1)})


def found(pairs: list[Pair], segments: list[Pair], coverage: float | None = 0.7) -> list[tuple[int, str, float]]:
    """The closest segment of each pair, with kind and share."""
    result = search(pairs, segments, coverage)
    kinds = [KINDS[kind] for kind in result.kinds.tolist()]
    return list(zip(result.closest.tolist(), kinds, result.shares.tolist(), strict=True))


def check_twin(pairs: list[Pair], segments: list[Pair], coverage: float) -> None:
    result = search(pairs, segments, coverage)
    closest, all_found = twin.search(pairs, segments, coverage)
    kinds, shares = result.kinds.tolist(), result.shares.tolist()
    assert list(map(twin.Matched, result.closest.tolist(), kinds, shares)) == closest
    assert dict(zip(result.found.tolist(), result.found_kinds.tolist(), strict=True)) == all_found


@given(PAIRS, PAIRS, st.sampled_from([0.1, 0.5, 0.7, 1.0]))
def test_matches_are_those_of_the_twin(pairs: list[Pair], segments: list[Pair], coverage: float) -> None:
    check_twin([*pairs, *segments[:1], *[(target, source) for source, target in segments[1:2]]], segments, coverage)


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "twenty letters or more"]), st.sampled_from("ab")), max_size=80))
def test_many_equal_segments_are_those_of_the_twin(segments: list[Pair]) -> None:
    pairs = [("a", "b"), ("Twenty letters or more!", "a"), ("A", "b"), ("a", "b"), ("Twenty letters or more", "a")]
    check_twin(pairs, segments, 0.7)


SEGMENTS = [
    ("A man in a blue shirt reads the paper on a bench.", "Ein Mann in einem blauen Hemd liest auf einer Bank."),
    ("Yes.", "Ja."),
    ("他在北京的一家餐馆里吃了一碗面条。", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (SEGMENTS[0], (0, "exact", 1.0)),
        ((SEGMENTS[0][1], SEGMENTS[0][0]), (0, "exact", 1.0)),
        (("yes", "JA!"), (1, "pair", 1.0)),
        (("yes", "Genau!"), (-1, "none", 0.0)),
        (("Something else.", "ein mann in einem blauen hemd liest auf einer bank"), (0, "side", 1.0)),
        (("A man in a blue shirt reads a paper on a bench", "x"), (0, "covered", 9 / 11)),
        (("He saw: a man in a blue shirt reads the paper on a bench, he said.", "x"), (0, "covered", 1.0)),
        (("A man in a red shirt reads a book on a bench", "x"), (-1, "none", 0.0)),
        (("x", "他在北京的一家餐馆里吃了一碗面条！"), (2, "side", 1.0)),
        (("x", "昨天他在北京的一家餐馆里吃了两碗面条。"), (2, "covered", 11 / 14)),
        (("", "Ja."), (-1, "none", 0.0)),
    ],
)
def test_pairs_match_by_the_closest_kind(pair: Pair, expected: tuple[int, str, float]) -> None:
    assert found([pair], SEGMENTS) == [expected]


def test_without_coverage_only_whole_lines_match_and_without_segments_none() -> None:
    pairs = [("A man in a blue shirt reads the paper on a bench, and so on", "x"), ("yes", "ja")]
    assert found(pairs, SEGMENTS, None) == [(-1, "none", 0.0), (1, "pair", 1.0)]
    assert found([("Yes.", "Ja.")], []) == [(-1, "none", 0.0)]


def test_a_corpus_of_one_side_is_searched() -> None:
    index = SegmentIndex(lines(SEGMENTS, 0), lines(SEGMENTS, 1), 0.7)
    result = index.search({"target": pa.array(["Yes.", SEGMENTS[0][1].upper()])})
    assert result.closest.tolist() == [-1, 0]
    assert result.found.tolist() == [0]


def test_lines_must_be_utf_8() -> None:
    broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")])
    with pytest.raises(InvalidTextError, match="line 0"):
        SegmentIndex(broken, broken, 0.7)
