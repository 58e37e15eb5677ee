from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server import WebServer, web_server
from tests.sources.fetching import Scene


@pytest.fixture
def server() -> Iterator[WebServer]:
    with web_server() as running:
        yield running


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)
