from __future__ import annotations

import re
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
