from __future__ import annotations

import gzip
import itertools
import json
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace

import pytest

from nmt_prep.base.errors import DownloadError, OutputError
from nmt_prep.base.progress import Progress
from nmt_prep.config import DownloadSettings as Limits
from nmt_prep.corpora.sources import transfers
from nmt_prep.corpora.sources.fetch import Fetched
from nmt_prep.corpora.sources.lockfile import LockFile
from nmt_prep.pipeline.engines import LocalEngine
from nmt_prep.pipeline.pipeline import Pipeline
from nmt_prep.stages.download import Download
from tests.corpora.sources.fetching import Scene, sha256
from tests.server import Answer, WebServer
from tests.stages.runs import config_of

ABC = sha256(b"abc")
STRONG = {"ETag": '"one"'}


def test_bytes_arrive(server: WebServer, scene: Scene) -> None:
    content = bytes(range(256)) * 10_000
    url = server.give("/a.tgz", Answer(content, headers=STRONG))
    fetched = scene.fetch(url)
    assert fetched == Fetched(fetched.path, sha256(content), 2_560_000, url, '"one"', "2026-01-31T12:00:00Z")
    assert fetched.path.read_bytes() == content


def test_what_the_server_compressed_stays_compressed(server: WebServer, scene: Scene) -> None:
    packed = gzip.compress(b"text", mtime=0)
    url = server.give("/a.gz", Answer(packed, headers={"Content-Encoding": "gzip", "Content-Type": "text/plain"}))
    assert scene.fetch(url).path.read_bytes() == packed
    assert server.headers[0]["Accept-Encoding"] == "identity"


def test_a_chunked_response(server: WebServer, scene: Scene) -> None:
    assert scene.fetch(server.give("/a", Answer(b"abc" * 1000, chunked=True))).sha256 == sha256(b"abc" * 1000)


def test_a_response_without_a_known_end(server: WebServer, scene: Scene) -> None:
    url = server.give("/a", Answer(b"abc", length=None))
    with pytest.raises(DownloadError, match=r"does not send the length of the file, .*; give its sha256 in the config"):
        scene.fetch(url)
    assert scene.fetch(url, expected=ABC).size == 3


def test_status(server: WebServer, scene: Scene) -> None:
    page = b"<html><head><style>p {}</style></head><body><h1>Gone</h1>\n<p>for good</p></body></html>"
    url = server.give("/a", Answer(page, 410, {"Content-Type": "text/html; charset=utf-8"}))
    with pytest.raises(DownloadError) as caught:
        scene.fetch(url)
    assert str(caught.value) == f"{url}: status 410 Gone: 'Gone for good'; check the url, or add a mirror"
    assert server.asked == ["/a"]


@pytest.mark.parametrize("kind", ["text/html", "Text/HTML; charset=utf-8", "application/xhtml+xml"])
def test_a_page_in_place_of_the_file(server: WebServer, scene: Scene, kind: str) -> None:
    url = server.give("/a.tgz", Answer(b"<p>Please log in</p>", headers={"Content-Type": kind}))
    with pytest.raises(DownloadError, match=r"a\.tgz: an HTML page, not a corpus: 'Please log in'; check the url"):
        scene.fetch(url)


@pytest.mark.parametrize(
    "head", [b"<html>", b"<!DOCTYPE html>\n<html>", b"\xef\xbb\xbf \r\n<HTML lang=en>", b"<!-- x -->\n<head>"]
)
@pytest.mark.parametrize("expected", [None, ABC])
def test_a_page_declared_as_an_archive(server: WebServer, scene: Scene, head: bytes, expected: str | None) -> None:
    page = head + b"<title>Quota exceeded</title><script>f()"
    url = server.give("/a.tgz", Answer(page, headers={"Content-Type": "application/gzip", **STRONG}))
    with pytest.raises(DownloadError, match=r"a\.tgz: an HTML page, not a corpus: 'Quota exceeded'; check the url"):
        scene.fetch(url, expected=expected)
    assert [*(scene.directory / "incoming").iterdir()] == []


@pytest.mark.parametrize("content", [b"<seg>a</seg>", b"html", b"<htmlx>", b"\x1f\x8b<html>"])
def test_content_that_is_not_a_page(server: WebServer, scene: Scene, content: bytes) -> None:
    assert scene.fetch(server.give("/a", content)).sha256 == sha256(content)


def test_an_empty_file(server: WebServer, scene: Scene) -> None:
    url = server.give("/a", b"")
    with pytest.raises(DownloadError, match=r"the file there is empty; check the url"):
        scene.fetch(url)
    assert scene.fetch(url, expected=sha256(b"")).size == 0


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_transient_status_is_retried(server: WebServer, scene: Scene, status: int) -> None:
    url = server.give("/a", Answer(status=status), Answer(status=status), Answer(b"abc"))
    assert scene.fetch(url).sha256 == ABC
    assert server.asked == ["/a"] * 3
    assert scene.pauses == [1.0, 2.0]


