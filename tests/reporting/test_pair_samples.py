from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from _nmt_prep_core import count_ids
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.columns import Ragged
from nmt_prep.base.sides import Side
from nmt_prep.reporting import pair_samples as sample
from nmt_prep.reporting.pair_samples import CorpusSample, PairSample, SampleCollector
from nmt_prep.subwords.frame import Frame
from tests.reference import report as twin

FRAMES: dict[Side, Frame] = {"source": Frame((7,), (1,)), "target": Frame((), (1,))}
TEXTS = ["a b", "我们 in", "x", "e\u0301 \U0001f44b\U0001f44b", "the end", "", "長い文です。", "\x00", "a  b"]


def inside(text: str) -> list[int]:
    return [ord(character) % 5 + 2 for character in text]


def encoded(text: str, side: Side) -> list[int]:
    return [*FRAMES[side].before, *inside(text), *FRAMES[side].after]


def collected(pairs: list[tuple[str, str]], choice: CorpusSample, first: int, batch: int) -> PairSample:
    collector = SampleCollector(choice, first, {"source": 9, "target": 9}, FRAMES)
    for start in range(0, len(pairs), batch):
        text: dict[Side, pa.Array] = {}
        ids: dict[Side, Ragged] = {}
        sides: tuple[Side, Side] = ("source", "target")
        for place, side in enumerate(sides):
            lines = [pair[place] for pair in pairs[start : start + batch]]
            text[side], ids[side] = pa.array(lines, pa.string()), Ragged.from_lists([inside(x) for x in lines])
        longest = max(int(ids[side].lengths.max(initial=0)) + FRAMES[side].size for side in sides)
        collector.add(text, ids, longest)
    return collector.result()


@given(
    st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(TEXTS)), min_size=1, max_size=40),
    st.integers(1, 7),
    st.integers(0, 40),
    st.integers(1, 30),
)
def test_parts_add_up_to_the_corpus(pairs: list[tuple[str, str]], batch: int, cut: int, most: int) -> None:
    cut = min(cut, len(pairs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample, "SAMPLE_PAIRS", most)
        choice = CorpusSample(len(pairs), 3, "train", "news")
        whole = collected(pairs, choice, 0, batch)
        parts = collected(pairs[:cut], choice, 0, batch) + collected(pairs[cut:], choice, cut, 3)
        rows = choice.rows().tolist()
    for found in (whole, parts):
        chosen = sorted(rows)
        assert len(chosen) == min(most, len(pairs))
        expected = [[[len(text), twin.length_of(text, "word"), len(text)] for text in pairs[row]] for row in chosen]
        assert found.lengths.tolist() == expected
        for place, side in enumerate(("source", "target")):
            ids = Counter(number for pair in pairs for number in encoded(pair[place], side))  # type: ignore[arg-type]
            assert found.ids[side].tolist() == [ids[number] for number in range(9)]  # type: ignore[index]
            characters = Counter(ord(character) for row in rows for character in pairs[row][place])
            assert found.characters[side] == characters  # type: ignore[index]
        assert [pair.row for pair in found.examples] == rows[:10]
        assert [pair.text["source"] for pair in found.examples] == [pairs[row][0] for row in rows[:10]]
        longest = sorted(range(len(pairs)), key=lambda row: (-max(map(len, pairs[row])), row))[:3]
        assert [pair.row for pair in found.longest] == [row for row in longest if any(pairs[row])]


def test_a_sample_survives_its_file(tmp_path: Path) -> None:
    choice = CorpusSample(len(TEXTS), 3, "train", "news")
    found = collected([(text, text[::-1]) for text in TEXTS], choice, 0, 4)
    found.save(tmp_path / "sample")
    read = PairSample.load(tmp_path / "sample")
    assert read.lengths.tolist() == found.lengths.tolist()
    assert (read.examples, read.longest, read.characters) == (found.examples, found.longest, found.characters)
    assert {side: ids.tolist() for side, ids in read.ids.items()} == {s: ids.tolist() for s, ids in found.ids.items()}


def test_the_sample_depends_on_seed_split_and_corpus() -> None:
    one = CorpusSample(50_000, 1, "train", "news").rows()
    assert (len(one), len(set(one.tolist()))) == (20_000, 20_000)
    assert one.tolist() == CorpusSample(50_000, 1, "train", "news").rows().tolist()
    for other in (CorpusSample(50_000, 2, "train", "news"), CorpusSample(50_000, 1, "train", "web")):
        assert one.tolist() != other.rows().tolist()


def test_long_texts_are_cut() -> None:
    [pair] = collected([("x" * 100_000, "y")], CorpusSample(1, 1, "train", "a"), 0, 1).examples
    assert (len(pair.text["source"]), len(pair.ids["source"]), pair.length["source"]) == (300, 120, 100_000)


@given(st.lists(st.integers(0, 20), max_size=200))
def test_count_ids(ids: list[int]) -> None:
    counts = np.arange(21, dtype=np.int64)
    count_ids(counts, np.array(ids, np.int32))
    assert counts.tolist() == [number + ids.count(number) for number in range(21)]


@pytest.mark.parametrize("wrong", [-1, 3, 2**31 - 1])
def test_count_ids_refuses_other_ids(wrong: int) -> None:
    counts = np.zeros(3, np.int64)
    with pytest.raises(ValueError, match="outside the vocabulary"):
        count_ids(counts, np.array([0, 1, wrong], np.int32))
    assert counts.tolist() == [0, 0, 0]
