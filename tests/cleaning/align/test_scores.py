from __future__ import annotations

import math

import numpy as np
import pytest
from _nmt_prep_core import ALIGN_JUMPS, ALIGN_ONE, LexicalTable, LinkEvidence, NativeAligner, NumberedPairs

from nmt_prep.cleaning.align.model import Model
from nmt_prep.cleaning.align.settings import Settings
from tests.cleaning.align.corpus import SOURCE, TARGET, column, trained


def one_pair(source: list[int], target: list[int]) -> NumberedPairs:
    sides = [(np.array(words, np.int32), np.array([0, len(words)])) for words in (source, target)]
    return NumberedPairs(*sides[0], *sides[1])


def hand_made() -> tuple[LexicalTable, NativeAligner, LinkEvidence]:
    """Links so far: source word 1 with target word 1 three times and with 2 once; 2 with 2 four times."""
    cells = (np.array([0, 0, 2, 3]), np.array([1, 2, 2], np.int32), np.array([3, 1, 4]) * ALIGN_ONE)
    table = LexicalTable(*cells, 3)
    shares = np.array([0.1, 0.4, 0.5], np.float32)
    jumps = np.full(ALIGN_JUMPS + 1, 1.0, np.float32)
    aligner = NativeAligner(table, shares, shares, jumps, jumps, 0.3, 0.03, 2.0)
    return table, aligner, LinkEvidence(table, table.placed(*cells))


# A pair of word 1 and word 1, with a probability of no link of 0.3, and of unseen cells of 0.03 times the word's share.
FORWARD = 0.7 * (3 / 4 + 0.03 * 0.4) / (0.7 * (3 / 4 + 0.03 * 0.4) + 0.3 * 0.4)
BACKWARD = 0.7 * (3 / 3 + 0.03 * 0.4) / (0.7 * (3 / 3 + 0.03 * 0.4) + 0.3 * 0.4)


@pytest.mark.parametrize("jumps", [False, True])
def test_expected_links_by_hand(jumps: bool) -> None:
    table, aligner, _ = hand_made()
    counts = np.zeros(int(table.first()[-1]), np.int64)
    aligner.expect(one_pair([1], [1]), jumps, counts, 1)
    assert pytest.approx(0.698091, abs=1e-6) == FORWARD * BACKWARD
    offsets, targets, found = table.rows_of(counts, 1)
    assert (offsets.tolist(), targets.tolist()) == ([0, 0, 1, 1], [1])
    assert found[0] / ALIGN_ONE == pytest.approx(FORWARD * BACKWARD, abs=2e-6)


def test_scores_by_hand() -> None:
    _, aligner, evidence = hand_made()
    options = (2.0, 0.001, -3.0)  # pseudo count, part of the share, least value
    pair = one_pair([1], [1])
    # p(target | source) = (3 + 2 * 0.4) / (4 + 2), p(source | target) = (3 + 2 * 0.4) / (3 + 2); each by 0.4.
    expected = math.log(3.8 / 6 / 0.4 + 0.001) + math.log(3.8 / 5 / 0.4 + 0.001)
    assert expected == pytest.approx(1.102544, abs=1e-5)
    assert aligner.score(pair, evidence, np.array([0]), *options, 1) == pytest.approx(expected, abs=1e-5)
    # Without the pair's own link, 2.301909 of 3 are left of the cell, and of the column; 3.301909 of 4 of the row.
    own = math.log(3.101909 / 5.301909 / 0.4 + 0.001) + math.log(3.101909 / 4.301909 / 0.4 + 0.001)
    assert aligner.score(pair, evidence, np.array([1]), *options, 1) == pytest.approx(own, abs=1e-5)
    # Words that were never linked: nothing but the pseudo count, 2 of 4 + 2 and 2 of 3 + 2.
    never = math.log(2 / 6 + 0.001) + math.log(2 / 5 + 0.001)
    assert aligner.score(one_pair([2], [1]), evidence, np.array([0]), *options, 1) == pytest.approx(never, abs=1e-5)
    # Without a pseudo count, they have the least value in each direction.
    assert aligner.score(one_pair([2], [1]), evidence, np.array([0]), 0.0, 0.001, -3.0, 1) == [-6.0]


def test_words_without_counts_are_no_evidence() -> None:
    _, aligner, evidence = hand_made()
    # Word 0 of the source has no counts, and word 0 of the target neither: its probability is its share.
    assert aligner.score(one_pair([0], [0]), evidence, np.array([0]), 2.0, 0.0, -3.0, 1) == pytest.approx(0, abs=1e-6)


def test_a_pair_cannot_vouch_for_itself() -> None:
    source, target = [*SOURCE, "the cup"], [*TARGET, "das Wasser"]
    model = trained(source, target)
    learned = model.score(column(source), column(target), 1)
    assert learned[:7].min() > learned[8]
    assert model.score(column(source), column(target))[8] > learned[8]


def test_copies_of_a_group_are_left_out_together() -> None:
    once = trained([*SOURCE, "the cup"], [*TARGET, "das Wasser"])
    thrice = trained([*SOURCE, *["the cup"] * 3], [*TARGET, *["das Wasser"] * 3])
    pair = column(["the cup"]), column(["das Wasser"])
    assert thrice.score(*pair, 3)[0] == pytest.approx(once.score(*pair, 1)[0], abs=0.5)
    assert thrice.score(*pair, 1)[0] > thrice.score(*pair, 3)[0] + 1


def test_scores_do_not_depend_on_threads_and_need_words() -> None:
    model = trained()
    pairs = column(SOURCE * 200), column(TARGET * 200)
    assert model.score(*pairs, 1, 3).tolist() == model.score(*pairs, 1, 1).tolist()
    assert np.isnan(model.score(column(["", "the", " "]), column(["das", "", ""]))).all()


def test_models_in_training_do_not_score() -> None:
    with pytest.raises(ValueError, match="has not counted words yet"):
        Model.start(Settings()).score(column(["a"]), column(["b"]))
