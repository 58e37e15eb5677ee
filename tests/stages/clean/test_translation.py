"""The rule ``translation`` in runs, on an artificial language: each word of the source has one translation."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import CleaningError
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning import repaired
from nmt_prep.cleaning.align.learning import learn
from nmt_prep.cleaning.align.settings import RUN_SETTINGS
from nmt_prep.cleaning.corpus_rules.translation import SCORE_EDGES
from nmt_prep.cleaning.rule import Context, Pairs
from nmt_prep.cleaning.rules import make_rules
from nmt_prep.config import Config, Languages
from nmt_prep.corpora import parts
from nmt_prep.runs.trial.data import trial_data
from nmt_prep.stages.clean import Clean, translation
from nmt_prep.stages.clean import learned as learned_rules
from nmt_prep.stages.clean import parts as part_tasks
from tests.corpus import tree
from tests.stages.cleaning import cleaned, made_in_three_ways, pairs_below, rejected, write
from tests.stages.runs import config_of, manifest, run, run_of

RULE: dict[str, Any] = {"preset": "none", "rules": {"translation": {}}, "rejects": "all"}


def translated(count: int, misaligned: int, seed: int = 1) -> list[tuple[str, str]]:
    """Returns pairs of 6 to 12 words in the same order; the first ones have each other's targets."""
    draw = random.Random(seed)
    words = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrst"]
    lines = [
        draw.choices(range(len(words)), weights=range(len(words), 0, -1), k=draw.randint(6, 12)) for _ in range(count)
    ]
    pairs = [(" ".join(words[n] for n in line), " ".join(words[n][::-1] + "o" for n in line)) for line in lines]
    targets = [target for _, target in pairs]
    targets[:misaligned] = [*targets[1:misaligned], *targets[: min(misaligned, 1)]]
    return list(zip((source for source, _ in pairs), targets, strict=True))


PAIRS = translated(2100, 80)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Config:
    directory = tmp_path_factory.mktemp("judged")
    return run_of(directory, write(directory, "c", PAIRS), clean=RULE, until="clean")


def facts_of(config: Config, corpus: str = "c") -> dict[str, Any]:
    facts: dict[str, Any] = manifest(config, "clean").observed["translation"]["train"][corpus]
    return facts


def test_misaligned_pairs_are_dropped(judged: Config) -> None:
    dropped = rejected(judged)
    assert {row for _, _, row, _, _, _ in dropped} == set(range(80))
    assert {rule for _, _, _, rule, _, _ in dropped} == {"translation"}
    assert cleaned(judged) == PAIRS[80:]
    threshold = facts_of(judged)["threshold"]
    assert all(value < threshold == limit for _, _, _, _, value, limit in dropped)
    assert all(score >= threshold for (score,) in pairs_below(judged, "cleaned", "train", "score:translation"))
    counts = manifest(judged, "clean").counts
    assert (counts.pairs_in, counts.pairs_out, counts.dropped) == (2100, 2020, {"empty": 0, "translation": 80})


def test_histograms_and_estimates(judged: Config) -> None:
    facts = facts_of(judged)
    assert facts["learned_from"] == 2100
    assert facts["noise"] == pytest.approx(0.04, abs=0.01)
    assert facts["found"] >= 0.98
    assert facts["lost"] <= 0.005
    assert facts["left_out"] == ""
    assert facts["compared"]["edges"] == list(SCORE_EDGES)
    assert {name: sum(bins) for name, bins in facts["compared"]["series"].items()} == {"real": 2100, "re-paired": 1995}
    histogram = manifest(judged, "clean").details["corpora"]["train"]["c"]["histograms"]["translation"]["pair"]
    assert (sum(histogram["dropped"]), sum(histogram["kept"])) == (80, 2020)
    together = np.array(histogram["dropped"]) + np.array(histogram["kept"])
    assert together.tolist() == facts["compared"]["series"]["real"]


