from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import requests

from nmt_prep.base.errors import ConfigError, DownloadError
from tests.corpora.sources.fetching import Scene, sha256
from tests.server import Answer, WebServer, web_server

ABC = sha256(b"abc")


def to(location: str, status: int = 302) -> Answer:
    return Answer(b"moved", status, {"Location": location})


@pytest.fixture
def other() -> Iterator[WebServer]:
    """Starts a server on another host."""
    with web_server("127.0.0.2") as running:
        yield running


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("location", ["/b", "b", "./b", "//{host}/b", "http://{host}/b", "/b#part", "?to=b"])
def test_redirects_are_followed(server: WebServer, scene: Scene, status: int, location: str) -> None:
    server.give("/b", b"abc")
    server.give("/a?to=b", b"abc")
    host = server.url.removeprefix("http://")
    url = server.give("/a", to(location.format(host=host), status))
    fetched = scene.fetch(url)
    assert fetched.sha256 == ABC
    assert fetched.url in {f"{server.url}/b", f"{server.url}/a?to=b"}


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        "ftp://host/a",
        "gopher://host/a",
        "data:text/plain,abc",
        "javascript:alert(1)",
        "s3://bucket/a",
        "https:",
        "unix:/run/socket",
    ],
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_to_other_schemes(server: WebServer, scene: Scene, status: int, location: str) -> None:
    url = server.give("/a", to(location, status))
    with pytest.raises(DownloadError, match=rf"^{url}: redirects to .*, which is neither http nor https; rejected"):
        scene.fetch(url)
    assert server.asked == ["/a"]


@pytest.mark.parametrize("location", ["http://[::1", "http://host:port/a", "http://[x]/a"])
def test_redirects_to_invalid_urls(server: WebServer, scene: Scene, location: str) -> None:
    url = server.give("/a", to(location))
    with pytest.raises(DownloadError, match=r"redirects to something that is not a URL; rejected"):
        scene.fetch(url)


def test_a_redirect_without_a_target(server: WebServer, scene: Scene) -> None:
    url = server.give("/a", Answer(b"", 302))
    with pytest.raises(DownloadError, match="status 302 Found"):
        scene.fetch(url)


@pytest.mark.parametrize("circle", [["/a"], ["/b", "/a"], ["/b", "/c", "/b"]])
def test_redirect_loops(server: WebServer, scene: Scene, circle: list[str]) -> None:
    for start, end in zip(["/a", *circle], circle, strict=False):
        server.give(start, to(end))
    with pytest.raises(DownloadError, match=r"/a: redirects more than 10 times; rejected"):
        scene.fetch(f"{server.url}/a")
    assert len(server.asked) == 11


@pytest.mark.parametrize(("hops", "arrives"), [(10, True), (11, False)])
def test_too_many_redirects(server: WebServer, scene: Scene, hops: int, arrives: bool) -> None:
    for hop in range(hops):
        server.give(f"/{hop}", to(f"/{hop + 1}"))
    server.give(f"/{hops}", b"abc")
    if arrives:
        assert scene.fetch(f"{server.url}/0").sha256 == ABC
    else:
        with pytest.raises(DownloadError, match=r"/0: redirects more than 10 times; rejected"):
            scene.fetch(f"{server.url}/0")


def test_a_password_is_sent_only_to_its_server(server: WebServer, other: WebServer, scene: Scene) -> None:
    host = server.url.removeprefix("http://")
    server.give("/a", to("/b"))
    server.give("/b", to(other.give("/c", b"abc")))
    fetched = scene.fetch(f"http://user:word@{host}/a")
    assert fetched.url == f"{other.url}/c"
    assert [headers.get("Authorization") for headers in server.headers] == ["Basic dXNlcjp3b3Jk"] * 2
    assert "Authorization" not in other.headers[0]


def test_no_secret_is_in_a_message(server: WebServer, scene: Scene) -> None:
    host = server.url.removeprefix("http://")
    server.give("/moved?token=s3cret", to("file:///x?token=s3cret"))
    server.give("/late?token=s3cret", Answer(status=503))
    for url in (
        f"http://user:s3cret@{host}/missing?token=s3cret&page=2",
        f"http://user:s3cret@{host}/moved?token=s3cret",
        f"http://user:s3cret@{host}/late?token=s3cret",
        "http://user:s3cret@127.0.0.1:1/a?token=s3cret",
        "http://user:s3cret@[::1/a?token=s3cret",
        "http://user:s3cret@host:port/a?token=s3cret",
        "http://user:s3cret@/a?token=s3cret",
        "http://user:s3cret@a..b/a?token=s3cret",
        f"http://user:s3cret@{'a' * 70}/a?token=s3cret",
    ):
        with pytest.raises((ConfigError, DownloadError)) as caught:
            scene.fetch(url)
        assert "s3cret" not in str(caught.value)
    notes = "".join(path.read_text() for path in scene.directory.rglob("*.json"))
    assert "s3cret" not in notes


@pytest.mark.parametrize("name", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "PYTHONHTTPSVERIFY"])
@pytest.mark.parametrize("value", ["", "0", "false", "/etc/ssl/certs/own.pem"])
def test_verification_cannot_be_turned_off(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    seen: list[object] = []

    def send(_: object, *__: object, **options: object) -> requests.Response:
        seen.append(options["verify"])
        raise requests.exceptions.SSLError("refused")

    for other in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", send)
    with pytest.raises(DownloadError, match="the server's certificate was not accepted"):
        scene.fetch("https://host/a")
    named = value if name.endswith("CA_BUNDLE") else ""
    assert seen == [named or True]


class _Moved(BaseHTTPRequestHandler):
    target = ""

    def do_GET(self) -> None:
        self.send_response(302)
        self.send_header("Location", self.target)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def secure(server: WebServer, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Starts a server with a self-signed certificate, which redirects to one without TLS."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, which makes the certificate")
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    handler = type("Handler", (_Moved,), {"target": server.give("/b", b"abc")})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        http.handle_error = lambda *_: None  # type: ignore[method-assign]
        http.socket = context.wrap_socket(http.socket, server_side=True)
        thread = Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"https://127.0.0.1:{http.server_port}/a", certificate
        finally:
            http.shutdown()
            thread.join()


def test_an_untrusted_certificate(secure: tuple[str, Path], scene: Scene) -> None:
    with pytest.raises(DownloadError, match=r"^https://.*: the server's certificate was not accepted \(.*self.signed"):
        scene.fetch(secure[0])


def test_a_redirect_away_from_tls(
    secure: tuple[str, Path], server: WebServer, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(secure[1]))
    with pytest.raises(DownloadError) as caught:
        scene.fetch(secure[0])
    assert str(caught.value) == (
        f"{secure[0]}: redirects from https to http ({server.url}/b); rejected: use another mirror"
    )
    assert server.asked == []
