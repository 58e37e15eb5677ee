"""Publications in an object store, and the protocol that replaces one by the next.

Object stores have no atomic renames. So a manifest lists all files, with sizes and digests, and is written last: a
reader that finds a manifest finds every file. While files are being replaced there is a journal instead of a manifest.
It records what is known of each file, so that after an interruption the next publication knows which files to upload
and which to delete.

Each publication has a number, one more than the previous one. An upload counts only for the number under which it was
made, since another run may have published in between.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any, TypeAlias, cast

from nmt_prep.errors import NmtPrepError, OutputError
from nmt_prep.publishing.object_store import ObjectStore
from nmt_prep.typed_json import parse_json_as

MANIFEST = "nmt_prep-manifest.json"
JOURNAL = "nmt_prep-unfinished.json"

_FORMAT = 1

_NAMED = 3
"""Number of files that a message names."""


@dataclass(frozen=True)
class PublishedFile:
    """A file of a publication: its size in bytes, and its SHA-256."""

    size: int
    sha256: str


Files: TypeAlias = "Mapping[str, PublishedFile]"
"""Files by their names, which are paths relative to the manifest."""


@dataclass(frozen=True)
class _Described:
    """A description of a publication that is stored in it."""

    def as_bytes(self) -> bytes:
        """Returns the content of its JSON file."""
        value = {"format": _FORMAT, **asdict(self)}
        return (json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode()


@dataclass(frozen=True)
class Publication(_Described):
    """A manifest.

    Attributes:
        number: number of the publication.
        files: its files.
    """

    number: int
    files: Files


@dataclass(frozen=True)
class Journal(_Described):
    """An unfinished publication.

    Attributes:
        number: number of the publication.
        fingerprint: fingerprint of the publish stage.
        files: all files that may be in the store; None if the content of a file is unknown.
    """

    number: int
    fingerprint: str
    files: Mapping[str, PublishedFile | None]

    def missing(self, wanted: Files) -> list[str]:
        """Returns the names of the files that are still to be uploaded."""
        return [name for name, file in wanted.items() if self.files.get(name) != file]

    def left_over(self, wanted: Files) -> list[str]:
        """Returns the names of files of older publications that are not in this one."""
        return sorted(self.files.keys() - wanted.keys())


def announce(store: ObjectStore, fingerprint: str, wanted: Files) -> Journal:
    """Begins a publication: writes the journal, then removes the manifest.

    Several processes may do it at once for the same publication.

    Returns:
        The current journal. If the publication is complete already, nothing is changed.

    Raises:
        OutputError: the storage failed, a manifest or journal was not written by nmt_prep, a file with the name of
            one to publish belongs to no earlier publication, or a file would be written through a symbolic link.
            Nothing is changed then.
    """
    if links := store.links(wanted):
        raise OutputError(
            f"{store.url}/{links[0]} is a symbolic link, and files behind it would be overwritten; remove the link, or "
            "publish to another url"
        )
    sizes = store.sizes()
    manifest, journal = read_manifest(store, OutputError), _read_journal(store)
    if manifest is None and journal is None:  # between the two, another process may have completed the publication
        manifest = read_manifest(store, OutputError)
    before: Mapping[str, PublishedFile | None] = journal.files if journal else manifest.files if manifest else {}
    cut_short = JOURNAL in sizes and journal is None  # by a kill: which files are ours is no longer known
    if not cut_short:
        check_foreign(store.url, wanted, sizes, before)
    known = {name: file if file and sizes.get(name) == file.size else None for name, file in before.items()}
    if journal is None and manifest is not None and known == dict(wanted):
        return Journal(manifest.number, fingerprint, known)
    # Unchanged files stay known; files to be uploaded from now on become unknown.
    files = {**known, **{name: file if known.get(name) == file else None for name, file in wanted.items()}}
    if journal is None or journal.fingerprint != fingerprint or journal.files != files:
        number = 1 + max(manifest.number if manifest else 0, journal.number if journal else 0)
        journal = Journal(number, fingerprint, files)
        store.write(JOURNAL, journal.as_bytes())
    store.remove(MANIFEST)
    return journal


def check_foreign(url: str, wanted: Files, there: Collection[str], before: Collection[str]) -> None:
    """Checks that a publication overwrites no file that an earlier one did not put there.

    Args:
        url: URL of the publication.
        wanted: its files.
        there: names of all files below the URL.
        before: names of the files of earlier publications.

    Raises:
        OutputError: it would.
    """
    foreign = sorted(name for name in wanted if name in there and name not in before)
    if foreign:
        raise OutputError(
            f"{url} has files that no publication put there, and that this one would overwrite: "
            f"{some_of(foreign)}; publish to another url, or move them away"
        )


def some_of(names: Sequence[str]) -> str:
    """Returns the first names, and how many others there are."""
    return ", ".join([*names[:_NAMED], *([f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else [])])


def is_current(store: ObjectStore, number: int, fingerprint: str, wanted: Files) -> bool:
    """Returns True if the publication with this number is still in progress, or is complete."""
    journal = _read_journal(store)
    if journal is not None:
        return (journal.number, journal.fingerprint) == (number, fingerprint)
    return read_manifest(store, OutputError) == Publication(number, dict(wanted))


def complete(store: ObjectStore, number: int, fingerprint: str, wanted: Files) -> None:
    """Writes the manifest, if every file is there; then deletes files that only older publications had.

    Raises:
        OutputError: a file is missing, or another run publishes to the same URL.
    """
    if not is_current(store, number, fingerprint, wanted):
        raise OutputError(f"{store.url}: another run publishes to the same url; give each run its own")
    sizes = store.sizes()
    damaged = sorted(name for name, file in wanted.items() if sizes.get(name) != file.size)
    if damaged:
        raise OutputError(
            f"{store.url}/{damaged[0]} and {len(damaged) - 1} others were deleted or changed while the rest was "
            "uploaded; run again to upload them again"
        )
    journal = _read_journal(store)
    if journal is not None:
        store.write(MANIFEST, Publication(number, wanted).as_bytes())
        for name in journal.left_over(wanted):
            store.remove(name)
        store.remove(JOURNAL)


def read_manifest(store: ObjectStore, error: type[NmtPrepError]) -> Publication | None:
    """Reads the manifest; returns None if there is none.

    Raises:
        NmtPrepError: an error of the type given by ``store``; the storage failed, or see :func:`parse_manifest`.
    """
    return parse_manifest(store.read(MANIFEST), f"{store.url}/{MANIFEST}", error)


def parse_manifest(content: bytes | None, where: str, error: type[NmtPrepError]) -> Publication | None:
    """Parses a manifest; returns None if it is empty or cut short.

    Raises:
        NmtPrepError: an error of the given type; nmt_prep did not write it, or it names a file outside the directory.
    """
    with _format_checked(where, error):
        value = _parsed(content)
        if value is None:
            return None
        files = {_safe(name): parse_json_as(PublishedFile, file) for name, file in value["files"].items()}
        return Publication(parse_json_as(int, value["number"]), files)


def _read_journal(store: ObjectStore) -> Journal | None:
    """Reads the journal; returns None if there is none."""
    return parse_journal(store.read(JOURNAL), f"{store.url}/{JOURNAL}")


def parse_journal(content: bytes | None, where: str) -> Journal | None:
    """Parses a journal; returns None if it is empty or cut short, when the manifest is still valid.

    Raises:
        OutputError: nmt_prep did not write it, or it names a file outside the directory.
    """
    with _format_checked(where, OutputError):
        value = _parsed(content)
        if value is None:
            return None
        files = {_safe(name): file and parse_json_as(PublishedFile, file) for name, file in value["files"].items()}
        return Journal(parse_json_as(int, value["number"]), str(value["fingerprint"]), files)


@contextmanager
def _format_checked(where: str, error: type[NmtPrepError]) -> Iterator[None]:
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as fault:
        raise error(
            f"{where} was not written by this version of nmt_prep ({fault}); delete it, or use another url"
        ) from fault


def _parsed(content: bytes | None) -> dict[str, Any] | None:
    """Parses the JSON of a manifest or journal; None if it is cut short, since not every storage writes atomically."""
    try:
        value = json.loads(content) if content is not None else None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError:
        return None
    if value is not None and value["format"] != _FORMAT:
        raise ValueError(f"format {value['format']}")
    return cast("dict[str, Any] | None", value)


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
        or name in {MANIFEST, JOURNAL}
    ):
        raise ValueError(f"the name {name!r}")
    return name
