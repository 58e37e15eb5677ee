from __future__ import annotations

import gzip
import hashlib
import io
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from nmt_prep import fetch as module
from nmt_prep.errors import ConfigError, DownloadError, OutputError
from nmt_prep.fetch import Fetched, fetch, file_name, local_path
from nmt_prep.progress import Progress
from tests.server import Answer, WebServer, web_server


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def server() -> Iterator[WebServer]:
    with web_server() as running:
        yield running


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSES", (0.0, 0.0))
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def into(tmp_path: Path) -> Path:
    return tmp_path / "into"


def get(into: Path, *mirrors: str, expected: str | None = None) -> Fetched:
    def start_meter(total: int | None):  # type: ignore[no-untyped-def]
        return Progress().meter("a", total, "bytes")

    return fetch(mirrors, into.parent, into, expected, start_meter)


def test_bytes_arrive(server: WebServer, into: Path) -> None:
    content = bytes(range(256)) * 10_000
    url = server.give("/a.tgz", content)
    assert get(into, url) == Fetched(sha256(content), 2_560_000)
    assert into.read_bytes() == content


def test_what_the_server_compressed_stays_compressed(server: WebServer, into: Path) -> None:
    packed = gzip.compress(b"text", mtime=0)
    url = server.give("/a.gz", Answer(packed, headers={"Content-Encoding": "gzip", "Content-Type": "text/plain"}))
    get(into, url)
    assert into.read_bytes() == packed
    assert server.headers[0]["Accept-Encoding"] == "identity"


def test_an_answer_without_length(server: WebServer, into: Path) -> None:
    assert get(into, server.give("/a", Answer(b"abc", length=None))).size == 3


def test_status(server: WebServer, into: Path) -> None:
    page = b"<html><head><style>p {}</style></head><body><h1>Gone</h1>\n<p>for good</p></body></html>"
    url = server.give("/a", Answer(page, 410, {"Content-Type": "text/html; charset=utf-8"}))
    with pytest.raises(DownloadError) as caught:
        get(into, url)
    assert str(caught.value) == f"{url}: status 410 Gone: 'Gone for good'; check the url, or add a mirror"
    assert server.asked == ["/a"]


def test_a_page_in_place_of_the_file(server: WebServer, into: Path) -> None:
    url = server.give("/a.tgz", Answer(b"<p>Please log in</p>", headers={"Content-Type": "text/html"}))
    with pytest.raises(DownloadError, match=r"a\.tgz: an HTML page, not a corpus: 'Please log in'; check the url"):
        get(into, url)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_transient_status_is_tried_again(server: WebServer, into: Path, status: int) -> None:
    url = server.give("/a", Answer(status=status), Answer(status=status), Answer(b"abc"))
    assert get(into, url) == Fetched(sha256(b"abc"), 3)
    assert server.asked == ["/a"] * 3


def test_transient_status_for_ever(server: WebServer, into: Path) -> None:
    url = server.give("/a", Answer(status=503))
    with pytest.raises(DownloadError, match=r"status 503 Service Unavailable; .* \(tried 3 times\)$"):
        get(into, url)
    assert server.asked == ["/a"] * 3


@pytest.mark.parametrize("sent", [0, 1, 99])
def test_a_short_body_is_no_file(server: WebServer, into: Path, sent: int) -> None:
    url = server.give("/a", Answer(b"x" * sent, length=100))
    with pytest.raises(DownloadError, match=rf"the connection ended after {sent} of 100 bytes; .* \(tried 3 times\)$"):
        get(into, url)


def test_a_short_body_and_then_the_whole(server: WebServer, into: Path) -> None:
    url = server.give("/a", Answer(b"ab", length=3), Answer(b"abc"))
    assert get(into, url, expected=sha256(b"abc")).size == 3
    assert into.read_bytes() == b"abc"


def test_wrong_checksum(server: WebServer, into: Path) -> None:
    url = server.give("/a", b"abc")
    with pytest.raises(DownloadError) as caught:
        get(into, url, expected="0" * 64)
    assert str(caught.value) == (
        f"{url}: expected SHA-256 {'0' * 64}, found {sha256(b'abc')} (3 bytes); "
        "the file was changed or damaged there: correct sha256 in the config, or use another mirror"
    )


