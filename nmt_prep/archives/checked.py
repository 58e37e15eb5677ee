"""A file whose bytes are hashed as they are read, so that what was read is known to be what a digest names."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path

from nmt_prep.errors import ArchiveError

_CHUNK = 1 << 20


class CheckedFile(io.RawIOBase):
    """A file for reading. Reads that go through it in order cost no second one.

    A read at the start begins the digest anew. After a read in another place, as in a zip, the file is read again at
    the end, and must not have been written to since it was opened.
    """

    def __init__(self, path: Path) -> None:
        """Opens the file.

        Raises:
            OSError: it cannot be opened.
        """
        self._path = path
        self._file = path.open("rb", buffering=0)
        self._opened = self._stamp()
        self._digest, self._hashed = hashlib.sha256(), 0
        self._in_order = True

    def check(self, sha256: str) -> None:
        """Sees to it that what was read, and the rest of the file, has a digest.

        Raises:
            ArchiveError: it has another, or was written to while it was read out of order.
            OSError: it cannot be read.
        """
        if not self._in_order and self._stamp() != self._opened:
            raise ArchiveError(f"{self._path} was changed while it was read; run again once it is complete")
        self.seek(self._hashed if self._in_order else 0)
        while self.read(_CHUNK):
            pass
        if self._digest.hexdigest() != sha256:
            raise ArchiveError(
                f"{self._path} was changed after it was checked: expected SHA-256 {sha256}, found "
                f"{self._digest.hexdigest()}; run again, which checks it anew"
            )

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        position = self._file.tell()
        size = self._file.readinto(buffer)
        if position == 0:
            self._digest, self._hashed = hashlib.sha256(), 0
        if position == self._hashed:
            self._digest.update(memoryview(buffer)[:size])
            self._hashed += size
        elif size:
            self._in_order = False
        return size

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def _stamp(self) -> tuple[int, int, int]:
        status = os.fstat(self._file.fileno())
        return status.st_size, status.st_mtime_ns, status.st_ctime_ns