def test_repeated_pairs_do_not_vouch_for_themselves(tmp_path: Path) -> None:
    """The same with every pair three times, once in capitals and once with a point."""
    pairs = [*PAIRS, *((source.upper(), target) for source, target in PAIRS), *((s, f"{t}.") for s, t in PAIRS)]
    config = run_of(tmp_path, write(tmp_path, "c", pairs), clean=RULE, until="clean")
    assert facts_of(config)["learned_from"] == 2100
    dropped = {row for _, _, row, _, _, _ in rejected(config)}
    assert dropped == {copy * 2100 + row for copy in range(3) for row in range(80)}


def test_shares_workers_and_parts_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = PAIRS[:350]
    monkeypatch.setattr(learned_rules, "LEAST_PAIRS", 250)
    monkeypatch.setattr(parts, "PART_BYTES", 5_000)
    monkeypatch.setattr(parts, "ROW_GROUP_BYTES", 2_500)
    corpora = [write(tmp_path, "a", pairs[:200]), write(tmp_path, "b", pairs[200:])]
    clean = {**RULE, "rejects": "sample"}
    made_in_three_ways(tmp_path, *corpora, divided=lambda: monkeypatch.setattr(parts, "PART_BYTES", 3_000), clean=clean)


@pytest.mark.parametrize("most", [100_000, 1600])
def test_the_page_has_the_threshold_of_a_run(tmp_path: Path, most: int) -> None:
    """Two corpora, and a sample of a part of their pairs."""
    corpora = [write(tmp_path, "a", PAIRS), write(tmp_path, "b", translated(1000, 100, seed=3))]
    config = config_of(tmp_path, *corpora, seed=5, clean={**RULE, "rules": {"translation": {"pairs": most}}})
    controls = trial_data(config, 10_000)["controls"]
    run(config, until="clean")
    thresholds = {name: facts_of(config, name)["threshold"] for name in ("a", "b")}
    assert thresholds["a"] != thresholds["b"]
    found = [control["thresholds"] for control in controls if control["key"] == "translation"]
    assert found[0] == {f"train/{name}": threshold for name, threshold in thresholds.items()}


def test_too_few_pairs(tmp_path: Path) -> None:
    """The rule is left out; it is a warning only if the config names the rule."""
    config = config_of(tmp_path, write(tmp_path, "c", PAIRS[:200]), clean=RULE)
    (outcome,) = [each for each in run(config, until="clean") if each.stage == "clean"]
    assert cleaned(config) == PAIRS[:200]
    assert set(pairs_below(config, "cleaned", "train", "score:translation")) == {(None,)}
    text = (
        "clean.rules.translation is skipped: 200 distinct pairs are too few to learn from; at least "
        f"{learned_rules.LEAST_PAIRS:,} are needed"
    )
    assert [str(warning) for warning in outcome.warnings if warning.code == "rule_left_out"] == [f"train/c: {text}"]
    assert facts_of(config)["threshold"] is None


