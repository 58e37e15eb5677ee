from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpora.sources.fetching import Scene


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)
