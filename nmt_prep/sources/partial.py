"""The bytes of one URL that came so far, kept from one run to the next with what the server said of them."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO

from nmt_prep.artefacts import is_partial, parse_json, parse_json_as, write_json, writing
from nmt_prep.errors import DownloadError, OutputError
from nmt_prep.progress import Meter
from nmt_prep.sources.limits import Limits, Pace

_CHUNK = 1 << 20
_NAME = re.compile(r"[0-9a-f]{32}(\.json)?")
"""Names of partial files, which the fetcher chooses, and of their notes."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Answer:
    """What a server sends of a file.

    Attributes:
        url: where redirects led.
        start: position in the file of the first byte of the body.
        total: size of the whole file in bytes; None where the server does not say.
        delimited: whether the end of the body can be told from a broken connection.
        etag: ETag as the server gives it, strong or weak.
        modified: Last-Modified.
        chunks: the body as it is served; an archive's own compression is left alone.
    """

    url: str
    start: int
    total: int | None
    delimited: bool
    etag: str | None
    modified: str | None
    chunks: Iterator[bytes]


@dataclass(frozen=True)
class Resume:
    """A file that was begun: ``size`` of ``total`` bytes are there, and the server named its state so."""

    size: int
    total: int | None
    etag: str | None
    modified: str | None

    @property
    def validator(self) -> str:
        """The value of If-Range, which makes a server send a file that changed whole: a strong ETag, else the date."""
        strong = self.etag is not None and re.fullmatch(r'"[^"]*"', self.etag)
        return (self.etag if strong else self.modified) or ""

    def is_of(self, etag: str | None, modified: str | None) -> bool:
        """Whether a part with these headers is of the same state of the file.

        A server that ignores If-Range sends a part of what it has now. So the ETag must be what it was, a weak one too:
        it changes with the bytes, as a rule. The date may be missing beside an ETag (RFC 9110, 15.3.7).
        """
        dated = modified == self.modified or (modified is None and etag is not None)
        return etag == self.etag and dated


@dataclass(frozen=True)
class _Note:
    """What is written beside a partial file.

    Attributes:
        url: of whom it is a part, without secrets.
        flushed: bytes that are on the disk for certain.
        boot: the start of the machine since which all bytes count, flushed or not.
    """

    url: str
    total: int | None
    etag: str | None
    modified: str | None
    flushed: int
    boot: str | None


class Partial:
    """A file in the making, with a note beside it. Bytes without a note do not count."""

    def __init__(self, directory: Path, name: str, url: str) -> None:
        self.path = directory / name
        self._note_path = directory / f"{name}.json"
        self._url = url
        self._digested, self._digest = 0, hashlib.sha256()

    @property
    def size(self) -> int:
        """Bytes that are there."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def resume(self) -> Resume | None:
        """What can be gone on with; None where nothing can.

        Of a file that is all there the last byte is asked for again, so that the server has its say.
        """
        note = self._note()
        if note is None:
            return None
        size = self.size if note.boot is not None and note.boot == _boot() else min(self.size, note.flushed)
        if note.total is not None:
            size = min(size, note.total - 1)
        resume = Resume(size, note.total, note.etag, note.modified)
        return resume if size > 0 and resume.validator else None

    def drop(self) -> None:
        """Forgets all of it."""
        with writing(self.path):
            self._note_path.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)

    def take(self, answer: Answer, meter: Meter, limits: Limits, pace: Pace) -> str:
        """Puts the body of an answer behind what is there; returns the SHA-256 of the whole.

        Whatever ends it, the bytes that came stay for another time.

        Raises:
            DownloadError: the body faults, or the file is larger than files may be.
            OutputError: the file cannot be written.
        """
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if answer.start == 0:
                self.drop()
            _check_room(self.path.parent, (answer.total or 0) - answer.start)
            if answer.start == 0:
                self._write_note(_Note(self._url, answer.total, answer.etag, answer.modified, 0, _boot()))
        with writing(self.path), self.path.open("a+b") as file:
            file.truncate(answer.start)
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

    def _digest_from(self, file: IO[bytes]) -> None:
        """Starts the digest anew with all that is in the file."""
        self._digested, self._digest = 0, hashlib.sha256()
        file.seek(0)
        while chunk := file.read(_CHUNK):
            self._digest.update(chunk)
            self._digested += len(chunk)

    def _note(self) -> _Note | None:
        try:
            return parse_json_as(_Note, parse_json(self._note_path.read_bytes()))
        except (OSError, ValueError):
            return None

    def _flushed(self) -> None:
        note = self._note()
        if note is not None:
            self._write_note(replace(note, flushed=self.size))

    def _write_note(self, note: _Note) -> None:
        write_json(self._note_path, asdict(note))


def remove_partials(directory: Path) -> None:
    """Removes what came of files that are no longer wanted, and the directory if nothing else is in it.

    Failing to is no failure of the run: the files are only in the way of disk space.
    """
    with suppress(OSError):
        for path in directory.iterdir():
            if is_partial(path) or _NAME.fullmatch(path.name):
                path.unlink(missing_ok=True)
        directory.rmdir()


def check_size(shown_url: str, size: int, limits: Limits) -> None:
    """Refuses a file of a size beyond the limit.

    Raises:
        DownloadError: it is.
    """
    if size > limits.max_file_bytes:
        raise DownloadError(
            f"{shown_url}: more than the {limits.max_file_bytes:,} bytes that a file may have; "
            "if it is meant to be so large, raise download.max_file_bytes in the config"
        )


def _check_room(directory: Path, size: int) -> None:
    """Says at once, and not hours later, that the disk is too small.

    Raises:
        OutputError: it is.
    """
    free = shutil.disk_usage(directory).free
    if size > free:
        raise OutputError(
            f"cannot write {directory}: {size:,} bytes are to come, but the disk has {free:,} left; "
            "free some space, or set output_dir to a larger disk, and run again"
        )


def _boot() -> str | None:
    """Names the time since the machine was started; None where it has no name."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return None
