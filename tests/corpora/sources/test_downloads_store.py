from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from nmt_prep.base.digests import DigestCache
from nmt_prep.corpora.sources.downloads import Store, Stored

ABC = hashlib.sha256(b"abc").hexdigest()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    (tmp_path / ABC).mkdir()
    (tmp_path / ABC / "a.tgz").write_bytes(b"abc")
    return Store(tmp_path, DigestCache(tmp_path))


def test_a_noted_file_is_found(store: Store) -> None:
    stored = Stored(f"{ABC}/a.tgz", ABC, 3)
    assert store.find(["url", "x"]) is None
    assert store.note(["url", "x"], stored) == stored
    assert store.find(["url", "x"]) == stored
    assert store.find(["url", "y"]) is None


def test_a_changed_file_does_not_count(store: Store) -> None:
    store.note("x", Stored(f"{ABC}/a.tgz", ABC, 3))
    path = store.directory / ABC / "a.tgz"
    path.write_bytes(b"abd")
    os.utime(path, (0, 0))
    assert store.find("x") is None
    assert store.find_digest(ABC, "a.tgz") is None
    path.unlink()
    assert store.find("x") is None


@pytest.mark.parametrize("text", ['{"file": ', "[" * 200_000, '{"file": 1, "sha256": "", "size": 1}', "[]"])
def test_a_damaged_note_does_not_count(store: Store, text: str) -> None:
    store.note("x", Stored(f"{ABC}/a.tgz", ABC, 3))
    [note] = (store.directory / ".notes").iterdir()
    note.write_text(text)
    assert store.find("x") is None


@pytest.mark.parametrize("name", ["a.tgz", "other.tgz"])
def test_a_file_is_found_by_digest_under_any_name(store: Store, name: str) -> None:
    assert store.find_digest(ABC, name) == Stored(f"{ABC}/a.tgz", ABC, 3)
    assert store.find_digest("0" * 64, name) is None


def test_a_forgotten_file_is_not_found(store: Store) -> None:
    store.forget()
    store.note("x", Stored(f"{ABC}/a.tgz", ABC, 3))
    store.forget()
    assert store.find("x") is None
    assert store.find_digest(ABC, "a.tgz") == Stored(f"{ABC}/a.tgz", ABC, 3)
