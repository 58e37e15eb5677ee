from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from nmt_prep.errors import ConfigError, OutputError
from nmt_prep.lockfile import Locked, LockFile, lock_path

ONE = Locked("http://host/one", "1" * 64, 1, "http://mirror/one", '"etag"', "2026-01-31T12:00:00Z")
TWO = Locked("http://host/two", "2" * 64, 2)


def test_where_it_is() -> None:
    assert lock_path(Path("configs/enzh.yaml")) == Path("configs/enzh.lock")


def test_what_is_noted_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
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


def test_renewing_forgets_what_is_not_noted_again(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    LockFile(path).note(ONE)
    lock = LockFile(path, renew=True)
    assert lock.find([ONE.address]) is None
    lock.note(TWO)
    assert LockFile(path).find([ONE.address]) == ONE
    lock.finish()
    assert LockFile(path).find([ONE.address]) is None
    assert LockFile(path).find([TWO.address]) == TWO


def test_renewing_some(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
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


def test_two_runs_of_one_config(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
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


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"version": 1}',
        b'{"version": 1, "files": {"a": {}}}',
        b'{"version": 1, "files": 3}',
        b'{"version": 1, "files": {"a": {"sha256": 1, "size": 1}}}',
        b'{"version": 1, "files": {"a": {"sha256": "0", "size": "x"}}}',
        b"[" * 200_000,
    ],
)
def test_what_is_no_lock_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.lock"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=rf"^{path} is no lock file: restore it, or renew it with `nmt-prep lock"):
        LockFile(path)
    LockFile(path, renew=True).finish()
    assert json.loads(path.read_text()) == {"files": {}, "version": 1}


def test_a_later_version(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    path.write_text('{"version": 2, "files": {}}')
    with pytest.raises(ConfigError, match="version 2 of lock files is not known here; update nmt_prep"):
        LockFile(path)


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises((ConfigError, OutputError), match=r"file/a\.lock"):
        LockFile(tmp_path / "file" / "a.lock").note(ONE)
