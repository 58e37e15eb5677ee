"""Random sequences of faults: the file is one that the server has, byte for byte, or there is a clear error."""

from __future__ import annotations

import gc
import itertools
import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from nmt_prep.base.errors import DownloadError
from tests.corpora.sources.fetching import Scene, sha256
from tests.server import Answer, WebServer

OLD = random.Random(1).randbytes(30_000)
NEW = random.Random(2).randbytes(30_000)
LONGER = random.Random(3).randbytes(40_000)
SHORTER = random.Random(4).randbytes(9_000)

VALIDATORS = {
    "etag": {"ETag": '"old"'},
    "date": {"Last-Modified": "Sat, 31 Jan 2026 11:00:00 GMT"},
    "both": {"ETag": '"old"', "Last-Modified": "Sat, 31 Jan 2026 11:00:00 GMT"},
    "weak": {"ETag": 'W/"old"'},
    "a weak date": {"Last-Modified": "Sat, 31 Jan 2026 12:00:00 GMT"},
    "none": {},
}
RESUMABLE = {"etag", "date", "both"}
CHANGED = {"ETag": '"new"', "Last-Modified": "Sat, 31 Jan 2026 12:00:00 GMT"}


@pytest.fixture(autouse=True)
def no_patience_with_stalls(server: WebServer, scene: Scene) -> None:
    scene.server = server


def old(headers: dict[str, str], **more: object) -> Answer:
    return replace(Answer(OLD, headers=headers, ranges=True), **more)  # type: ignore[arg-type]


def liar(body: bytes, headers: dict[str, str], claim: str | None, **more: object) -> Answer:
    """Answers with status 206 whatever the request."""
    extra = {"Content-Range": claim} if claim is not None else {}
    return replace(Answer(body, 206, {**headers, **extra}), **more)  # type: ignore[arg-type]


SECOND: dict[str, Callable[[dict[str, str]], Answer]] = {
    "the rest": lambda known: old(known),
    "all of it for a part": lambda known: Answer(OLD, headers=known),
    "a changed file": lambda known: Answer(NEW, headers=CHANGED, ranges=True),
    "a longer file": lambda known: Answer(LONGER, headers=CHANGED, ranges=True),
    "a shorter file": lambda known: Answer(SHORTER, headers=CHANGED, ranges=True),
    "another cut": lambda known: old(known, cut=500),
    "a cut in chunks": lambda known: Answer(OLD, headers=known, chunked=True, cut=17_000),
    "nothing": lambda known: old(known, cut=0),
    "a stall": lambda known: old(known, cut=100, stall=3600),
    "status 416": lambda known: Answer(b"", 416, {"Content-Range": "bytes */30000"}),
    "status 416 without a range": lambda known: Answer(b"sorry", 416),
    "status 429": lambda known: Answer(b"", 429, {"Retry-After": "3"}),
    "status 500": lambda known: Answer(b"oops", 500, {"Content-Type": "text/plain"}),
    "status 503": lambda known: Answer(b"", 503, {"Retry-After": "Sat, 31 Jan 2026 12:00:05 GMT"}),
    "too late a start": lambda known: old(known, claim="bytes 29000-29999/30000"),
    "too early a start": lambda known: old(known, claim="bytes 0-29999/30000"),
    "a wrong size": lambda known: old(known, claim="bytes 10000-29999/31000"),
    "an end before the start": lambda known: old(known, claim="bytes 10000-5000/30000"),
    "an end after the end": lambda known: old(known, claim="bytes 10000-30000/30000"),
    "no place": lambda known: old(known, claim=""),
    "a place in other units": lambda known: old(known, claim="lines 10-20/30"),
    "several places": lambda known: liar(b"--x", {"Content-Type": "multipart/byteranges; boundary=x"}, None),
    "a part of the rest": lambda known: liar(OLD[10_000:12_000], known, "bytes 10000-11999/30000"),
    "an earlier part": lambda known: liar(OLD[9_000:], known, "bytes 9000-29999/30000"),
    "a later part": lambda known: liar(OLD[11_000:], known, "bytes 11000-29999/30000"),
    "a part of another file": lambda known: liar(NEW[10_000:], CHANGED, "bytes 10000-29999/30000"),
    "a part with a length that is not its own": lambda known: liar(
        OLD[10_000:], known, "bytes 10000-29999/30000", length=7
    ),
    "more than all": lambda known: liar(OLD[10_000:] + b"more", known, "bytes 10000-29999/30000", chunked=True),
}


