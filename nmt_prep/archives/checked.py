"""A file that is hashed while it is read, to verify that its content has the expected digest."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path

from nmt_prep.errors import ArchiveError

_CHUNK = 1 << 20


class CheckedFile(io.FileIO):
    """A file for reading that can verify its digest; sequential reads need no second pass.

    A read at offset 0 restarts the digest. After a read out of order, as in a zip, :meth:`check` reads the file again,
    and the file must not have been written to since it was opened.
    """

    def __init__(self, path: Path) -> None:
        """Opens the file.

        Raises:
            OSError: it cannot be opened.
        """
        super().__init__(path)
        self._path = path
        self._opened = self._stamp()
        self._digest, self._hashed = hashlib.sha256(), 0
        self._in_order = True

    def check(self, sha256: str) -> None:
        """Reads the rest of the file and verifies its digest.

        Raises:
            ArchiveError: the digest differs, or the file was written to while it was read out of order.
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
                f"{self._digest.hexdigest()}; run again to check it again"
            )

    # In terms of readinto, through which all bytes must go.
    read, readall = io.RawIOBase.read, io.RawIOBase.readall  # type: ignore[assignment]

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        position = self.tell()
        size = super().readinto(buffer)
        if position == 0:
            self._digest, self._hashed = hashlib.sha256(), 0
        if position == self._hashed:
            self._digest.update(memoryview(buffer)[:size])
            self._hashed += size
        elif size:
            self._in_order = False
        return size

    def _stamp(self) -> tuple[int, int, int]:
        status = os.fstat(self.fileno())
        return status.st_size, status.st_mtime_ns, status.st_ctime_ns
