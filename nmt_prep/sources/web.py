"""One request to a server for a file from an offset; errors say what to do."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import requests
import urllib3

from nmt_prep.config import DownloadSettings as Limits
from nmt_prep.errors import DownloadError
from nmt_prep.sources.address import shown
from nmt_prep.sources.partial import Answer, Resume
from nmt_prep.sources.timing import Clock, RefusedError, RestartError, Stop, TransientError, retry_after

if TYPE_CHECKING:
    from nmt_prep.sources.route import Route

_CHUNK = 1 << 18
_STALL_BYTES = 1024
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
_HEADERS = {"Accept-Encoding": "identity", "User-Agent": "nmt_prep"}
_HTML = re.compile(
    rb"(\xef\xbb\xbf)?\s*(<!--.{0,500}?-->\s*)?<(!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)")


@contextmanager
def asked(
    url: str, resume: Resume | None, limits: Limits, clock: Clock, stop: Stop, token: str | None = None
) -> Iterator[Answer]:
    """Requests a file, or the rest of it, from a server.

    Args:
        url: an http or https URL.
        resume: state of the partial file; None to request the whole file.
        limits: timeouts.
        clock: source of time, for dates in Retry-After and for stalls.
        stop: interrupts the request.
        token: bearer token for the server of the URL; other servers, to which it redirects, do not get it.

    Raises:
        TransientError: a retry may work.
        RestartError: a retry from the first byte may work.
        RefusedError: the server answered with another status; a retry will not help.
        DownloadError: a retry will not help.
    """
    headers = {} if resume is None else {"Range": f"bytes={resume.size}-", "If-Range": resume.validator}

    def place(response: requests.Response) -> tuple[int, int | None]:
        if resume is None:
            raise DownloadError(
                f"{shown(url)}: sent only a part of the file without being asked to; use another mirror"
            )
        return resume.size, _checked_total(response, resume, url)

    with _answered(url, headers, place, limits, clock, stop, token) as answer:
        yield answer


@contextmanager
def asked_for_part(
    url: str, start: int, size: int, limits: Limits, clock: Clock, stop: Stop, token: str | None = None
) -> Iterator[Answer]:
    """Requests a part of a file from a server.

    A server that does not send parts sends the whole file. Then ``start`` of the answer is 0, and the caller reads only
    as much of the body as it needs.

    Args:
        url: an http or https URL.
        start: offset of the first byte.
        size: number of bytes, 1 or more.
        limits: timeouts.
        clock: source of time, for dates in Retry-After and for stalls.
        stop: interrupts the request.
        token: as for :func:`asked`.

    Raises:
        TransientError: a retry may work.
        DownloadError: a retry will not help.
    """

    def place(response: requests.Response) -> tuple[int, int | None]:
        found = response.headers.get("Content-Range", "")
        match = _CONTENT_RANGE.fullmatch(found)
        if match is None or int(match[1]) != start or match[3] == "*":
            raise DownloadError(f"{shown(url)}: asked for bytes from {start}, got {found!r}; use another mirror")
        return start, int(match[3])

    try:
        part = {"Range": f"bytes={start}-{start + size - 1}"}
        with _answered(url, part, place, limits, clock, stop, token) as answer:
            yield answer
    except RestartError as error:  # status 416
        raise DownloadError(
            f"{shown(url)}: the file there has no byte {start}; check the url, or use another mirror"
        ) from error


@contextmanager
def _answered(
    url: str,
    headers: dict[str, str],
    place: Callable[[requests.Response], tuple[int, int | None]],
    limits: Limits,
    clock: Clock,
    stop: Stop,
    token: str | None = None,
) -> Iterator[Answer]:
    """Sends a request; ``place`` returns the offset of a part in its file, and the size of the file."""
    from nmt_prep.sources.route import Route  # noqa: PLC0415  (loads requests)

    with Route(url, stop, token) as route, _get(route, url, {**_HEADERS, **headers}, limits) as response:
        with route.watch.within(limits.stall_seconds):
            fault = _fault(response, url, clock)
        if fault is not None:
            raise fault
        start, total = 0, _length(response)
        if response.status_code == requests.codes.partial_content:
            start, total = place(response)
        yield Answer(
            url=route.url,
            start=start,
            total=total,
            delimited=total is not None or "chunked" in response.headers.get("Transfer-Encoding", "").lower(),
            etag=response.headers.get("ETag"),
            modified=response.headers.get("Last-Modified"),
            date=response.headers.get("Date"),
            following=response.links.get("next", {}).get("url"),
            chunks=_chunks(route, response, limits, clock, stop),
            part=response.status_code == requests.codes.partial_content,
        )


def looks_like_html(head: bytes) -> bool:
    """Returns True if the first bytes of a file are those of a web page."""
    return _HTML.match(head) is not None


def first_words(page: bytes) -> str:
    """Returns the first words of a page that was received instead of a file, without markup."""
    text = page[:4096].decode("utf-8-sig", "backslashreplace")
    text = re.sub(r"(?is)<(script|style)\b.*?(</\1>|$)|<[^>]*(>|$)", " ", text)
    return f": {' '.join(text.split())[:300]!r}"


def _get(route: Route, url: str, headers: dict[str, str], limits: Limits) -> requests.Response:
    try:
        return route.get(headers, (limits.connect_seconds, limits.stall_seconds))
    except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
        raise _no_answer(error, route, url, limits) from error


def _no_answer(error: Exception, route: Route, url: str, limits: Limits) -> DownloadError:
    """Returns the error for a failed request: a TransientError if a retry may help."""
    connecting = isinstance(error, requests.exceptions.ConnectTimeout)
    if connecting or route.watch.overdue or isinstance(error, requests.exceptions.Timeout):
        seconds = limits.connect_seconds if connecting else limits.stall_seconds
        return TransientError(f"{shown(url)}: no answer within {seconds:g} s; try again later or add a mirror")
    if isinstance(error, requests.exceptions.SSLError):
        return DownloadError(
            f"{shown(url)}: the server's certificate was not accepted ({_cause(error)}); use another mirror"
        )
    if isinstance(error, requests.exceptions.ConnectionError):
        if _caused_by(error, socket.gaierror):
            host = urlsplit(route.url).hostname
            return DownloadError(f"{shown(url)}: the name {host} cannot be resolved; check the url and the network")
        return TransientError(f"{shown(url)}: cannot connect ({_cause(error)}); check the network or add a mirror")
    return DownloadError(
        f"{shown(url)}: the request is invalid, or the answer is not HTTP ({type(error).__name__}); "
        "check the url in the config"
    )


def _fault(response: requests.Response, url: str, clock: Clock) -> DownloadError | None:
    """Returns the error for an answer's status and headers; None if there is none."""
    status = response.status_code
    if status == requests.codes.requested_range_not_satisfiable:
        return RestartError(
            f"{shown(url)}: status 416: the file on the server is shorter than the partial file; try again"
        )
    if status not in {requests.codes.ok, requests.codes.partial_content}:
        message = f"{shown(url)}: status {status} {response.reason}{_page(response)}; check the url, or add a mirror"
        if status in _TRANSIENT:
            return TransientError(message, retry_after(response.headers.get("Retry-After"), clock.today()))
        return RefusedError(message, status, response.headers)
    if response.headers.get("Content-Type", "").lower().startswith(("text/html", "application/xhtml")):
        return DownloadError(f"{shown(url)}: an HTML page, not a corpus{_page(response)}; check the url")
    return None


