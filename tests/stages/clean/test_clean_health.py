from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nmt_prep.config import Config
from nmt_prep.runs.runner import run as run_all
from tests.stages.compile.test_compile_health import sentence, write
from tests.stages.runs import config_of, run


def warned(config: Config) -> dict[str, list[str]]:
    """Runs the stages; returns their warnings."""
    outcomes = run(config, until="clean", workers=2)
    return {outcome.stage: list(map(str, outcome.warnings)) for outcome in outcomes if outcome.warnings}


def corpora(directory: Path) -> list[dict[str, Any]]:
    """Writes corpora with frequent lines: one of which a rule drops, one of which it does not, and a clean one."""
    pairs = [sentence(number) for number in range(400)]
    gaps = [
        ("NO TRANSLATION AVAILABLE", target) if n % 2 else (source, target) for n, (source, target) in enumerate(pairs)
    ]
    often = [
        ("This is often there, in many pairs.", target) if n % 4 else pairs[n] for n, (_, target) in enumerate(pairs)
    ]
    return [write(directory, "gaps", gaps), write(directory, "often", often), write(directory, "fine", pairs)]


CLEAN = {"preset": "none", "rules": {"regex": {"gap": "^NO TRANSLATION"}}}


def test_what_cleaning_mended_gives_no_warning(tmp_path: Path) -> None:
    train = corpora(tmp_path)
    often = "train/often: 300 of 400 source lines (75.0%) are “This is often there, in many pairs.”"
    assert warned(config_of(tmp_path, *train)) == {
        "compile": ["train/gaps: 200 of 400 source lines (50.0%) are “NO TRANSLATION AVAILABLE”", often]
    }
    assert warned(config_of(tmp_path, *train, clean=CLEAN)) == {"clean": [often]}


def test_what_cleaning_mended_is_named(tmp_path: Path) -> None:
    config = config_of(tmp_path, *corpora(tmp_path), clean=CLEAN, vocab={"kind": "byte_bpe", "size": 300})
    run_all(config)
    gaps = "train/gaps: 200 of 400 source lines (50.0%) are “NO TRANSLATION AVAILABLE”"
    summary = (tmp_path / "run" / "report" / "summary.txt").read_text()
    assert f"before cleaning: {gaps}\n" in summary
    assert "NO TRANSLATION AVAILABLE" in (tmp_path / "run" / "report" / "index.html").read_text()


def test_pairs_of_dev_that_cleaning_leaves_in_train(tmp_path: Path) -> None:
    train = corpora(tmp_path)[2]
    dev = write(tmp_path, "dev", map(sentence, [1, 22, 333, *range(900, 950)]))
    config = config_of(tmp_path, train, splits={"dev": [dev]})
    assert warned(config) == {
        "compile": ["dev/dev: 3 of 53 pairs (5.7%) are also in train (fine 3); scores on them are too high"]
    }
    rules = {"regex": {"some": "number (1|22)[.]"}}
    config = config_of(tmp_path, train, splits={"dev": [dev]}, clean={"preset": "none", "rules": rules})
    assert warned(config) == {
        "clean": ["dev/dev: 1 of 53 pairs (1.9%) is also in train (fine 1); scores on them are too high"]
    }
    rules = {"regex": {"some": "number (1|22|333)[.]"}}
    both = {"preset": "none", "rules": rules, "splits": ["train", "dev"]}
    assert warned(config_of(tmp_path, train, splits={"dev": [dev]}, clean=both)) == {}


@pytest.mark.parametrize(
    ("clean", "told"),
    [
        (None, ["compile"]),
        ({"preset": "none", "rules": {"script": {}}}, ["compile"]),
        ({"preset": "none", "fix": {"target": [{"han": "simplified"}]}, "rules": {"script": {}}}, []),
    ],
)
def test_lines_that_are_dropped_for_the_other_script_of_chinese(
    tmp_path: Path, clean: dict[str, Any] | None, told: list[str]
) -> None:
    pairs = [sentence(number) for number in range(60)]
    mixed = [(source, target.replace("这", "這").replace("编号", "編號")) for source, target in pairs[:20]] + pairs[20:]
    if clean is not None and "fix" in clean:
        pytest.importorskip("opencc")
    config = config_of(tmp_path, write(tmp_path, "mixed", mixed), **({} if clean is None else {"clean": clean}))
    text = (
        "train/mixed: 33.3% of the target lines are Traditional Chinese, but zh stands for Simplified; the fix han: "
        "simplified converts them, without which the rules script and language drop them"
    )
    assert warned(config) == {stage: [text] for stage in told}
