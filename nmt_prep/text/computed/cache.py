"""The stored values of a program or function, by the keys of their texts, in a directory that runs and machines share.

A directory holds one kind of value: all its values come from one command, version and language pair. Each process
appends a batch's values to a log of its own, ``<number>.log``. Full logs, and those that processes left behind,
become sorted files, ``<number>.run``, which are read through the page cache. Both consist of frames: eight bytes that
mark a frame, its size and its hash, then an Arrow stream with the columns ``high``, ``low`` (the key) and ``value``. A
frame with another hash is passed over, so a file may be cut anywhere. To append, a process locks the directory and
reads what others have appended. So a text has the same value for all processes, the first one that was stored.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import block_hash

from nmt_prep.base.artefacts import atomic_write, parse_json, write_json
from nmt_prep.base.errors import ComputedError, OutputError

Keys: TypeAlias = "npt.NDArray[np.uint64]"

ABOUT = "about.json"
IDENTITY = 32  # Letters of a directory's name
_MAGIC = b"nmtvals1"
_HEADER = len(_MAGIC) + 16
_FULL_BYTES = 1 << 23  # Bytes of a log that becomes a sorted file: 300,000 numbers
_MERGED = 1 << 16  # Entries of a level that is not merged any more, so that merging takes little memory
_LEVELS = 8  # Levels that are merged at a time
_TAIL = 40  # Bits of a key that are not compared before it is searched
_SYNC_SECONDS = 1.0


@dataclass(frozen=True)
class Entries:
    """Keys in ascending order, and their values."""

    high: Keys
    low: Keys
    values: pa.Array

    def __len__(self) -> int:
        return len(self.high)

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch]) -> Entries:
        """Returns the entries of batches, sorted; among entries with equal keys only the first."""
        (joined,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
        high, low, values = joined.column("high").to_numpy(), joined.column("low").to_numpy(), joined.column("value")
        above = (high[1:] > high[:-1]) | ((high[1:] == high[:-1]) & (low[1:] > low[:-1]))
        if above.all():
            return cls(high, low, values)
        order = np.argsort(high, kind="stable")  # which is quick for a few sorted runs
        if (high[order[1:]] == high[order[:-1]]).any():
            order = np.lexsort((low, high))
        new = np.ones(len(order), np.bool_)
        new[1:] = (high[order[1:]] != high[order[:-1]]) | (low[order[1:]] != low[order[:-1]])
        order = order[new]
        return cls(high[order], low[order], values.take(pa.array(order)))

    def batch(self) -> pa.RecordBatch:
        """Returns a frame's columns."""
        return pa.record_batch([pa.array(self.high), pa.array(self.low), self.values], names=["high", "low", "value"])

    def find(self, high: Keys, low: Keys) -> npt.NDArray[np.int64]:
        """Returns each key's index, given ascending keys; -1 for unknown keys."""
        at = np.searchsorted(self.high, high)
        at[at == len(self)] = 0
        same = np.flatnonzero(self.high[at] == high)
        exact = self.low[at[same]] == low[same]
        found = np.full(len(high), -1, np.int64)
        found[same[exact]] = at[same[exact]]
        for row in same[~exact].tolist():  # equal halves are rare
            end = int(np.searchsorted(self.high, high[row], "right"))
            equal = np.flatnonzero(self.low[at[row] : end] == low[row])
            found[row] = at[row] + int(equal[0]) if len(equal) else -1
        return found


@dataclass
class _File:
    """A file, and the entries in the frames that were read."""

    size: int = 0  # bytes that were read
    levels: list[Entries] = field(default_factory=list)

    def add(self, batches: list[pa.RecordBatch]) -> None:
        """Adds entries; several levels of about the same size are merged."""
        if batches:
            self.levels.append(Entries.of(batches))
        while len(last := self.levels[-_LEVELS:]) == _LEVELS and len(last[0]) <= min(sum(map(len, last[1:])), _MERGED):
            self.levels[-_LEVELS:] = [Entries.of(level.batch() for level in last)]