def _page(response: requests.Response) -> str:
    if not re.match(r"text/|application/(json|xml|xhtml)", response.headers.get("Content-Type", "").lower()):
        return ""
    try:
        return first_words(response.raw.read(4096, decode_content=True))
    except (urllib3.exceptions.HTTPError, OSError):
        return ""


def _length(response: requests.Response) -> int | None:
    """Returns Content-Length; None for a chunked transfer."""
    length = response.headers.get("Content-Length", "")
    chunked = "chunked" in response.headers.get("Transfer-Encoding", "").lower()
    return int(length) if not chunked and re.fullmatch(r"[0-9]{1,18}", length) else None


def _checked_total(response: requests.Response, resume: Resume, url: str) -> int:
    """Returns the size of the whole file, after checking that a 206 answer continues the partial file.

    Raises:
        RestartError: it does not continue it.
    """
    found = response.headers.get("Content-Range", "")
    match = _CONTENT_RANGE.fullmatch(found)
    if match is None:
        raise RestartError(f"{shown(url)}: a part of the file without its offset ({found!r}); try again")
    first, last = int(match[1]), int(match[2])
    total = resume.total if match[3] == "*" else int(match[3])
    if first != resume.size or last < first or total is None or last >= total or total != (resume.total or total):
        raise RestartError(
            f"{shown(url)}: asked for bytes from {resume.size} of {resume.total or 'all'}, got {found!r}; try again"
        )
    if not resume.is_of(response.headers.get("ETag"), response.headers.get("Last-Modified")):
        raise RestartError(f"{shown(url)}: the file changed while it was fetched; try again")
    length = _length(response)
    if length is not None and length != last - first + 1:
        raise RestartError(f"{shown(url)}: {found!r} with {length} bytes; try again")
    return total


def _chunks(route: Route, response: requests.Response, limits: Limits, clock: Clock, stop: Stop) -> Iterator[bytes]:
    response.raw.enforce_content_length = False
    begun, came, where = clock.now(), 0, shown(route.given)
    stalled = f"{where}: almost no data for {limits.stall_seconds:g} s; try again later"
    try:
        while chunk := _next_chunk(route, response, limits):
            yield chunk
            came += len(chunk)
            if (now := clock.now()) - begun >= limits.stall_seconds:
                if came < _STALL_BYTES:
                    raise TransientError(stalled)
                begun, came = now, 0
    except (urllib3.exceptions.HTTPError, OSError) as error:
        if route.watch.overdue or isinstance(error, urllib3.exceptions.ReadTimeoutError):
            raise TransientError(stalled) from error
        raise TransientError(f"{where}: the connection broke ({_cause(error)}); try again") from error
    stop.check()
    if route.watch.overdue:
        raise TransientError(stalled)


def _next_chunk(route: Route, response: requests.Response, limits: Limits) -> bytes:
    """Returns the next bytes; empty at the end, and after the connection was shut down."""
    with route.watch.within(limits.stall_seconds):
        chunk: bytes = response.raw.read1(_CHUNK, decode_content=False)
    return chunk


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        inner = getattr(following, "reason", None) or (following.args[0] if following.args else None)
        following = inner if isinstance(inner, BaseException) else following.__cause__ or following.__context__


def _caused_by(error: BaseException, kind: type[BaseException]) -> bool:
    return any(isinstance(cause, kind) for cause in _causes(error))


def _cause(error: BaseException) -> str:
    """Returns the message of the innermost cause; outer errors repeat the URL, including its secrets."""
    *_, innermost = _causes(error)
    text = getattr(innermost, "strerror", None) or getattr(innermost, "verify_message", None)
    return str(text or type(innermost).__name__)
