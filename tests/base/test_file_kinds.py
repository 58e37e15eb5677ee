from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from nmt_prep.base.file_kinds import file_kind, mismatch

HTML = b"\n<!DOCTYPE html><html><title>404 Not Found</title>"
TMX = b'<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">\n'


@pytest.mark.parametrize(
    ("content", "format", "words"),
    [
        (gzip.compress(b"text", mtime=0), "", "a file compressed with gzip"),
        (b"PAR1\x15\x04", "parquet", "Parquet"),
        (b"\xde\x12\x04\x95\0\0", "", "a gettext MO catalog (msgunfmt converts it to a PO file)"),
        (b"PK\x03\x04", "", "a zip archive"),
        ("a line\n".encode("utf-16"), "", "UTF-16 text"),
        (HTML, "", "an HTML page, such as a server's error page"),
        (TMX, "tmx", "TMX"),
        (b"\xef\xbb\xbf" + TMX, "tmx", "TMX"),
        (b'<srcset setid="x" srclang="any">', "sgm", "SGM"),
        (b'<?xml version="1.0"?><feed/>', "", "XML"),
        (b'{"en": "a", "zh": "b"}\n{"en"', "jsonl", "JSON lines"),
        (b"a\tb\nc\td\nrest", "tsv", "columns between tabs (TSV)"),
    ],
)
def test_kinds(tmp_path: Path, content: bytes, format: str, words: str) -> None:  # noqa: A002 - the key's word
    path = tmp_path / "x"
    path.write_bytes(content)
    found = file_kind(path)
    assert found is not None
    assert (found.format, found.words) == (format, words)


@pytest.mark.parametrize("content", [b"", b"a line\nanother\n", b"< 5 is less\n", b"{x}\n", b"a\tb\nno tab\n"])
def test_lines_of_text_look_like_nothing_else(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    assert file_kind(path) is None
    assert file_kind(tmp_path / "missing") is None


def test_mismatch(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(TMX)
    assert mismatch(path, "tsv", "utf-8") == "it looks like TMX, not tsv: set format to tmx"
    assert mismatch(path, "tmx", "utf-8") == ""
    path.write_bytes(HTML)
    assert mismatch(path, "plain", "utf-8") == (
        "it looks like an HTML page, such as a server's error page, not plain: check that url and the member name the "
        "right file"
    )
    path.write_bytes("a\n".encode("utf-16"))
    assert mismatch(path, "plain", "utf-8") == "it looks like UTF-16 text: set encoding to utf-16"
    assert mismatch(path, "plain", "utf-16-le") == ""
