"""HTTP requests for a file or a part of it, with the library requests; errors say what to do.

Redirects from https to http and to other schemes are refused, as are more than ten in a row. Passwords and tokens are
sent only to the server that the URL names. Certificates are always verified: environment variables can add trusted
ones, but not turn verification off.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urljoin, urlsplit

import requests
import urllib3

from nmt_prep.base.errors import DownloadError
from nmt_prep.config import DownloadSettings as Limits
from nmt_prep.corpora.sources.address import shown
from nmt_prep.corpora.sources.partial import Resume
from nmt_prep.corpora.sources.transfers import Answer, Clock, RestartError, Stop, TransientError, retry_after, watched

MAX_REDIRECTS = 10

_CHUNK = 1 << 18
_PAGE = 4096
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
_HEADERS = {"Accept-Encoding": "identity", "User-Agent": "nmt_prep"}
_HTML = re.compile(
    rb"(\xef\xbb\xbf)?\s*(<!--.{0,500}?-->\s*)?<(!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)")


@dataclass(frozen=True)
class Client:
    """Requests files from servers. Safe to use from threads."""

    limits: Limits  # timeouts, and the largest size of a file
    stop: Stop = field(default_factory=Stop)  # interrupts the requests
    clock: Clock = field(default_factory=Clock)  # source of time, for dates in Retry-After and for stalls

    def watch(self, opening: AbstractContextManager[Answer], address: str) -> AbstractContextManager[Answer]:
        """Opens a file with the time limits of :func:`~nmt_prep.corpora.sources.transfers.watched`."""
        return watched(opening, shown(address), self.limits, self.clock, self.stop)

    @contextmanager
    def ask(self, url: str, resume: Resume | None = None, token: str | None = None) -> Iterator[Answer]:
        """Requests a file, or the rest of it.

        Args:
            resume: state of the partial file; None to request the whole file.
        """
        headers = {} if resume is None else {"Range": f"bytes={resume.size}-", "If-Range": resume.validator}
        with self._answered(url, headers, token) as response:
            if response.status_code != requests.codes.partial_content:
                yield self._answer(response, url, 0, _length(response))
            elif resume is not None:
                yield self._answer(response, url, resume.size, _checked_total(response, resume, url))
            else:
                raise DownloadError(
                    f"{shown(url)}: sent only a part of the file, although the whole file was requested; "
                    "use another mirror"
                )

    @contextmanager
    def ask_for_part(self, url: str, start: int, size: int, token: str | None = None) -> Iterator[Answer]:
        """Requests a part of a file.

        A server that does not send parts sends the whole file. Then the answer's ``start`` is 0, and the caller reads
        only as much of the body as it needs.

        Args:
            size: byte count, 1 or more.
        """
        try:
            with self._answered(url, {"Range": f"bytes={start}-{start + size - 1}"}, token) as response:
                if response.status_code != requests.codes.partial_content:
                    yield self._answer(response, url, 0, _length(response))
                    return
                stated = response.headers.get("Content-Range", "")
                match = _CONTENT_RANGE.fullmatch(stated)
                if match is None or int(match[1]) != start or match[3] == "*":
                    what = f"requested bytes from {start}, got {stated!r}"
                    raise DownloadError(f"{shown(url)}: {what}; use another mirror")
                yield self._answer(response, url, start, int(match[3]))
        except RestartError as error:  # status 416
            raise DownloadError(
                f"{shown(url)}: the file there has no byte {start}; check the url, or use another mirror"
            ) from error

    def read_small(self, url: str, most: int) -> bytes:
        """Requests a file, and returns its content."""
        content = bytearray()
        with self.watch(self.ask(url), url) as answer:
            for chunk in answer.chunks:
                content += chunk
                if len(content) > most:
                    raise DownloadError(f"{shown(url)}: more than {most:,} bytes, which is too long for a list")
        return bytes(content)

    @contextmanager
    def _answered(self, url: str, headers: dict[str, str], token: str | None) -> Iterator[requests.Response]:
        with _get(url, {**_HEADERS, **headers}, self.limits, token) as response:
            if (fault := _fault(response, url, self.clock)) is not None:
                raise fault
            yield response

    def _answer(self, response: requests.Response, url: str, start: int, total: int | None) -> Answer:
        """Returns a response as an answer, given its body's offset in the file and the file's size."""
        return Answer(
            url=response.url,
            start=start,
            total=total,
            delimited=total is not None or _is_chunked(response),
            etag=response.headers.get("ETag"),
            modified=response.headers.get("Last-Modified"),
            date=response.headers.get("Date"),
            chunks=_chunks(response, url, self.limits),
            part=response.status_code == requests.codes.partial_content,
        )


def _get(url: str, headers: dict[str, str], limits: Limits, token: str | None) -> requests.Response:
    """Sends a request and follows redirects; the body remains to be read."""
    with requests.Session() as session:
        session.max_redirects = MAX_REDIRECTS
        session.hooks["response"] = [partial(_check_redirect, url)]
        timeout, auth = (limits.connect_seconds, limits.stall_seconds), None if token is None else _bearer(token)
        try:
            return session.get(url, headers=headers, auth=auth, timeout=timeout, stream=True, verify=True)
        except requests.exceptions.TooManyRedirects:
            raise _refusal(url, f"redirects more than {MAX_REDIRECTS} times") from None
        except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
            raise _no_answer(error, url, limits) from error


def _check_redirect(given: str, response: requests.Response, **_: object) -> None:
    """Refuses redirects away from https and to other schemes, before requests follows them."""
    if not response.is_redirect:
        return
    response.close()  # an endless body: requests would read all of it before it follows the redirect
    before = urlsplit(response.url)
    try:
        target = urljoin(response.url, response.headers["Location"])
        after = urlsplit(target)
        int(after.port or 0)
    except ValueError:
        raise _refusal(given, "redirects to something that is not a URL") from None
    where = shown(target.partition("?")[0].partition("#")[0])  # a query often contains a signature
    if after.scheme not in {"http", "https"} or not after.hostname:
        raise _refusal(given, f"redirects to {where}, which is neither http nor https")
    if (before.scheme, after.scheme) == ("https", "http"):
        raise _refusal(given, f"redirects from https to http ({where})")


def _refusal(given: str, reason: str) -> DownloadError:
    return DownloadError(f"{shown(given)}: {reason}; rejected: use another mirror")


def _no_answer(error: Exception, url: str, limits: Limits) -> DownloadError:
    """Returns the error for a failed request: a TransientError if a retry may help."""
    where = shown(url)
    if isinstance(error, requests.exceptions.Timeout):
        connecting = isinstance(error, requests.exceptions.ConnectTimeout)
        seconds = limits.connect_seconds if connecting else limits.stall_seconds
        return TransientError(f"{where}: no answer within {seconds:g} s; try again later or add a mirror")
    if isinstance(error, requests.exceptions.SSLError):
        return DownloadError(
            f"{where}: the server's certificate was not accepted ({_cause(error)}); use another mirror"
        )
    if isinstance(error, requests.exceptions.ConnectionError):
        if any(isinstance(cause, socket.gaierror) for cause in _causes(error)):
            host = urlsplit((error.request and error.request.url) or url).hostname
            return DownloadError(f"{where}: the name {host} cannot be resolved; check the url and the network")
        return TransientError(f"{where}: cannot connect ({_cause(error)}); check the network or add a mirror")
    return DownloadError(
        f"{where}: the request is invalid, or the answer is not HTTP ({type(error).__name__}); "
        "check the url in the config"
    )


def _chunks(response: requests.Response, url: str, limits: Limits) -> Iterator[bytes]:
    response.raw.enforce_content_length = False  # the caller's message has the number of missing bytes
    try:
        while chunk := response.raw.read1(_CHUNK, decode_content=False):
            yield chunk
    except urllib3.exceptions.ReadTimeoutError as error:
        stalled = f"almost no data for {limits.stall_seconds:g} s; try again later"
        raise TransientError(f"{shown(url)}: {stalled}") from error
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise TransientError(f"{shown(url)}: the connection broke ({_cause(error)}); try again") from error


def looks_like_html(head: bytes) -> bool:
    """Returns True if a file begins like a web page."""
    return _HTML.match(head) is not None


def first_words(page: bytes) -> str:
    """Returns the first words on a page that was received instead of a file, without markup."""
    text = page[:_PAGE].decode("utf-8-sig", "backslashreplace")
    text = re.sub(r"(?is)<(script|style)\b.*?(</\1>|$)|<[^>]*(>|$)", " ", text)
    return f": {' '.join(text.split())[:300]!r}"


def _bearer(token: str) -> Callable[[requests.PreparedRequest], requests.PreparedRequest]:
    """Returns a function that adds a token to a request, in place of a password in the user's ``.netrc``."""

    def add(request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {token}"
        return request

    return add


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
        return DownloadError(message)
    if response.headers.get("Content-Type", "").lower().startswith(("text/html", "application/xhtml")):
        return DownloadError(f"{shown(url)}: an HTML page, not a corpus{_page(response)}; check the url")
    return None


def _page(response: requests.Response) -> str:
    """Returns the first words of an error page; empty for anything else."""
    kind = response.headers.get("Content-Type", "").lower()
    if not re.match(r"text/|application/(json|xml|xhtml)", kind):
        return ""
    try:
        return first_words(response.raw.read1(_PAGE, decode_content=True))  # not read(): a slow or endless page
    except (urllib3.exceptions.HTTPError, OSError):
        return ""


def _is_chunked(response: requests.Response) -> bool:
    return "chunked" in response.headers.get("Transfer-Encoding", "").lower()


def _length(response: requests.Response) -> int | None:
    """Returns Content-Length; None for a chunked transfer."""
    length = response.headers.get("Content-Length", "")
    return int(length) if not _is_chunked(response) and re.fullmatch(r"[0-9]{1,18}", length) else None


def _checked_total(response: requests.Response, resume: Resume, url: str) -> int:
    """Returns the size of the whole file, after checking that a 206 answer continues the partial file."""
    stated = response.headers.get("Content-Range", "")
    match = _CONTENT_RANGE.fullmatch(stated)
    if match is None:
        raise RestartError(f"{shown(url)}: a part of the file without its offset ({stated!r}); try again")
    first, last = int(match[1]), int(match[2])
    total = resume.total if match[3] == "*" else int(match[3])
    if first != resume.size or last < first or total is None or last >= total or total != (resume.total or total):
        raise RestartError(
            f"{shown(url)}: requested bytes from {resume.size} of {resume.total or 'all'}, got {stated!r}; try again"
        )
    if not resume.is_of(response.headers.get("ETag"), response.headers.get("Last-Modified")):
        raise RestartError(f"{shown(url)}: the file changed while it was fetched; try again")
    length = _length(response)
    if length is not None and length != last - first + 1:
        raise RestartError(f"{shown(url)}: {stated!r} with {length} bytes; try again")
    return total


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        inner = getattr(following, "reason", None) or (following.args[0] if following.args else None)
        following = inner if isinstance(inner, BaseException) else following.__cause__ or following.__context__


def _cause(error: BaseException) -> str:
    """Returns the message of the innermost cause; outer errors repeat the URL, including its secrets."""
    *_, innermost = _causes(error)
    text = getattr(innermost, "strerror", None) or getattr(innermost, "verify_message", None)
    return str(text or type(innermost).__name__)
