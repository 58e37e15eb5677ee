"""Archives, their entries, and the limits that extraction enforces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from nmt_prep.config import ExtractSettings as Limits
from nmt_prep.errors import ArchiveError

ALWAYS_ALLOWED = 64 << 20
"""Bytes that may be extracted from any archive, whatever the ratio to its size."""


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Returns ``size`` bytes; fewer only at the end."""


class Peekable(Readable, Protocol):
    """A stream of bytes that can be peeked into."""

    def peek(self, size: int, /) -> bytes:
        """Returns some of the bytes that the next read will return."""


@dataclass(frozen=True)
class Archive:
    """A file that may be an archive: its path, its original name, and its SHA-256."""

    path: Path
    name: str
    sha256: str


@dataclass(frozen=True)
class Entry:
    """An entry of an archive.

    Attributes:
        name: name of the entry, as in the archive.
        refused: why it may not be extracted; empty if it may.
        open: opens its content; call it at most once, before the next entry is requested.
        single: true if the file is not an archive and this is its whole content.
        size: bytes of its content as the archive states them; None if the file is not an archive.
    """

    name: str
    refused: str
    open: Callable[[], Peekable]
    single: bool = False
    size: int | None = None


class DamagedError(ArchiveError):
    """An archive is damaged; the message has no advice, since that depends on where the file came from."""


class Budget:
    """Counts the output of an archive, and raises once it exceeds the limits."""

    def __init__(self, path: object, size: int, limits: Limits) -> None:
        """Sets the limits.

        Args:
            path: path or address of the archive, for messages.
            size: its bytes.
            limits: of the config.
        """
        self.path = path
        self.limits = limits
        self._most = max(ALWAYS_ALLOWED, limits.max_ratio * size)

    def check_members(self, count: int) -> None:
        """Raises if there are too many entries."""
        if count > self.limits.max_members:
            raise ArchiveError(
                f"{self.path} is refused: it has more than {self.limits.max_members} members; if that is "
                "intended, raise extract.max_members in the config"
            )

    def check_total(self, total: int) -> None:
        """Raises if the output is out of proportion to the size of the archive."""
        if total > self._most:
            raise ArchiveError(
                f"{self.path} is refused: it expands to more than {self.limits.max_ratio} times its size, "
                "like a decompression bomb; if that is intended, raise extract.max_ratio in the config"
            )

    def check_member(self, name: str, size: int) -> None:
        """Raises if a member is too large."""
        if size > self.limits.max_member_bytes:
            raise ArchiveError(
                f"{self.path} is refused: {name or 'it'!r} holds more than {self.limits.max_member_bytes} bytes; if "
                "that is intended, raise extract.max_member_bytes in the config"
            )


class Bounded:
    """A stream that raises once a budget is exceeded.

    Attributes:
        skip: skips bytes of the stream and returns how many, fewer only at its end; None if they must be read.
    """

    def __init__(self, stream: Readable, budget: Budget) -> None:
        self.skip: Callable[[int], int] | None = getattr(stream, "skip", None)
        self._stream = stream
        self._budget = budget
        self._total = 0

    def read(self, size: int, /) -> bytes:
        data = self._stream.read(size)
        self._total += len(data)
        self._budget.check_total(self._total)
        return data
