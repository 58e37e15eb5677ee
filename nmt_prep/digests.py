"""Digests of files, cached so that a second run is quick."""

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


def cache_directory() -> Path:
    """Returns the cache directory: ``$NMT_PREP_CACHE``, else ``nmt_prep`` in the user's cache directory."""
    if chosen := os.environ.get("NMT_PREP_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base or os.path.expanduser("~/.cache")) / "nmt_prep"  # noqa: PTH111 - Path's needs a home


def check_regular(path: Path) -> None:
    """Raises if a path is a device, pipe or socket, which may never end or may wait for a writer.

    Raises:
        OSError: the path is one of these, or does not exist.
    """
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def sha256_of(path: Path) -> str:
    """Returns the SHA-256 of a file's bytes, in hexadecimal.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    check_regular(path)
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(value: object) -> str:
    """Returns the SHA-256 of a JSON value, in hexadecimal; the order of keys does not matter."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()  # paths need not be UTF-8


class DigestCache:
    """Cache of the digests of files; an entry is valid while the file's size, times and inode are unchanged.

    The cache is a file in the cache directory, one per working directory. It must not lie among the artefacts, which
    have the same bytes in every run. If it is lost, files are read again. A changed file counts as unchanged only if
    its size, modification time, change time and inode are all the same.
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
        """Returns the SHA-256 of a file, from the cache if ``trust`` is true and the entry is valid.

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
        """Records the digest of a file that was just written."""
        with self._lock:
            self._known[str(path.absolute())] = (self._stamp(path), digest)
            self._changed = True

    def save(self) -> None:
        """Writes the cache file; errors are ignored, since the cache is optional."""
        with self._lock, suppress(OSError, OutputError):
            if self._changed:
                alive = {name: entry for name, entry in self._known.items() if Path(name).exists()}
                write_json(self._path, alive)
                self._changed = False

    @staticmethod
    def _stamp(path: Path) -> list[int]:
        status = path.stat()
        return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
