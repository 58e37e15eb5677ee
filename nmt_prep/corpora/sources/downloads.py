"""Gets files, several at once, from the run's own store, from the shared cache, or from the network.

A store holds files by digest, with a note per key that names the key's file. Keys are JSON values such as
a URL, or an archive's digest and a member. A note is written after its file. A file counts only while its digest equals
the one in the note. The cache holds the downloads of all runs by digest, in the user's cache directory. It is safe to
delete.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from nmt_prep.base.artefacts import atomic_write, flush, link_or_copy, parse_json, parse_json_as, write_json, writing
from nmt_prep.base.digests import DigestCache, cache_directory, digest_of, sha256_of
from nmt_prep.base.errors import OutputError
from nmt_prep.corpora.sources.address import file_name, local_path, shown
from nmt_prep.corpora.sources.fetch import Expected, Fetched, Fetcher
from nmt_prep.corpora.sources.hub import is_repository
from nmt_prep.corpora.sources.hub_files import read_listing
from nmt_prep.corpora.sources.lockfile import Locked, LockFile
from nmt_prep.corpora.sources.transfers import at_once

_NOTES = ".notes"
_NOTE = re.compile(r"[0-9a-f]{64}\.json")


@dataclass(frozen=True)
class Stored:
    """A file of a store: its path relative to the store, SHA-256, and size in bytes."""

    file: str
    sha256: str
    size: int


class Store:
    """Files in a directory, found by key or digest; safe to use from threads that work on different keys."""

    def __init__(self, directory: Path, digests: DigestCache) -> None:
        self.directory = directory
        self._digests = digests

    def find(self, key: object) -> Stored | None:
        """Returns the file noted for ``key``; None if there is no note, or the file is missing or damaged."""
        try:
            stored = parse_json_as(Stored, parse_json(self._note(key).read_bytes()))
        except (OSError, ValueError):
            return None
        return stored if self._intact(self.directory / stored.file, stored.sha256) else None

    def find_digest(self, sha256: str, name: str) -> Stored | None:
        """Returns a file by its digest, preferably one with this name; None if there is none."""
        for path in (self.directory / sha256 / name, *self._files(sha256)):
            if self._intact(path, sha256):
                return Stored(str(path.relative_to(self.directory)), sha256, path.stat().st_size)
        return None

    def note(self, key: object, stored: Stored) -> Stored:
        """Records the file of ``key``; the file must be complete on the disk."""
        self._digests.remember(self.directory / stored.file, stored.sha256)
        write_json(self._note(key), asdict(stored))
        return stored

    def forget(self) -> None:
        """Removes all notes, so that every file is made again; the files stay until then.

        Other files in the directory of notes stay too, since they may be the user's.
        """
        notes = self.directory / _NOTES
        with writing(notes):
            for note in notes.iterdir() if notes.is_dir() else ():
                if _NOTE.fullmatch(note.name):
                    note.unlink(missing_ok=True)

    def _files(self, sha256: str) -> Iterator[Path]:
        below = self.directory / sha256
        return iter(sorted(path for path in below.iterdir() if path.is_file()) if below.is_dir() else [])

    def _intact(self, path: Path, sha256: str) -> bool:
        try:
            return self._digests.digest(path) == sha256
        except OSError:
            return False

    def _note(self, key: object) -> Path:
        return self.directory / _NOTES / f"{digest_of(key)}.json"


class DownloadCache:
    """Files by SHA-256, verified at each use. Safe under concurrent runs, since writes are atomic."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory or cache_directory() / "downloads"

    def take(self, sha256: str, into: Path) -> bool:
        """Copies a file to ``into`` if the cache has it; a damaged file is removed from the cache."""
        kept = self._path(sha256)
        try:
            with atomic_write(into) as beside:
                _copy_verified(kept, beside, sha256)
        except _UnusableError:
            self.drop(sha256)
            return False
        return True

    def find(self, sha256: str) -> Path | None:
        """Returns a file's path in the cache, unverified; None if the cache does not have it."""
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
class Needed:
    """A file that a corpus needs, or an existing vocabulary.

    A repository of the Hugging Face Hub stands for some of its files; the needed file is then the list of all its
    files.
    """

    # `<split>/<corpus>/<both|source|target|document|scores.name>`, or the key of a vocabulary, `vocab.from`. A file of
    # a repository adds its number, such as `/00000`.
    key: str
    mirrors: tuple[str, ...]  # URLs and paths of the file; the first one gives its name
    sha256: str | None  # expected SHA-256 from the config, or from the list of a repository; None without one
    manual: str | None = None  # instructions for fetching the file by hand; None if it can be downloaded
    # what to do if the file has another digest than `sha256`
    advice: str = "correct sha256 in the config, or use another mirror"

    def local(self, base_dir: Path) -> Path | None:
        """Returns the first mirror that exists if all are local, else None. Local files are not copied."""
        paths = [local_path(url, base_dir) for url in self.mirrors]
        known = [path for path in paths if path is not None]
        if len(known) < len(paths):
            return None
        return next((path for path in known if path.exists()), known[0])

    @property
    def corpus(self) -> str:
        """Name of the corpus, or the vocabulary's key."""
        first, _, rest = self.key.partition("/")
        return first if first.startswith("vocab.") else rest.partition("/")[0]

    @property
    def where(self) -> str:
        """The config key that names the file."""
        split, *names = self.key.split("/")
        if split.startswith("vocab."):
            return ": ".join([split, *names])
        corpus, part = names[:2]
        if split.endswith(":"):  # an evaluation set by ID
            return f"clean.decontaminate.against: {split}{corpus}"
        url = {"both": "url", "source": "url.source", "target": "url.target"}
        return f"splits.{split}.{corpus}.{url.get(part, part)}"

    @property
    def is_repository(self) -> bool:
        return is_repository(self.mirrors[0])

    @property
    def name(self) -> str:
        return file_name(self.mirrors[0])


@dataclass(frozen=True)
class Downloads:
    """Gets files from the store, the cache or their mirrors. Safe to use from threads for different files."""

    store: Store  # the run's own files
    fetcher: Fetcher
    cache: DownloadCache | None  # shared by all runs; None to use none
    lock: LockFile

    def get(self, file: Needed) -> Stored:
        """Puts a file into the store unless it is there; returns its path, digest and size."""
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
        # The order counts if the run is killed: the file, then the note that names it, then the record that pins its
        # digest for all later runs. Each is made only when those before it are on the disk.
        if file.is_repository:
            locked = replace(locked, commit=read_listing(self.store.directory / stored.file).commit)
        stored = self._named(stored, file.name)
        if self.cache is not None:
            self.cache.offer(self.store.directory / stored.file, stored.sha256)
        self.store.note(key, stored)
        self.lock.note(locked)
        return stored

    def _expected(self, file: Needed) -> Expected | None:
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

    def _at_hand(self, key: list[str], file: Needed, expected: Expected | None) -> Stored | None:
        """Finds a file locally, by digest if one is known, else by its first mirror."""
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


def download_all(downloads: Downloads, wanted: Sequence[Needed], parallel: int) -> dict[Needed, Stored]:
    """Gets files, up to ``parallel`` at once. A failure or Ctrl-C stops all of them; partial files are kept."""
    return dict(zip(wanted, at_once(downloads.get, wanted, parallel, downloads.fetcher.stop), strict=True))
