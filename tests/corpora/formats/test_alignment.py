"""Pair i stays pair i whatever the text contains; sides of different lengths are an error."""

from __future__ import annotations

import io
import json
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.corpora.formats.builders import read
from tests.corpora.formats.test_memories import tmx, unit

SEPARATORS = ["\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\0"]
FIELDS = {"fields": {"source": "s", "target": "t"}}


def sides(pairs: list[tuple[str, str]]) -> list[bytes]:
    return ["".join(f"{line}\n" for line in side).encode() for side in zip(*pairs, strict=True)]


def table(pairs: list[tuple[str, str]], delimiter: str, quote: str = "") -> bytes:
    return "".join(f"{quote}{s}{quote}{delimiter}{quote}{t}{quote}\n" for s, t in pairs).encode()


def jsonl(pairs: list[tuple[str, str]]) -> bytes:
    return "".join(json.dumps({"s": s, "t": t}, ensure_ascii=False) + "\n" for s, t in pairs).encode()


def parquet(pairs: list[tuple[str, str]]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"s": [s for s, _ in pairs], "t": [t for _, t in pairs]}), buffer)
    return buffer.getvalue()


def sgm(pairs: list[tuple[str, str]], side: int) -> bytes:
    segments = "\n".join(f'<seg id="{n}">{escape(pair[side])}</seg>' for n, pair in enumerate(pairs))
    return f'<doc docid="d">\n{segments}\n</doc>'.encode()


def packed(kind: str, pairs: list[tuple[str, str]]) -> tuple[list[bytes], dict[str, Any]]:
    if kind == "plain":
        return sides(pairs), {}
    if kind in ("tsv", "csv"):
        return [table(pairs, "\t" if kind == "tsv" else ",")], {}
    if kind == "sgm":
        return [sgm(pairs, 0), sgm(pairs, 1)], {}
    if kind == "tmx":
        return [tmx(*[unit(en=escape(s), zh=escape(t)) for s, t in pairs])], {}
    if kind == "po":
        return ["".join(f'msgid "{s}"\nmsgstr "{t}"\n\n' for s, t in pairs).encode()], {}
    return [jsonl(pairs) if kind == "jsonl" else parquet(pairs)], FIELDS


@pytest.mark.parametrize("kind", ["plain", "tsv", "csv", "sgm", "tmx", "jsonl", "parquet", "po"])
@pytest.mark.parametrize("separator", SEPARATORS)
def test_unusual_separators_do_not_end_a_line(tmp_path: Path, kind: str, separator: str) -> None:
    if kind == "tmx" and separator in "\r\x0b\x0c\x1c\x1d\x1e\0":
        pytest.skip("the format cannot hold this character")
    texts = ["".join(("abc"[:at], separator, "abc"[at:])) for at in range(4)]
    pairs = [(text, f"{number}") for number, text in enumerate(texts)]
    pairs += [(f"{number + 4}", text) for number, text in enumerate(texts)]
    contents, options = packed(kind, pairs)
    found = (
        read(tmp_path, kind, *contents, crlf="keep", **options)
        if kind in ("plain", "tsv", "csv")
        else read(tmp_path, kind, *contents, **options)
    )
    assert found == pairs
    if kind == "plain":
        assert len(found) == contents[0].count(b"\n")
