from __future__ import annotations

import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from _nmt_prep_core import KEYS_UNICODE_VERSION, line_keys
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.errors import InvalidTextError
from nmt_prep.cleaning.dedup.records import (
    Comparison,
    KeyKind,
    comparisons_of,
    keys_of,
    parts_of,
    records_of,
    rows_of,
)
from nmt_prep.config import DedupSettings
from tests.reference import dedup

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"

MARKS = st.sampled_from("\u0301\u0323\u0345\u0327\u05b0\u3099\u0f71")
LINES = st.lists(
    st.one_of(
        dedup.OLD_CHARACTERS,
        MARKS,
        st.sampled_from("aAbB 01.,-éÉßẞİıΣςǅﬁﷺ½²Ⅷ１Ａｱｶﾞ가각ᄀ世界冠军ᾼᾳᾀ≠٣\u200d\ufe0f"),
    ),
    max_size=40,
).map("".join)


def keys(lines: list[str], kind: KeyKind) -> list[tuple[int, ...]]:
    """The keys of lines on the source side."""
    batch = pa.record_batch({"source": lines, "target": lines}) if lines else None
    return [] if batch is None else [tuple(key) for key in keys_of(batch, ["source"], kind)["source"].tolist()]


def test_the_hash_is_murmurhash3() -> None:
    assert keys(["", "hello", "The quick brown fox jumps over the lazy dog"], "exact") == [
        (0, 0),
        (0xCBD8A7B341BD9B02, 0x5B1E906A48AE1D19),
        (0xE34BBC7BBC071B6C, 0x7A433CA9C49A9347),
    ]


@given(st.lists(LINES, max_size=8))
def test_keys_are_those_of_the_twin(lines: list[str]) -> None:
    assert keys(lines, "exact") == [dedup.line_key(line, normalize=False) for line in lines]
    assert keys(lines, "normalized") == [dedup.line_key(line, normalize=True) for line in lines]


@given(st.lists(st.tuples(LINES, LINES), min_size=1, max_size=5), st.booleans())
def test_keys_of_pairs_are_those_of_the_twin(pairs: list[tuple[str, str]], normalize: bool) -> None:
    source, target = map(list, zip(*pairs, strict=True))
    batch = pa.record_batch({"source": source, "target": target})
    found = keys_of(batch, ["pair", "target"], "normalized" if normalize else "exact")
    assert [*map(tuple, found["pair"].tolist())] == [dedup.pair_key(*pair, normalize=normalize) for pair in pairs]
    assert [*map(tuple, found["target"].tolist())] == [dedup.line_key(line, normalize=normalize) for line in target]


def test_every_assigned_character_is_normalized_as_by_the_twin() -> None:
    if unicodedata.unidata_version != KEYS_UNICODE_VERSION:
        pytest.skip("this Python has another version of Unicode than the tables")
    points = [point for point in range(0x110000) if unicodedata.category(chr(point)) not in ("Cn", "Co", "Cs")]
    lines = [chr(point) for point in points]
    wrong = [
        hex(point)
        for point, line, key in zip(points, lines, keys(lines, "normalized"), strict=True)
        if key != dedup.line_key(line, normalize=True)
    ]
    assert wrong == []


EQUAL = [
    *(("Hello, World!", "hello world"), ("  a  b ", "AB"), ("In 1999", "in 2024."), ("１２３ＡＢＣ", "123 abc")),
    *(("Straße", "STRASSE"), ("café", "cafe\u0301"), ("ﬁne", "FINE"), ("各位，您好。", "各位 您好")),
    *(("가", "\u1100\u1161"), ("ｶﾞ", "ガ"), ("٣ a", "7a")),
]
OTHER = [
    *(("世界冠军", "时节冠军"), ("cafe", "café"), ("7 a", "42 a"), ("2019", "2020"), ("3.14", "314"), ("①", "1")),
    *(("٣", "3"), ("он", "она"), ("...", "!!!"), ("...", ""), ("ब", "बा")),
]


@pytest.mark.parametrize(("pairs", "equal"), [(EQUAL, True), (OTHER, False)])
def test_case_punctuation_digits_spaces_and_width_do_not_matter(pairs: list[tuple[str, str]], equal: bool) -> None:
    sides = [keys(list(side), "normalized") for side in zip(*pairs, strict=True)]
    assert [pair for pair, one, other in zip(pairs, *sides, strict=True) if (one == other) != equal] == []


def test_a_line_that_is_not_utf8_is_refused() -> None:
    data = np.frombuffer(b"a\xff", np.uint8)
    with pytest.raises(InvalidTextError, match="line 0"):
        line_keys(data, np.array([0, 2], np.int64), True)


@pytest.mark.slow
def test_the_tables_are_up_to_date() -> None:
    if unicodedata.unidata_version != KEYS_UNICODE_VERSION:
        pytest.skip("this Python has another version of Unicode than the tables")
    done = subprocess.run([sys.executable, SCRIPTS / "make_key_tables.py", "--check"], check=False)
    assert done.returncode == 0


def test_records_hold_key_descending_scores_and_place() -> None:
    pairs = pa.record_batch(
        {
            "source": ["a", "a", "a", "a"],
            "target": ["b", "b", "b", "c"],
            "row": [4, 5, 8, 9],
            "score:q": [0.5, None, 2.0, -0.0],
        }
    )
    comparisons = [Comparison("pair", "exact", ("q",), 1), Comparison("source", "exact", ("q",), 2)]
    records, by_source = records_of(pairs, 3, comparisons)
    assert (records[0, :2] == records[2, :2]).all()
    assert not (records[0, :2] == records[3, :2]).all()
    assert np.argsort(records[:, 2]).tolist() == [2, 0, 3, 1]
    assert (parts_of(records[:, 3]).tolist(), rows_of(records[:, 3]).tolist()) == ([3] * 4, [4, 5, 8, 9])
    assert (by_source[:, :2] == by_source[0, :2]).all()
    assert (by_source[:, 2:] == records[:, 2:]).all()


def test_settings_give_comparisons_in_order() -> None:
    assert comparisons_of(DedupSettings(pair="off")) == ()
    settings = DedupSettings(
        pair="normalized", max_targets_per_source=4, max_sources_per_target=8, keep=("q", "corpus")
    )
    assert comparisons_of(settings) == (
        Comparison("pair", "normalized", ("q",), 1),
        Comparison("source", "normalized", ("q",), 4),
        Comparison("target", "normalized", ("q",), 8),
    )
    assert comparisons_of(DedupSettings(pair="off", max_sources_per_target=8)) == (
        Comparison("target", "exact", (), 8),
    )
