"""Fetches for tests, with a clock that does not wait for retries, and long timeouts for a busy machine."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nmt_prep.config import DownloadSettings as Limits
from nmt_prep.errors import DownloadError
from nmt_prep.progress import Progress
from nmt_prep.sources.fetch import Expected, Fetched, Fetcher
from nmt_prep.sources.timing import Clock
from tests.guard import PATIENCE

TODAY = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass
class Scene:
    """A directory to fetch into; ``pauses`` are those that a fetch would have made, ``now`` is its time."""

    directory: Path
    limits: Limits = field(default_factory=lambda: Limits(connect_seconds=PATIENCE, stall_seconds=PATIENCE, retries=2))
    pauses: list[float] = field(default_factory=list)
    now: Callable[[], float] = time.monotonic
    fetcher: Fetcher | None = None

    def fetch(self, *mirrors: str, expected: str | None = None, **limits: Any) -> Fetched:
        clock = Clock(now=self.now, sleep=self.pauses.append, today=lambda: TODAY, chance=lambda: 1.0)
        changed = self.limits.model_copy(update=limits)
        self.fetcher = Fetcher(self.directory / "incoming", self.directory, changed, Progress(), clock)
        return self.fetcher.fetch(mirrors, Expected(expected, "correct sha256") if expected else None)

    def lose_patience(self, address: tuple[str, int]) -> None:
        """Makes the wait for the next bytes time out on the connection with that local address."""
        assert self.fetcher is not None
        with self.fetcher._stop._lock:
            watches = [*self.fetcher._stop._watches]
        for watch in watches:
            with watch._state:
                if watch._due is not None and address in [connection.getsockname() for connection in watch._sockets]:
                    watch._due = 0.0
                    watch._state.notify()

    def attempt(self, url: str, **options: Any) -> tuple[bytes | None, str]:
        """Returns the result of a fetch, or None and the error."""
        try:
            return self.fetch(url, **options).path.read_bytes(), ""
        except DownloadError as error:
            return None, str(error)
