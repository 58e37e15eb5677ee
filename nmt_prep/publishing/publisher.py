"""Replaces the publication at a URL: through an object store, or in a commit of a repository."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from nmt_prep.config.publish import PublishSettings
from nmt_prep.errors import OutputError
from nmt_prep.publishing.object_store import ObjectStore
from nmt_prep.publishing.publication import (
    MANIFEST,
    UNFINISHED,
    Files,
    Publication,
    check_foreign,
    read_publication,
)

Content = Path | bytes
"""A file to publish, or its bytes."""


class Publisher(ABC):
    """Publishes files. Each method may run in another process; threads may share a publisher.

    All methods raise :class:`~nmt_prep.errors.OutputError` if the storage fails.

    Attributes:
        url: URL of the publication, without secrets.
    """

    url: str

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
        self._store = ObjectStore(settings.url, settings.options, settings.retries, OutputError)
        self.url = self._store.url

    def announce(self, fingerprint: str, wanted: Files) -> tuple[int, list[str]]:
        """Writes the unfinished manifest, then removes the manifest.

        Several processes may do it at once for the same publication. If it is complete already, nothing is changed.
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
        cut_short = UNFINISHED in sizes and unfinished is None  # by a kill: which files are ours is no longer known
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
        return unfinished.number, unfinished.missing(wanted)

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
            for name in unfinished.left_over(wanted):
                self._store.remove(name)
            self._store.remove(UNFINISHED)

    def _read(self, name: str) -> Publication | None:
        return read_publication(self._store, OutputError, name)
