from __future__ import annotations

import os
import re
import time
import webbrowser
from pathlib import Path

import pytest

from tests.cli.test_report import call
from tests.corpus import write_config


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path, pairs=60)


def test_page(config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) is None)
    page = config.parent / "page.html"
    assert call(monkeypatch, "try", config, "--output", page) == 0
    assert capsys.readouterr().out == f"page: {page}\n"
    assert not opened
    assert call(monkeypatch, "try", config) == 0
    [url] = opened
    assert Path(url.removeprefix("file://")).read_bytes() == page.read_bytes()
    assert not (config.parent / "run").exists()
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    assert call(monkeypatch, "try", config) == 0
    assert re.search("no browser was found; the page is .*html", capsys.readouterr().err)


def test_wrong_usage(config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(monkeypatch, "try", config, "--sample", "0") == 2
    assert call(monkeypatch, "try", config, "--output", config) == 2
    assert "is also read, as the config" in capsys.readouterr().err


def test_judgements_and_changes(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judged, page = config.parent / "judged.tsv", config.parent / "page.html"
    judged.write_text("corpus\trow\tkey\tjudgement\ntrain/x\t1\tother\tgood\n")
    assert call(monkeypatch, "try", config, "--output", page, "--judged", judged) == 1
    assert "row 1 of train/x is not the pair that was judged" in capsys.readouterr().err
    changes = config.parent / "changes.yaml"
    changes.write_text("clean: {preset: light}\n")
    assert call(monkeypatch, "try", config, "--apply", changes, "--watch") == 2
    assert call(monkeypatch, "try", config, "--apply", changes) == 0
    assert capsys.readouterr().out == f"changed in {config}: clean\n"
    assert config.read_text().endswith("clean: {preset: light}\n")
    assert call(monkeypatch, "try", config, "--apply", changes) == 0
    assert capsys.readouterr().out == f"{config} has these values already\n"


def test_watch(config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    page, text = config.parent / "page.html", config.read_text()
    contents = iter([text, "seed: [", text + "clean: {preset: light}\n"])

    def sleep(seconds: float) -> None:
        content = next(contents, None)
        if content is None:
            raise KeyboardInterrupt
        config.write_text(content)
        os.utime(config, ns=(time.time_ns(), time.time_ns()))

    monkeypatch.setattr(time, "sleep", sleep)
    assert call(monkeypatch, "try", config, "--output", page, "--watch") == 130
    shown = capsys.readouterr()
    assert shown.out.count("reload it") == 2
    assert "not valid YAML" in shown.err or "seed" in shown.err
    assert '"preset":"light"' in page.read_text("utf-8")
