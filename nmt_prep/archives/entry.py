"""What an archive is, what an entry of one is, and the limits to what may come out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from nmt_prep.config import Extract as Limits
from nmt_prep.errors import ArchiveError

ALWAYS_ALLOWED = 64 << 20
"""So many bytes may come out of an archive however small it is: they harm nobody."""


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """``size`` bytes, or fewer at the end only."""


class Peekable(Readable, Protocol):
    """A stream of bytes whose next ones can be looked at."""

    def peek(self, size: int, /) -> bytes:
        """Some bytes that the next read will give."""


@dataclass(frozen=True)
class Archive:
    """A file that may be an archive: where it is, the name that it was published under, and its SHA-256."""

    path: Path
    name: str
    sha256: str


@dataclass(frozen=True)
class Entry:
    """An entry of an archive.

    Attributes:
        name: as the archive gives it.
        refused: why it may not be extracted; empty where it may.
        open: its content, to be called at most once, before the next entry is asked for.
        single: true where the file is no archive, and this is its whole content.
    """

    name: str
    refused: str
    open: Callable[[], Peekable]
    single: bool = False


class DamagedError(ArchiveError):
    """An archive cannot be read to its end; the message has no advice, which depends on where the file came from."""


class Budget:
    """Counts what comes out of an archive, and refuses more than the limits allow."""

    def __init__(self, archive: Archive, limits: Limits) -> None:
        self.path = archive.path
        self.limits = limits
        self._most = max(ALWAYS_ALLOWED, limits.max_ratio * archive.path.stat().st_size)

    def check_members(self, count: int) -> None:
        """Refuses too many entries."""
        if count > self.limits.max_members:
            raise ArchiveError(
                f"{self.path} is refused: it has more than {self.limits.max_members} members; if that is as it should "
                "be, raise extract.max_members in the config"
            )

    def check_total(self, total: int) -> None:
        """Refuses a total of bytes that is out of proportion to the archive."""
        if total > self._most:
            raise ArchiveError(
                f"{self.path} is refused: more than {self.limits.max_ratio} bytes come out of it for each of its own, "
                "as of a decompression bomb; if that is as it should be, raise extract.max_ratio in the config"
            )

    def check_member(self, name: str, size: int) -> None:
        """Refuses a member that is too large."""
        if size > self.limits.max_member_bytes:
            raise ArchiveError(
                f"{self.path} is refused: {name or 'it'!r} holds more than {self.limits.max_member_bytes} bytes; if "
                "that is as it should be, raise extract.max_member_bytes in the config"
            )


class Bounded:
    """A stream of which no more is read than a budget allows."""

    def __init__(self, stream: Readable, budget: Budget) -> None:
        self._stream = stream
        self._budget = budget
        self._total = 0

    def read(self, size: int, /) -> bytes:
        data = self._stream.read(size)
        self._total += len(data)
        self._budget.check_total(self._total)
        return data
