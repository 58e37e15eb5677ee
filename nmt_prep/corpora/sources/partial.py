"""Partial files: the bytes of a URL received so far, kept between runs with the server's validators."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from io import BufferedRandom
from pathlib import Path

from nmt_prep.base.artefacts import is_partial, parse_json, parse_json_as, write_json, writing
from nmt_prep.base.errors import DownloadError, OutputError
from nmt_prep.base.progress import Meter
from nmt_prep.config import DownloadSettings as Limits
from nmt_prep.corpora.sources.transfers import Answer, Pace

_NAME = re.compile(r"[0-9a-f]{32}(\.json)?")  # Names of partial files and their notes
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Resume:
    """State of a partial file, which is kept in a note beside it."""

    url: str  # without secrets
    total: int | None  # bytes of the whole file; None if the server does not say
    etag: str | None
    modified: str | None  # Last-Modified header
    date: str | None  # Date header of the answer that began the file
    size: int  # bytes of the file; in a note, the bytes that are flushed to the disk
    # ID of the machine's boot during which the file was written; unflushed bytes count only during this boot
    boot: str | None

    @property
    def validator(self) -> str:
        """Value of If-Range, with which a server sends a changed file whole; empty if there is none.

        A strong ETag is used first. The Last-Modified date counts only without an ETag, and if the answer was sent at
        least a second later: a file that changes twice in one second keeps its date (RFC 9110, 8.8.2.2 and 13.1.5).
        """
        if self.etag is not None:
            return self.etag if re.fullmatch(r'"[^"]*"', self.etag) else ""
        changed, sent = _seconds(self.modified), _seconds(self.date)
        strong = changed is not None and sent is not None and sent - changed >= 1
        return self.modified or "" if strong else ""

    def is_of(self, etag: str | None, modified: str | None) -> bool:
        """Returns True if a partial answer with these headers belongs to the same version of the file.

        A server that ignores If-Range sends a part of its current version. So the ETag must be unchanged. The date may
        be missing beside an ETag (RFC 9110, 15.3.7).
        """
        dated = modified == self.modified or (modified is None and etag is not None)
        return etag == self.etag and dated


class Partial:
    """A partial file with a note beside it. Without a note the bytes are ignored."""

    # The note never claims bytes that a power cut can take away: it is written with size 0 before the first byte, and
    # its size grows only after the bytes are flushed. A process that is killed loses nothing, because the kernel still
    # writes what it was given. So within one boot of the machine the file's size itself counts.

    def __init__(self, directory: Path, name: str, url: str) -> None:
        self.path = directory / name
        self._note_path = directory / f"{name}.json"
        self._url = url
        self._digested, self._digest = 0, hashlib.sha256()

    @property
    def size(self) -> int:
        """Bytes received so far."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def resume(self) -> Resume | None:
        """Returns the state to resume from; None to start from the first byte.

        Of a complete file the last byte is requested again, so that the server can report a change.
        """
        note = self._note()
        if note is None:
            return None
        size = self.size if note.boot is not None and note.boot == _boot() else min(self.size, note.size)
        if note.total is not None:
            size = min(size, note.total - 1)
        return replace(note, size=size) if size > 0 and note.validator else None

    def drop(self) -> None:
        """Deletes the partial file and its note."""
        with writing(self.path):
            self._note_path.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)

    def take(self, answer: Answer, meter: Meter, limits: Limits, pace: Pace) -> str:
        """Appends an answer's body to the file; returns the whole file's SHA-256.

        On any error the received bytes are kept for the next attempt.
        """
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if answer.start == 0:
                self.drop()
            _check_room(self.path.parent, (answer.total or 0) - answer.start)
            if answer.start == 0:
                validators = answer.etag, answer.modified, answer.date
                write_json(self._note_path, asdict(Resume(self._url, answer.total, *validators, 0, _boot())))
        with writing(self.path), self.path.open("a+b") as file:
            file.truncate(answer.start)
            # A retry in the same process goes on with the digest so far; another process reads the file again.
            if self._digested != answer.start:
                self._digest_from(file)
            size = answer.start
            meter.advance(size)
            try:
                for chunk in answer.chunks:
                    size += len(chunk)
                    check_size(self._url, size, limits)
                    file.write(chunk)
                    self._digest.update(chunk)
                    self._digested = size
                    meter.advance(len(chunk))
                    pace.spend(len(chunk))
            finally:
                file.flush()
                os.fsync(file.fileno())
                self._flushed()
        return self._digest.hexdigest()

    def _digest_from(self, file: BufferedRandom) -> None:
        file.seek(0)
        self._digest = hashlib.file_digest(file, "sha256")
        self._digested = file.tell()

    def _note(self) -> Resume | None:
        try:
            return parse_json_as(Resume, parse_json(self._note_path.read_bytes()))
        except (OSError, ValueError):
            return None

    def _flushed(self) -> None:
        note = self._note()
        if note is not None:
            write_json(self._note_path, asdict(replace(note, size=self.size)))


def remove_partials(directory: Path) -> None:
    """Removes partial files that are no longer needed, and the directory if it is then empty.

    Errors are ignored, since the files only take disk space.
    """
    with suppress(OSError):
        for path in directory.iterdir():
            if is_partial(path) or _NAME.fullmatch(path.name):
                path.unlink(missing_ok=True)
        directory.rmdir()


def check_size(shown_url: str, size: int, limits: Limits) -> None:
    """Checks that a file's size is within the limit."""
    if size > limits.max_file_bytes:
        raise DownloadError(
            f"{shown_url}: larger than the maximum of {limits.max_file_bytes:,} bytes; "
            "if this size is intended, raise download.max_file_bytes in the config"
        )


def _check_room(directory: Path, size: int) -> None:
    """Checks at the start of a download, not hours later, that the disk is large enough."""
    free = shutil.disk_usage(directory).free
    if size > free:
        raise OutputError(
            f"cannot write {directory}: {size:,} bytes are needed, but the disk has {free:,} left; "
            "free some space, or set output_dir to a larger disk, and run again"
        )


def _seconds(date: str | None) -> float | None:
    """Returns the time of a header that holds a date, in seconds; None without a date."""
    try:
        return None if date is None else parsedate_to_datetime(date).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _boot() -> str | None:
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return None
