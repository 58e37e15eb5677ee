"""A publication's manifest, the unfinished manifest in its place while files change, and their publishers.

Object stores have no atomic renames. So a manifest lists all files, with sizes and digests, and is written last: a
reader that finds a manifest finds every file. While files are being replaced, an unfinished manifest stands in its
place. It lists the files of the earlier and the new publication, so that after an interruption the next publication
knows which files to upload and which to delete.

Each publication has a number, one more than the previous one. An upload is valid only for the
publication it was made for, since another run may have published in between.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from nmt_prep.base.artefacts import atomic_write, parse_json_as, remove_partial, write_bytes, writing
from nmt_prep.base.digests import DigestCache
from nmt_prep.base.errors import DownloadError, NmtPrepError, OutputError
from nmt_prep.base.progress import Progress
from nmt_prep.config import PublishSettings
from nmt_prep.corpora.sources.objects import ObjectStore
from nmt_prep.corpora.sources.transfers import at_once

MANIFEST = "nmt_prep-manifest.json"
UNFINISHED = "nmt_prep-unfinished.json"

_FORMAT = 1

_NAMED = 3  # Number of files that a message names


@dataclass(frozen=True)
class PublishedFile:
    """A file of a publication: its size in bytes, and its SHA-256."""

    size: int
    sha256: str


Files: TypeAlias = "Mapping[str, PublishedFile]"  # Files by their names, which are paths relative to the manifest


@dataclass(frozen=True)
class Publication:
    """A manifest, or an unfinished one."""

    number: int
    files: Mapping[str, PublishedFile | None]  # its files; None for a file that is being replaced or deleted
    fingerprint: str = ""  # fingerprint of the stage publish, while it is unfinished; else empty

    def as_bytes(self) -> bytes:
        """Returns the content of its JSON file."""
        value = {"format": _FORMAT, **{key: value for key, value in asdict(self).items() if value != ""}}
        return (json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode()

    @property
    def complete_files(self) -> dict[str, PublishedFile]:
        """The files that are not being replaced."""
        return {name: file for name, file in self.files.items() if file is not None}


def check_foreign(url: str, wanted: Files, there: Collection[str], before: Collection[str]) -> None:
    """Checks that a publication overwrites only files of earlier publications."""
    foreign = sorted(name for name in wanted if name in there and name not in before)
    if foreign:
        raise OutputError(
            f"{url} contains files that were not published by nmt_prep and would be overwritten: "
            f"{some_of(foreign)}; publish to another url, or move them away"
        )


def some_of(names: Sequence[str]) -> str:
    """Returns the first names, and how many others there are."""
    return ", ".join([*names[:_NAMED], *([f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else [])])


def read_publication(store: ObjectStore, error: type[NmtPrepError], name: str = MANIFEST) -> Publication | None:
    """Reads the manifest, or the unfinished one; returns None if there is none."""
    return parse_publication(store.read(name), f"{store.url}/{name}", error)


def parse_publication(content: bytes | None, where: str, error: type[NmtPrepError]) -> Publication | None:
    """Parses a manifest or an unfinished one.

    Returns None if it is empty or cut short, since not every storage writes atomically. The other of the two is then
    valid.
    """
    try:
        value = None if content is None else json.loads(content)
    except ValueError:
        return None
    except RecursionError:
        raise _not_ours(where, "nested too deeply", error) from None
    try:
        return None if value is None else _publication(**value)
    except (LookupError, TypeError, ValueError, AttributeError) as fault:
        raise _not_ours(where, str(fault), error) from fault


def _publication(files: dict[str, object], number: object, format: int, fingerprint: str = "") -> Publication:  # noqa: A002
    """Returns the publication with the keys of a JSON file."""
    if format != _FORMAT:
        raise ValueError(f"format {format}")
    safe = {_safe(name): file for name, file in files.items()}
    return parse_json_as(Publication, {"number": number, "files": safe, "fingerprint": fingerprint})


def _not_ours(where: str, fault: str, error: type[NmtPrepError]) -> NmtPrepError:
    return error(f"{where} was not written by this version of nmt_prep ({fault}); delete it, or use another url")


def _safe(name: str) -> str:
    """Returns a file name after checking that it stays inside the directory."""
    name.encode()  # raises ValueError for a lone surrogate
    path = PurePosixPath(name)
    if (
        path.is_absolute()
        or not path.parts
        or ".." in path.parts
        or "\0" in name
        or str(path) != name
        or name in {MANIFEST, UNFINISHED}
    ):
        raise ValueError(f"the name {name!r}")
    return name


Content = Path | bytes  # A file to publish, or its bytes


class Publisher(ABC):
    """Publishes files. Each method may run in another process; threads may share a publisher.

    All methods raise :class:`~nmt_prep.base.errors.OutputError` if the storage fails.
    """

    url: str  # URL of the publication, without secrets

    @abstractmethod
    def announce(self, fingerprint: str, wanted: Files) -> tuple[int, list[str]]:
        """Begins a publication; returns its number and the names of the files to upload.

        Raises:
            OutputError: a file with the name of one to publish belongs to no earlier publication.
        """

    @abstractmethod
    def upload(self, path: Path, name: str, tick: Callable[[int], None]) -> str:
        """Uploads a file, and returns the SHA-256 of the bytes that were sent. Ticks are bytes."""

    @abstractmethod
    def holds(self, name: str, size: int) -> bool:
        """Returns True if an uploaded file still seems to be there."""

    @abstractmethod
    def is_current(self, number: int, fingerprint: str, wanted: Files) -> bool:
        """Returns True if the publication with this number is the latest, in progress or complete."""

    @abstractmethod
    def complete(self, number: int, fingerprint: str, wanted: Files, contents: Mapping[str, Content]) -> None:
        """Makes the publication visible with its manifest, and deletes files that only earlier publications had.

        Args:
            number: number of the publication.
            fingerprint: fingerprint of the publish stage.
            wanted: size and digest of all files.
            contents: all files.

        Raises:
            OutputError: a file is missing, or another run publishes to the same URL.
        """


class StorePublisher(Publisher):
    """Publishes to an object store, under an unfinished manifest while files change."""

    def __init__(self, settings: PublishSettings) -> None:
        self._store = ObjectStore(settings.url, settings.options, OutputError)
        self.url = self._store.url

    def announce(self, fingerprint: str, wanted: Files) -> tuple[int, list[str]]:
        """Writes the unfinished manifest, then removes the manifest.

        Several processes may call it at once for the same publication. Nothing changes if the publication is complete.
        """
        if links := self._store.links(wanted):
            raise OutputError(
                f"{self.url}/{links[0]} is a symbolic link, and files behind it would be overwritten; remove the link, "
                "or publish to another url"
            )
        sizes = self._store.sizes()
        manifest, unfinished = self._read(MANIFEST), self._read(UNFINISHED)
        if manifest is None and unfinished is None:  # another process may have completed it between the two
            manifest = self._read(MANIFEST)
        before = unfinished or manifest or Publication(0, {})
        cut_short = UNFINISHED in sizes and unfinished is None  # by a kill: the list of published files is lost
        if not cut_short:
            check_foreign(self.url, wanted, sizes, before.files)
        known = {name: file for name, file in before.complete_files.items() if sizes.get(name) == file.size}
        if unfinished is None and known == dict(wanted):
            return before.number, []
        kept = {name: file for name, file in known.items() if wanted.get(name, file) == file}
        files = {**dict.fromkeys([*before.files, *wanted]), **kept}
        if unfinished is None or unfinished.fingerprint != fingerprint or unfinished.files != files:
            number = 1 + max(publication.number for publication in (before, manifest or before))
            unfinished = Publication(number, files, fingerprint)
            self._store.write(UNFINISHED, unfinished.as_bytes())
        self._store.remove(MANIFEST)
        return unfinished.number, [name for name, file in wanted.items() if unfinished.files.get(name) != file]

    def upload(self, path: Path, name: str, tick: Callable[[int], None]) -> str:
        return self._store.upload(path, name, tick)

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return self._store.sizes()

    def holds(self, name: str, size: int) -> bool:
        return self._sizes.get(name) == size

    def is_current(self, number: int, fingerprint: str, wanted: Files) -> bool:
        unfinished = self._read(UNFINISHED)
        if unfinished is not None:
            return (unfinished.number, unfinished.fingerprint) == (number, fingerprint)
        return self._read(MANIFEST) == Publication(number, dict(wanted))

    def complete(self, number: int, fingerprint: str, wanted: Files, contents: Mapping[str, Content]) -> None:
        del contents  # all are uploaded
        if not self.is_current(number, fingerprint, wanted):
            raise OutputError(f"{self.url}: another run publishes to the same url; give each run its own")
        sizes = self._store.sizes()
        damaged = sorted(name for name, file in wanted.items() if sizes.get(name) != file.size)
        if damaged:
            raise OutputError(
                f"{self.url}/{damaged[0]} and {len(damaged) - 1} others were deleted or changed while the rest was "
                "uploaded; run again to upload them again"
            )
        unfinished = self._read(UNFINISHED)
        if unfinished is not None:
            self._store.write(MANIFEST, Publication(number, wanted).as_bytes())
            for name in sorted(unfinished.files.keys() - wanted.keys()):
                self._store.remove(name)
            self._store.remove(UNFINISHED)

    def _read(self, name: str) -> Publication | None:
        return read_publication(self._store, OutputError, name)


_PARALLEL = 4


def fetch_run(
    url: str,
    directory: str | os.PathLike[str],
    *,
    options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Copies a publication to a local directory, which :func:`~nmt_prep.make_dataset` can read.

    Every file is verified against the manifest's SHA-256 and written atomically. Files that are there already are not
    fetched again, so an interrupted copy resumes. The local manifest is written last; files of an older publication
    that are not in the new one are deleted. Files that were not fetched are never overwritten.

    Args:
        url: as ``publish.url`` in the config.
        directory: the target, created if missing. Only one process may fetch into it at a time.
        options: options of fsspec's file system, as ``publish.options`` in the config.
        progress: receives progress and events; None if there is none.

    Returns:
        The directory.

    Raises:
        ConfigError: fsspec, or the package that it needs for the URL, is not installed.
        DownloadError: there is no complete publication, it cannot be read, or a file does not match the manifest.
        OutputError: the directory cannot be written, or contains a different file with the name of a published one
            that was not fetched.
    """
    root, progress = Path(directory), progress or Progress()
    store = ObjectStore(url, options or {}, DownloadError)
    publication = read_publication(store, DownloadError)
    if publication is None:
        raise _nothing_there(store)
    digests = DigestCache(root)
    try:
        _fetch_missing(store, root, publication, digests, progress)
    finally:
        digests.save()
    return root


