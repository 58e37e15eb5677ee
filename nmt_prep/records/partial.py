"""Files that appear under their name only when they are complete."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from nmt_prep.errors import OutputError


@contextmanager
def output_errors(path: Path, expected_bytes: int = 0) -> Iterator[None]:
    """Turns an ``OSError`` from writing ``path`` into an :class:`OutputError` with the cause and what to do.

    Args:
        path: the file that is written.
        expected_bytes: its expected size, named in the message; 0 where unknown.
    """
    try:
        yield
    except OSError as error:
        needed = f", about {expected_bytes:,} bytes are needed" if expected_bytes else ""
        free = ""
        with suppress(OSError):
            free = f"; {shutil.disk_usage(path.parent).free:,} bytes are free there"
        raise OutputError(
            f"{path}: cannot be written: {error.strerror or error}{free}{needed}. "
            "Free space or permit writing there, or set another output_dir, then run again"
        ) from error


class PartialFile:
    """A file that is written beside its final name and renamed into place by :meth:`publish`.

    Used as a context manager: leaving the block without publishing removes what was written. A killed process leaves
    at most ``.<name>.partial``, which the next attempt overwrites. All methods raise :class:`OutputError`.
    """

    def __init__(self, path: str | Path, expected_bytes: int = 0) -> None:
        self.path = Path(path)
        self._beside = self.path.with_name(f".{self.path.name}.partial")
        self._expected_bytes = expected_bytes
        self._size = 0
        with self._errors():
            self._file: BinaryIO = self._beside.open("wb", buffering=0)

    def write(self, data: bytes | memoryview) -> None:
        """Appends all of ``data``."""
        rest = memoryview(data)
        with self._errors():
            while rest:
                written = self._write_some(rest)
                self._size += written
                rest = rest[written:]

    def tell(self) -> int:
        """Bytes written so far."""
        return self._size

    def publish(self, *, durable: bool) -> None:
        """Renames the file into place.

        Args:
            durable: flush the file to the disk before and the directory after, against a power cut.
        """
        with self._errors():
            if durable:
                os.fsync(self._file.fileno())
            self._file.close()
            self._beside.replace(self.path)
            if durable:
                _flush_directory(self.path.parent)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._file.close()
            self._beside.unlink(missing_ok=True)

    def _write_some(self, data: memoryview) -> int:
        return self._file.write(data)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        with output_errors(self.path, self._expected_bytes):
            yield


def _flush_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