def test_mirrors_in_order(server: WebServer, into: Path) -> None:
    wrong, right, unused = server.give("/w", b"abd"), server.give("/r", b"abc"), server.give("/u", b"abc")
    assert get(into, f"{server.url}/404", wrong, right, unused, expected=sha256(b"abc")).size == 3
    assert server.asked == ["/404", "/w", "/r"]


def test_every_mirror_fails(server: WebServer, into: Path) -> None:
    with pytest.raises(DownloadError) as caught:
        get(into, f"{server.url}/1", "missing.tgz")
    first, second, third = str(caught.value).split("\n  ")
    assert first == "none of 2 mirrors could be used:"
    assert second == f"{server.url}/1: status 404 Not Found: 'no such file'; check the url, or add a mirror"
    assert third.startswith(f"cannot read {into.parent / 'missing.tgz'}: No such file")


def test_a_local_mirror(into: Path) -> None:
    (into.parent / "here").write_bytes(b"abc")
    assert get(into, "here").size == 3
    assert into.read_bytes() == b"abc"


def test_refused_connection(into: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/a"
        with pytest.raises(DownloadError, match=r"cannot connect .*; check the network .* \(tried 3 times\)$"):
            get(into, url)


def test_unknown_host(into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(DownloadError, match=r"^http://no\.example/a: the name no\.example cannot be resolved; check"):
        get(into, "http://no.example/a")


def test_a_server_that_says_nothing(into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "READ_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/a"
        with pytest.raises(DownloadError, match=r"no answer within 0\.05 s; .* \(tried 3 times\)$"):
            get(into, url)


def test_redirects_are_followed(server: WebServer, into: Path) -> None:
    server.give("/b", b"abc")
    assert get(into, server.give("/a", Answer(status=302, headers={"Location": "/b"}))).size == 3


def test_a_full_disk_is_not_the_servers_fault(server: WebServer) -> None:
    url = server.give("/a", b"abc")
    with pytest.raises(OutputError, match=r"cannot write /dev/full: the disk is full"):
        get(Path("/dev/full"), url)
    assert server.asked == ["/a"]


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("a/b.tgz", "/base/a/b.tgz"),
        ("/abs/b.tgz", "/abs/b.tgz"),
        ("file:///abs/b%20c.tgz", "/abs/b c.tgz"),
        ("file://localhost/abs/b", "/abs/b"),
        ("a:b", "/base/a:b"),
        ("http://host/b", None),
        ("HTTPS://host/b", None),
    ],
)
def test_local_path(url: str, path: str | None) -> None:
    assert local_path(url, Path("/base")) == (None if path is None else Path(path))


@pytest.mark.parametrize("url", ["ftp://host/a", "s3://bucket/a", "file://host/a"])
def test_other_schemes(url: str) -> None:
    with pytest.raises(ConfigError, match=rf"cannot fetch {url}: a url is http://"):
        local_path(url, Path("/base"))


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://host/x/a%20b.tgz?download=1#top", "a_b.tgz"),
        ("http://host/", "download"),
        ("http://host/%2e%2e", "download"),
        ("http://host/a%2F..%2Fb", "b"),
        ("dir/ü.tsv.gz", "_.tsv.gz"),
    ],
)
def test_file_name(url: str, name: str) -> None:
    assert file_name(url) == name


def test_a_redirect_away_from_tls_is_refused(into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(url: str, status: int) -> requests.Response:
        made = requests.Response()
        made.url, made.status_code, made.raw = url, status, io.BytesIO(b"abc")
        return made

    def redirected(*_: object, **__: object) -> requests.Response:
        last = answer("http://host/b", 200)
        last.history = [answer("https://host/a", 302)]
        return last

    monkeypatch.setattr(requests.Session, "get", redirected)
    with pytest.raises(
        DownloadError, match=r"^https://host/a: redirects from https to http \(http://host/b\); refused"
    ):
        get(into, "https://host/a")
