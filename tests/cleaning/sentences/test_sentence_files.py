"""Formats of beads, and their agreement with gold beads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nmt_prep.base.errors import CorpusError
from nmt_prep.cleaning.sentences.sentence_files import Agreement, agreement, bead_lines, listed, read_gold

BEADS = np.array([[0, 2, 0, 1], [2, 3, 1, 1], [3, 4, 1, 3]])


def test_formats() -> None:
    assert bead_lines(BEADS) == ["[0, 1]:[0]", "[2]:[]", "[3]:[1, 2]"]


def test_gold_beads_are_read(tmp_path: Path) -> None:
    gold = tmp_path / "gold"
    gold.write_text("[0, 1]:[0]\n\n [2]:[]:0.25 \n[ 3 ]:[1,2]\n")
    assert read_gold(gold, (4, 3)) == [((0, 1), (0,)), ((2,), ()), ((3,), (1, 2))]
    gold.write_text(f"[0]:[0]\n[{'9' * 5000}]:[1]\n")
    with pytest.raises(CorpusError, match=r"gold: line 2 is not a bead such as \[0, 1\]:\[0\]"):
        read_gold(gold, (2, 2))


def test_agreement_counts_as_vecalign_does() -> None:
    gold = [((0, 1), (0,)), ((2, 3), (1,)), ((), (2,))]
    found = agreement(listed(BEADS), gold)
    assert found == Agreement(precision=1 / 3, recall=1 / 2, lax_precision=2 / 3, lax_recall=1.0)
    assert (round(found.f1, 4), round(found.lax_f1, 4)) == (0.4, 0.8)
    assert agreement([], gold).f1 == 0.0
