"""The native search for the best path, against its twin."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from _nmt_prep_core import BeadCounts, SentenceSide, WordLinks, align_sentences
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import sentences as reference
from tests.reference.sentences import Model, Side, Words

MODEL = Model(
    kinds=[(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)],
    priors=[-0.15, -2.6, -2.6, -4.6, -3.6],
    deletion=-7.0,
    extension=-3.0,
    ratio=1.1,
    variance=6.8,
    gammas=((4.0, 12.0), (3.5, 15.0)),
)
WORDS = 5

sides = st.lists(
    st.tuples(st.lists(st.integers(0, WORDS - 1), max_size=4), st.integers(1, 120)), min_size=1, max_size=6
).map(lambda rows: Side([words for words, _ in rows], [float(length) for _, length in rows]))


def native_side(side: Side) -> SentenceSide:
    offsets = np.cumsum([0, *map(len, side.words)])
    flat = np.array([word for sentence in side.words for word in sentence], np.int32)
    return SentenceSide(flat, offsets.astype(np.int64), np.array(side.lengths))


def links(counts: dict[tuple[int, int], float], shares: list[float], key: int) -> WordLinks:
    rows = sorted((cell[key], cell[1 - key], count) for cell, count in counts.items())
    first = np.searchsorted([row[0] for row in rows], np.arange(WORDS + 1)) if rows else np.zeros(WORDS + 1)
    totals = [sum(count for word, _, count in rows if word == number) for number in range(WORDS)]
    others, values = [row[1] for row in rows], [row[2] for row in rows]
    arrays = (np.array(others, np.int32), np.array(values, np.float32), np.array(totals, np.float32))
    return WordLinks(first.astype(np.int64), *arrays, np.array(shares, np.float32))


def own_counts(known: Words) -> BeadCounts:
    rows = [(*cell, count) for bead in known.own for cell, count in bead.items()]
    offsets = np.cumsum([0, *map(len, known.own)]).astype(np.int64)
    source, target = (np.array([row[at] for row in rows], np.int32) for at in (0, 1))
    beads = (np.array(known.source_beads, np.int32), np.array(known.target_beads, np.int32))
    return BeadCounts(offsets, source, target, np.array([row[2] for row in rows], np.float32), *beads)


def search(source: Side, target: Side, known: Words | None) -> list[Any]:
    n, m = len(source.lengths), len(target.lengths)
    centre = np.rint(np.arange(n + 1) * m / n).astype(np.int64)
    low, high = np.clip(centre - 100, 0, m), np.clip(centre + 100, 0, m)
    words: tuple[Any, ...] = (None, None, None)
    if known is not None:
        words = (links(known.counts, known.shares[1], 0), links(known.counts, known.shares[0], 1), own_counts(known))
    beads = align_sentences(
        *(native_side(source), native_side(target), low, high),
        *(np.array(MODEL.kinds, np.int32), np.array(MODEL.priors)),
        *(MODEL.deletion, MODEL.extension, MODEL.ratio, MODEL.variance),
        *(*MODEL.gammas, *words, MODEL.pseudo, MODEL.mix, MODEL.window, MODEL.background, MODEL.weight, MODEL.free),
    )
    return [tuple(bead) for bead in beads.reshape(-1, 4).tolist()]


def check(source: Side, target: Side, known: Words | None) -> None:
    beads = search(source, target, known)
    assert beads[0][0] == beads[0][2] == 0
    assert all(before[1] == after[0] and before[3] == after[2] for before, after in pairwise(beads))
    assert beads[-1][1::2] == (len(source.lengths), len(target.lengths))
    best = reference.best_value(MODEL, source, target, known)
    assert reference.path_value(MODEL, source, target, known, beads) == pytest.approx(best, abs=1e-3)


@given(sides, sides)
def test_lengths_alone(source: Side, target: Side) -> None:
    check(source, target, None)


@given(sides, sides, st.data())
def test_lengths_and_words(source: Side, target: Side, data: st.DataObject) -> None:
    number = st.integers(0, WORDS - 1)
    counts = data.draw(st.dictionaries(st.tuples(number, number), st.sampled_from([0.5, 1.0, 3.25, 40.0])))
    shares = ([0.1, 0.2, 0.3, 0.15, 0.25], [0.3, 0.05, 0.25, 0.2, 0.2])
    own = [{cell: count / 2 for cell, count in list(counts.items())[start::2]} for start in (0, 1)]
    bead = st.integers(-1, 1)
    beads = [data.draw(st.lists(bead, min_size=size, max_size=size)) for size in map(len, (source.words, target.words))]
    check(source, target, Words(counts, shares, own, *beads))


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        ([0, 0], [1, 2], "a range for each place"),
        ([0, 0, 1], [1, 1, 1], "does not begin or end with the document"),
        ([0, 1, 0], [1, 2, 2], "the band falls or is broken"),
        ([0, 2, 2], [1, 2, 2], "the band falls or is broken"),
    ],
)
def test_wrong_bands_are_refused(low: list[int], high: list[int], message: str) -> None:
    side = native_side(Side([[], []], [5.0, 6.0]))
    kinds = (np.array([[1, 1]], np.int32), np.zeros(1), -7.0, -3.0, 1.0, 6.8, (1.0, 1.0), (1.0, 1.0), None, None, None)
    with pytest.raises(ValueError, match=message):
        align_sentences(side, side, np.array(low), np.array(high), *kinds, 2.0, 0.2, 1, 3.0, 0.25, -5.0)