def test_permanent_transient_status(server: WebServer, scene: Scene) -> None:
    url = server.give("/a", Answer(status=503))
    with pytest.raises(DownloadError, match=r"status 503 Service Unavailable; .* \(tried 9 times\)$"):
        scene.fetch(url, retries=8)
    assert scene.pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("86400", 300.0),
        ("99999999999999999999", 300.0),
        ("Sat, 31 Jan 2026 12:00:42 GMT", 42.0),
        ("Saturday, 31-Jan-26 12:00:42 GMT", 42.0),
        ("Sat, 31 Jan 2026 11:00:00 GMT", 0.0),
        ("Sun, 01 Feb 2026 12:00:00 GMT", 300.0),
        ("soon", 1.0),
        ("-3", 1.0),
        ("", 1.0),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after(server: WebServer, scene: Scene, status: int, value: str, seconds: float) -> None:
    url = server.give("/a", Answer(status=status, headers={"Retry-After": value}), Answer(b"abc"))
    assert scene.fetch(url).sha256 == ABC
    assert scene.pauses == [seconds]


@pytest.mark.parametrize("sent", [0, 1, 99])
def test_a_short_body_is_refused(server: WebServer, scene: Scene, sent: int) -> None:
    url = server.give("/a", Answer(b"x" * sent, length=100))
    with pytest.raises(DownloadError, match=rf"the connection ended after {sent} of 100 bytes; .* \(tried 3 times\)$"):
        scene.fetch(url)


def test_wrong_checksum(server: WebServer, scene: Scene) -> None:
    url = server.give("/a", b"abc")
    with pytest.raises(DownloadError) as caught:
        scene.fetch(url, expected="0" * 64)
    assert str(caught.value) == (
        f"{url}: expected SHA-256 {'0' * 64}, found {ABC} (3 bytes); "
        "the file was changed or damaged there: correct sha256"
    )


def test_mirrors_in_order(server: WebServer, scene: Scene) -> None:
    wrong, right, unused = server.give("/w", b"abd"), server.give("/r", b"abc"), server.give("/u", b"abc")
    assert scene.fetch(f"{server.url}/404", wrong, right, unused, expected=ABC).url == right
    assert server.asked == ["/404", "/w", "/r"]


def test_every_mirror_fails(server: WebServer, scene: Scene) -> None:
    with pytest.raises(DownloadError) as caught:
        scene.fetch(f"{server.url}/1", "missing.tgz")
    first, second, third = str(caught.value).split("\n  ")
    assert first == "all 2 mirrors failed:"
    assert second == f"{server.url}/1: status 404 Not Found: 'no such file'; check the url, or add a mirror"
    assert third.startswith(f"cannot read {scene.directory / 'missing.tgz'}: No such file")


def test_a_local_mirror(scene: Scene) -> None:
    (scene.directory / "here").write_bytes(b"abc")
    assert scene.fetch("here").sha256 == ABC
    assert (scene.directory / "here").read_bytes() == b"abc"
    os.mkfifo(scene.directory / "pipe")
    for name in ("pipe", "/dev/zero"):
        with pytest.raises(DownloadError, match=rf"^cannot read .*{name}: it is not a regular file; check the url in"):
            scene.fetch(name)


def test_refused_connection(scene: Scene) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/a"
        with pytest.raises(DownloadError) as caught:
            scene.fetch(url)
    assert str(caught.value) == (
        f"{url}: cannot connect (Connection refused); check the network or add a mirror (tried 3 times)"
    )


def test_unknown_host(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(DownloadError, match=r"^http://no\.example/a: the name no\.example cannot be resolved; check"):
        scene.fetch("http://no.example/a")


def test_a_silent_server(scene: Scene) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/a"
        with pytest.raises(DownloadError, match=r"no answer within 0\.05 s; .* \(tried 3 times\)$"):
            scene.fetch(url, stall_seconds=0.05)


@pytest.mark.parametrize("said", [b"220 ftp ready\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\x16\x03\x01\x00\x00", b""])
def test_a_port_without_a_web_server(scene: Scene, said: bytes) -> None:
    def answer(connection: socket.socket) -> None:
        with connection:
            connection.recv(10_000)
            connection.sendall(said)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=lambda: answer(listening.accept()[0]))
        thread.start()
        with pytest.raises(DownloadError, match=r"^http://127\.0\.0\.1:\d+/a: "):
            scene.fetch(f"http://127.0.0.1:{listening.getsockname()[1]}/a", retries=0)
        thread.join()


