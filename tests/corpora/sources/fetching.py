"""Fetches for tests, with a clock that does not wait for retries, and long timeouts for a busy machine."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base.errors import DownloadError
from nmt_prep.base.progress import Progress
from nmt_prep.config import DownloadSettings as Limits
from nmt_prep.corpora.sources.fetch import Expected, Fetched, Fetcher
from nmt_prep.corpora.sources.transfers import Clock
from tests.guard import PATIENCE
from tests.server import WebServer

TODAY = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass
class Scene:
    """A directory to fetch into; ``pauses`` are those that a fetch would have made, ``now`` is its time.

    While the server is silent, each look at the clock is an hour later, so that no test waits for a time limit.
    """

    directory: Path
    limits: Limits = field(default_factory=lambda: Limits(retries=2))
    pauses: list[float] = field(default_factory=list)
    now: Callable[[], float] = time.monotonic
    server: WebServer | None = None
    _stalls: int = 0
    _skipped: float = 0.0

    def fetch(self, *mirrors: str, expected: str | None = None, **limits: Any) -> Fetched:
        clock = Clock(now=self._now, sleep=self._sleep, today=lambda: TODAY, chance=lambda: 1.0)
        self._forget_stalls()
        with pytest.MonkeyPatch.context() as patch:
            for name in ("connect_seconds", "stall_seconds"):
                patch.setattr(Limits, name, limits.pop(name, PATIENCE))
            changed = self.limits.model_copy(update=limits)
            fetcher = Fetcher(self.directory / "incoming", self.directory, changed, Progress(), clock)
            return fetcher.fetch(mirrors, Expected(expected, "correct sha256") if expected else None)

    def _now(self) -> float:
        if self.server is not None and self.server.stalls > self._stalls:
            self._skipped += 3600
        return self.now() + self._skipped

    def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self._forget_stalls()

    def _forget_stalls(self) -> None:
        self._stalls = self.server.stalls if self.server is not None else 0

    def attempt(self, url: str, **options: Any) -> tuple[bytes | None, str]:
        """Returns the result of a fetch, or None and the error."""
        try:
            return self.fetch(url, **options).path.read_bytes(), ""
        except DownloadError as error:
            return None, str(error)
