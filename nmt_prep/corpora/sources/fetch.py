"""Fetches one file, from a server, the Hugging Face Hub, a cloud (through fsspec) or a path.

It tries mirrors, retries after errors, and checks the received file.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from nmt_prep.base.digests import check_regular, digest_of
from nmt_prep.base.errors import DownloadError
from nmt_prep.base.progress import Progress
from nmt_prep.config import DownloadSettings as Limits
from nmt_prep.corpora.sources.address import file_name, local_path, scheme_of, shown
from nmt_prep.corpora.sources.catalogues import resolve
from nmt_prep.corpora.sources.hub import HubAddress, hub_address, storage_url
from nmt_prep.corpora.sources.hub_files import fetch_listing
from nmt_prep.corpora.sources.objects import opened_object
from nmt_prep.corpora.sources.partial import Partial, check_size
from nmt_prep.corpora.sources.transfers import Answer, Clock, Pace, RestartError, Stop, TransientError, pause_before
from nmt_prep.corpora.sources.web import Client, first_words, looks_like_html

_CHUNK = 1 << 20
_PROGRESS = 1 << 20  # Bytes of progress after which the count of retries restarts


@dataclass(frozen=True)
class Fetched:
    """A fetched file."""

    path: Path  # the caller owns the file
    sha256: str
    size: int  # in bytes
    url: str  # the final address, after redirects, without secrets
    etag: str | None  # the strong ETag of the response; None if there is none
    time: str  # when the download ended, in UTC, such as 2026-01-31T23:59:59Z


@dataclass(frozen=True)
class Expected:
    """The expected SHA-256, if known, and the advice for a mismatch."""

    sha256: str
    advice: str
    # for a repository of the Hugging Face Hub, the commit that it stood for at the first fetch
    commit: str | None = None


class Fetcher:
    """Fetches files into a directory of partial files. Safe to use from threads for different files.

    ``damage`` describes the damage to a file without an expected digest, or returns ""; it calls its second argument
    with the number of bytes read.
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
        self._client = Client(limits, self._stop, self._clock)
        self._pace = Pace(limits.max_bytes_per_second, self._clock, self._stop)

    def stop(self) -> None:
        """Ends all current and future fetches with :class:`FetchStoppedError`; partial files are kept."""
        self._stop.now()

    def fetch(self, mirrors: Sequence[str], expected: Expected | None = None) -> Fetched:
        """Fetches a file from the first mirror that works."""
        faults = []
        for number, address in enumerate(mirrors):
            partial = Partial(self._directory, digest_of([mirrors[0], number, address])[:32], shown(address))
            try:
                return self._with_retries(address, partial, file_name(mirrors[0]), expected)
            except DownloadError as error:
                faults.append(str(error))
        if len(faults) == 1:
            raise DownloadError(faults[0])
        raise DownloadError("\n  ".join([f"all {len(faults)} mirrors failed:", *faults]))

    def _with_retries(self, address: str, partial: Partial, label: str, expected: Expected | None) -> Fetched:
        # A long download over a weak line may fail many times, but each time it gets further: then the count of
        # failures restarts. Bytes count once: a server that always breaks at the same byte, or whose file changes, does
        # not get further than before, and so the loop ends.
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
        opening = self._opened(address, partial, expected.commit if expected else None)
        with self._client.watch(opening, address) as answer:
            if answer.total is not None:
                check_size(shown(address), answer.total, self._limits)
            if not answer.delimited and expected is None:
                raise DownloadError(
                    f"{shown(address)}: the server does not send the length of the file, so a broken connection "
                    "would not be noticed; give its sha256 in the config, or use another mirror"
                )
            with self._progress.meter(label, answer.total, "bytes") as meter:
                sha256 = partial.take(answer, meter, self._limits, self._pace)
        self._check_size(address, partial, answer)
        if fault := self._fault(partial, sha256, expected, label):
            partial.drop()
            # Earlier bytes may be from another version of the file that its headers do not tell apart. The next attempt
            # starts at the first byte, and so its fault is final.
            if answer.start > 0:
                raise RestartError(f"{shown(address)}: {fault}; some bytes are from an earlier attempt")
            raise DownloadError(f"{shown(address)}: {fault}")
        time = self._clock.today().strftime("%Y-%m-%dT%H:%M:%SZ")
        etag = None if (answer.etag or "").startswith("W/") else answer.etag
        return Fetched(partial.path, sha256, partial.size, shown(answer.url), etag, time)

    def _opened(self, address: str, partial: Partial, commit: str | None) -> AbstractContextManager[Answer]:
        scheme, path = scheme_of(address), local_path(address, self._base_dir)
        if path is not None:
            return _opened_file(path)
        if scheme in {"http", "https", "opus"}:
            url = resolve(address, self._client) if scheme == "opus" else address
            return self._client.ask(url, partial.resume())
        hub = hub_address(address)
        return opened_object(address) if hub is None else self._opened_on_hub(hub, partial, commit)

    @contextmanager
    def _opened_on_hub(self, hub: HubAddress, partial: Partial, commit: str | None) -> Iterator[Answer]:
        """Opens a Hugging Face Hub file, or a repository's list of files."""
        if hub.path:
            url, token = storage_url(hub, self._limits.stall_seconds)
            with self._client.ask(url, partial.resume(), token) as answer:
                yield replace(answer, url=hub.file_url())
        else:
            listing = fetch_listing(hub, commit)
            content, url = listing.as_bytes(), f"{hub.page}/tree/{listing.commit}"
            yield Answer(url, 0, len(content), delimited=True, etag=None, modified=None, chunks=iter((content,)))

    def _check_size(self, address: str, partial: Partial, answer: Answer) -> None:
        if answer.total is None or partial.size == answer.total:
            return
        if partial.size > answer.total:
            raise RestartError(f"{shown(address)}: sent more than the {answer.total} bytes of the file; try again")
        raise TransientError(
            f"{shown(address)}: the connection ended after {partial.size} of {answer.total} bytes; try again later"
        )

    def _fault(self, partial: Partial, sha256: str, expected: Expected | None, label: str) -> str:
        """Returns the fault of a fetched file and its remedy, or an empty text for an intact file.

        Without an expected digest, an archive must be intact before its digest is recorded as expected.
        """
        if expected is not None and sha256 == expected.sha256:
            return ""
        with partial.path.open("rb") as file:
            head = file.read(4096)
        if looks_like_html(head):
            return f"an HTML page, not a corpus{first_words(head)}; check the url"
        if expected is not None:
            what = f"expected SHA-256 {expected.sha256}, found {sha256} ({partial.size} bytes)"
            return f"{what}; the file was changed or damaged there: {expected.advice}"
        if not head:
            return "the file there is empty; check the url, or use another mirror"
        if damage := self._damage_of(partial.path, label):
            return (
                f"all {partial.size:,} bytes were received, but the file is damaged ({damage}); it is damaged on the "
                "server or was damaged in transit, and is deleted: run again later, or use another mirror"
            )
        return ""

    def _damage_of(self, path: Path, label: str) -> str:
        if self._damage is None:
            return ""
        with self._progress.meter(f"test {label}", None, "bytes") as meter:

            def advance(size: int) -> None:
                self._stop.check()
                meter.advance(size)

            return self._damage(path, advance)


@contextmanager
def open_local(path: Path) -> Iterator[io.BufferedReader]:
    """Opens a local file that the config names."""
    try:
        check_regular(path)
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise DownloadError(f"cannot read {path}: {error.strerror or error}; check the url in the config") from error


@contextmanager
def _opened_file(path: Path) -> Iterator[Answer]:
    with open_local(path) as file:
        chunks = iter(lambda: file.read(_CHUNK), b"")
        yield Answer(str(path), 0, path.stat().st_size, delimited=True, etag=None, modified=None, chunks=chunks)
