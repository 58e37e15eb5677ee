"""Files of outputs, hashed while they are written."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from nmt_prep.artefacts import atomic_write


@dataclass(frozen=True)
class OutputFile:
    """A file of an output: its name in the output's directory, its size in bytes, and its SHA-256."""

    name: str
    bytes: int
    sha256: str


class HashedFile(io.RawIOBase):
    """A file that is written from its start to its end, with the SHA-256 of what was written."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        """Takes the name of the file, and the file, which the caller opens and closes."""
        super().__init__()
        self._name = name
        self._file = file
        self._digest = hashlib.sha256()
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: bytes | memoryview, /) -> int:  # type: ignore[override]
        """Appends bytes; returns how many."""
        size = self._file.write(data)
        self._digest.update(data)
        self._size += size
        return size

    def tell(self) -> int:
        return self._size

    def read_back(self, start: int, size: int) -> bytes:
        """Returns bytes that were written."""
        self._file.flush()
        return os.pread(self._file.fileno(), size, start)

    @property
    def facts(self) -> OutputFile:
        """Name, size and digest of what was written so far."""
        return OutputFile(self._name, self._size, self._digest.hexdigest())


@contextmanager
def output_file(directory: Path, name: str) -> Iterator[HashedFile]:
    """Opens a file of an output for writing; it appears under its name when it is complete.

    Raises:
        OutputError: it cannot be written.
    """
    with atomic_write(directory / name) as beside, beside.open("w+b") as file:
        yield HashedFile(name, file)
