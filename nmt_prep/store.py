"""A store of files by digest, with a note per key that says which file the key stands for.

Keys are JSON values such as a URL, or an archive's digest and a member. A note is written after its file. A file counts
only while its digest equals the one in the note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from nmt_prep.artefacts import parse_json, write_json, writing
from nmt_prep.digests import DigestCache, digest_of
from nmt_prep.typed_json import parse_json_as

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
        """Notes the file of ``key``; the file must be complete on the disk."""
        self._digests.remember(self.directory / stored.file, stored.sha256)
        write_json(self._note(key), asdict(stored))
        return stored

    def forget(self) -> None:
        """Removes all notes, so that every file is made again; the files stay until then.

        Other files in the directory of notes stay too, since they may be the user's.

        Raises:
            OutputError: they cannot be removed.
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
