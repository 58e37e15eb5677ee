"""The stages of training in the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nmt_prep.reporting.sections.training import section, training_facts
from tests.stages.runs import config_of

TEXT = {"news": {"examples": [{"text": {"source": "A big dog.", "target": "Ein großer Hund."}}]}}


def facts(training: dict[str, Any], pairs: int = 1000) -> dict[str, Any]:
    corpus = {"name": "news", "url": {"source": "a.en", "target": "a.de"}}
    config = config_of(Path("x"), corpus, records={"layout": "text"}, training=training)
    return training_facts(config, {"news": pairs}, TEXT)


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
    page = "".join(map(str, section({"training": made})))
    assert "EIN GROSSER HUND." in page
    assert "news 1.50" in page


def test_a_config_without_stages_has_no_section() -> None:
    assert facts({}) == {}
    assert list(section({"training": {}})) == []


def test_a_plan_that_fails_does_not_end_the_report() -> None:
    made = facts(TRAINING, 0)
    assert made == {"problem": "training.stages.0.mix.news has no pairs; leave it out, or look at what cleaning drops"}
    assert "has no pairs" in "".join(map(str, section({"training": made})))
