"""Fetches of a test: with a clock that does not wait, and little patience."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nmt_prep.errors import DownloadError
from nmt_prep.progress import Progress
from nmt_prep.sources.fetch import Expected, Fetched, Fetcher
from nmt_prep.sources.limits import Clock, Limits

TODAY = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass
class Scene:
    """A directory to fetch into; ``pauses`` are those that a fetch would have made."""

    directory: Path
    limits: Limits = field(default_factory=lambda: Limits(connect_seconds=2.0, stall_seconds=2.0, retries=2))
    pauses: list[float] = field(default_factory=list)

    def fetch(self, *mirrors: str, expected: str | None = None, **limits: Any) -> Fetched:
        clock = Clock(sleep=self.pauses.append, today=lambda: TODAY, chance=lambda: 1.0)
        changed = replace(self.limits, **limits)
        fetcher = Fetcher(self.directory / "incoming", self.directory, changed, Progress(), clock)
        return fetcher.fetch(mirrors, Expected(expected, "correct sha256") if expected else None)

    def attempt(self, url: str, **options: Any) -> tuple[bytes | None, str]:
        """Returns the result of a fetch, or None and the error."""
        try:
            return self.fetch(url, **options).path.read_bytes(), ""
        except DownloadError as error:
            return None, str(error)
