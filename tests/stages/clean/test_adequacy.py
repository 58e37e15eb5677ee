"""The rule ``adequacy`` in runs, on the artificial language of ``tests/cleaning/adequacy/corpus.py``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_prep.base.errors import CleaningError
from nmt_prep.base.progress import Progress
from nmt_prep.cleaning.adequacy import classifier as files
from nmt_prep.cleaning.adequacy import classifier_training as learning
from nmt_prep.cleaning.align.settings import SCORE_SETTINGS
from nmt_prep.cli.align.stream import StreamOptions, align_stream
from nmt_prep.cli.terminal import SafeConsole
from nmt_prep.config import Config
from nmt_prep.corpora import parts
from nmt_prep.stages.clean import learned as learned_rules
from nmt_prep.text.blocks import Block
from tests.cleaning.adequacy.corpus import corpus, learned, model
from tests.stages.cleaning import cleaned, made_in_three_ways, pairs_below, rejected, write
from tests.stages.runs import config_of, manifest, run, run_of

RULE: dict[str, Any] = {"preset": "none", "rules": {"adequacy": {}}, "rejects": "all"}
INCOMPLETE = 40


def halved(target: str) -> str:
    words = target.split()
    return " ".join([*words[: len(words) // 2], words[-1]])


def pairs() -> list[tuple[str, str]]:
    """The corpus, where the first targets lack half of their words."""
    source, target = corpus()
    return list(zip(source, [*map(halved, target[:INCOMPLETE]), *target[INCOMPLETE:]], strict=True))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Config:
    directory = tmp_path_factory.mktemp("judged")
    return run_of(directory, write(directory, "c", pairs()), clean=RULE, until="clean")


def learn_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets few trees learn from few pairs, which is enough to compare bytes."""
    monkeypatch.setattr(learned_rules, "LEAST_PAIRS", 250)
    monkeypatch.setattr(learning, "LEAST_PAIRS", 250)
    monkeypatch.setattr(learning, "_TREES", 20)


def facts_of(config: Config) -> dict[str, Any]:
    facts: dict[str, Any] = manifest(config, "clean").observed["adequacy"]["train"]["c"]
    return facts


def test_incomplete_pairs_are_dropped(judged: Config) -> None:
    dropped = rejected(judged)
    rows = [row for _, _, row, _, _, _ in dropped]
    assert {rule for _, _, _, rule, _, _ in dropped} == {"adequacy"}
    assert sum(row < INCOMPLETE for row in rows) >= 10
    assert sum(row >= INCOMPLETE for row in rows) <= 0.01 * len(pairs())
    kept = [(value, row) for row, value in pairs_below(judged, "cleaned", "train", "row", "score:adequacy")]
    ranked = [*rows, *(row for _, row in sorted(kept))]
    assert sum(row < INCOMPLETE for row in ranked[:INCOMPLETE]) >= 0.7 * INCOMPLETE
    threshold = facts_of(judged)["threshold"]
    assert all(value < threshold == limit for _, _, _, _, value, limit in dropped)
    assert len(cleaned(judged)) == len(pairs()) - len(rows)
    assert all(value >= threshold for (value,) in pairs_below(judged, "cleaned", "train", "score:adequacy"))