def _fetch_missing(
    store: ObjectStore, root: Path, publication: Publication, digests: DigestCache, progress: Progress
) -> None:
    manifest, begun = root / MANIFEST, root / UNFINISHED
    before, unfinished = (parse_publication(_content(path), str(path), OutputError) for path in (manifest, begun))
    wanted = publication.complete_files
    missing = [name for name, file in wanted.items() if not _intact(root / name, file, digests)]
    if before == publication and unfinished is None and not missing:
        return
    ours = {name for made in (before, unfinished) if made for name in made.files}
    foreign = sorted(name for name in missing if name not in ours and os.path.lexists(root / name))
    if foreign:
        raise OutputError(
            f"{root} contains files that were not fetched and would be overwritten: {some_of(foreign)}; fetch "
            "into another directory, or move them away"
        )
    write_bytes(begun, Publication(publication.number, dict.fromkeys(ours | wanted.keys())).as_bytes())
    _remove(manifest)
    for directory in {name.partition("/")[0] for name in wanted}:
        remove_partial(root / directory)
    _fetch_all(store, root, {name: wanted[name] for name in missing}, digests, progress)
    for name in ours - wanted.keys():
        _remove(root / name)
    write_bytes(manifest, publication.as_bytes())
    _remove(begun)


def _fetch_all(store: ObjectStore, root: Path, files: Files, digests: DigestCache, progress: Progress) -> None:
    with progress.meter("fetch", sum(file.size for file in files.values()), "bytes") as meter:

        def fetch(name: str) -> None:
            with atomic_write(root / name) as beside:
                digest = store.download(name, beside, meter.advance)
                if digest != files[name].sha256:
                    raise DownloadError(
                        f"{store.url}/{name}: expected SHA-256 {files[name].sha256}, found {digest}; if a run is "
                        "publishing there, wait for it to end and fetch again; else the object was changed: publish "
                        "again with --force publish"
                    )
            digests.remember(root / name, digest)

        at_once(fetch, [*files], _PARALLEL)


def _intact(path: Path, file: PublishedFile, digests: DigestCache) -> bool:
    try:
        return path.stat().st_size == file.size and digests.digest(path) == file.sha256
    except OSError:
        return False


def _content(path: Path) -> bytes | None:
    with writing(path):
        return path.read_bytes() if path.exists() else None


def _remove(path: Path) -> None:
    with writing(path):
        path.unlink(missing_ok=True)


def _nothing_there(store: ObjectStore) -> DownloadError:
    if store.read(UNFINISHED) is not None:
        return DownloadError(
            f"{store.url}: a publication is in progress or was interrupted; wait for it to end, or run its config again"
        )
    return DownloadError(f"{store.url} has no {MANIFEST}; check the url, and that a run has published there")
