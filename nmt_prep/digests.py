"""Digests of files, and the memory of them that makes a second run quick."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import threading
from contextlib import suppress
from pathlib import Path

from nmt_prep.artefacts import parse_json, write_json
from nmt_prep.errors import OutputError

_CHUNK = 1 << 20


def cache_directory() -> Path:
    """Where nmt_prep keeps what it can do without: ``$NMT_PREP_CACHE``, else the user's cache directory."""
    if chosen := os.environ.get("NMT_PREP_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base or os.path.expanduser("~/.cache")) / "nmt_prep"  # noqa: PTH111 - Path's fails where there is no home


def check_regular(path: Path) -> None:
    """Refuses what a path can name that may have no end, or wait for a writer: devices, pipes and sockets.

    Raises:
        OSError: the path names one, or nothing.
    """
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal.

    Raises:
        OSError: the file cannot be read, or is no regular file.
    """
    check_regular(path)
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def digest_of(value: object) -> str:
    """SHA-256 of a value that JSON can express, in hexadecimal; the order of keys does not matter."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()  # paths need not be UTF-8


class DigestCache:
    """Digests of files, remembered for as long as size, times and inode stay as they were.

    The memory is a file in the cache directory, one for each directory that is worked in: it must not lie among
    the artefacts, which are the same bytes in every run. When it is lost, files are only read again. It never
    decides that a changed file is unchanged unless its size, modification time, change time and inode are the same.
    """

    def __init__(self, directory: Path) -> None:
        name = hashlib.sha256(str(directory.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
        self._path = path = cache_directory() / "digests" / f"{name[:32]}.json"
        self._lock = threading.Lock()
        self._changed = False
        self._known: dict[str, tuple[list[int], str]] = {}
        with suppress(OSError, ValueError, TypeError, AttributeError):
            stored = parse_json(path.read_bytes())
            self._known = {str(name): (list(stamp), str(digest)) for name, (stamp, digest) in stored.items()}

    def digest(self, path: Path, *, trust: bool = True) -> str:
        """SHA-256 of a file; with ``trust`` false the file is read whatever is remembered.

        Raises:
            OSError: the file cannot be read.
        """
        name = str(path.absolute())
        stamp = self._stamp(path)
        with self._lock:
            known = self._known.get(name)
        if trust and known is not None and known[0] == stamp:
            return known[1]
        digest = sha256_of(path)
        if stamp == self._stamp(path):
            self.remember(path, digest)
        return digest

    def remember(self, path: Path, digest: str) -> None:
        """Notes the digest of a file that was just written."""
        with self._lock:
            self._known[str(path.absolute())] = (self._stamp(path), digest)
            self._changed = True

    def save(self) -> None:
        """Writes the memory; failing to is no failure of the run."""
        with self._lock, suppress(OSError, OutputError):
            if self._changed:
                alive = {name: entry for name, entry in self._known.items() if Path(name).exists()}
                write_json(self._path, alive)
                self._changed = False

    @staticmethod
    def _stamp(path: Path) -> list[int]:
        status = path.stat()
        return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
