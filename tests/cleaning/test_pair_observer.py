from __future__ import annotations

from collections import Counter
from functools import reduce
from operator import add
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from _nmt_prep_core import FrequentHashes, line_hashes
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.sides import Side
from nmt_prep.cleaning import pair_observer as pairs
from nmt_prep.cleaning.pair_observer import PairFacts, PairObserver, SideFacts
from nmt_prep.config import Languages
from tests.conftest import examples
from tests.reference import health as reference

EN_DE = Languages(source="en", target="de")


def hashes(*lines: str) -> list[int]:
    column = TextColumn.from_strings(lines)
    return line_hashes(column.data, column.offsets).tolist()


def column(*lines: str) -> pa.Array:
    return pa.array(lines, pa.large_string())


def observed(source: list[str], target: list[str], languages: Languages = EN_DE, batch: int = 1000) -> PairFacts:
    observer = PairObserver(languages, ("source", "target"))
    for first in range(0, len(source), batch):
        observer.add(
            {"source": column(*source[first : first + batch]), "target": column(*target[first : first + batch])}
        )
    return observer.result()


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=40)))
def test_hashes_of_lines(lines: list[str]) -> None:
    assert hashes(*lines) == [reference.line_hash(line.encode()) for line in lines]


def test_white_space_at_the_ends_makes_no_difference() -> None:
    assert len(set(hashes("a b", " a b", "a b \t\r\n", "\va b\f"))) == 1
    assert len(set(hashes("a b", "a  b", "ab", "a\u00a0b", "\u00a0a b", "", "x"))) == 7


def test_values_of_hashes_do_not_change() -> None:
    assert hashes("", "a", "NO TRANSLATION AVAILABLE") == [
        15477614707873327427,
        8480591740081524332,
        14103655638716019885,
    ]


@settings(max_examples=examples(60))
@given(st.integers(1, 5), st.lists(st.integers(0, 12) | st.integers(0, 2**64 - 1), max_size=200), st.integers(0, 30))
def test_frequent_hashes(kept: int, stream: list[int], least: int) -> None:
    native, twin = FrequentHashes(kept), reference.FrequentHashes(kept)
    for first in range(0, len(stream), 7):
        native.add(np.array(stream[first : first + 7], np.uint64))
    for hashed in stream:
        twin.add(hashed)
    found, counts, error = native.above(least)
    assert (found.tolist(), counts.tolist(), error) == twin.above(least)
    assert error <= len(stream) // kept
    true = Counter(stream)
    assert {hashed for hashed, count in true.items() if count > max(least, error)} <= set(found.tolist())
    assert all(
        true[hashed] - error <= count <= true[hashed] for hashed, count in zip(*twin.above(least)[:2], strict=True)
    )


def test_a_frequent_line_of_a_long_side_is_found() -> None:
    stream = [f"line {number}" for number in range(60_000)]
    stream[::50] = ["often"] * 1200
    stream[7::75] = ["also often"] * 800
    stream[8::120] = ["seldom"] * 500
    facts = observed(stream, [f"Zeile {number}" for number in range(60_000)]).sides["source"]
    assert set(facts.frequent) == set(hashes("often", "also often"))
    assert facts.frequent[hashes("often")[0]] >= 1200
    assert facts.frequent[hashes("also often")[0]] >= 800 - 60_000 // 5000
    assert facts.lines == 60_000


@settings(max_examples=examples(40))
@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=60), min_size=1, max_size=5))
def test_slices_add_up_to_all_lines_that_can_be_frequent(slices: list[list[str]]) -> None:
    parts = [observed(part, part).sides["source"] for part in slices]
    every = [line for part in slices for line in part]
    total = reduce(add, parts)
    assert total == reduce(add, reversed(parts))
    assert total.lines == len(every)
    for line, count in Counter(every).items():
        if count > len(every) // 100:
            assert total.frequent[hashes(line)[0]] >= count


def test_equal_sides_and_lengths_are_counted() -> None:
    long = "a line of more than twenty characters"
    facts = observed(
        [long, "short", long, "same", "same ", "x" * 54, "x" * 53],
        [long, "kurz" * 4, "kurz", "same", "same", *["y" * 20] * 2],
    )
    assert (facts.pairs, facts.equal) == (7, 3)
    assert (facts.compared, facts.uneven) == (4, 2)  # 20 characters of German are as much as 17.7 of English
    assert facts.sides["source"].characters == 37 + 5 + 37 + 4 + 5 + 54 + 53


def test_lines_in_another_script_are_counted_unless_they_are_copies() -> None:
    source = ["Привет, мир", "Hello world", "1234 !!", "Да", "Да-да-да"]
    target = ["你好世界", "Hello world", "1234 !!", "hello", "iPhone 手机手机"]
    sides = observed(source, target, Languages(source="ru", target="zh")).sides
    assert sides["source"] == SideFacts(5, dict.fromkeys(sorted(hashes(*source)), 1), 5, 0, 39)
    assert (sides["target"].examined, sides["target"].other_script) == (5, 1)


@pytest.mark.parametrize(
    ("tag", "other"), [("sr", 0), ("sr-Latn", 1), ("sr-Cyrl", 1), ("ru", 1), ("en", 1), ("xyz", 0)]
)
def test_languages_of_several_scripts(tag: str, other: int) -> None:
    lines = ["Dobar dan, svete", "Добар дан, свете"]
    assert observed(lines, ["x", "y"], Languages(source=tag, target="de")).sides["source"].other_script == other


def test_a_side_of_placeholders_is_not_looked_at() -> None:
    observer = PairObserver(EN_DE, ("target",))
    assert observer.add({"source": column("<mono>", "<mono>"), "target": column("eins", "zwei")}) is None
    assert list(observer.result().sides) == ["target"]
    assert observer.result().pairs == 2


def test_the_sample_does_not_depend_on_the_batches() -> None:
    lines = [f"number {number}" + "x" * (number % 40) for number in range(300)]
    with mock.patch.multiple(pairs, SAMPLED=10, SAMPLED_OF=64):
        one, several = observed(lines, lines), observed(lines, lines, batch=13)
    assert one == several
    assert one.sides["source"].examined == 50


def test_keys_are_those_of_long_pairs_and_depend_on_the_sides() -> None:
    observer = PairObserver(EN_DE, ("source", "target"))
    text: dict[Side, pa.Array] = {
        "source": column("a" * 20, "b" * 20, "short", "a" * 20, "a" * 20),
        "target": column("b" * 20, "a" * 20, "kurz", "b" * 20 + " ", "c"),
    }
    keys = observer.add(text)
    assert keys is not None
    assert len(keys) == 4
    assert len(set(keys.tolist())) == 3
    assert keys[0] == keys[2]
    counted = PairObserver(EN_DE, ("source", "target"))
    assert counted.add(text, keys=False) is None
    assert counted.result() == observer.result()
    assert counted.result().pairs == 5