def test_a_run_resumes_where_it_failed(tmp_path: Path, judged: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(tmp_path, write(tmp_path, "c", PAIRS), clean=RULE)
    with monkeypatch.context() as patch:
        patch.setattr(part_tasks, "histogram", _broken)
        with pytest.raises(CleaningError, match="broken"):
            run(config, until="clean")
    with monkeypatch.context() as patch:
        patch.setattr(repaired, "learn", _broken)  # the model is not learned again
        run(config, until="clean")
    assert tree(config.run_dir / "cleaned") == tree(judged.run_dir / "cleaned")


def _broken(*_: object) -> None:
    raise CleaningError("broken")


def test_a_given_threshold_and_a_given_model(tmp_path: Path) -> None:
    """A model of other text of the same language; the pairs that were dropped have scores below 0."""
    _learn(tmp_path / "model", translated(1200, 0, seed=2))
    rules = {"translation": {"min": 0, "model": "model"}}
    config = run_of(tmp_path, write(tmp_path, "c", PAIRS[:300]), clean={**RULE, "rules": rules}, until="clean")
    assert cleaned(config) == PAIRS[80:300]
    facts = facts_of(config)
    assert (facts["learned_from"], facts["threshold"]) == (0, 0)
    assert facts["noise"] == pytest.approx(0.267, abs=0.05)
    rule = make_rules(rules, Context(Languages(source="en", target="zh"), SIDES, tmp_path))[0]
    columns = zip(SIDES, zip(*PAIRS[:300], strict=True), strict=True)
    lines = Pairs({side: pa.array(list(column), pa.large_string()) for side, column in columns})
    assert (rule.values(lines)[0] < 0).tolist() == [True] * 80 + [False] * 220


def _learn(path: Path, pairs: list[tuple[str, str]]) -> None:
    source, target = (TextColumn.from_strings(column) for column in zip(*pairs, strict=True))
    learn(lambda: [(source, target)], RUN_SETTINGS).save(path)


def test_the_best_pairs_by_the_score(tmp_path: Path) -> None:
    """``top`` follows the rule, and the limits per source are ranked by its score."""
    doubled = [*PAIRS, *((source, PAIRS[n - 1][1]) for n, (source, _) in enumerate(PAIRS[1000:1100], 1000))]
    rules = {"translation": {"min": -9}, "top": {"score": "translation", "keep": "90%"}}
    dedup = {"pair": "exact", "max_targets_per_source": 1, "keep": ["translation", "corpus"]}
    config = run_of(
        tmp_path, write(tmp_path, "c", doubled[::-1]), clean={**RULE, "rules": rules, "dedup": dedup}, until="clean"
    )
    dropped = {rule: sum(row[3] == rule for row in rejected(config)) for rule in ("top", "too_many_targets")}
    assert dropped["top"] == 220  # of 2,200 pairs
    assert len(set(PAIRS[1000:1100]) & set(cleaned(config))) > 90
    assert not set(doubled[2100:]) & set(cleaned(config))
    names = [round_.name for round_ in Clean().rounds_for(config)]
    first = names.index("translation")
    assert names[first : first + 5] == [
        "translation",
        "translation-threshold",
        "translation-top",
        "clean-sources",
        "clean-limits",
    ]


def test_top_keeps_a_corpus_that_could_not_be_scored(tmp_path: Path) -> None:
    rules = {"translation": {}, "top": {"score": "translation", "keep": "90%"}}
    config = run_of(tmp_path, write(tmp_path, "c", PAIRS[:200]), clean={**RULE, "rules": rules}, until="clean")
    assert cleaned(config) == PAIRS[:200]
    assert manifest(config, "clean").observed["rules"]["train"]["c"]["top"]["columns"] == {
        "translation": {"low": None, "high": None, "above": False, "below": False}
    }


def test_near_duplicates_are_found_before_there_is_a_score(tmp_path: Path) -> None:
    dedup = {"pair": "near", "max_targets_per_source": 1, "keep": ["translation", "corpus"]}
    config = run_of(
        tmp_path, write(tmp_path, "c", [*PAIRS[:50], *PAIRS[:50]]), clean={**RULE, "dedup": dedup}, until="clean"
    )
    assert cleaned(config) == PAIRS[:50]
    assert {rule for _, _, _, rule, _, _ in rejected(config)} == {"duplicate_pair"}


def test_a_missing_model(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no model\n")
    for name, message in (("nothing", "cannot read the model"), ("text", "is not a model of nmt-prep align")):
        rules = {"translation": {"model": name}}
        config = config_of(tmp_path, write(tmp_path, "c", PAIRS[:9]), clean={**RULE, "rules": rules})
        with pytest.raises(CleaningError, match=rf"clean.rules.translation.model, for the corpus c: .*{message}"):
            run(config)


def test_a_score_of_that_name(tmp_path: Path) -> None:
    corpus = {**write(tmp_path, "c", PAIRS[:9]), "scores": {"translation": {"url": "scores"}}}
    (tmp_path / "scores").write_text("1\n" * 9)
    with pytest.raises(CleaningError, match="already has a score of that name"):
        run(config_of(tmp_path, corpus, clean=RULE))


def test_rounds_have_unique_names() -> None:
    names = [round_.name for round_ in Clean.rounds]
    assert len(set(names)) == len(names)
    assert {round_.name for round_ in translation.Translation.rounds} <= set(names)
