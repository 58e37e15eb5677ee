"""Sentences of documents, aligned by lengths and words."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa

from nmt_prep.cleaning.sentences.aligner import Aligner, Level, Lexicon, align_documents, capped
from nmt_prep.cleaning.sentences.search import BeadTotals, Priors, Sentences, path_near
from tests.cleaning.sentences.documents import Lines, shuffled_document


def aligned(documents: list[tuple[Lines, Lines]], threads: int = 1) -> list[list[list[int]]]:
    columns = [
        (pa.array(source, pa.large_string()), pa.array(target, pa.large_string())) for source, target in documents
    ]
    return [beads.tolist() for beads in align_documents(columns, threads=threads)[0]]


def test_joined_split_and_missing_sentences_are_found() -> None:
    documents, expected = zip(*(shuffled_document(random.Random(seed), 150) for seed in range(3)), strict=True)
    found = aligned(list(documents))
    right = sum(bead in beads for beads, gold in zip(found, expected, strict=True) for bead in gold)
    assert right / sum(map(len, expected)) > 0.97


def test_threads_do_not_change_the_beads() -> None:
    documents = [shuffled_document(random.Random(seed), 60)[0] for seed in range(4)]
    assert aligned(documents, threads=1) == aligned(documents, threads=3)


def test_a_prior_counts_as_much_as_the_documents() -> None:
    (source, target), _ = shuffled_document(random.Random(5), 400)
    documents = [(pa.array(source, pa.large_string()), pa.array(target, pa.large_string()))]
    prior = Aligner(documents, Lexicon.begun(documents, None)).learned(align_documents(documents)[0])
    total = int(prior.vocabularies[0].counts.sum())
    assert capped(prior, total).vocabularies[0].counts.sum() == total
    small = Lexicon.begun([(documents[0][0][:20], documents[0][1][:20])], prior)
    assert small.prior is not None
    assert 400 <= small.prior.vocabularies[0].counts.sum() <= 400 + len(prior.vocabularies[0])
    words = Lexicon.begun([(documents[0][0][:20], documents[0][1][:20])], None)
    known = small.model.vocabularies[0].numbers_of(words.model.vocabularies[0].hashes)
    assert np.allclose(small.shares[0][known] / words.shares[0][1:], small.shares[0][known[0]] / words.shares[0][1])


def test_kinds_of_beads_cost_less_where_there_are_many() -> None:
    path = np.array([[0, 1, 0, 1], [1, 2, 1, 1], [2, 3, 1, 1], [3, 4, 1, 2], [4, 4, 2, 3]])
    assert BeadTotals.of([path, path[:1]]) == BeadTotals(gaps=2, paired=3, single=3)
    costs = [BeadTotals(gaps, 2000, 1500).priors().deletion for gaps in (0, 30, 90, 600)]
    assert costs == [-7.0, -5.07238, -4.0, -4.0]
    gained = [BeadTotals(0, 2000, single).priors().several for single in (2000, 1900, 1500, 800)]
    assert gained == [-3.0, -1.646363, 0.017029, 1.0]
    assert BeadTotals(0, 0, 0).priors() == Priors(-7.0, 0.0)


def test_beads_score_above_those_with_other_targets_if_documents_translate_each_other() -> None:
    level = Level.of(np.array([3.0, np.nan, 2.0]), np.array([-1.0, np.nan, -2.0]), 1)
    assert (level, level.distance) == (Level(5.0, 2, -3.0, 2, 1), 4.0)
    assert level.fidelity(0.5, 2.5) == 0.5
    assert Level.sum([level, level]) == Level(10.0, 4, -6.0, 4, 2)
    assert [Level(score, 200, 0.0, 200).unrelated for score in (399.0, 401.0)] == [True, False]
    assert not Level(0.0, 199, 0.0, 199).unrelated
    draw = random.Random(1)
    source, target = (pa.array([f"{word} {draw.random()}" for _ in range(3)], pa.large_string()) for word in "ab")
    _, found = align_documents([(source, target)])
    assert (found.beads, found.others, found.unrelated) == (3, 3, False)


def test_words_after_the_first_thousand_are_not_compared() -> None:
    lines = [f"{'a ' * number}{'b ' * 7000}" for number in (1, 1000, 2000)]
    texts = pa.array([*lines, "a " * 1000], pa.large_string()), pa.array(["a b"] * 4, pa.large_string())
    aligner = Aligner([texts], Lexicon.begun([texts], None))
    source, target = aligner.documents[0]
    assert (aligner.cut, source.cut, target.cut) == (3, 3, 0)
    assert np.diff(source.offsets).tolist() == [1000] * 4
    a, b = source.words[:2].tolist()
    assert source.words.tolist() == [a, *[b] * 999, *[a] * 3000]
    assert align_documents([texts])[1].cut == 3


def test_a_band_widens_where_the_path_touches_its_edge() -> None:
    draw = random.Random(1)
    lengths = [float(draw.randint(5, 200)) for _ in range(600)]
    longer = [*lengths[:300], *[30.0] * 40, *lengths[300:]]
    document = Sentences.without_words(np.array(lengths)), Sentences.without_words(np.array(longer))
    gap = [[400, 400, i, i + 1] for i in range(400, 440)]
    before = [[i, i + 1, i, i + 1] for i in range(400)] + gap + [[i, i + 1, i + 40, i + 41] for i in range(400, 600)]
    beads = path_near(document, np.array(before), width=10)
    right = {(i, i + 1, j, j + 1) for i, j in zip(range(600), [*range(300), *range(340, 640)], strict=True)}
    assert len(right & set(map(tuple, beads.tolist()))) >= 595


def test_short_documents_and_long_ones_that_are_searched_coarse_to_fine() -> None:
    for source in ("One sentence.", ""):
        assert aligned([([source], ["Ein Satz."])]) == [[[0, 1, 0, 1]]]
    document, expected = shuffled_document(random.Random(7), 2200)
    (beads,) = aligned([document])
    assert sum(bead in beads for bead in expected) / len(expected) > 0.97


def test_a_long_passage_without_counterpart_is_found() -> None:
    (source, target), _ = shuffled_document(random.Random(3), 300)
    passage = [f"Nachtrag: {' '.join(words)}." for words in zip("abcdefghijklmnopqrst" * 3, "uvwxyz" * 10, strict=True)]
    (beads,) = aligned([(source, [*target[:120], *passage, *target[120:]])])
    alone = {bead[2] for bead in beads if bead[0] == bead[1]}
    assert len(alone & set(range(120, 180))) >= 57
