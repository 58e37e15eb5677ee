from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = REPOSITORY.parent / "shared"


@pytest.fixture(autouse=True)
def cache_of_its_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces the user's cache directory by one of the test."""
    monkeypatch.setenv("NMT_PREP_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def memory_path(tmp_path: Path) -> Iterator[Path]:
    """Returns a directory in memory where the system has one, because flushing costs nothing there."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as directory:
        yield Path(directory)


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def shared() -> Path:
    """Returns the directory of real corpora and golden files beside the checkout."""
    if not SHARED.is_dir():
        pytest.skip(f"the real corpora are not at {SHARED}")
    return SHARED
