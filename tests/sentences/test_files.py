"""Formats of beads, and their agreement with gold beads."""

from __future__ import annotations

import numpy as np

from nmt_prep.sentences.files import Agreement, agreement, bead_lines, ladder_lines, listed

BEADS = np.array([[0, 2, 0, 1], [2, 3, 1, 1], [3, 4, 1, 3]])


def test_formats() -> None:
    assert bead_lines(BEADS) == ["[0, 1]:[0]", "[2]:[]", "[3]:[1, 2]"]
    assert ladder_lines(BEADS) == ["0\t0", "2\t1", "3\t1", "4\t3"]


def test_agreement_counts_as_vecalign_does() -> None:
    gold = [((0, 1), (0,)), ((2, 3), (1,)), ((), (2,))]
    found = agreement(listed(BEADS), gold)
    assert found == Agreement(precision=1 / 3, recall=1 / 2, lax_precision=2 / 3, lax_recall=1.0)
    assert (round(found.f1, 4), round(found.lax_f1, 4)) == (0.4, 0.8)
    assert agreement([], gold).f1 == 0.0
