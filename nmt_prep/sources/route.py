"""Requests that follow redirects, and refuse unsafe ones.

Refused are redirects from https to http, to any other scheme, and more than ten in a row. Credentials are only sent to
the server that the URL names.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from nmt_prep.errors import DownloadError
from nmt_prep.sources.address import shown
from nmt_prep.sources.timing import Stop, Watch

MAX_REDIRECTS = 10


class Route:
    """A chain of redirects from a URL to the server that has the file; use it in a ``with`` statement.

    Args:
        url: the URL.
        stop: interrupts the requests.
        token: bearer token for the server of the URL; it is sent to no other one.
    """

    def __init__(self, url: str, stop: Stop, token: str | None = None) -> None:
        self.url = url
        """The current URL."""
        self.given = url
        """The original URL."""
        self.watch = Watch(stop)
        """Watches the connections."""
        self._stop = stop
        self._bearer = None if token is None else _Bearer(token)
        self._session = _Session()
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, _Adapter(self.watch.add))

    def __enter__(self) -> Route:
        self.watch.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()
        self.watch.__exit__()

    def get(self, headers: dict[str, str], timeout: tuple[float, float]) -> requests.Response:
        """Requests the URL and follows redirects; the body remains to be read.

        Certificates are always verified: environment variables can add trusted ones, but not turn verification off.

        Args:
            headers: headers to send.
            timeout: seconds to connect, and then to receive the whole head of the answer.

        Raises:
            DownloadError: a redirect is refused.
            requests.RequestException: the request failed.
        """
        self._stop.check()
        for _ in range(MAX_REDIRECTS + 1):
            with self.watch.within(timeout[1]):
                response = self._session.get(
                    self.url,
                    headers=headers,
                    auth=self._bearer if _same_server(self.url, self.given) else None,
                    timeout=timeout,
                    stream=True,
                    allow_redirects=False,
                    verify=True,
                )
            if self.watch.overdue:  # a head that is cut off between two lines or within a header still parses
                response.close()
                raise requests.exceptions.ReadTimeout
            location = self._session.get_redirect_target(response)
            if location is None:
                return response
            response.close()
            self.url = self._next(location)
        raise self._refusal(f"redirects more than {MAX_REDIRECTS} times")

    def _next(self, location: str) -> str:
        try:
            target = urljoin(self.url, location)
            before, after = urlsplit(self.url), urlsplit(target)
            same = _same_server(self.url, target)
        except ValueError:
            raise self._refusal("redirects to something that is not a URL") from None
        if after.scheme not in {"http", "https"} or not after.hostname:
            raise self._refusal(f"redirects to {_shown_target(target)}, which is neither http nor https")
        if (before.scheme, after.scheme) == ("https", "http"):
            raise self._refusal(f"redirects from https to http ({_shown_target(target)})")
        if same and "@" in before.netloc and "@" not in after.netloc:
            target = after._replace(netloc=before.netloc).geturl()
        return target

    def _refusal(self, reason: str) -> DownloadError:
        return DownloadError(f"{shown(self.given)}: {reason}; refused: use another mirror")


class _Bearer(AuthBase):
    """Adds a bearer token to a request; it takes precedence over a password in the user's ``.netrc``."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class _Session(requests.Session):
    """A session that does not follow redirects: requests would read their whole bodies, however long."""

    def resolve_redirects(self, *_: Any, **__: Any) -> Iterator[Any]:
        return iter(())


class _Adapter(HTTPAdapter):
    """The transport of requests; also registers each new connection with the watch."""

    def __init__(self, connected: Callable[[socket.socket], None]) -> None:
        self._connected = connected
        super().__init__()

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        connected = self._connected

        class Plain(HTTPConnection):
            def _new_conn(self) -> socket.socket:
                return _told(super()._new_conn(), connected)

        class Secure(HTTPSConnection):
            def _new_conn(self) -> socket.socket:
                return _told(super()._new_conn(), connected)

        class PlainPool(HTTPConnectionPool):
            ConnectionCls = Plain

        class SecurePool(HTTPSConnectionPool):
            ConnectionCls = Secure

        self.poolmanager.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}


def _same_server(url: str, other: str) -> bool:
    """Returns True if two URLs have the same scheme, host and port."""
    one, two = urlsplit(url), urlsplit(other)
    return (one.scheme, one.hostname, one.port) == (two.scheme, two.hostname, two.port)


def _told(connection: socket.socket, connected: Callable[[socket.socket], None]) -> socket.socket:
    try:
        connected(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _shown_target(target: str) -> str:
    """Returns a redirect's target without its query, which often contains a signature."""
    return shown(target.partition("?")[0].partition("#")[0])
