from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.base.errors import CleaningError
from nmt_prep.corpora import parts
from tests.stages.cleaning import NONE, PAIRS, cleaned, numbered, write
from tests.stages.runs import config_of, run, steps


def test_missing_modules_and_programs_are_errors_before_any_work(tmp_path: Path) -> None:
    clean = {**NONE, "overrides": {"c": {"rules": {"python": "nowhere:f", "program": {"command": "./none"}}}}}
    config = config_of(tmp_path, write(tmp_path, "c", PAIRS), clean=clean)
    for work in (run, steps):
        with pytest.raises(CleaningError) as error:
            work(config)
        first, second = str(error.value).splitlines()
        missing = f"there is no module nowhere, neither beside the config in {tmp_path} nor installed"
        assert first == f"clean.overrides.c.rules.python: {missing}, for the corpus splits.train.c"
        missing = f"there is no program ./none in {tmp_path}, or it may not be executed"
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
