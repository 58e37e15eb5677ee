from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from nmt_prep.base.errors import ConfigError, OutputError
from nmt_prep.corpora.sources.lockfile import Locked, LockFile, lock_path

ONE = Locked("http://host/one", "1" * 64, 1, "http://mirror/one", '"etag"', "2026-01-31T12:00:00Z")
TWO = Locked("http://host/two", "2" * 64, 2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.lock"


def test_path_of_the_lock_file() -> None:
    assert lock_path(Path("configs/enzh.yaml")) == Path("configs/enzh.lock")


def test_a_noted_file_is_found(path: Path) -> None:
    lock = LockFile(path)
    lock.note(TWO)
    lock.note(ONE)
    assert path.read_text() == (
        "{\n"
        '  "files": {\n'
        '    "http://host/one": {\n'
        '      "etag": "\\"etag\\"",\n'
        f'      "sha256": "{"1" * 64}",\n'
        '      "size": 1,\n'
        '      "time": "2026-01-31T12:00:00Z",\n'
        '      "url": "http://mirror/one"\n'
        "    },\n"
        '    "http://host/two": {\n'
        f'      "sha256": "{"2" * 64}",\n'
        '      "size": 2\n'
        "    }\n"
        "  },\n"
        '  "version": 1\n'
        "}\n"
    )
    again = LockFile(path)
    assert again.find(["http://host/one"]) == ONE
    assert again.find(["http://elsewhere/two", "http://user:word@host/two"]) == TWO
    assert again.find(["http://host/three"]) is None


def test_without_a_file_nothing_is_noted(tmp_path: Path) -> None:
    lock = LockFile(None)
    lock.note(ONE)
    lock.finish()
    assert lock.find([ONE.address]) is None
    assert [*tmp_path.iterdir()] == []


def test_updating_drops_entries_that_are_not_noted_again(path: Path) -> None:
    LockFile(path).note(ONE)
    lock = LockFile(path, renew=True)
    assert lock.find([ONE.address]) is None
    lock.note(TWO)
    assert LockFile(path).find([ONE.address]) == ONE
    lock.finish()
    assert LockFile(path).find([ONE.address]) is None
    assert LockFile(path).find([TWO.address]) == TWO


def test_updating_some_entries(path: Path) -> None:
    LockFile(path).note(ONE)
    LockFile(path).note(TWO)
    lock = LockFile(path, renew=["http://user:word@host/one", "http://host/gone"])
    assert lock.renews(["http://host/x", "http://host/one"])
    assert not lock.renews(["http://host/two"])
    assert lock.find([ONE.address]) is None
    assert lock.find([TWO.address]) == TWO
    new = Locked(ONE.address, "3" * 64, 3)
    lock.note(new)
    assert LockFile(path).find([ONE.address]) == ONE
    lock.finish()
    assert LockFile(path).find([ONE.address]) == new
    assert LockFile(path).find([TWO.address]) == TWO


def test_two_runs_of_one_config(path: Path) -> None:
    locks = [LockFile(path) for _ in range(8)]
    threads = [
        threading.Thread(target=lock.note, args=(Locked(f"http://host/{number}", "0" * 64, number),))
        for number, lock in enumerate(locks)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(json.loads(path.read_text())["files"]) == [f"http://host/{number}" for number in range(8)]


OURS = b'{"files": {"http://host/a": {"sha256": "0", "size": 1}}, "version": 1}'


def test_the_order_of_keys_is_free(path: Path) -> None:
    path.write_text('{"version": 1, "files": {"http://host/a": {"size": 1, "sha256": "0"}}}')
    assert LockFile(path).find(["http://host/a"]) == Locked("http://host/a", "0", 1)
    LockFile(path, renew=True).finish()
    assert json.loads(path.read_text()) == {"files": {}, "version": 1}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        bytes(300),
        OURS[:-20],
        OURS.replace(b": 1}", b": }"),
        OURS.replace(b'"0"', b"1"),
        OURS.replace(b'"size": 1', b'"size": "x"'),
        OURS.replace(b": 1}", b": \xff}"),
        OURS.replace(b': "0"', b": " + b"[" * 200_000),
        b'<<<<<<< HEAD\n{\n  "files": {\n=======\n{"files": {\n>>>>>>> other\n "a": {"sha256": "0", "size": 1}\n}}',
        b'{"files": {"a": {}}, "version": 1}',
    ],
)
def test_a_damaged_lock_file_is_replaced_only_when_asked(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=rf"^the lock file {path} is damaged: restore it, or renew it with `nmt-prep"):
        LockFile(path)
    assert path.read_bytes() == content
    LockFile(path, renew=True).finish()
    assert json.loads(path.read_text()) == {"files": {}, "version": 1}


@pytest.mark.parametrize(
    "content",
    [
        b'version = 1\n\n[[package]]\nname = "nmt_prep"\n',  # uv.lock
        b'{"nodes": {}, "root": "root", "version": 7}',  # flake.lock
        b'{"_meta": {"hash": {"sha256": "0"}}, "default": {}}',  # Pipfile.lock
        b'{"files": {"mine": true}}',
        b'{"version": 1, "files": ["mine"]}',
        b"output_dir: runs\n",
        b"[]",
        b"\xff",
    ],
)
@pytest.mark.parametrize("renew", [False, True, ["http://host/a"]])
def test_a_file_of_another_program_is_never_overwritten(
    tmp_path: Path, content: bytes, renew: bool | list[str]
) -> None:
    path = tmp_path / "uv.lock"
    path.write_bytes(content)
    message = rf"^{path} is not a lock file of nmt_prep, .*; rename the config, or move uv\.lock away$"
    with pytest.raises(ConfigError, match=message):
        LockFile(path, renew=renew)
    path.unlink()
    lock = LockFile(path, renew=renew)
    path.write_bytes(content)  # while the files were fetched
    with pytest.raises(ConfigError, match=message):
        lock.finish() if renew else lock.note(ONE)
    assert path.read_bytes() == content


def test_lock_files_that_cannot_be_read(path: Path) -> None:
    path.write_text('{"files": {}, "version": 2}')
    with pytest.raises(ConfigError, match="version 2 of lock files is not supported; update nmt_prep"):
        LockFile(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(ConfigError, match=rf"^cannot read the lock file {path}: Is a directory$"):
        LockFile(path, renew=True)


def test_unwritable_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises((ConfigError, OutputError), match=r"file/a\.lock"):
        LockFile(tmp_path / "file" / "a.lock").note(ONE)
