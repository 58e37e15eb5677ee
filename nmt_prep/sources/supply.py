"""Gets files, several at once, from the run's own store, from the shared cache, or from the network.

The cache holds the downloads of all runs by digest, in the user's cache directory. It is safe to delete.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeAlias

from nmt_prep.artefacts import atomic_write, flush, link_or_copy, writing
from nmt_prep.digests import cache_directory, sha256_of
from nmt_prep.errors import OutputError
from nmt_prep.sources.address import shown
from nmt_prep.sources.fetch import Expected, Fetched, Fetcher
from nmt_prep.sources.hub import is_repository
from nmt_prep.sources.hub_listing import read_listing
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
class Supply:
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


PATIENCE = 2.0
"""Seconds that running fetches have to write their partial files after a stop."""

_Ended: TypeAlias = "SimpleQueue[tuple[WantedFile, Stored | BaseException]]"


def get_all(supply: Supply, wanted: Sequence[WantedFile], parallel: int) -> dict[WantedFile, Stored]:
    """Gets files, up to ``parallel`` at once. A failure or Ctrl-C stops all of them; partial files are kept.

    The threads are daemons, since the interpreter waits for other threads at exit, and a thread may be in a call that
    cannot be interrupted, such as name resolution. A ThreadPoolExecutor does not fit: its exit waits for every thread,
    and it loses track of a thread if Ctrl-C comes while the thread starts.

    Raises:
        DownloadError: a file cannot be fetched.
        OutputError: a file cannot be stored.
    """
    waiting: SimpleQueue[WantedFile] = SimpleQueue()
    for file in wanted:
        waiting.put(file)
    ended: _Ended = SimpleQueue()
    threads = [
        threading.Thread(target=_work, args=(supply, waiting, ended), name=f"nmt-prep-download-{number}", daemon=True)
        for number in range(min(parallel, len(wanted)))
    ]
    results: dict[WantedFile, Stored] = {}
    try:
        for thread in threads:
            thread.start()
        while len(results) < len(wanted):
            file, result = ended.get()
            if isinstance(result, BaseException):
                raise result
            results[file] = result
    finally:
        supply.fetcher.stop()
        until = time.monotonic() + PATIENCE
        for thread in threads:
            with suppress(RuntimeError):  # the thread was not started
                thread.join(max(0.0, until - time.monotonic()))
    return results


def _work(supply: Supply, waiting: SimpleQueue[WantedFile], ended: _Ended) -> None:
    with suppress(Empty):
        while True:
            file = waiting.get_nowait()
            try:
                supply.fetcher.check()
                ended.put((file, supply.get(file)))
            except BaseException as error:  # noqa: BLE001 - raised again by the waiting thread
                ended.put((file, error))
                supply.fetcher.stop()
                return