class Cache:
    """The stored values of one kind. It is thread-safe."""

    def __init__(self, directory: Path, kind: pa.DataType, about: Mapping[str, Any]) -> None:
        """Opens a directory, and makes it if it is missing.

        Args:
            kind: the type of the values.
            about: what the values are, for people.
        """
        self.directory, self._schema = directory, pa.schema({"high": pa.uint64(), "low": pa.uint64(), "value": kind})
        self._lock = threading.RLock()
        self._files: dict[str, _File] = {}
        self._own: tuple[str, int] | None = None  # name and handle of this process's log
        self._full: list[str] = []  # sorted files of this process's earlier logs
        self._process, self._synced = os.getpid(), 0.0
        self.reads = 0  # grows when the values of other processes are read
        self._begins = np.zeros(1 << 64 - _TAIL, np.bool_)  # the first bits of all keys
        with self._locked():
            if _about(directory) != dict(about):
                write_json(directory / ABOUT, about)
            os.utime(directory / ABOUT)  # the time of the last use
            self._tidy()
            self._refresh()

    def __len__(self) -> int:
        with self._lock:
            return sum(len(level) for file in self._files.values() for level in file.levels)

    def find(self, high: Keys, low: Keys) -> tuple[pa.Array, npt.NDArray[np.int64]]:
        """Returns the values of ascending keys, and the index of each key's value; -1 for unknown keys."""
        with self._lock:
            levels = [level for file in self._files.values() for level in file.levels]
        values, first = [pa.array([], self._schema.field("value").type)], 0
        places, left = np.full(len(high), -1, np.int64), np.flatnonzero(self._begins[high >> _TAIL])
        high, low = high[left], low[left]
        for level in levels:
            at = level.find(high, low)
            if (hit := at >= 0).any():
                values.append(level.values.take(pa.array(at[hit])))
                places[left[hit]] = first + np.arange(len(values[-1]))
                first += len(values[-1])
                left, high, low = left[~hit], high[~hit], low[~hit]
        return pa.concat_arrays(values), places

    def add(self, high: Keys, low: Keys, values: pa.Array, reads: int = -1) -> None:
        """Stores values; keys that are known meanwhile keep their values.

        Args:
            reads: :attr:`reads` before the keys were looked up, if no other thread adds them.
        """
        with self._lock, self._locked():
            self._refresh()
            order = np.argsort(high)
            high, low, values = high[order], low[order], values.take(pa.array(order))
            chosen = Entries(high, low, values)
            if self.reads != reads:
                new = self.find(high, low)[1] < 0
                chosen = Entries(high[new], low[new], values.filter(pa.array(new)))
            if len(chosen):
                self._append(chosen.batch().cast(self._schema))

    def withdraw(self) -> None:
        """Removes what this process stored since the last time it was closed."""
        with self._lock, self._locked():
            for name in [*self._full, *([self._own[0]] if self._own else [])]:
                (self.directory / name).unlink(missing_ok=True)
            self._end_log()
            self._full = []
            self._refresh()

    def close(self) -> None:
        """Flushes this process's log, and lets others make a sorted file of it."""
        with self._lock:
            if self._own is not None:
                with suppress(OSError):
                    os.fsync(self._own[1])
            self._end_log()
            self._full = []

    def _end_log(self) -> None:
        if self._own is not None:
            with suppress(OSError):
                os.close(self._own[1])
        self._own = None

    def _append(self, batch: pa.RecordBatch) -> None:
        if self._own is None or self._process != os.getpid():
            name = f"{self._next():08d}.log"
            handle = os.open(self.directory / name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
            fcntl.flock(handle, fcntl.LOCK_EX)  # others see that it is in use
            self._own, self._process, self._files[name] = (name, handle), os.getpid(), _File()
        name, handle = self._own
        file, frame = self._files[name], _frame(batch)
        written = -1
        try:
            written = os.write(handle, frame)
        finally:
            if written < len(frame):
                os.ftruncate(handle, file.size)
        if written < len(frame):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        file.size += len(frame)
        self._add(file, [batch])
        if time.monotonic() - self._synced > _SYNC_SECONDS:
            os.fsync(handle)
            self._synced = time.monotonic()
        if file.size >= _FULL_BYTES:
            self._end_log()
            self._full += self._merge([name])
            self._refresh()

    def _add(self, file: _File, batches: list[pa.RecordBatch]) -> None:
        for batch in batches:
            self._begins[batch.column("high").to_numpy() >> _TAIL] = True
        file.add(batches)

    def _next(self) -> int:
        return max((int(name.partition(".")[0]) for name in self._names()), default=0) + 1

    def _names(self) -> list[str]:
        found = (path.name for path in self.directory.iterdir() if path.suffix in (".log", ".run"))
        return sorted(name for name in found if name.partition(".")[0].isdecimal())

    def _refresh(self) -> None:
        """Reads what other processes have stored."""
        self._files = {name: self._files.get(name) or _File() for name in self._names()}
        for name, file in self._files.items():
            if name != (self._own or ("",))[0] and (self.directory / name).stat().st_size > file.size:
                batches, file.size = self._read(name, file.size)
                self._add(file, batches)
                self.reads += name not in self._full

    def _read(self, name: str, start: int) -> tuple[list[pa.RecordBatch], int]:
        if not (self.directory / name).stat().st_size:
            return [], 0
        with pa.memory_map(str(self.directory / name)) as mapped:
            content = mapped.read_buffer()
        return [batch for _, batch in _frames(content, start, self._schema)], len(content)

    def _tidy(self) -> None:
        """Makes sorted files of the logs that no process uses, and joins small sorted files."""
        for left in self.directory.glob(".*.partial"):  # of a process that was killed
            left.unlink()
        small, size = list[str](), 0
        for name in self._names():
            length = (self.directory / name).stat().st_size
            if length >= _FULL_BYTES // 2 if name.endswith(".run") else _in_use(self.directory / name):
                continue
            small, size = [*small, name], size + length
            if size >= _FULL_BYTES:
                self._merge(small)
                small, size = [], 0
        if len(small) > 1 or any(name.endswith(".log") for name in small):
            self._merge(small)

    def _merge(self, names: list[str]) -> list[str]:
        """Joins files; returns the names of the files with their values, which are the same if the disk is full."""
        merged, batches = list[str](), [batch for name in names for batch in self._read(name, 0)[0]]
        try:
            if batches:
                merged = [f"{self._next():08d}.run"]
                with atomic_write(self.directory / merged[0]) as beside:
                    _write_frame(beside, Entries.of(batches).batch().cast(self._schema))
        except (OSError, OutputError, pa.ArrowException):
            return names
        for name in names:
            (self.directory / name).unlink()
        return merged

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keeps other processes from changing the directory."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            with (self.directory / "lock").open("ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
        except (OSError, OutputError, pa.ArrowException) as error:
            what = (isinstance(error, OSError) and error.strerror) or error
            raise ComputedError(
                f"cannot store computed values in {self.directory}: {what}; free some space, or name another directory "
                "as cache of the value, or as NMT_PREP_CACHE; values that were stored before are kept"
            ) from error


def _frame(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    content = sink.getvalue()
    return b"".join((_header(content), content))


def _write_frame(path: Path, batch: pa.RecordBatch) -> None:
    """Writes a large frame without copies of it in memory."""
    with path.open("w+b") as file:
        file.write(bytes(_HEADER))
        with pa.ipc.new_stream(file, batch.schema) as writer:
            writer.write_batch(batch)
        file.flush()
        with pa.memory_map(str(path)) as mapped:
            header = _header(mapped.read_buffer().slice(_HEADER))
        file.seek(0)
        file.write(header)


def _header(content: pa.Buffer) -> bytes:
    hashed = block_hash(np.frombuffer(content, np.uint8))
    return b"".join((_MAGIC, len(content).to_bytes(8, "little"), hashed.to_bytes(8, "little")))


def _frames(content: pa.Buffer, start: int, schema: pa.Schema | None) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yields the bytes and the entries of each intact frame with a schema; skips what is damaged."""
    view = memoryview(content)
    while start + _HEADER <= len(view):
        header = bytes(view[start : start + _HEADER])
        size, end = int.from_bytes(header[8:16], "little"), start + _HEADER
        if header[:8] == _MAGIC and size and end + size <= len(view):
            inner = content.slice(end, size)
            if block_hash(np.frombuffer(inner, np.uint8)) == int.from_bytes(header[16:], "little"):
                with suppress(pa.ArrowException):
                    batch = pa.ipc.open_stream(pa.BufferReader(inner)).read_next_batch()
                    batch.validate(full=True)
                    if schema is None or batch.schema == schema:
                        yield _HEADER + size, batch
                start = end + size
                continue
        found = bytes(view[start + 1 :]).find(_MAGIC)
        if found < 0:
            return
        start += 1 + found


def _about(directory: Path) -> dict[str, Any]:
    """Returns what the values in a directory are; an empty mapping if the file is damaged."""
    try:
        found = parse_json((directory / ABOUT).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _in_use(path: Path) -> bool:
    """Returns True if a process appends to a log."""
    with path.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


@dataclass(frozen=True)
class CacheFacts:
    """A directory of stored values."""

    directory: Path
    about: Mapping[str, Any]  # what the values are
    used: float  # time of the last use, in seconds since 1970
    values: int
    bytes: int
    unreadable: int  # number of bytes that are damaged


def caches_below(root: Path) -> Iterator[CacheFacts]:
    """Yields the directories of stored values in a directory; changes nothing."""
    for path in sorted(root.glob(f"{'[0-9a-f]' * IDENTITY}/{ABOUT}")):
        values = size = intact = 0
        for file in path.parent.iterdir():
            if file.suffix in (".log", ".run") and file.stat().st_size:
                with pa.memory_map(str(file)) as mapped:
                    content = mapped.read_buffer()
                found = [(length, len(batch)) for length, batch in _frames(content, 0, None)]
                values, size = values + sum(count for _, count in found), size + len(content)
                intact += sum(length for length, _ in found)
        yield CacheFacts(path.parent, _about(path.parent), path.stat().st_mtime, values, size, size - intact)
