"""How the bytes of one file come from a server, or from another directory: mirrors, faults, and tries."""

from __future__ import annotations

import hashlib
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import requests
import urllib3

from nmt_prep.artefacts import writing
from nmt_prep.errors import ConfigError, DownloadError
from nmt_prep.progress import Meter

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
PAUSES: tuple[float, ...] = (1.0, 2.0, 4.0)
"""Seconds to wait after each transient fault; after one more the mirror is given up."""

_CHUNK = 1 << 20
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
_HEADERS = {"Accept-Encoding": "identity", "User-Agent": "nmt_prep"}


class _TransientError(DownloadError):
    """A fault that may be gone when one tries again."""


@dataclass(frozen=True)
class Fetched:
    """What arrived: SHA-256 and size in bytes."""

    sha256: str
    size: int


def local_path(url: str, base_dir: Path) -> Path | None:
    """Where a path or a ``file:`` URL points; None for a URL of a server.

    Raises:
        ConfigError: the URL has a scheme other than http, https and file.
    """
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", url)
    if scheme is None and not url.lower().startswith("file:"):
        return base_dir / url
    if scheme is not None and scheme[1].lower() in {"http", "https"}:
        return None
    parts = urlsplit(url)
    if parts.scheme.lower() != "file" or parts.netloc not in {"", "localhost"}:
        raise ConfigError(f"cannot fetch {url}: a url is http://, https://, file:///path, or a path")
    return base_dir / url2pathname(parts.path)


def file_name(url: str) -> str:
    """The last part of a URL's path, with nothing in it that a file system could take amiss."""
    path = unquote(urlsplit(url).path) if "://" in url else url
    return re.sub(r"[^A-Za-z0-9._+-]", "_", path.rstrip("/").rpartition("/")[2]).lstrip(".")[-100:] or "download"


def fetch(
    mirrors: Sequence[str],
    base_dir: Path,
    into: Path,
    sha256: str | None,
    start_meter: Callable[[int | None], Meter],
) -> Fetched:
    """Writes to ``into`` what the first mirror that can gives, as the server keeps it.

    Args:
        mirrors: URLs of the same file; paths are relative to ``base_dir``.
        base_dir: what paths are relative to.
        into: a file that is overwritten; flushing and publishing it is the caller's part.
        sha256: what must arrive, where it is known.
        start_meter: makes a meter for so many bytes.

    Raises:
        DownloadError: no mirror gave the bytes; the message has the fault of each.
        OutputError: ``into`` cannot be written.
    """
    faults = []
    for url in mirrors:
        try:
            return _with_retries(url, base_dir, into, sha256, start_meter)
        except DownloadError as error:
            faults.append(str(error))
    if len(faults) == 1:
        raise DownloadError(faults[0])
    raise DownloadError("\n  ".join([f"none of {len(faults)} mirrors could be used:", *faults]))


def _with_retries(
    url: str, base_dir: Path, into: Path, sha256: str | None, start_meter: Callable[[int | None], Meter]
) -> Fetched:
    for pause in PAUSES:
        try:
            return _fetch_once(url, base_dir, into, sha256, start_meter)
        except _TransientError:
            time.sleep(pause)
    try:
        return _fetch_once(url, base_dir, into, sha256, start_meter)
    except _TransientError as error:
        raise DownloadError(f"{error} (tried {len(PAUSES) + 1} times)") from error


def _fetch_once(
    url: str, base_dir: Path, into: Path, sha256: str | None, start_meter: Callable[[int | None], Meter]
) -> Fetched:
    with _opened(url, base_dir) as (chunks, total):
        fetched = _write(chunks, into, start_meter(total))
    if total is not None and fetched.size != total:
        raise _TransientError(f"{url}: the connection ended after {fetched.size} of {total} bytes; try again later")
    if sha256 is not None and fetched.sha256 != sha256:
        raise DownloadError(
            f"{url}: expected SHA-256 {sha256}, found {fetched.sha256} ({fetched.size} bytes); "
            "the file was changed or damaged there: correct sha256 in the config, or use another mirror"
        )
    return fetched


def _write(chunks: Iterator[bytes], into: Path, meter: Meter) -> Fetched:
    digest, size = hashlib.sha256(), 0
    with meter, writing(into), into.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
            meter.advance(len(chunk))
    return Fetched(digest.hexdigest(), size)