def diagonals(rows: Iterable[object], columns: Iterable[object], step: int) -> list[Any]:
    """Returns all pairs of a row and a column; those outside every ``step``-th diagonal are slow."""
    return [
        pytest.param(row, column, marks=[pytest.mark.slow] if (place + other) % step else [])
        for place, row in enumerate(rows)
        for other, column in enumerate(columns)
    ]


@pytest.mark.parametrize(("validator", "second"), diagonals(VALIDATORS, SECOND, step=3))
@pytest.mark.parametrize("first", ["cut", pytest.param("cut in chunks", marks=pytest.mark.slow)])
def test_a_file_arrives_after_two_faults(
    server: WebServer, scene: Scene, first: str, validator: str, second: str
) -> None:
    known = VALIDATORS[validator]
    begun = old(known, cut=10_000, chunked=first == "cut in chunks")
    fault = SECOND[second](known)
    honest = fault if fault.body in {NEW, LONGER, SHORTER} else old(known)
    url = server.give("/a.tgz", begun, fault, honest)
    content, error = scene.attempt(url, retries=3)
    if validator not in RESUMABLE and fault.status == 206:
        # A part that was not requested is not a transient fault: it may be of another file.
        assert (
            error == f"{url}: sent only a part of the file, although the whole file was requested; use another mirror"
        )
    else:
        assert error == ""
        assert content == honest.body


DATE = {"Last-Modified": "Sat, 31 Jan 2026 11:00:00 GMT"}


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ({"ETag": '"old"', **DATE}, DATE),
        ({"ETag": '"old"'}, {}),
        ({"ETag": '"old"'}, {"ETag": 'W/"old"'}),
        ({"ETag": '"old"', **DATE}, {"ETag": '"old"', "Last-Modified": "Sat, 31 Jan 2026 11:00:01 GMT"}),
        (DATE, {}),
        (DATE, {"ETag": '"new"', **DATE}),
    ],
)
def test_a_part_that_may_be_of_another_version(
    server: WebServer, scene: Scene, first: dict[str, str], then: dict[str, str]
) -> None:
    """The server ignores If-Range, and sends the rest of a new file of the same length."""
    part = liar(NEW[10_000:], then, "bytes 10000-29999/30000")
    url = server.give("/a.tgz", old(first, cut=10_000), part, Answer(NEW, headers=then))
    assert scene.attempt(url) == (NEW, "")
    assert len(server.asked) == 3


def test_the_date_may_be_missing_beside_an_etag(server: WebServer, scene: Scene) -> None:
    part = liar(OLD[10_000:], {"ETag": '"old"'}, "bytes 10000-29999/30000")
    url = server.give("/a.tgz", old({"ETag": '"old"', **DATE}, cut=10_000), part)
    assert scene.attempt(url) == (OLD, "")
    assert len(server.asked) == 2


