"""File digests, cached so that a second run is quick, and hashes of file steps."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from _nmt_prep_core import block_facts, block_hash

from nmt_prep.base.artefacts import FlushingWriter, as_json, parse_json, parse_json_as, write_json
from nmt_prep.base.errors import OutputError


def cache_directory() -> Path:
    """Returns the cache directory: ``$NMT_PREP_CACHE``, else ``nmt_prep`` in the user's cache directory."""
    if chosen := os.environ.get("NMT_PREP_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base or os.path.expanduser("~/.cache")) / "nmt_prep"  # noqa: PTH111 - Path's needs a home


def check_regular(path: Path) -> None:
    """Checks that a path is a file or directory; a device, pipe or socket may never end, or may wait for a writer."""
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def sha256_of(path: Path) -> str:
    """Returns the SHA-256 of a file's bytes, in hexadecimal."""
    check_regular(path)
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class HashedFile(io.RawIOBase):
    """A file that is written from start to end, and the SHA-256 of its content. The caller opens and closes it."""

    def __init__(self, file: BinaryIO | FlushingWriter) -> None:
        super().__init__()
        self._file = file
        self._digest = hashlib.sha256()
        self.size = 0  # number of bytes written so far

    def writable(self) -> bool:
        return True

    def write(self, data: bytes | memoryview, /) -> int:  # type: ignore[override]
        """Appends bytes; returns their number."""
        size = self._file.write(data)
        self._digest.update(data)
        self.size += size
        return size

    def tell(self) -> int:
        return self.size

    @property
    def sha256(self) -> str:
        """Digest of the bytes written so far, in hexadecimal."""
        return self._digest.hexdigest()


def seed_of(text: str) -> int:
    """Returns a pseudorandom seed for a text: an unsigned 64-bit number, from its SHA-256."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def digest_of(value: object) -> str:
    """Returns a JSON value's SHA-256, in hexadecimal; the order of keys does not matter."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()  # paths need not be UTF-8


STEP_BYTES = 1 << 20
"""Size of a step in bytes. Lines are counted and files are checked by steps, so the size bounds the search for a
line."""


@dataclass(frozen=True)
class FileSteps:
    """A file's steps: blocks of equal size with their hashes, by which later passes divide and check the file."""

    size: int  # size of the file in bytes
    step: int  # size of a step in bytes; the last step may be shorter
    newlines: tuple[int, ...]  # number of newlines in each step
    hashes: tuple[int, ...]  # hash of each step, 64 bits
    unended: bool  # true if the file ends in a line without a newline

    def of_range(self, start: int, end: int) -> StepRange:
        """Returns the hashes of the steps that contain the bytes from ``start`` to ``end``."""
        return StepRange(self.step, 0, self.hashes).containing(start, end)


@dataclass(frozen=True)
class StepRange:
    """Hashes of a file's consecutive steps: step size, index of the first step, and hashes."""

    step: int
    first: int
    hashes: tuple[int, ...]

    def containing(self, begin: int, end: int) -> StepRange:
        first = begin // self.step
        return StepRange(self.step, first, self.hashes[first - self.first : -(-end // self.step) - self.first])


class CheckedFile:
    """A file whose bytes are read in whole steps, which are checked.

    A step that two consecutive ranges share is read once.
    """

    def __init__(self, path: Path, steps: StepRange) -> None:
        self.path, self._steps = path, steps
        self._buffer = self._held = memoryview(bytearray())
        self._at = 0  # offset of the held bytes in the file

    def read(self, begin: int, end: int) -> memoryview:
        """Returns the bytes from ``begin`` to ``end``, or to the file's end. The next call overwrites them."""
        # Consecutive ranges often share a step. The bytes that were checked for the last range move to the front of the
        # buffer, and only the steps after them are read and hashed. They are used even if the file has changed since.
        wanted = self._steps.containing(begin, end)
        at, size = wanted.first * wanted.step, len(wanted.hashes) * wanted.step
        known = self._held[at - self._at :][:size] if at >= self._at else memoryview(b"")
        buffer = self._buffer if size <= len(self._buffer) else memoryview(bytearray(size))
        self._held = buffer[:0]  # unless all steps are read and checked
        buffer[: len(known)] = known
        filled = len(known)
        with self.path.open("rb", buffering=0) as file:
            file.seek(at + filled)
            for number, expected in islice(enumerate(wanted.hashes), filled // wanted.step, None):
                first, stop = number * wanted.step, (number + 1) * wanted.step
                while filled < stop and (count := file.readinto(buffer[filled:stop])):
                    filled += count
                # Each step is checked at once, since its bytes are still in the processor's cache.
                if block_hash(buffer[first:filled]) != expected:
                    raise ValueError(f"{self.path} has changed")
        self._buffer, self._held, self._at = buffer, buffer[:filled], at
        return self._held[begin - at : end - at]


def steps_of(file: io.FileIO, size: int) -> Iterator[memoryview]:
    """Yields a file's bytes in steps of ``size`` bytes. The buffer is reused."""
    buffer = memoryview(bytearray(size))
    filled = 0
    while count := file.readinto(buffer[filled:]):
        filled += count
        if filled == size:
            yield buffer
            filled = 0
    if filled:
        yield buffer[:filled]


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
    newlines, hashes = tuple(count for count, _ in facts), tuple(hashed for _, hashed in facts)
    return digest.hexdigest(), FileSteps(size, STEP_BYTES, newlines, hashes, unended)


@dataclass(frozen=True)
class _Entry:
    """A file in the cache: size, times and inode; SHA-256; steps, or None."""

    stamp: list[int]
    digest: str
    steps: FileSteps | None = None


class DigestCache:
    """Cache for file digests.

    An entry is valid while size, modification time, change time and inode of the file are unchanged. The cache is a
    file in the cache directory, one per working directory; it must not be among the artefacts, which have the same
    bytes in every run. Without the cache, files are read again.
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
        """Returns the SHA-256 of a file.

        Args:
            trust: True to return a valid entry of the cache without reading the file.
            steps: True to compute the line positions that :meth:`steps` returns, too.
        """
        return self._entry(path, trust=trust, steps=steps).digest

    def steps(self, path: Path) -> FileSteps:
        """Returns a file's steps, from the cache if the entry is valid."""
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
        """Writes the cache file; ignores errors, since the cache is optional."""
        with self._lock, suppress(OSError, OutputError):
            if self._changed:
                alive = {name: as_json(entry) for name, entry in self._known.items() if Path(name).exists()}
                write_json(self._path, alive, compact=True)
                self._changed = False

    @staticmethod
    def _stamp(path: Path) -> list[int]:
        status = path.stat()
        return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _name(path: Path) -> str:
    """Returns a file's name in the cache; for a link, the name of its target."""
    path = path.absolute()
    while path.is_symlink():  # no endless loop: a circle of links could not be read
        path = path.parent / path.readlink()
    return str(path)