@contextmanager
def _opened(url: str, base_dir: Path) -> Iterator[tuple[Iterator[bytes], int | None]]:
    """The chunks of a file and its size, where the server tells it."""
    path = local_path(url, base_dir)
    if path is not None:
        try:
            with path.open("rb") as file:
                yield _chunks_of_file(file, path), path.stat().st_size
        except OSError as error:
            raise DownloadError(
                f"cannot read {path}: {error.strerror or error}; check the url in the config"
            ) from error
        return
    with requests.Session() as session, _get(session, url) as response:
        length = response.headers.get("Content-Length", "")
        yield _chunks_of_answer(response, url), int(length) if length.isdecimal() else None


def _get(session: requests.Session, url: str) -> requests.Response:
    """Asks for a file; an answer other than the file is an error.

    Raises:
        DownloadError: it says what is wrong and what to do.
    """
    try:
        response = session.get(url, stream=True, timeout=(CONNECT_SECONDS, READ_SECONDS), headers=_HEADERS)
    except requests.exceptions.SSLError as error:
        raise DownloadError(
            f"{url}: the server's certificate was not accepted ({error}); use another mirror"
        ) from error
    except requests.exceptions.Timeout as error:
        seconds = CONNECT_SECONDS if isinstance(error, requests.exceptions.ConnectTimeout) else READ_SECONDS
        raise _TransientError(f"{url}: no answer within {seconds:g} s; try again later or add a mirror") from error
    except requests.exceptions.ConnectionError as error:
        if _caused_by(error, socket.gaierror):
            host = urlsplit(url).hostname
            raise DownloadError(f"{url}: the name {host} cannot be resolved; check the url and the network") from error
        raise _TransientError(f"{url}: cannot connect ({error}); check the network or add a mirror") from error
    except requests.exceptions.RequestException as error:
        raise DownloadError(f"{url}: {error}; check the url in the config") from error
    fault = _fault(response, url)
    if fault is not None:
        response.close()
        raise fault
    return response


def _fault(response: requests.Response, url: str) -> DownloadError | None:
    """What is wrong with an answer's head."""
    hops = [urlsplit(answer.url).scheme for answer in (*response.history, response)]
    if hops[0] == "https" and "http" in hops:
        return DownloadError(f"{url}: redirects from https to http ({response.url}); refused: use another mirror")
    if response.status_code != requests.codes.ok:
        kind = _TransientError if response.status_code in _TRANSIENT else DownloadError
        return kind(
            f"{url}: status {response.status_code} {response.reason}{_first_words(response)}; "
            "check the url, or add a mirror"
        )
    if response.headers.get("Content-Type", "").startswith("text/html"):
        return DownloadError(f"{url}: an HTML page, not a corpus{_first_words(response)}; check the url")
    return None


def _first_words(response: requests.Response) -> str:
    """The start of a page that came in place of the file, without its markup."""
    if not re.match(r"text/|application/(json|xml|xhtml)", response.headers.get("Content-Type", "")):
        return ""
    try:
        page = response.raw.read(4096, decode_content=True).decode("utf-8", "backslashreplace")
    except (urllib3.exceptions.HTTPError, OSError):
        return ""
    text = re.sub(r"(?is)<(script|style)\b.*?</\1>|<[^>]*>", " ", page)
    return f": {' '.join(text.split())[:300]!r}"


def _chunks_of_file(file: IO[bytes], path: Path) -> Iterator[bytes]:
    try:
        while chunk := file.read(_CHUNK):
            yield chunk
    except OSError as error:
        raise DownloadError(f"cannot read {path}: {error.strerror or error}; check the disk it is on") from error


def _chunks_of_answer(response: requests.Response, url: str) -> Iterator[bytes]:
    """The bytes as they are served: an archive's own compression is left alone."""
    response.raw.enforce_content_length = False
    try:
        while chunk := response.raw.read(_CHUNK, decode_content=False):
            yield chunk
    except urllib3.exceptions.ReadTimeoutError as error:
        raise _TransientError(f"{url}: nothing more came for {READ_SECONDS:g} s; try again later") from error
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise _TransientError(f"{url}: the connection broke ({error}); try again") from error


def _caused_by(error: BaseException | None, kind: type[BaseException]) -> bool:
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error is not None