@pytest.mark.parametrize("etag", [{}, {"ETag": 'W/"old"'}])
@pytest.mark.parametrize(
    ("modified", "date", "resumes"),
    [
        ("Sat, 31 Jan 2026 11:00:00 GMT", "Sat, 31 Jan 2026 11:00:01 GMT", True),
        ("Sat, 31 Jan 2026 11:00:00 GMT", "Sat, 31 Jan 2026 11:00:00 GMT", False),
        ("Sat, 31 Jan 2026 11:00:00 GMT", "Sat, 31 Jan 2026 10:59:59 GMT", False),
        ("yesterday", "Sat, 31 Jan 2026 11:00:00 GMT", False),
        ("Sat, 31 Jan 2026 11:00:00 GMT", "", False),
    ],
)
def test_only_a_date_that_is_a_second_old_validates_a_part(
    server: WebServer, scene: Scene, etag: dict[str, str], modified: str, date: str, resumes: bool
) -> None:
    """Within one second a file can change twice, and keep its date. Beside a weak ETag no date counts."""
    resumes = resumes and not etag
    known = {**etag, "Last-Modified": modified, "Date": date}
    url = server.give("/a.tgz", old(known, cut=10_000), Answer(NEW, headers=known, ranges=True))
    content, error = scene.attempt(url)
    assert error == ""
    assert content == (OLD[:10_000] + NEW[10_000:] if resumes else NEW)
    assert ("Range" in server.headers[1]) is resumes


@pytest.mark.parametrize(("cut", "second"), diagonals([1, 9_999, 10_000, 29_999], SECOND, step=2))
def test_with_a_checksum_only_that_file_is_accepted(server: WebServer, scene: Scene, cut: int, second: str) -> None:
    known = VALIDATORS["date"]
    fault = SECOND[second](known)
    url = server.give("/a.tgz", old(known, cut=cut), fault, old(known), old(known))
    content, error = scene.attempt(url, expected=sha256(OLD), retries=4)
    if fault.body in {NEW, LONGER, SHORTER}:
        assert f"expected SHA-256 {sha256(OLD)}, found" in error
    else:
        assert content == OLD


@pytest.mark.parametrize("second", SECOND)
def test_a_permanent_fault_ends_the_fetch(server: WebServer, scene: Scene, second: str) -> None:
    known = VALIDATORS["etag"]
    fault = SECOND[second](known)
    url = server.give("/a.tgz", old(known, cut=10_000), fault)
    content, error = scene.attempt(url, retries=2)
    assert len(server.asked) <= 5
    assert content in {OLD, NEW, LONGER, SHORTER} or error.startswith(f"{url}: ")


@pytest.mark.parametrize("seed", [*range(15), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(15, 60))])
def test_random_faults(server: WebServer, scene: Scene, seed: int) -> None:
    draw = random.Random(seed)
    known = VALIDATORS[draw.choice(["etag", "both", "weak", "none"])]
    honest = [name for name in SECOND if name not in {"a changed file", "a longer file", "a shorter file"}]
    script = [SECOND[draw.choice(honest)](known) for _ in range(draw.randrange(1, 5))]
    cuts = [old(known, cut=draw.randrange(len(OLD))) for _ in range(draw.randrange(3))]
    both = [*script, *cuts]
    draw.shuffle(both)
    url = server.give("/a.tgz", *both, old(known))
    for _ in range(3):  # run it again, as a user would
        content, error = scene.attempt(url, retries=draw.randrange(8))
        assert content == OLD or error.startswith(f"{url}: ")


@pytest.mark.parametrize(("claimed", "sent"), [*itertools.product([0, 1, 29_999, 30_001, 10**15], [0, 1, 30_000])])
def test_a_wrong_content_length(server: WebServer, scene: Scene, claimed: int, sent: int) -> None:
    url = server.give("/a.tgz", Answer(OLD, length=claimed, cut=sent))
    with pytest.raises(DownloadError, match=r"ended after \d+ of|larger than the maximum|is empty|expected SHA-256"):
        scene.fetch(url, expected=sha256(OLD), retries=1)


@pytest.mark.filterwarnings("ignore:.*socket.socket")  # urllib3 leaves such a connection to the garbage collector
@pytest.mark.parametrize("length", ["", "-1", "30000, 5", "abc", "+30000", "0x10", " "])
def test_an_invalid_content_length(server: WebServer, scene: Scene, length: str) -> None:
    url = server.give("/a.tgz", Answer(OLD, length=None, headers={"Content-Length": length}))
    with pytest.raises(DownloadError, match=r"does not send the length of the file|the answer is not HTTP"):
        scene.fetch(url, retries=0)
    gc.collect()
