"""What to do about a damaged archive: it depends on where the file came from, and on what it must be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from nmt_prep.archives import Archive, DamagedError
from nmt_prep.digests import sha256_of
from nmt_prep.errors import ArchiveError
from nmt_prep.sources.cache import DownloadCache


@dataclass(frozen=True)
class Origin:
    """Where an archive came from.

    Attributes:
        corpus: the name of a corpus that needs it.
        local: whether it is the user's own file, and not a download.
        in_config: whether the config gives its SHA-256.
        lock: the lock file that has its SHA-256; None where there is none.
    """

    corpus: str
    local: bool
    in_config: bool
    lock: Path | None


@contextmanager
def advising(archive: Archive, origin: Origin) -> Iterator[None]:
    """Adds what helps to the error of a damaged archive, and drops our copies of a download that must be fetched anew.

    Raises:
        ArchiveError: the archive is damaged.
    """
    try:
        yield
    except DamagedError as error:
        raise ArchiveError(f"{error}; {_remedy(archive, origin)}") from error


def _remedy(archive: Archive, origin: Origin) -> str:
    if origin.local:
        return f"its SHA-256 is {archive.sha256}: compare that with the publisher's, and replace it by an intact copy"
    if _digest(archive.path) != archive.sha256:
        _drop(archive)
        return "it was damaged on this machine after it had come, and was removed: run again to fetch it anew"
    if origin.in_config:
        return (
            f"it has the SHA-256 that the config gives ({archive.sha256}), so the publisher's file is damaged: use "
            "another file or mirror, and correct sha256 in the config"
        )
    _drop(archive)
    if origin.lock is not None:
        return (
            f"it has the SHA-256 that {origin.lock} gives ({archive.sha256}), so it was damaged when it was first "
            f"fetched, and was removed: fetch it anew with `nmt-prep lock CONFIG --update {origin.corpus}`"
        )
    return "it was damaged when it came, and was removed: run again to fetch it anew"


def _digest(path: Path) -> str | None:
    try:
        return sha256_of(path)
    except OSError:
        return None


def _drop(archive: Archive) -> None:
    with suppress(OSError):
        archive.path.unlink(missing_ok=True)
    DownloadCache().drop(archive.sha256)
