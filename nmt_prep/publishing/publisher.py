"""Replaces the publication at a URL: through an object store, or in a commit of a repository."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from nmt_prep.config.publish import PublishSettings
from nmt_prep.errors import OutputError
from nmt_prep.publishing.object_store import ObjectStore
from nmt_prep.publishing.publication import Files, announce, complete, is_current

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
        """Returns True if a file that was uploaded is still there, as far as that can be seen."""

    @abstractmethod
    def is_current(self, number: int, fingerprint: str, wanted: Files) -> bool:
        """Returns True if the publication with this number is in progress or complete, and no other one began since."""

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
    """Publishes to an object store, under a journal while files change."""

    def __init__(self, settings: PublishSettings) -> None:
        self._store = ObjectStore(settings.url, settings.options, settings.retries, OutputError)
        self.url = self._store.url

    def announce(self, fingerprint: str, wanted: Files) -> tuple[int, list[str]]:
        journal = announce(self._store, fingerprint, wanted)
        return journal.number, journal.missing(wanted)

    def upload(self, path: Path, name: str, tick: Callable[[int], None]) -> str:
        return self._store.upload(path, name, tick)

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return self._store.sizes()

    def holds(self, name: str, size: int) -> bool:
        return self._sizes.get(name) == size

    def is_current(self, number: int, fingerprint: str, wanted: Files) -> bool:
        return is_current(self._store, number, fingerprint, wanted)

    def complete(self, number: int, fingerprint: str, wanted: Files, contents: Mapping[str, Content]) -> None:
        del contents  # all are uploaded
        complete(self._store, number, fingerprint, wanted)
