from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base.errors import CleaningError
from tests.stages.cleaning import SHORT, pairs_below, rejected, write
from tests.stages.runs import config_of, run, run_of

SCORES = ["0.5", "", "0.9", "0.1", "0.7", "0.7", "", "0.3"]


def scored_corpus(directory: Path) -> dict[str, Any]:
    """Writes a corpus of eight pairs, the first of them too long, with a score for most of them."""
    (directory / "s.txt").write_text("".join(f"{score}\n" for score in SCORES))
    pairs = [("a b c d", "e"), *((f"pair {n}", f"{n}") for n in range(1, 8))]
    return {**write(directory, "c", pairs), "scores": {"s": "s.txt"}}


@pytest.mark.parametrize(
    ("keep", "kept", "threshold"),
    [("40%", [2, 4, 5], 0.7), ("50%", [2, 4, 5, 7], 0.3), (1, [2, 3, 4, 5, 7], -math.inf)],
)
def test_the_best_share_by_a_score_is_kept(tmp_path: Path, keep: object, kept: list[int], threshold: float) -> None:
    rules = {**SHORT["rules"], "top": {"score": "s", "keep": keep}}
    config = run_of(tmp_path, scored_corpus(tmp_path), clean={**SHORT, "rules": rules}, until="clean")
    assert pairs_below(config, "cleaned", "train", "row", "score:s") == [(row, float(SCORES[row])) for row in kept]
    assert {rule: limit for _, _, _, rule, _, limit in rejected(config)} == {"length": 3.0, "top": threshold}
    values = {row: value for _, _, row, rule, value, _ in rejected(config) if rule == "top"}
    assert [row for row, value in values.items() if value is None] == [1, 6]


def test_a_score_that_the_corpus_lacks_is_an_error(tmp_path: Path) -> None:
    rules = {"top": {"score": "t", "keep": 0.5}}
    config = config_of(tmp_path, scored_corpus(tmp_path), clean={**SHORT, "rules": rules})
    message = (
        r"^clean\.rules\.top: the corpus splits\.train\.c has no score 't' \(its scores: s\); name it below scores of "
        r"the corpus, or set top: off below clean\.overrides\.c\.rules$"
    )
    with pytest.raises(CleaningError, match=message):
        run(config)


def test_pairs_outside_the_limits_of_a_score_are_dropped(tmp_path: Path) -> None:
    rules = {"score": {"s": {"min": 0.5}}}
    config = run_of(tmp_path, scored_corpus(tmp_path), clean={**SHORT, "rules": rules}, until="clean")
    assert pairs_below(config, "cleaned", "train", "row") == [(0,), (2,), (4,), (5,)]
    assert [(row, rule, value) for _, _, row, rule, value, _ in rejected(config)] == [
        (1, "score", None),
        (3, "score", 0.1),
        (6, "score", None),
        (7, "score", 0.3),
    ]
    config = config_of(tmp_path, scored_corpus(tmp_path), clean={**SHORT, "rules": {"score": {"t": {"min": 0.5}}}})
    with pytest.raises(CleaningError, match=r"^clean\.rules\.score: the corpus splits\.train\.c has no score 't'"):
        run(config)
