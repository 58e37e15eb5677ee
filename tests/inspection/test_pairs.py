from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.corpora import reader_of
from nmt_prep.inspection.pairs import closed_markup, make_readable

TMX = b'<?xml version="1.0"?><tmx><body><tu><tuv><seg>a</seg></tuv></tu><tu><x/><tuv><seg>b &amp; c'


@pytest.mark.parametrize(
    ("cut", "closed"),
    [
        (len(TMX), TMX[: TMX.index(b"<x/>") + 4] + b"</tu></body></tmx>"),
        (TMX.index(b"<x/>"), TMX[: TMX.index(b"</tu>") + 5] + b"</body></tmx>"),
        (TMX.index(b"</tu>") + 3, TMX[: TMX.index(b"</tuv>") + 6] + b"</tu></body></tmx>"),
        (TMX.index(b"</seg>"), None),
        (3, None),
    ],
)
def test_open_elements_are_closed(cut: int, closed: bytes | None) -> None:
    assert closed_markup(TMX[:cut]) == closed


@pytest.mark.parametrize(
    ("data", "closed"),
    [
        (b"<a><x/></a><", b"<a><x/></a>"),
        (b"<a><a/></a><", b"<a><a/></a>"),
        (b"<a><b>/></b></", b"<a><b>/></b></a>"),
        (b"<a><b c='/'></b></", b"<a><b c='/'></b></a>"),
        (b"<a><b/>", b"<a><b/></a>"),
    ],
)
def test_empty_elements(data: bytes, closed: bytes) -> None:
    assert closed_markup(data) == closed


@pytest.mark.parametrize(
    "data",
    [
        '<?xml version="1.0" encoding="utf-16"?><a><b></b>'.encode("utf-16"),
        b'<?xml version="1.0" encoding="no such"?><a><b></b>',
        b'<!DOCTYPE a [<!ENTITY b "c">]><a><b></b>',
        b"plain text",
    ],
)
def test_documents_that_cannot_be_closed(data: bytes) -> None:
    assert closed_markup(data) is None


@pytest.mark.parametrize(
    ("format_", "data", "made"),
    [
        ("plain", b"a\nb\nc", b"a\nb\n"),
        ("tsv", b"a\tb\nc", b"a\tb\n"),
        ("jsonl", b'{"a": 1}\n{', b'{"a": 1}\n'),
        ("tmx", b"<tmx><body></body>", b"<tmx><body></body></tmx>"),
        ("plain", b"no end of line", None),
        ("parquet", b"PAR1", None),
        ("sgm", b"<srcset>", None),
        ("po", b'msgid ""', None),
    ],
)
def test_the_beginning_of_a_format(tmp_path: Path, format_: str, data: bytes, made: bytes | None) -> None:
    path = tmp_path / "a"
    path.write_bytes(data)
    assert make_readable(path, reader_of(format_)) is (made is not None)
    if made is not None:
        assert path.read_bytes() == made
