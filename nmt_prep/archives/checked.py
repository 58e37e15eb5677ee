"""Files that are hashed while they are read, to verify their digests."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path

from nmt_prep.errors import ArchiveError

_CHUNK = 1 << 20


class CheckedFile(io.FileIO):
    """A file that can verify its digest, without a second pass after sequential reads.

    A read at offset 0 restarts the digest. After reads in another order, as of a zip, :meth:`check` reads the file
    again; the file must then be unchanged since it was opened.
    """

    def __init__(self, path: Path) -> None:
        """Opens the file.

        Raises:
            OSError: the file cannot be opened.
        """
        super().__init__(path)
        self._path = path
        self._opened = self._stamp()
        self._digest, self._hashed = hashlib.sha256(), 0
        self._in_order = True

    def check(self, sha256: str) -> None:
        """Reads the rest of the file and verifies its digest.

        Raises:
            ArchiveError: the digest differs, or the file changed during reads in another order.
            OSError: the file cannot be read.
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

    # Both call readinto, so that the digest sees all bytes.
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
