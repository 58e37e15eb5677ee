from __future__ import annotations

from pathlib import Path

import pytest

from tests.stages.clean.test_clean_leaks import server  # noqa: F401 - a fixture


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a file for each side."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/train.en").write_text("one\ntwo\n")
    (tmp_path / "data/train.de").write_text("eins\nzwei\n")
    return tmp_path
