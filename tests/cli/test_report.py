from __future__ import annotations

import json
import re
import webbrowser
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.cli.app import run_app
from tests.corpus import write_config


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path, pairs=60)


def call(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["nmt-prep", *map(str, arguments)])
    return run_app()


def test_report(config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(monkeypatch, "report", config) == 1
    assert "run nmt-prep run" in capsys.readouterr().err
    assert call(monkeypatch, "run", config, "-q") == 0
    page = config.parent / "run" / "report" / "index.html"
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) is None)
    assert call(monkeypatch, "report", config, "--open") == 0
    shown = capsys.readouterr().out
    assert shown.startswith((page.parent / "summary.txt").read_text("utf-8") + "\nstage ")
    assert re.search(r"^encode +[0-9.]+ s +[0-9,]+ MB +[0-9]+ ", shown, re.MULTILINE)
    times = shown.partition("\nstage ")[2].partition("\n\n")[0].splitlines()[1:]
    stages = ["download", "extract", "compile", "sample", "vocab", "encode", "report"]
    assert [line.split()[0] for line in times] == stages
    assert shown.endswith(f"\npage: {page}\n")
    assert opened == [page.as_uri()]
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    assert call(monkeypatch, "report", config, "--open") == 0
    assert f"no browser was found; the page is {page}" in capsys.readouterr().err


def test_compare(config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    other = config.parent / "other"
    assert call(monkeypatch, "run", config, "-q") == 0
    assert call(monkeypatch, "run", config, "-q", "--set", f"output_dir={other}", "--set", "vocab.size=120") == 0
    capsys.readouterr()
    assert call(monkeypatch, "report", config, "--compare", other) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["config", str(other), "(base)", "this", "run", "change"] in lines
    assert ["vocab.size", "120", "200", "+66.7%"] in lines
    summaries: list[dict[str, Any]] = [
        json.loads((place / "report" / "summary.json").read_bytes()) for place in (config.parent / "run", other)
    ]
    sizes = [f"{summary['vocab']['target']['size']:,}" for summary in reversed(summaries)]
    assert [*("pieces:", "target", "(zh)"), *sizes] in [line[:5] for line in lines]
    assert not [line for line in lines if line[:3] == ["train/x:", "pairs", "out"]]
    assert call(monkeypatch, "report", config, "--compare", config.parent / "run" / "report" / "summary.json") == 0
    assert capsys.readouterr().out == "the signatures are equal: both runs made the same data\nnothing differs\n"


@pytest.mark.parametrize(
    ("content", "message"), [('{"schema": 99}', "has schema 99"), ("[]", "has schema None"), ("{", "is not a report")]
)
def test_other_files_are_refused(
    config: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    content: str,
    message: str,
) -> None:
    path = config.parent / "run" / "report" / "summary.json"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    assert call(monkeypatch, "report", config) == 1
    assert message in capsys.readouterr().err


def test_a_summary_without_some_numbers(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "run", config, "-q") == 0
    path = config.parent / "run" / "report" / "summary.json"
    summary = json.loads(path.read_bytes())
    other = config.parent / "other.json"
    for broken in ({"schema": 1}, {**summary, "signature": 3}, {**summary, "flow": {"train": {"x": {}}}}):
        other.write_text(json.dumps(broken))
        assert call(monkeypatch, "report", config, "--compare", other) == 1
        assert f"{path} or {other} does not have all numbers" in capsys.readouterr().err
    path.write_text(json.dumps({"schema": 1}))
    assert call(monkeypatch, "report", config) == 1
    assert f"{path} does not have all numbers" in capsys.readouterr().err
