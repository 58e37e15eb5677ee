"""Digests of files, cached so that a second run is quick."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import block_facts, sha256_each, sha256_lanes_pay

from nmt_prep.artefacts import parse_json, write_json
from nmt_prep.errors import OutputError
from nmt_prep.file_steps import FileSteps, steps_of
from nmt_prep.typed_json import as_json, parse_json_as


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


def sha256_of_each(contents: Sequence[npt.NDArray[np.uint8]]) -> list[str]:
    """Returns the SHA-256 of the bytes of each array; of many arrays of similar size, all in one pass."""
    if len(contents) < _LEAST_LANES or not sha256_lanes_pay():
        return [hashlib.sha256(content.data).hexdigest() for content in contents]
    return [digest.hex() for digest in sha256_each(contents)]


def digest_of(value: object) -> str:
    """Returns the SHA-256 of a JSON value, in hexadecimal; the order of keys does not matter."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()  # paths need not be UTF-8


_LEAST_LANES = 4
"""Number of arrays from which on digesting them side by side is faster."""

STEP_BYTES = 1 << 20
"""Size of the steps that files of lines are counted and checked in, which bounds the search for a line."""


def _digest_with_steps(path: Path) -> tuple[str, FileSteps]:
    """Returns the SHA-256 of a file and its steps, in one pass."""
    check_regular(path)
    digest = hashlib.sha256()
    facts: list[tuple[int, int]] = []
    size, unended = 0, False
    with path.open("rb", buffering=0) as file:
        for block in steps_of(file, STEP_BYTES):
            digest.update(block)
            size += len(block)
            facts.append(block_facts(block))
            unended = block[-1] != ord("\n")
    newlines, hashes = tuple(count for count, _ in facts), tuple(each for _, each in facts)
    return digest.hexdigest(), FileSteps(size, STEP_BYTES, newlines, hashes, unended)


@dataclass(frozen=True)
class _Entry:
    """A file in the cache: size, times and inode, SHA-256, and its steps, if they were noted."""

    stamp: list[int]
    digest: str
    steps: FileSteps | None = None


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
        self._known: dict[str, _Entry] = {}
        with suppress(OSError, ValueError, TypeError, AttributeError):
            stored = parse_json(path.read_bytes())
            self._known = {str(name): parse_json_as(_Entry, entry) for name, entry in stored.items()}

    def digest(self, path: Path, *, trust: bool = True, steps: bool = False) -> str:
        """Returns the SHA-256 of a file, from the cache if ``trust`` is true and the entry is valid.

        If ``steps`` is true, the same pass notes the steps of the file for :meth:`steps`.

        Raises:
            OSError: the file cannot be read.
        """
        return self._entry(path, trust=trust, steps=steps).digest

    def steps(self, path: Path) -> FileSteps:
        """Returns the steps of a file, from the cache if the entry is valid.

        Raises:
            OSError: the file cannot be read.
        """
        steps = self._entry(path, trust=True, steps=True).steps
        assert steps is not None
        return steps

    def _entry(self, path: Path, *, trust: bool, steps: bool) -> _Entry:
        stamp = self._stamp(path)
        with self._lock:
            known = self._known.get(_name(path))
        valid = trust and known is not None and known.stamp == stamp
        if known is not None and valid and (not steps or (known.steps and known.steps.step == STEP_BYTES)):
            return known
        entry = _Entry(stamp, *_digest_with_steps(path)) if steps else _Entry(stamp, sha256_of(path))
        if stamp == self._stamp(path):
            self._remember(path, entry)
        return entry

    def remember(self, path: Path, digest: str) -> None:
        """Records the digest of a file that was just written."""
        self._remember(path, _Entry(self._stamp(path), digest))

    def _remember(self, path: Path, entry: _Entry) -> None:
        with self._lock:
            known = self._known.get(name := _name(path))
            if known is not None and (known.stamp, known.digest) == (entry.stamp, entry.digest):
                entry = replace(entry, steps=entry.steps or known.steps)
            self._known[name] = entry
            self._changed = True

    def save(self) -> None:
        """Writes the cache file; errors are ignored, since the cache is optional."""
        with self._lock, suppress(OSError, OutputError):
            if self._changed:
                alive = {name: as_json(entry) for name, entry in self._known.items() if Path(name).exists()}
                write_json(self._path, alive)
                self._changed = False

    @staticmethod
    def _stamp(path: Path) -> list[int]:
        status = path.stat()
        return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _name(path: Path) -> str:
    """Returns the name of a file in the cache; links have that of the file that they point to."""
    path = path.absolute()
    while path.is_symlink():  # a circle of links cannot be read, which is noticed before
        path = path.parent / path.readlink()
    return str(path)
