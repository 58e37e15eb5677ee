"""How the bytes of one file come from where its address points: mirrors, tries, and the checks at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nmt_prep.digests import check_regular, digest_of
from nmt_prep.errors import DownloadError
from nmt_prep.progress import Progress
from nmt_prep.sources.address import file_name, local_path, scheme_of, shown
from nmt_prep.sources.cloud import opened_object
from nmt_prep.sources.limits import Clock, Limits, Pace, RestartError, TransientError, pause_before
from nmt_prep.sources.opus import resolve
from nmt_prep.sources.partial import Answer, Partial, check_size
from nmt_prep.sources.watch import Stop
from nmt_prep.sources.web import asked, first_words, looks_like_html

_CHUNK = 1 << 20
_PROGRESS = 1 << 20
"""Bytes more than ever before, after which faults are counted anew."""


@dataclass(frozen=True)
class Fetched:
    """What arrived.

    Attributes:
        path: where it is; it is the caller's now.
        sha256: of its bytes.
        size: in bytes.
        url: the address that it came from at last, without secrets.
        etag: the server's name of exactly these bytes, where it has one: a strong ETag.
        time: when it had arrived, in UTC, such as 2026-01-31T23:59:59Z.
    """

    path: Path
    sha256: str
    size: int
    url: str
    etag: str | None
    time: str


@dataclass(frozen=True)
class Expected:
    """What must arrive, where it is known: a SHA-256, and what to do if it is another."""

    sha256: str
    advice: str


class Fetcher:
    """Fetches files into a directory of files in the making. Safe to use from threads for different files.

    Args:
        directory: what came of a file before is looked for here.
        base_dir: what paths are relative to.
        limits: of time, tries, size and speed.
        progress: is told how far each file has come.
        damage: returns what is damaged in a file that has come, or nothing; it reports the bytes that it has read to
            the function that it is given. A file that has an expected digest is not tested. None tests nothing.
        clock: time and chance.
    """

    def __init__(
        self,
        directory: Path,
        base_dir: Path,
        limits: Limits,
        progress: Progress,
        clock: Clock | None = None,
        damage: Callable[[Path, Callable[[int], None]], str] | None = None,
    ) -> None:
        self._directory = directory
        self._base_dir = base_dir
        self._limits = limits
        self._progress = progress
        self._damage = damage
        self._stop = Stop()
        self._clock = clock or Clock(sleep=self._stop.wait)
        self._pace = Pace(limits.max_bytes_per_second, self._clock, self._stop)

    def stop(self) -> None:
        """Ends all fetches under way, and any to come, with :class:`StoppedError`; what came of files is kept."""
        self._stop.now()

    def check(self) -> None:
        """Does nothing until :meth:`stop` is called.

        Raises:
            StoppedError: it was.
        """
        self._stop.check()

    def fetch(self, mirrors: Sequence[str], expected: Expected | None = None) -> Fetched:
        """Brings the file that the first mirror which can gives, as it is kept there.

        Args:
            mirrors: addresses of the same file.
            expected: what must arrive.

        Raises:
            DownloadError: no mirror gave the bytes; the message has the fault of each.
            ConfigError: an address needs an extra that is not installed.
            StoppedError: :meth:`stop` was called.
            OutputError: the directory cannot be written.
        """
        faults = []
        for number, address in enumerate(mirrors):
            partial = Partial(self._directory, digest_of([mirrors[0], number, address])[:32], shown(address))
            try:
                return self._with_retries(address, partial, file_name(mirrors[0]), expected)
            except DownloadError as error:
                faults.append(str(error))
        if len(faults) == 1:
            raise DownloadError(faults[0])
        raise DownloadError("\n  ".join([f"none of {len(faults)} mirrors could be used:", *faults]))

    def _with_retries(self, address: str, partial: Partial, label: str, expected: Expected | None) -> Fetched:
        tries, failures, furthest = 0, 0, partial.size
        while True:
            self._stop.check()
            tries += 1
            try:
                return self._once(address, partial, label, expected)
            except TransientError as error:
                self._stop.check()
                reached = partial.size
                if isinstance(error, RestartError):
                    partial.drop()
                failures = 1 if reached >= furthest + _PROGRESS else failures + 1
                furthest = max(furthest, reached)
                if failures > self._limits.retries:
                    raise DownloadError(f"{error} (tried {tries} times)") from error
                pause = pause_before(failures, error, self._clock)
                self._progress.event("retry", reason=str(error), seconds=pause)
                self._clock.sleep(pause)

    def _once(self, address: str, partial: Partial, label: str, expected: Expected | None) -> Fetched:
        with self._opened(address, partial) as answer:
            if answer.total is not None:
                check_size(shown(address), answer.total, self._limits)
            if not answer.delimited and expected is None:
                raise DownloadError(
                    f"{shown(address)}: the server does not say how long the file is, so that a broken connection "
                    "would not be noticed; give its sha256 in the config, or use another mirror"
                )
            with self._progress.meter(label, answer.total, "bytes") as meter:
                sha256 = partial.take(answer, meter, self._limits, self._pace)
        self._check_size(address, partial, answer)
        self._check_content(address, partial, sha256, expected, resumed=answer.start > 0)
        if expected is None:
            self._check_integrity(address, partial, label, resumed=answer.start > 0)
        time = self._clock.today().strftime("%Y-%m-%dT%H:%M:%SZ")
        etag = None if (answer.etag or "").startswith("W/") else answer.etag
        return Fetched(partial.path, sha256, partial.size, shown(answer.url), etag, time)

    @contextmanager
    def _opened(self, address: str, partial: Partial) -> Iterator[Answer]:
        scheme, path = scheme_of(address), local_path(address, self._base_dir)
        if path is not None:
            with _opened_file(path) as answer:
                yield answer
        elif scheme in {"http", "https", "opus"}:
            url = resolve(address, self._limits, self._clock, self._stop) if scheme == "opus" else address
            with asked(url, partial.resume(), self._limits, self._clock, self._stop) as answer:
                yield answer
        else:
            with opened_object(address) as answer:
                yield answer

    def _check_size(self, address: str, partial: Partial, answer: Answer) -> None:
        if answer.total is None or partial.size == answer.total:
            return
        if partial.size > answer.total:
            raise RestartError(f"{shown(address)}: sent more than the {answer.total} bytes of the file; try again")
        raise TransientError(
            f"{shown(address)}: the connection ended after {partial.size} of {answer.total} bytes; try again later"
        )

    def _check_content(
        self, address: str, partial: Partial, sha256: str, expected: Expected | None, *, resumed: bool
    ) -> None:
        if expected is not None and sha256 == expected.sha256:
            return
        with partial.path.open("rb") as file:
            head = file.read(4096)
        fault: DownloadError | None = None
        if looks_like_html(head):
            fault = DownloadError(f"{shown(address)}: an HTML page, not a corpus{first_words(head)}; check the url")
        elif expected is not None:
            message = f"{shown(address)}: expected SHA-256 {expected.sha256}, found {sha256} ({partial.size} bytes)"
            fault = DownloadError(f"{message}; the file was changed or damaged there: {expected.advice}")
            if resumed:
                fault = RestartError(f"{message}, part of them from an earlier try; try again")
        elif not head:
            fault = DownloadError(f"{shown(address)}: the file there is empty; check the url, or use another mirror")
        if fault is not None:
            partial.drop()
            raise fault

    def _check_integrity(self, address: str, partial: Partial, label: str, *, resumed: bool) -> None:
        """Refuses a damaged archive before its digest is noted as the right one, here and for other runs."""
        if self._damage is None:
            return
        with self._progress.meter(f"test {label}", None, "bytes") as meter:

            def advance(size: int) -> None:
                self._stop.check()
                meter.advance(size)

            damage = self._damage(partial.path, advance)
        if damage:
            size = partial.size
            partial.drop()
            message = f"{shown(address)}: {size:,} bytes came, which is all, but the file is damaged ({damage})"
            if resumed:
                raise RestartError(f"{message}; part of them came in an earlier try; try again")
            raise DownloadError(
                f"{message}; it is damaged there, or was on the way, and is not kept: run again later, or use another "
                "mirror"
            )


@contextmanager
def _opened_file(path: Path) -> Iterator[Answer]:
    """A local mirror of a file that others have on servers."""
    try:
        check_regular(path)
        with path.open("rb") as file:
            size = path.stat().st_size
            chunks = iter(lambda: file.read(_CHUNK), b"")
            yield Answer(str(path), 0, size, delimited=True, etag=None, modified=None, chunks=chunks)
    except OSError as error:
        raise DownloadError(f"cannot read {path}: {error.strerror or error}; check the url in the config") from error
