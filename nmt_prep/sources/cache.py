"""Cache of downloads that all runs share, by digest, in the user's cache directory. It is safe to delete."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from nmt_prep.artefacts import atomic_write, link_or_copy
from nmt_prep.digests import cache_directory, sha256_of
from nmt_prep.errors import OutputError


class DownloadCache:
    """Files by SHA-256, verified at each use. Safe under concurrent runs, since writes are atomic."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory or cache_directory() / "downloads"

    def take(self, sha256: str, into: Path) -> bool:
        """Copies a file to ``into`` if the cache has it; a damaged file is removed from the cache.

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
        """Adds a file for other runs; errors are ignored, since the cache is optional."""
        kept = self._path(sha256)
        with suppress(OSError, OutputError):
            if not kept.is_file() or kept.stat().st_size != path.stat().st_size:
                with atomic_write(kept) as beside:
                    link_or_copy(path, beside)

    def drop(self, sha256: str) -> None:
        """Removes an unusable file; errors are ignored."""
        with suppress(OSError):
            self._path(sha256).unlink(missing_ok=True)

    def _path(self, sha256: str) -> Path:
        return self._directory / sha256[:2] / sha256


class _UnusableError(Exception):
    """A file is missing from the cache, or damaged there."""


def _copy_verified(kept: Path, beside: Path, sha256: str) -> None:
    """Copies a file and verifies the copy, since another run may be changing the original."""
    if not (kept.is_file() and link_or_copy(kept, beside) and sha256_of(beside) == sha256):
        raise _UnusableError
