"""Gets files from the run's own store, from the shared cache, or from the network."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace

from nmt_prep.artefacts import atomic_write, flush, writing
from nmt_prep.sources.address import shown
from nmt_prep.sources.cache import DownloadCache
from nmt_prep.sources.fetch import Expected, Fetched, Fetcher
from nmt_prep.sources.lockfile import Locked, LockFile
from nmt_prep.store import Store, Stored


@dataclass(frozen=True)
class WantedFile:
    """A requested file.

    Attributes:
        mirrors: addresses of the file.
        name: the file's name in the store.
        sha256: expected digest from the config; None if the config has none.
        corpus: name of a corpus that needs it, for messages.
    """

    mirrors: tuple[str, ...]
    name: str
    sha256: str | None
    corpus: str


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
        stored = self._named(stored, file.name)
        if self.cache is not None:
            self.cache.offer(self.store.directory / stored.file, stored.sha256)
        self.store.note(key, stored)
        self.lock.note(locked)
        return stored

    def _expected(self, file: WantedFile) -> Expected | None:
        if file.sha256 is not None:
            return Expected(file.sha256, "correct sha256 in the config, or use another mirror")
        locked = self.lock.find(file.mirrors)
        if locked is None or self.lock.path is None:
            return None
        return Expected(
            locked.sha256,
            f"{self.lock.path} has its first digest; use another mirror, or if the change is intended, "
            f"renew the lock with `nmt-prep lock CONFIG --update {file.corpus}`",
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