def test_slow_bytes(server: WebServer, scene: Scene) -> None:
    url = server.give("/a", Answer(b"x" * 1000, slow=0.01))
    scene.now = itertools.count(step=50).__next__  # seconds, by a clock that advances with every call
    with pytest.raises(DownloadError, match=r"less than 1 KiB per second for 100 s; .*\(tried 1 times\)$"):
        scene.fetch(url, stall_seconds=100, retries=0)


@pytest.mark.parametrize(("size", "pause", "expected"), [(1000, 0.0, 60), (1100, 0.0, 300), (1100, 50.0, 300)])
def test_an_answer_must_keep_a_least_speed(size: int, pause: float, expected: int) -> None:
    now = [0.0]  # one second for each chunk, and a pause that the reader makes, as for a limit of the speed

    def chunks() -> Iterator[bytes]:
        for _ in range(300):
            now[0] += 1.0
            yield b"x" * size

    answer = transfers.Answer("http://a", 0, None, delimited=True, etag=None, modified=None, chunks=chunks())
    clock, stalled, taken = transfers.Clock(now=lambda: now[0]), "", 0
    with transfers.watched(nullcontext(answer), "http://a", Limits(), clock, transfers.Stop()) as watched:
        try:
            for _ in watched.chunks:
                taken += 1
                now[0] += pause
        except transfers.TransientError as error:
            stalled = str(error)
    slow = "http://a: less than 1 KiB per second for 60 s; try again later"
    assert (taken, stalled) == (expected, slow if expected < 300 else "")


def test_a_slow_head(server: WebServer, scene: Scene) -> None:
    url = server.give("/a", Answer(b"abc", slow_head=3600))
    with pytest.raises(
        DownloadError, match=r"a: no answer within 0\.2 s; try again later or add a mirror \(tried 1 times\)$"
    ):
        scene.fetch(url, stall_seconds=0.2, retries=0)


@contextmanager
def dripping(head: bytes) -> Iterator[str]:
    """Runs a server that sends the beginning of an answer, then a digit now and then; yields its URL."""
    ended = Event()

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(10_000)
            connection.sendall(head)
            while not ended.wait(0.02):
                connection.sendall(b"0")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=lambda: answer(listening.accept()[0]))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/a"
        finally:
            ended.set()
            thread.join()


@pytest.mark.parametrize(
    ("head", "begun", "message"),
    [
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX-Slow: ",
            "**",
            r"a: no answer within 240 s; .* \(tried 1 times\)$",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
            "incoming/*",
            r"a: less than 1 KiB per second for 240 s; try again",
        ),
    ],
    ids=["in a header", "in the size of a chunk"],
)
def test_slow_bytes_outside_of_the_body(scene: Scene, head: bytes, begun: str, message: str) -> None:
    hours = itertools.count(step=3600.0)
    scene.now = lambda: next(hours) if any(scene.directory.glob(begun)) else 0.0
    with dripping(head) as url, pytest.raises(DownloadError, match=message):
        scene.fetch(url, stall_seconds=240, retries=0)


def test_a_slow_page(server: WebServer, scene: Scene) -> None:
    page = Answer(b"x" * 4000, 404, {"Content-Type": "text/plain"}, slow=0.1)
    with pytest.raises(DownloadError, match=r"status 404 Not Found.*; check the url"):
        scene.fetch(server.give("/a", page), retries=0)


