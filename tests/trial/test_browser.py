"""The page in a real browser: it decides about each pair as a run does."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from nmt_prep.checks.load import check_config
from nmt_prep.cleaning.cleaner import Cleaner
from nmt_prep.cleaning.presets import Cleaning
from nmt_prep.cleaning.rule import Context
from nmt_prep.config import Languages
from nmt_prep.trial.data import trial_data
from nmt_prep.trial.page import render
from tests.conftest import SHARED
from tests.reporting import browser

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed (Debian: apt-get install chromium)"),
]

DIRTY = SHARED / "corpora" / "dirty-ende" / "train.tsv.gz"

MOVES = """(() => {
  const found = [];
  for (const range of view.document.querySelectorAll("#cards .rule:not(.off) input[type=range]")) {
    const before = range.value, exact = range.nextSibling;
    if (range.getAttribute("aria-label").includes("translation")) continue;
    for (const place of [0.1, 0.3, 0.5, 0.7, 0.9]) {
      range.value = Math.round(range.max * place);
      range.dispatchEvent(new view.Event("input"));
      found.push([range.getAttribute("aria-label"), view.trial.differences(), view.trial.reasons()]);
    }
    exact.value = "1.23456";
    exact.dispatchEvent(new view.Event("change"));
    found.push([range.getAttribute("aria-label"), view.trial.differences(), view.trial.reasons()]);
    [...view.document.querySelectorAll("button")].find((each) => each.textContent === "Back to the config").click();
  }
  return found;
})()"""


@pytest.mark.slow
@pytest.mark.skipif(not DIRTY.exists(), reason="the noisy corpus is not there")
def test_sliders_decide_as_a_run_does(tmp_path: Path) -> None:
    from nmt_prep.config.file import parse_yaml

    data = trial_data(dirty(tmp_path), 3000)
    rows, texts = data["pairs"]["row"], gzip.decompress(DIRTY.read_bytes()).decode().split("\n")
    sides = zip(*(texts[row].split("\t")[:2] for row in rows), strict=True)
    text = dict(zip(("source", "target"), (pa.array(lines, pa.large_string()) for lines in sides), strict=True))
    context = Context(Languages(source="en", target="de"), ("source", "target"), tmp_path)
    moves = browser.values(render(data), MOVES, 1200, tmp_path)
    rules = {key: data["controls"][control]["spec"] for key, control in data["presets"]["standard"]}
    rules.pop("translation")
    fix = ("mojibake", "control", "nfc", "whitespace")
    decided = set()
    for label, yaml, reasons in moves:
        changed = parse_yaml(yaml, "changes")[0]["clean"]["rules"] if yaml else {}
        judged = Cleaner(Cleaning(fix, {**rules, **changed}), context, "x").clean(text)
        expected = [judged.names[reason] if reason >= 0 else "kept" for reason in judged.reasons.tolist()]
        shown = ["kept" if reason == "translation" else reason for reason in reasons]
        assert shown == expected, (label, yaml)
        decided.add((label, shown.count("kept")))
    assert len({label for label, _ in decided}) == 11
    assert len(decided) > 40


def dirty(directory: Path) -> Any:
    corpus = {"name": "dirty", "url": str(DIRTY), "columns": {"source": 0, "target": 1}}
    return check_config(
        {
            "name": "dirty",
            "languages": {"source": "en", "target": "de"},
            "output_dir": str(directory / "run"),
            "seed": 1,
            "splits": {"train": [corpus]},
            "clean": {"preset": "standard"},
            "vocab": {"size": 300},
        },
        "test config",
    ).within(directory)
