from __future__ import annotations

import numpy as np
import pytest

from nmt_prep.cleaning.languages import load_identifier
from nmt_prep.columns import TextColumn

pytest.importorskip("eldc", reason="eldc is not installed")

LINES = ["Hello my dear friend, how are you?", "Ein Mann sitzt auf einer Bank.", "我们去吃饭吧", "", "1234 5678"]


def test_top() -> None:
    identifier = load_identifier("eldc")
    assert len(identifier.labels) == 60
    labels, values = identifier.top(TextColumn.from_strings(LINES), 2)
    assert [identifier.labels[label] for label in labels[:3, 0]] == ["en", "de", "zh"]
    assert (values[:3, 0] > 0.9).all()
    assert labels[3:].tolist() == [[-1, -1], [-1, -1]]
    assert values[3:].tolist() == [[0, 0], [0, 0]]


def test_probabilities_are_cubed_odds_of_the_similarities() -> None:
    eldc = pytest.importorskip("eldc")
    identifier = load_identifier("eldc")
    eldc.init()
    detector = eldc.instance()
    detector.set_scores(20)
    scores = detector.detect_details(LINES[1]).scores
    odds = {label: (score / (1 - score)) ** 3 for label, score in scores.items()}
    wanted = [odds.get(label, 0.0) / sum(odds.values()) for label in identifier.labels]
    found = identifier.probabilities(TextColumn.from_strings(LINES[1:2]), range(60))
    np.testing.assert_allclose(found[0], wanted, rtol=1e-5)


def test_contest() -> None:
    identifier = load_identifier("eldc")
    english, german = identifier.labels.index("en"), identifier.labels.index("de")
    contest = identifier.contest(TextColumn.from_strings(LINES), [english], [german], 0.05)
    assert contest.own[0] > 0.9
    assert contest.label.tolist() == [-1, german, -1, -1, -1]
    assert contest.rival[[0, 2, 3, 4]].tolist() == [0, 0, 0, 0]
    assert contest.rival[1] > 0.9
    nobody = identifier.contest(TextColumn.from_strings(LINES), [english], [], 0.05)
    assert nobody.label.tolist() == [-1] * 5