def test_a_full_disk_is_not_blamed_on_the_server(
    server: WebServer, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.give("/a", b"abc")
    opened = Path.open

    def full(path: Path, mode: str = "r", **options: object) -> object:
        return opened(Path("/dev/full") if mode == "a+b" else path, "r+b" if mode == "a+b" else mode, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(OutputError, match=r"^cannot write .*incoming.*"):
        scene.fetch(url)
    assert server.asked == ["/a"]


def test_a_disk_that_is_too_small(server: WebServer, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    url = server.give("/a", b"x" * 5000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=4999))
    with pytest.raises(OutputError, match="5,000 bytes are needed, but the disk has 4,999 left; free some space"):
        scene.fetch(url)
    assert [*(scene.directory / "incoming").iterdir()] == []


@pytest.mark.parametrize("claimed", [True, False])
def test_a_file_that_is_too_large(server: WebServer, scene: Scene, claimed: bool) -> None:
    url = server.give("/a", Answer(b"x" * 5000, chunked=not claimed))
    with pytest.raises(DownloadError, match=r"larger than the maximum of 4,999 bytes; if this size"):
        scene.fetch(url, max_file_bytes=4999)
    assert scene.fetch(url, max_file_bytes=5000).size == 5000


def test_the_speed_limit_is_kept(server: WebServer, scene: Scene) -> None:
    scene.fetch(server.give("/a", b"x" * 10_000), max_bytes_per_second=1000)
    assert sum(scene.pauses) >= 9.5


def test_a_download_resumes_in_another_run(server: WebServer, scene: Scene) -> None:
    content = bytes(range(256)) * 400
    url = server.give("/a", Answer(content, headers=STRONG, ranges=True, cut=70_000))
    with pytest.raises(DownloadError, match="the connection ended after 70000 of 102400 bytes"):
        scene.fetch(url, retries=0)
    server.give("/a", Answer(content, headers=STRONG, ranges=True))
    assert scene.fetch(url, retries=0).path.read_bytes() == content
    assert (server.headers[1]["Range"], server.headers[1]["If-Range"]) == ("bytes=70000-", '"one"')


@pytest.mark.parametrize(("note_of", "start"), [({"boot": "another", "size": 50_000}, 50_000), ({"size": 0}, 70_000)])
def test_after_a_reboot_only_flushed_bytes_count_and_after_a_kill_all(
    server: WebServer, scene: Scene, note_of: dict[str, object], start: int
) -> None:
    content = bytes(range(256)) * 400
    url = server.give("/a", Answer(content, headers=STRONG, ranges=True, cut=70_000))
    with pytest.raises(DownloadError):
        scene.fetch(url, retries=0)
    [note] = (scene.directory / "incoming").glob("*.json")
    facts = json.loads(note.read_text())
    assert facts["size"] == 70_000
    note.write_text(json.dumps({**facts, **note_of}))
    server.give("/a", Answer(content, headers=STRONG, ranges=True))
    assert scene.fetch(url).path.read_bytes() == content
    assert server.headers[1]["Range"] == f"bytes={start}-"


@pytest.mark.parametrize("point", range(6))
def test_a_run_that_ends_at_a_rename_leaves_only_whole_files(
    server: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: int
) -> None:
    content, replace, renames = bytes(range(256)) * 400, Path.replace, itertools.count()
    url = server.give("/a.tgz", Answer(content, headers=STRONG, ranges=True))
    config = config_of(tmp_path, {"name": "c", "url": url, "source": "a", "target": "b"}, download={"cache": False})

    def download() -> list[bytes]:
        Pipeline((Download(),), config, Progress(), LockFile(tmp_path / "t.lock")).run(LocalEngine(1))
        return [path.read_bytes() for path in config.run_dir.glob("downloads/*/a.tgz")]

    def replace_or_end(path: Path, target: Path) -> Path:
        if next(renames) == point:
            raise KeyboardInterrupt
        return replace(path, target)

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(Path, "replace", replace_or_end)
        download()
    assert [path.read_bytes() for path in config.run_dir.glob("downloads/*/a.tgz")] in ([], [content])
    assert download() == [content]
    assert next(renames) > point


def test_the_last_byte_of_a_complete_partial_file_is_requested(server: WebServer, scene: Scene) -> None:
    url = server.give("/a", Answer(b"abc", headers=STRONG, ranges=True))
    fetched = scene.fetch(url)
    fetched.path.replace(fetched.path)  # as after a kill just before the rename
    assert scene.fetch(url).path.read_bytes() == b"abc"
    assert server.headers[1]["Range"] == "bytes=2-"


@pytest.mark.parametrize("note", [b"", b"{", b"[]", b'{"url": "x"}', b"\xff"])
def test_a_damaged_note_restarts_the_download(server: WebServer, scene: Scene, note: bytes) -> None:
    url = server.give("/a", Answer(b"abcdef", headers=STRONG, ranges=True, cut=3))
    with pytest.raises(DownloadError):
        scene.fetch(url, retries=0)
    [path] = (scene.directory / "incoming").glob("*.json")
    path.write_bytes(note)
    server.give("/a", Answer(b"abcdef", headers=STRONG, ranges=True))
    assert scene.fetch(url).path.read_bytes() == b"abcdef"
    assert "Range" not in server.headers[1]


def test_progress_resets_the_count_of_faults(server: WebServer, scene: Scene) -> None:
    content = bytes(range(256)) * 20_000
    cuts = (Answer(content, headers=STRONG, ranges=True, cut=1_200_000) for _ in range(4))
    url = server.give("/a", *cuts, Answer(content, headers=STRONG, ranges=True))
    assert scene.fetch(url, retries=1).path.read_bytes() == content
    assert scene.pauses == [1.0] * 4


def test_without_progress_the_fetch_ends(server: WebServer, scene: Scene) -> None:
    content = bytes(range(256)) * 20_000
    url = server.give("/a", Answer(content, cut=2_000_000))
    with pytest.raises(DownloadError, match=r"ended after 2000000 of 5120000 bytes; .* \(tried 3 times\)$"):
        scene.fetch(url, retries=2)
