"""Downloads that all runs share, by digest, in the user's cache directory. Losing it costs nothing but time."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from nmt_prep.artefacts import atomic_write, link_or_copy
from nmt_prep.digests import cache_directory, sha256_of
from nmt_prep.errors import OutputError


class DownloadCache:
    """Files by SHA-256, verified each time they are taken. Safe under concurrent runs: files appear whole, or not."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory or cache_directory() / "downloads"

    def take(self, sha256: str, into: Path) -> bool:
        """Publishes a file at ``into`` if the cache has it; a damaged one is removed from the cache.

        Raises:
            OutputError: ``into`` cannot be written.
        """
        kept = self._path(sha256)
        try:
            with atomic_write(into) as beside:
                _copy_verified(kept, beside, sha256)
        except _UnusableError:
            with suppress(OSError):
                kept.unlink(missing_ok=True)
            return False
        return True

    def offer(self, path: Path, sha256: str) -> None:
        """Keeps a published file for other runs; failing to is no failure."""
        kept = self._path(sha256)
        with suppress(OSError, OutputError):
            if not kept.is_file() or kept.stat().st_size != path.stat().st_size:
                with atomic_write(kept) as beside:
                    link_or_copy(path, beside)

    def drop(self, sha256: str) -> None:
        """Forgets a file that turned out to be of no use; failing to is no failure."""
        with suppress(OSError):
            self._path(sha256).unlink(missing_ok=True)

    def _path(self, sha256: str) -> Path:
        return self._directory / sha256[:2] / sha256


class _UnusableError(Exception):
    """The cache lacks a file, or has it damaged."""


def _copy_verified(kept: Path, beside: Path, sha256: str) -> None:
    """Verifies the copy and not the original, which another run may be changing."""
    if not (kept.is_file() and link_or_copy(kept, beside) and sha256_of(beside) == sha256):
        raise _UnusableError
