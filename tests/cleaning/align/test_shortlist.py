"""Lexical shortlists."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nmt_prep.base.columns import Ragged
from nmt_prep.cleaning.align import links as links_module
from nmt_prep.cleaning.align.links import LexicalCounts, Links, write_shortlist

PIECES = ["▁the", "▁house", "s"], ["▁das", "▁Haus", "▁die", "▁Häuser"]


def _counts() -> LexicalCounts:
    """``the house``–``das Haus``, ``the houses``–``die Häuser`` with ``s`` alone, ``the``–``das``."""
    counts = LexicalCounts(3, 4)
    links = np.array([[0, 0], [1, 1], [0, 0], [1, 1]], np.int32)
    counts.add(
        Links(links, np.array([0, 2, 4]), 0),
        Ragged.from_lists([[0, 1], [0, 1, 2]]),
        Ragged.from_lists([[0, 1], [2, 3]]),
    )
    counts.add(Links(links[:1], np.array([0, 1]), 0), Ragged.from_lists([[0]]), Ragged.from_lists([[0, 3]]))
    return counts


S2T = """\
▁Häuser NULL 1.0000000
▁das ▁the 0.6666667
▁die ▁the 0.3333333
▁Haus ▁house 0.5000000
▁Häuser ▁house 0.5000000
NULL s 1.0000000
"""
T2S = """\
s NULL 1.0000000
▁the ▁das 1.0000000
▁house ▁Haus 1.0000000
▁the ▁die 1.0000000
NULL ▁Häuser 0.5000000
▁house ▁Häuser 0.5000000
"""


@pytest.mark.parametrize("pending", [0, 1 << 22])
def test_both_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pending: int) -> None:
    monkeypatch.setattr(links_module, "_PENDING", pending)
    counts = _counts()
    assert write_shortlist(counts, tmp_path / "lex.s2t", PIECES) == 6
    assert write_shortlist(counts, tmp_path / "lex.t2s", PIECES, backward=True) == 6
    assert (tmp_path / "lex.s2t").read_text("utf-8") == S2T
    assert (tmp_path / "lex.t2s").read_text("utf-8") == T2S


def test_best_only_and_nothing(tmp_path: Path) -> None:
    assert write_shortlist(_counts(), tmp_path / "lex.s2t", PIECES, best=1) == 4
    expected = [S2T.splitlines()[number] for number in (0, 1, 3, 5)]
    assert (tmp_path / "lex.s2t").read_text("utf-8").splitlines() == expected
    assert write_shortlist(LexicalCounts(3, 4), tmp_path / "lex.s2t", PIECES) == 0
    assert (tmp_path / "lex.s2t").read_bytes() == b""
