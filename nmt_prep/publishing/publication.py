"""What a run has published in an object store, and how one publication takes the place of another.

Renames are not to be had there, so a manifest says what is there, with sizes and digests: a reader that finds it finds
everything. While files are being replaced there is no manifest but a journal, which keeps what is known of each file,
so that whatever was interrupted, the next publication knows what it need not send again and what it must delete.

Each publication has a number, one more than the one before. What was sent counts only for the number under which it
was sent: another run may have published in between.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any, TypeAlias, cast

from nmt_prep.artefacts import parse_json_as
from nmt_prep.errors import NmtPrepError, OutputError
from nmt_prep.publishing.object_store import ObjectStore

MANIFEST = "nmt_prep-manifest.json"
JOURNAL = "nmt_prep-unfinished.json"

_FORMAT = 1

_NAMED = 3
"""Files that a message names."""


@dataclass(frozen=True)
class PublishedFile:
    """A file of a publication: its size in bytes, and its SHA-256."""

    size: int
    sha256: str


Files: TypeAlias = "Mapping[str, PublishedFile]"
"""Files by their names, which are paths relative to the manifest."""


@dataclass(frozen=True)
class Publication:
    """A manifest.

    Attributes:
        number: of this publication among those of its place.
        files: what it has.
    """

    number: int
    files: Files

    def as_bytes(self) -> bytes:
        """The manifest's bytes."""
        return _as_bytes(self)


@dataclass(frozen=True)
class Journal:
    """A publication in the making.

    Attributes:
        number: that it will have.
        fingerprint: of the stage that makes it.
        files: names of all files that are or may be there; None where the content is not known.
    """

    number: int
    fingerprint: str
    files: Mapping[str, PublishedFile | None]

    def missing(self, wanted: Files) -> list[str]:
        """Names of the wanted files that are still to be sent."""
        return [name for name, file in wanted.items() if self.files.get(name) != file]

    def left_over(self, wanted: Files) -> list[str]:
        """Names of files that an older publication had, and this one has not."""
        return sorted(self.files.keys() - wanted.keys())

    def as_bytes(self) -> bytes:
        """The journal's bytes."""
        return _as_bytes(self)


def announce(store: ObjectStore, fingerprint: str, wanted: Files) -> Journal:
    """Makes the place ready for files to be replaced: writes the journal, then removes the manifest.

    Several processes may do it at once for the same publication.

    Returns:
        The journal that is there now. Where the publication is complete already, nothing is changed.

    Raises:
        OutputError: the storage failed, something there was not written by nmt_prep, or a file there has the name of
            one to publish and is of no earlier publication. Nothing is changed then.
    """
    sizes = store.sizes()
    manifest, journal = read_manifest(store, OutputError), _read_journal(store)
    if manifest is None and journal is None:  # between the two, another process may have completed the publication
        manifest = read_manifest(store, OutputError)
    before: Mapping[str, PublishedFile | None] = journal.files if journal else manifest.files if manifest else {}
    foreign = sorted((wanted.keys() & sizes.keys()) - before.keys())
    cut_short = JOURNAL in sizes and journal is None  # by a kill: which files are ours is no longer known
    if foreign and not cut_short:
        raise OutputError(
            f"{store.url} has files that no publication put there, and that this one would overwrite: "
            f"{some_of(foreign)}; publish to another url, or move them away"
        )
    known = {name: file if file and sizes.get(name) == file.size else None for name, file in before.items()}
    if journal is None and manifest is not None and known == dict(wanted):
        return Journal(manifest.number, fingerprint, known)
    # Files that are there unchanged stay known; whatever is sent from now on is not.
    files = {**known, **{name: file if known.get(name) == file else None for name, file in wanted.items()}}
    if journal is None or journal.fingerprint != fingerprint or journal.files != files:
        number = 1 + max(manifest.number if manifest else 0, journal.number if journal else 0)
        journal = Journal(number, fingerprint, files)
        store.write(JOURNAL, journal.as_bytes())
    store.remove(MANIFEST)
    return journal


def some_of(names: Sequence[str]) -> str:
    """Returns the first names, and how many others there are."""
    return ", ".join([*names[:_NAMED], *([f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else [])])


def is_current(store: ObjectStore, number: int, fingerprint: str, wanted: Files) -> bool:
    """Whether what was announced under a number still holds, or is complete."""
    journal = _read_journal(store)
    if journal is not None:
        return (journal.number, journal.fingerprint) == (number, fingerprint)
    return read_manifest(store, OutputError) == Publication(number, dict(wanted))


def complete(store: ObjectStore, number: int, fingerprint: str, wanted: Files) -> None:
    """Writes the manifest, once every file is there; then deletes what older publications had and this one has not.

    Raises:
        OutputError: a file is missing, or another run publishes to the same place.
    """
    if not is_current(store, number, fingerprint, wanted):
        raise OutputError(f"{store.url}: another run publishes to the same place; give each a url of its own")
    sizes = store.sizes()
    damaged = sorted(name for name, file in wanted.items() if sizes.get(name) != file.size)
    if damaged:
        raise OutputError(
            f"{store.url}/{damaged[0]} and {len(damaged) - 1} others were deleted or changed while the rest was "
            "uploaded; run again, which sends them anew"
        )
    journal = _read_journal(store)
    if journal is not None:
        store.write(MANIFEST, Publication(number, wanted).as_bytes())
        for name in journal.left_over(wanted):
            store.remove(name)
        store.remove(JOURNAL)


def read_manifest(store: ObjectStore, error: type[NmtPrepError]) -> Publication | None:
    """The publication that is there; None where there is none.

    Raises:
        NmtPrepError: of the type given, as :func:`parse_manifest` says, or because the storage failed.
    """
    return parse_manifest(store.read(MANIFEST), f"{store.url}/{MANIFEST}", error)


def parse_manifest(content: bytes | None, where: str, error: type[NmtPrepError]) -> Publication | None:
    """What the bytes of a manifest say; None where there are none, or not all of them yet.

    Raises:
        NmtPrepError: of the type given; something else wrote them, or they name a file outside the place.
    """
    with _format_checked(where, error):
        value = _parsed(content)
        if value is None:
            return None
        files = {_safe(name): parse_json_as(PublishedFile, file) for name, file in value["files"].items()}
        return Publication(parse_json_as(int, value["number"]), files)


def _read_journal(store: ObjectStore) -> Journal | None:
    """The journal that is there; None where there is none."""
    return parse_journal(store.read(JOURNAL), f"{store.url}/{JOURNAL}")


def parse_journal(content: bytes | None, where: str) -> Journal | None:
    """What the bytes of a journal say; None where there are none, or not all of them: then the manifest still stands.

    Raises:
        OutputError: something else wrote them, or they name a file outside the place.
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
    """The JSON of a manifest or journal; None where it is cut short, as it can be where writing is not one step."""
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
    """A name that stays below the place."""
    name.encode()  # a lone surrogate is a ValueError
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


def _as_bytes(written: Publication | Journal) -> bytes:
    value = {"format": _FORMAT, **asdict(written)}
    return (json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode()
