"""Gets files, several at once, from the run's own store, from the shared cache, or from the network.

The cache holds the downloads of all runs by digest, in the user's cache directory. It is safe to delete.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from nmt_prep.artefacts import atomic_write, flush, link_or_copy, writing
from nmt_prep.digests import cache_directory, sha256_of
from nmt_prep.errors import OutputError
from nmt_prep.sources.address import shown
from nmt_prep.sources.fetch import Expected, Fetched, Fetcher
from nmt_prep.sources.hub import is_repository
from nmt_prep.sources.hub_files import read_listing
from nmt_prep.sources.lockfile import Locked, LockFile
from nmt_prep.store import Store, Stored


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
            self.drop(sha256)
            return False
        return True

    def find(self, sha256: str) -> Path | None:
        """Returns the path of a file in the cache, unverified; None if the cache does not have it."""
        kept = self._path(sha256)
        return kept if kept.is_file() else None

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


@dataclass(frozen=True)
class WantedFile:
    """A requested file.

    Attributes:
        mirrors: addresses of the file.
        name: the file's name in the store.
        sha256: expected digest from the config, or from the list of a repository; None without one.
        corpus: name of a corpus that needs it, for messages.
        advice: what to do if the file has another digest than ``sha256``.
    """

    mirrors: tuple[str, ...]
    name: str
    sha256: str | None
    corpus: str
    advice: str = "use another mirror"


@dataclass(frozen=True)
class Downloads:
    """All places that a file can come from. Safe to use from threads for different files.

    Attributes:
        store: the run's own files.
        fetcher: fetches files that are not available locally.
        cache: cache that all runs share; None to use none.
        lock: records of files at their first fetch.
    """

    store: Store
    fetcher: Fetcher
    cache: DownloadCache | None
    lock: LockFile

    def get(self, file: WantedFile) -> Stored:
        """Puts a file into the store unless it is there; returns its path, digest and size.

        Raises:
            DownloadError: it cannot be fetched, or differs from what the config or the lock file expects.
            OutputError: it cannot be stored.
        """
        key, address = ["url", file.mirrors[0]], shown(file.mirrors[0])
        expected = self._expected(file)
        stored = self._at_hand(key, file, expected)
        if stored is not None:
            locked = self.lock.find(file.mirrors)
            if locked is None or locked.sha256 != stored.sha256:
                locked = Locked(address, stored.sha256, stored.size)
            locked = replace(locked, address=address)
        else:
            fetched = self.fetcher.fetch(file.mirrors, expected)
            stored = self._keep(fetched, file.name)
            locked = Locked(address, fetched.sha256, fetched.size, fetched.url, fetched.etag, fetched.time)
        if is_repository(file.mirrors[0]):
            locked = replace(locked, commit=read_listing(self.store.directory / stored.file).commit)
        stored = self._named(stored, file.name)
        if self.cache is not None:
            self.cache.offer(self.store.directory / stored.file, stored.sha256)
        self.store.note(key, stored)
        self.lock.note(locked)
        return stored

    def _expected(self, file: WantedFile) -> Expected | None:
        if file.sha256 is not None:
            return Expected(file.sha256, file.advice)
        locked = self.lock.find(file.mirrors)
        if locked is None or self.lock.path is None:
            return None
        return Expected(
            locked.sha256,
            f"{self.lock.path} has its first digest; use another mirror, or if the change is intended, "
            f"renew the lock with `nmt-prep lock CONFIG --update {file.corpus}`",
            locked.commit,
        )

    def _at_hand(self, key: list[str], file: WantedFile, expected: Expected | None) -> Stored | None:
        """Finds a file locally; by its first mirror only if no digest is known."""
        if expected is None:
            return None if self.lock.renews(file.mirrors) else self.store.find(key)
        stored = self.store.find(key)
        if stored is not None and stored.sha256 == expected.sha256:
            return stored
        return self.store.find_digest(expected.sha256, file.name) or self._cached(expected.sha256, file.name)

    def _cached(self, sha256: str, name: str) -> Stored | None:
        final = self.store.directory / sha256 / name
        if self.cache is None or not self.cache.take(sha256, final):
            return None
        return Stored(f"{sha256}/{name}", sha256, final.stat().st_size)

    def _keep(self, fetched: Fetched, name: str) -> Stored:
        """Moves a fetched file, which is already flushed, into the store atomically."""
        final = self.store.directory / fetched.sha256 / name
        with writing(final):
            final.parent.mkdir(exist_ok=True)
            flush(fetched.path)
            fetched.path.replace(final)
            flush(final.parent)
        return Stored(f"{fetched.sha256}/{name}", fetched.sha256, fetched.size)

    def _named(self, stored: Stored, name: str) -> Stored:
        """Returns a stored file under the name of its first mirror."""
        file = f"{stored.sha256}/{name}"
        if stored.file != file:
            with atomic_write(self.store.directory / file) as beside:
                shutil.copyfile(self.store.directory / stored.file, beside)
        return replace(stored, file=file)


def download_all(downloads: Downloads, wanted: Sequence[WantedFile], parallel: int) -> dict[WantedFile, Stored]:
    """Gets files, up to ``parallel`` at once. A failure or Ctrl-C stops all of them; partial files are kept.

    Raises:
        DownloadError: a file cannot be fetched.
        OutputError: a file cannot be stored.
    """
    with ThreadPoolExecutor(parallel, thread_name_prefix="nmt-prep-download") as pool:
        try:
            futures = {file: pool.submit(downloads.get, file) for file in wanted}
            for future in wait(futures.values(), return_when=FIRST_EXCEPTION).done:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            downloads.fetcher.stop()
            raise
    return {file: future.result() for file, future in futures.items()}