def test_dropped_pairs_tell_what_is_not_answered(judged: Config) -> None:
    dropped = pairs_below(judged, "rejected", "train", "row", "source", "column", "unanswered")
    told = [(row, source, words) for row, source, column, words in dropped if column == "source" and row < INCOMPLETE]
    assert len(told) >= 10
    gone = [set(words.split()) & set(source.split()[len(source.split()) // 2 : -1]) for _, source, words in told]
    assert sum(map(bool, gone)) >= 0.9 * len(told)


def test_histograms_and_estimates(judged: Config) -> None:
    facts = facts_of(judged)
    assert facts["learned_from"] == len(pairs())
    assert 0 < facts["noise"] <= 0.02
    assert facts["found"] > 0.5
    assert facts["lost"] <= 0.005
    assert sum(facts["compared"]["series"]["real"]) == len(pairs())
    assert sum(facts["compared"]["series"]["defective"]) > 1000


def test_the_command_gives_the_values_of_a_run(
    tmp_path: Path, judged: Config, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text = bytearray("".join(f"{source}\t{target}\n" for source, target in pairs()).encode())
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    block = Block(text, np.append(0, ends[:-1] + 1), ends, 1, 0, len(text))
    monkeypatch.setattr(sys.modules[align_stream.__module__], "input_blocks", lambda: [block])
    options = StreamOptions(None, None, None, None, tmp_path / "values", "union", SCORE_SETTINGS, 2)
    align_stream(options, SafeConsole(stderr=True), Progress())
    capfd.readouterr()
    values = (tmp_path / "values").read_text().splitlines()
    kept = pairs_below(judged, "cleaned", "train", "row", "score:adequacy")
    assert len(kept) > 1900
    assert [float(values[row]) for row, _ in kept] == [round(value, 6) for _, value in kept]


@pytest.mark.parametrize("quickly", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_shards_workers_and_parts_give_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quickly: bool
) -> None:
    if quickly:
        learn_quickly(monkeypatch)
    monkeypatch.setattr(parts, "PART_BYTES", 5_000)
    monkeypatch.setattr(parts, "ROW_GROUP_BYTES", 2_500)
    corpora = [write(tmp_path, "a", pairs()[:200]), write(tmp_path, "b", pairs()[200 : 500 if quickly else None])]
    made_in_three_ways(tmp_path, *corpora, divided=lambda: None, clean={**RULE, "rejects": "sample"})


def test_the_rule_is_left_out_without_enough_good_pairs(tmp_path: Path) -> None:
    few = config_of(tmp_path, write(tmp_path, "c", pairs()[:200]), clean=RULE)
    (outcome,) = [each for each in run(few, until="clean") if each.stage == "clean"]
    assert len(cleaned(few)) == 200
    said = "\n".join(map(str, outcome.warnings))
    assert "clean.rules.adequacy is skipped: 200 distinct pairs are too few to learn from" in said
    source, target = corpus()
    shifted = list(zip(source, [*target[:200], *target[201:], target[200]], strict=True))
    bad = config_of(tmp_path, write(tmp_path, "d", shifted), clean=RULE)
    (outcome,) = [each for each in run(bad, until="clean") if each.stage == "clean"]
    assert len(cleaned(bad)) == len(shifted)
    said = "\n".join(map(str, outcome.warnings))
    assert "clean.rules.adequacy is skipped" in said
    advice = "at least 1,500 are needed, or a model with a classifier (clean.rules.adequacy.model)"
    assert f"pairs translate each other well enough to learn from; {advice}" in said


def test_a_rule_that_reports_drops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learn_quickly(monkeypatch)
    text, configs = write(tmp_path, "c", pairs()[:600]), []
    for action in ("drop", "report"):
        clean = {**RULE, "rules": {"adequacy": {"action": action}}}
        configs.append(config_of(tmp_path / action, text, clean=clean).within(tmp_path))
        run(configs[-1], until="clean")
    drops, reports = configs
    assert rejected(reports) == []
    assert facts_of(reports) == facts_of(drops)
    values = dict(pairs_below(reports, "cleaned", "train", "row", "score:adequacy"))
    dropped = {row: value for _, _, row, _, value, _ in rejected(drops)}
    assert dropped
    assert dropped.items() <= values.items()


def test_a_given_classifier_judges_few_pairs(tmp_path: Path) -> None:
    files.save(learned()[0], tmp_path / "model")
    lines = [(source, target) for (source, _), target in zip(pairs(), corpus()[1], strict=True)][:60]
    lines[:6] = pairs()[:6]
    for lowest in (0, "auto"):
        rules = {"adequacy": {"model": "model", "min": lowest}}
        config = config_of(tmp_path, write(tmp_path, "c", lines), clean={**RULE, "rules": rules})
        run(config, until="clean")
        rows = {row for _, _, row, _, _, _ in rejected(config)}
        assert len(rows & set(range(6))) >= 4
        assert len(rows - set(range(6))) <= 3


def test_a_model_without_a_classifier_is_refused(tmp_path: Path) -> None:
    model().save(tmp_path / "model")
    rules = {"adequacy": {"model": "model"}}
    config = config_of(tmp_path, write(tmp_path, "c", pairs()[:60]), clean={**RULE, "rules": rules})
    with pytest.raises(CleaningError, match=r"clean\.rules\.adequacy\.model, for the corpus c: .* has no classifier"):
        run(config, until="clean")
