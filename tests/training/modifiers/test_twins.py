"""Native functions for modifiers make the same as their readable twins."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pytest
from _nmt_prep_core import TYPOS, parse_links, rewrite_pairs, tag_lines, title_lines, type_lines
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import InvalidTextError
from nmt_prep.training.modifiers.block import Line, Units
from nmt_prep.training.modifiers.draws import Draws
from nmt_prep.training.modifiers.noise import RANGES
from tests.conftest import examples
from tests.reference import modifiers as twin

TEXTS = st.text("aKé1.5ßİ \u00a0\t\u200b\u0345\u30a2\u4e00-'_ⓐ\U0001f600", max_size=12)
UNITS = st.sampled_from(["spaced", "words"])
NUMBERS = st.integers(0, 12)
LINKS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=6)
LABELS = st.sampled_from([-1, 0, 3, twin.NEW_WORDS, twin.NEW_WORDS + 1])


Parts: TypeAlias = tuple[str, list[twin.Part]]


@st.composite
def sides(draw: st.DrawFn) -> Parts:
    text = draw(TEXTS)
    place = st.integers(0, len(text))
    own = st.tuples(place, place).map(lambda ends: (min(ends), max(ends)))
    return text, draw(st.lists(st.one_of(own, st.tuples(TEXTS, LABELS)), max_size=6))


def arrays(text: str, parts: list[twin.Part]) -> tuple[np.ndarray, ...]:
    places = [*accumulate((len(character.encode()) for character in text), initial=0)]
    rows, inserted = [], b""
    for first, second in parts:
        if isinstance(first, str):
            rows.append((len(inserted), len(inserted) + len(first.encode()), second))
            inserted += first.encode()
        else:
            rows.append((places[first], places[second], -2))
    begins, ends, labels = np.array(rows, np.int32).reshape(-1, 3).T.copy()
    column = TextColumn.from_strings([text])
    return (
        column.data,
        column.offsets,
        begins,
        ends,
        labels,
        np.array([0, len(rows)]),
        np.frombuffer(inserted, np.uint8),
    )


@settings(max_examples=examples(300))
@given(sides(), sides(), st.lists(st.tuples(st.one_of(NUMBERS, LABELS), st.one_of(NUMBERS, LABELS)), max_size=6), UNITS)
def test_pairs_made_of_parts(source: Parts, target: Parts, links: twin.Pairs, units: Units) -> None:
    numbers = np.array(links, np.int32).reshape(-1, 2).ravel()
    made = rewrite_pairs(arrays(*source), arrays(*target), numbers, np.array([0, len(links)]), units == "spaced")
    texts, places = [], []
    for text, parts in (source, target):
        assembled, labels = twin.assembled(text, twin.labels_of(text, twin.spans_of(text, units)), parts)
        texts.append(assembled)
        places.append(twin.words_by_label(assembled, labels, units))
    assert [bytes(made[0]).decode(), bytes(made[2]).decode()] == texts
    assert made[4].tolist() == [n for pair in twin.parsed(twin.followed(links, *places)) for n in pair]


def test_parts_outside_of_their_text_are_refused() -> None:
    links = np.empty(0, np.int32), np.zeros(2, np.int64)
    line = arrays("é", [(0, 1)])
    for begin, end, label in ((0, 3, -2), (-1, 2, -2), (2, 1, -2), (0, 1, -1), (0, 0, -3)):
        part = [np.array([number], np.int32) for number in (begin, end, label)]
        with pytest.raises(ValueError, match="a part is outside of its text"):
            rewrite_pairs((*line[:2], *part, *line[5:]), line, *links, True)
    part = [np.array([number], np.int32) for number in (0, 1, -2)]
    with pytest.raises(InvalidTextError, match="not UTF-8 together"):
        rewrite_pairs((*line[:2], *part, *line[5:]), line, *links, True)
    with pytest.raises(ValueError, match="of the same pairs"):
        rewrite_pairs(line, line, links[0], np.array([0, 1]), True)


@settings(max_examples=examples(400))
@given(TEXTS, st.one_of(st.none(), LINKS), st.integers(0, 2**63), st.sets(st.sampled_from(TYPOS), min_size=1), UNITS)
def test_typos(text: str, links: twin.Pairs | None, key: int, kinds: set[str], units: Units) -> None:
    chances = dict.fromkeys(sorted(kinds), 0.8)
    linked = None if links is None else twin.formatted(links)
    column = TextColumn.from_strings([text])
    other = None if linked is None else TextColumn.from_strings([linked])
    data, _, typed_links, _ = type_lines(
        (column.data, column.offsets),
        None if other is None else (other.data, other.offsets),
        np.array([key], np.uint64),
        [(TYPOS.index(kind), chance) for kind, chance in chances.items()],
        units == "spaced",
    )
    expected = twin.with_typos(text, linked, chances, Draws(key, 1), units)
    assert (bytes(data).decode(), None if linked is None else bytes(typed_links).decode()) == expected


def test_typos_of_characters_whose_case_is_special() -> None:
    """Lower case of Kelvin is a key; 9 is beside 10; the upper case of ß is two letters."""
    for text in ("\u212a", "9", "ßA", "Aß", "ǅa", "ﬁX"):
        for kind in ("nearby_char", "char_swap", "extra_char"):
            for key in range(20):
                column = TextColumn.from_strings([text])
                data = type_lines(
                    (column.data, column.offsets), None, np.array([key], np.uint64), [(TYPOS.index(kind), 1)], True
                )[0]
                assert bytes(data).decode() == twin.with_typos(text, None, {kind: 1}, Draws(key, 1), "spaced")[0]


@settings(max_examples=examples(200))
@given(st.lists(st.text("aKéßǆ1 \u0345\u4e00ⓐﬁ\u00a0", max_size=8), min_size=1))
def test_titles(lines: list[str]) -> None:
    column = TextColumn.from_strings(lines)
    made = TextColumn(*title_lines(column.data, column.offsets)).to_arrow().to_pylist()
    assert made == [twin.title(line) for line in lines]


WORDS = st.sampled_from(["a", "b1", "é.", "▁", "\u4e00\u4e8c", "c-d"])
SENTENCES = st.lists(WORDS, max_size=8).map(" ".join)
SHARES = st.sampled_from([(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.3, 0.3, 0.4), (0.5, 0, 0.5), (0.9, 0.1, 1)])
SHARE = st.sampled_from([0.1, 0.5, 1.0])
TEMPLATES = st.sampled_from(["{src} [{trg}]", "{trg}{src}", "<é {trg} | {src}>"])


@settings(max_examples=examples(400))
@given(
    st.data(), SENTENCES, SENTENCES, SHARES, TEMPLATES, st.sampled_from([0.1, 0.5, 1.0]), st.integers(0, 2**63), UNITS
)
def test_tags(
    data: st.DataObject,
    source: str,
    target: str,
    shares: tuple[float, float, float],
    template: str,
    probability: float,
    key: int,
    units: Units,
) -> None:
    sizes = [max(len(twin.spans_of(side, units)), 1) for side in (source, target)]
    wrong = data.draw(st.sampled_from([0, 0, 0, 3]))
    numbers = [st.integers(0, size - 1 + wrong) for size in sizes]
    links = " ".join(f"{s}-{t}" for s, t in data.draw(st.lists(st.tuples(*numbers), max_size=8)))
    icu = data.draw(st.tuples(st.booleans(), st.booleans()))
    before, first, between, _, after = re.split(r"(\{src\}|\{trg\})", template)
    columns = [TextColumn.from_strings([text]) for text in (source, target, links)]
    views = [(column.data, column.offsets) for column in columns]
    form, spaced = (before, between, after), units == "spaced"
    made = tag_lines(
        *views, np.array([key], np.uint64), probability, shares, form, first == "{src}", icu, RANGES, spaced
    )
    expected = twin.Tags(probability, template, shares, icu).edit(Line(source, target, links), Draws(key), units)
    assert [bytes(text).decode() for text in made[::2]] == list(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0-0 1-2", [0, 0, 1, 2]), ("", []), ("  2-2  0-1 ", [2, 2, 0, 1]), ("0-3", []), ("3-0", []), ("0-0 x", []),
        ("0-0 1", []), ("0-0 1-", []), ("0-0 -1-0", []), ("0--1", []), ("0-0\t1-1", []), ("+0-0", []),
        ("00000001-0", []), ("0000001-0", [1, 0]), ("0-01-2", []), ("99999999999999999999-0", []),
    ],
)  # fmt: skip
def test_links_as_numbers(text: str, expected: list[int]) -> None:
    column = TextColumn.from_arrow(pa.array([text, "0-0"]))
    numbers, offsets = parse_links(column.data, column.offsets, np.array([3, 1]), np.array([3, 1]))
    assert numbers.tolist() == [*expected, 0, 0]
    assert offsets.tolist() == [0, len(expected) // 2, len(expected) // 2 + 1]
