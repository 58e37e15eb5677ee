from __future__ import annotations

import io
import zipfile

import pytest

from nmt_prep.base.errors import DownloadError
from nmt_prep.config import DownloadSettings as Limits
from nmt_prep.corpora.sources import remote_file
from nmt_prep.corpora.sources.remote_file import BEGINNING, opened_remote
from nmt_prep.corpora.sources.transfers import FetchStoppedError, Stop, TransientError
from nmt_prep.corpora.sources.web import Client
from tests.corpora.archives.builders import zip_of
from tests.server import Answer, WebServer

LIMITS = Limits()
CLIENT = Client(LIMITS)
LARGE = bytes(range(256)) * (BEGINNING // 256 + 10)


def test_the_beginning_of_a_file_is_read_in_one_request(server: WebServer) -> None:
    with opened_remote(server.give("/a", Answer(LARGE, ranges=True)), CLIENT) as remote:
        assert (remote.address, remote.size, remote.whole) == (f"{server.url}/a", len(LARGE), False)
        assert remote.beginning == LARGE[:BEGINNING]
    assert [headers["Range"] for headers in server.headers] == ["bytes=0-1048575"]


def test_a_small_file_is_read_whole(server: WebServer) -> None:
    with opened_remote(server.give("/a", Answer(b"abc", ranges=True)), CLIENT) as remote:
        assert (remote.size, remote.whole, remote.beginning, remote.open().read()) == (3, True, b"abc", b"abc")
    assert server.asked == ["/a"]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_server_that_does_not_send_parts(server: WebServer, chunked: bool) -> None:
    with opened_remote(server.give("/a", Answer(LARGE, chunked=chunked)), CLIENT) as remote:
        assert (remote.size, remote.whole) == (None if chunked else len(LARGE), False)
        assert remote.beginning == LARGE[:BEGINNING]
        with pytest.raises(DownloadError, match="the server does not send parts of the file"):
            remote.open()


def test_any_offset_can_be_read(server: WebServer) -> None:
    data = zip_of(("a", b"x" * 9), ("b", LARGE * 2), ("c", b"the last"))
    noise = zipfile.ZipInfo("noise")
    buffer = io.BytesIO(data)
    with zipfile.ZipFile(buffer, "a") as zipped:
        zipped.writestr(noise, LARGE * 2)
    url = server.give("/a", Answer(buffer.getvalue(), ranges=True))
    with opened_remote(url, CLIENT) as remote, remote.open() as file, zipfile.ZipFile(file) as zipped:
        assert zipped.namelist() == ["a", "b", "c", "noise"]
        assert zipped.read("c") == b"the last"
    assert len(server.asked) <= 5


def test_blocks_are_read_once(server: WebServer) -> None:
    with opened_remote(server.give("/a", Answer(LARGE, ranges=True)), CLIENT) as remote, remote.open() as file:
        for offset in (BEGINNING + 5, BEGINNING + 900, 7, BEGINNING):
            file.seek(offset)
            assert file.read(100) == LARGE[offset : offset + 100]
        file.seek(0, io.SEEK_END)
        assert file.read(1) == b""
    assert [headers["Range"] for headers in server.headers] == [
        "bytes=0-1048575",
        "bytes=1048576-1051135",
        "bytes=0-262143",
    ]


def test_too_many_parts_are_refused(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_file, "_MOST_REQUESTS", 1)
    url = server.give("/a", Answer(LARGE, ranges=True))
    with opened_remote(url, CLIENT) as remote, remote.open() as file:
        file.read(10)
        file.seek(BEGINNING)
        with pytest.raises(DownloadError, match=r"/a: more than 1 parts are needed"):
            file.read(10)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(b"", ranges=True), r"/a: the file there has no byte 0; check the url"),
        (Answer(b""), r"/a: the file there is empty; check the url"),
        (Answer(b"<!DOCTYPE html><p>Log in"), r"/a: an HTML page, not a corpus: 'Log in'; check the url"),
        (Answer(b"x", 404), r"/a: status 404 Not Found"),
        (Answer(LARGE, ranges=True, claim="bytes 5-9/10"), r"/a: requested bytes from 0, got 'bytes 5-9/10'"),
        (Answer(LARGE, ranges=True, claim="bytes 0-9/*"), r"/a: requested bytes from 0, got 'bytes 0-9/\*'"),
        (Answer(LARGE, length=10_000_000), r"/a: larger than the maximum of 5,000,000 bytes"),
    ],
)
def test_files_that_cannot_be_read(server: WebServer, answer: Answer, message: str) -> None:
    limits = LIMITS.model_copy(update={"max_file_bytes": 5_000_000})
    with pytest.raises(DownloadError, match=message), opened_remote(server.give("/a", answer), Client(limits)):
        pass


def test_a_connection_that_ends_early(server: WebServer) -> None:
    url = server.give("/a", Answer(b"abc" * 100, cut=20))
    message = r"/a: the connection ended after 20 of 300 bytes; try again later"
    with pytest.raises(TransientError, match=message), opened_remote(url, CLIENT):
        pass


def test_a_stop_ends_a_request(server: WebServer) -> None:
    stop = Stop()
    url = server.give("/a", Answer(b"abc", ranges=True, waits_for=stop.now))
    with pytest.raises((FetchStoppedError, TransientError)), opened_remote(url, Client(LIMITS, stop)):
        pass


def test_secrets_are_not_shown(server: WebServer) -> None:
    secret = server.url.replace("http://", "http://user:pa55@")
    server.give("/a?token=s3cret", b"abc")
    with opened_remote(f"{secret}/a?token=s3cret", CLIENT) as remote:
        assert remote.address == f"{server.url}/a?token=***"
