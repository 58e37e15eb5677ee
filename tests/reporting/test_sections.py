from __future__ import annotations

from pathlib import Path
from typing import Any

from nmt_prep.reporting.markup import join
from nmt_prep.reporting.sections import encoded, training
from nmt_prep.reporting.sections.flow import group_of
from tests.stages.runs import config_of


def test_groups_of_reasons() -> None:
    groups = {
        "duplicates": ("duplicate_pair", "near_duplicate", "too_many_targets", "too_many_sources"),
        "test sets": ("in_test_set:dev",),
        "rules": ("length", "regex/duplicate"),
    }
    for group, reasons in groups.items():
        assert {group_of(reason) for reason in reasons} == {group}


def document(number: int) -> dict[str, Any]:
    path = [[1, 2], [3, 4]]
    note = {"name": f"{number}.txt", "sentences": [3, 4], "alone": 1, "score": 3.0, "scored": 2, "translated": True}
    return {**note, "path": path}


def test_paths_of_more_documents_are_folded() -> None:
    worst = [document(number) for number in range(14)]
    note = {"documents": 14, "sentences": [42, 56], "kinds": {"1-1": 28}, "alone": 14, "pairs": 28, "weak": 0}
    summary = {"documents": {"train": {"books": {**note, "refused": [], "worst": worst}}}}
    page = str(join(encoded.section(summary)))
    assert page.count("path of ") == 14
    before, _, folded = page.partition("<summary>Paths of the next 2 documents</summary>")
    assert before.count("path of ") == 12
    assert "path of 12.txt" in folded
    assert "<table" not in folded


def test_the_page_lists_a_thousand_documents_left_out() -> None:
    refused = [[f"{number}.txt", "empty"] for number in range(1002)]
    note = {"documents": 1, "sentences": [3, 4], "kinds": {"1-1": 2}, "alone": 1, "pairs": 2, "weak": 0}
    summary = {"documents": {"train": {"books": {**note, "refused": refused, "worst": [document(0)]}}}}
    page = str(join(encoded.section(summary)))
    assert page.count(">empty<") == 1000
    assert "999.txt" in page
    assert "1000.txt" not in page
    assert "summary.json names 2 more." in page


TEXT = {"news": {"examples": [{"text": {"source": "A big dog.", "target": "Ein großer Hund."}}]}}


def facts(settings: dict[str, Any], pairs: int = 1000) -> dict[str, Any]:
    corpus = {"name": "news", "url": {"source": "a.en", "target": "a.de"}}
    config = config_of(Path("x"), corpus, records={"layout": "text"}, training=settings)
    return training.training_facts(config, {"news": pairs}, TEXT)


TRAINING = {
    "stages": [{"name": "start", "mix": {"news": 2}, "until": {"news": 1.5}}, {"name": "end", "mix": {"news": 1}}],
    "modifiers": [{"UpperCase": 0.1}, {"Noise": 0.1}],
}


def test_stages_and_examples() -> None:
    made = facts(TRAINING)
    names = ["UpperCase", "Noise"]
    assert made["stages"] == [
        {"name": "start", "rows": 1500, "mix": {"news": 1.0}, "epochs": {"news": 1.5}, "modifiers": names},
        {"name": "end", "rows": None, "mix": {"news": 1.0}, "epochs": {}, "modifiers": names},
    ]
    upper, noise = made["examples"]
    assert upper["modifier"] == "UpperCase"
    assert upper["pairs"][0]["after"] == {"source": "A BIG DOG.", "target": "EIN GROSSER HUND."}
    assert noise["pairs"][0]["after"]["source"] == noise["pairs"][0]["after"]["target"]
    page = "".join(map(str, training.section({"training": made})))
    assert "EIN GROSSER HUND." in page
    assert "news 1.50" in page


def test_a_config_without_stages_has_no_section() -> None:
    assert facts({}) == {}
    assert list(training.section({"training": {}})) == []


def test_a_plan_that_fails_does_not_end_the_report() -> None:
    made = facts(TRAINING, 0)
    assert made == {"problem": "training.stages.0.mix.news has no pairs; remove it, or look at what cleaning drops"}
    assert "has no pairs" in "".join(map(str, training.section({"training": made})))
