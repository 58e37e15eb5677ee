"""Modifiers make the text and the links that the package opustrainer makes, given the same draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nmt_prep.training.modifiers import read_modifiers
from nmt_prep.training.modifiers.block import NEXT_KEY
from nmt_prep.training.modifiers.draws import Draws, mixed
from tests.training.modifiers.conftest import block_of, lines_of

pytest.importorskip("opustrainer")

from opustrainer.modifiers import merge, noise, placeholders, prefix, punctuation, surface, typos
from typo import Errer
from typo.keyboardlayouts import en_default

THEIRS: dict[str, Any] = {
    "UpperCase": surface.UpperCaseModifier,
    "TitleCase": surface.TitleCaseModifier,
    "RemoveEndPunct": punctuation.RemoveEndPunctuationModifier,
    "Typos": typos.TypoModifier,
    "Noise": noise.NoiseModifier,
    "Merge": merge.MergeModifier,
    "Prefix": prefix.PrefixModifier,
    "Tags": placeholders.PlaceholderTagModifier,
}

WORDS = st.text("abcdehinnoTÄé019'-", min_size=1, max_size=6)
MARKS = st.sampled_from(["", ".", "!", "?", ",", "。", " .", "!?", "..."])
TEXTS = st.builds(lambda words, mark: " ".join(words) + mark, st.lists(WORDS, min_size=1, max_size=9), MARKS)
KEYS = st.integers(0, 2**63)
PROBABILITIES = st.sampled_from([0.0, 0.3, 1.0])


class Random:
    """The draws of a row with the methods of the module ``random`` that the package calls."""

    def __init__(self, key: int) -> None:
        draws = Draws(key)
        self.random, self.randint, self.randrange, self.choice = (
            draws.random,
            draws.randint,
            draws.randrange,
            draws.choice,
        )

    def getrandbits(self, bits: int) -> int:
        return bits  # only to seed: the draws go on

    def seed(self, seed: object) -> None:
        """Does nothing."""


class RandomOfLines:
    """The draws of the lines at which Merge draws."""

    def __init__(self, keys: list[int]) -> None:
        self.keys, self.line, self.next = keys, 0, 0

    def random(self) -> float:
        self.line, self.next = self.next, self.next + 1
        return Draws(self.keys[self.line]).random()

    def randint(self, low: int, high: int) -> int:
        size = Draws(self.keys[self.line], 1).randint(low, high)
        self.next = self.line + size
        return size


@st.composite
def linked(draw: st.DrawFn, *, ascending: bool = False) -> tuple[str, str, str]:
    """Draws a pair with links; the package refuses pairs without."""
    source, target = draw(TEXTS), draw(TEXTS)
    sizes = len(source.split()), len(target.split())
    pairs = draw(
        st.lists(st.tuples(*[st.integers(0, size - 1) for size in sizes]), min_size=1, max_size=8, unique=True)
    )
    if ascending:
        sides = [sorted(side) for side in zip(*pairs, strict=True)]
        pairs = sorted(set(zip(*sides, strict=True)))
    return source, target, " ".join(f"{s}-{t}" for s, t in sorted(pairs))


PAIRS = st.one_of(linked(), st.tuples(TEXTS, TEXTS, st.none()))


def keys_of(count: int, key: int) -> list[int]:
    keys: list[int] = mixed(np.arange(count, dtype=np.uint64) + np.uint64(key), NEXT_KEY).tolist()
    return keys


def both(name: str, probability: float, lines: list[Any], key: int, random: Any, **options: Any) -> tuple[Any, Any]:
    """Returns the pairs as modified by this package and by the other one, with sorted links."""
    ours = lines_of(read_modifiers([{name: probability, **options}], "m", Path())(block_of(lines, first_key=key)))
    with pytest.MonkeyPatch.context() as patch:
        for module in (merge, placeholders, noise, prefix, punctuation, surface, typos, Errer, en_default):
            patch.setattr(module, "random", random)
        modifier = THEIRS[name](probability, **options)
        modifier.print_alignments = True
        made = list(modifier(["\t".join(column for column in line if column is not None) for line in lines]))
    theirs = [tuple([*line.split("\t"), None][:3]) for line in made]
    return [normal(line) for line in ours], [normal(line) for line in theirs]


def normal(line: Any) -> tuple[str, str, Any]:
    links = None if line[2] is None else sorted({tuple(map(int, link.split("-"))) for link in line[2].split()})
    return line[0], line[1], links


@given(st.sampled_from(["UpperCase", "TitleCase", "RemoveEndPunct"]), PROBABILITIES, PAIRS, KEYS)
def test_surface(name: str, probability: float, line: Any, key: int) -> None:
    ours, theirs = both(name, probability, [line], key, Random(keys_of(1, key)[0]))
    assert ours == theirs


@given(PAIRS, KEYS, st.sets(st.sampled_from(sorted(typos.TypoModifier.modifiers)), min_size=1))
def test_typos(line: Any, key: int, kinds: set[str]) -> None:
    # Double spaces, which other kinds make, confuse skipped_space of the package, so it comes first.
    options = dict.fromkeys(sorted(kinds, key=lambda kind: kind != "skipped_space"), 0.8)
    assume(line[2] is not None or "missing_char" not in kinds or len(line[0]) > 1)
    ours, theirs = both("Typos", 1.0, [line], key, Random(keys_of(1, key)[0]), **options)
    words = len(theirs[0][0].split())
    assume(theirs[0][2] is None or all(s < words for s, _ in theirs[0][2]))  # a fault of the package
    assert ours == theirs


@given(PAIRS, KEYS)
def test_noise(line: Any, key: int) -> None:
    ours, theirs = both("Noise", 1.0, [line], key, Random(keys_of(1, key)[0]))
    assert [pair[:2] for pair in ours] == [pair[:2] for pair in theirs]
    if theirs[0][0].count(" ") + 1 == len(theirs[0][2] or ()) == len(theirs[0][0].split()):
        assert ours == theirs


@given(
    st.one_of(st.lists(linked(), min_size=1, max_size=12), st.lists(st.tuples(TEXTS, TEXTS, st.none()), min_size=1)),
    KEYS,
)
def test_merge(lines: Any, key: int) -> None:
    ours, theirs = both("Merge", 0.4, lines, key, RandomOfLines(keys_of(len(lines), key)))
    assert ours == theirs


@given(st.tuples(TEXTS, TEXTS, st.none()), KEYS)
def test_prefix(line: Any, key: int) -> None:
    ours, theirs = both("Prefix", 1.0, [line], key, Random(keys_of(1, key)[0]))
    assert ours == theirs


@given(linked(ascending=True), KEYS, st.sampled_from([(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.3, 0.3, 0.4)]))
def test_tags(line: Any, key: int, shares: tuple[float, float, float]) -> None:
    assume(not shares[1] or "-" not in line[2].partition(" ")[2])  # replace of the package moves targets wrongly
    options = dict(zip(("augment", "replace", "tag"), shares, strict=True))
    ours, theirs = both("Tags", 0.5, [line], key, Random(keys_of(1, key)[0]), **options)
    for side in (ours[0][0], ours[0][1]):
        assume(" ".join(side.split()) == side)  # random words have no spaces: the package splits some
    assert ours[0][:2] == theirs[0][:2]
    if not shares[1] and len(ours[0][1].split()) == len(line[1].split()):
        assert ours == theirs
