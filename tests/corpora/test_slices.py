"""Files read in slices give the same pairs as when they are read as a whole."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.base import digests
from nmt_prep.base.errors import CorpusError
from nmt_prep.corpora import Reader, open_corpus, reader_of, slices
from nmt_prep.corpora.slices import LineIndex, LineStart, count_range, cut, line_slice
from nmt_prep.text import chunks
from nmt_prep.text.chunks import one_byte_newlines
from tests.conftest import examples
from tests.corpora.formats.builders import LANGUAGES, corpus, write

MARK = codecs.BOM_UTF8


@contextmanager
def sizes(step: int, steps_per_slice: int = 2, steps_per_range: int = 3, block: int = 1 << 20) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digests, "STEP_BYTES", step)
        patch.setattr(slices, "SLICE_BYTES", step * steps_per_slice)
        patch.setattr(slices, "COUNT_BYTES", step * steps_per_range)
        patch.setattr(chunks, "BLOCK_BYTES", block)
        yield


def index_of(path: Path, quote: bytes = b"", encoding: str = "utf-8") -> LineIndex:
    size, told = path.stat().st_size, Counter[str]()
    ranges = [
        count_range(
            path,
            start,
            min(start + slices.COUNT_BYTES, size),
            encoding,
            quote,
            lambda count: told.update(bytes=count),
        )
        for start in range(0, size, slices.COUNT_BYTES)
    ]
    assert told["bytes"] == size
    return LineIndex.of(size, ranges)


def read(readers: list[Reader]) -> tuple[list[tuple[str, str, int]], Counter[str], str]:
    """Returns the pairs with their faults, the counts of altered text, and the error that ended reading."""
    pairs: list[tuple[str, str, int]] = []
    error = ""
    try:
        for reader in readers:
            for batch in reader.pairs():
                faults = [0] * len(batch) if batch.faults is None else batch.faults.tolist()
                pairs += zip(batch.source.to_pylist(), batch.target.to_pylist(), faults, strict=True)
    except CorpusError as caught:
        error = f"{type(caught).__name__}: {caught}"
    return pairs, sum((reader.counts for reader in readers), Counter()), error


def both_ways(directory: Path, kind: str, contents: list[bytes], **options: Any) -> tuple[Any, Any, int]:
    """Returns the pairs read as a whole and in slices, and the number of slices (0 if the corpus cannot be divided)."""
    entry = corpus(kind, **options)
    files = write(directory, kind, *contents)
    whole = read([open_corpus(entry, [files], LANGUAGES)])
    quote = reader_of(kind).quote
    indices = {part: index_of(path, quote, entry.encoding) for part, path in files.items()}
    if len({index.lines for index in indices.values()}) > 1 or not all(index.apart for index in indices.values()):
        return whole, None, 0
    parts = [{part: line_slice(files[part], each) for part, each in bounds.items()} for bounds in cut(indices)]
    return whole, read([open_corpus(entry, [files], LANGUAGES, part) for part in parts]), len(parts)


def assert_same(whole: Any, sliced: Any) -> None:
    """Results agree up to the error; of several errors, slices may report one in an earlier line."""
    if not whole[2]:
        assert sliced == whole
    elif sliced[2] != whole[2]:
        first, second = (re.search(r":(\d+): ", error) for error in (sliced[2], whole[2]))
        assert first
        assert second
        assert int(first[1]) < int(second[1])


LINE = st.lists(st.sampled_from([b"a", "中".encode(), b"\r", b" ", b"\xff", b"0123456789", MARK]), max_size=5).map(
    b"".join
)
CLEAN = st.lists(st.sampled_from([b"a", "中".encode(), b"\r", b" ", b"0123456789", MARK]), max_size=5).map(b"".join)
SIZES = {"step": st.integers(4, 12), "steps_per_slice": st.integers(1, 3), "steps_per_range": st.integers(1, 4)}
POLICIES = {
    "invalid": st.sampled_from(["error", "drop"]),
    "crlf": st.sampled_from(["strip", "keep"]),
    "max_line_bytes": st.sampled_from([5, 12, 1000]),
}


def joined(lines: list[bytes], ended: bool, mark: bool) -> bytes:
    text = b"".join(line + b"\n" for line in lines)
    return MARK * mark + (text if ended else text[:-1])


@settings(max_examples=examples(150))
@given(
    pairs=st.lists(st.tuples(LINE, CLEAN), max_size=14),
    ended=st.tuples(st.booleans(), st.booleans()),
    mark=st.booleans(),
    block=st.integers(1, 40),
    cuts=st.fixed_dictionaries(SIZES),
    policy=st.fixed_dictionaries(POLICIES),
)
def test_plain(
    new_directory: Callable[[], Path],
    pairs: list[tuple[bytes, bytes]],
    ended: tuple[bool, bool],
    mark: bool,
    block: int,
    cuts: dict[str, int],
    policy: dict[str, Any],
) -> None:
    columns = [list(side) for side in zip(*pairs, strict=True)] or [[], []]
    # An empty last line without a newline does not count as a line, and neither does a lone byte order mark.
    contents = [
        joined(side, end or not (side and side[-1]) or side == [MARK], mark and side != [MARK])
        for side, end in zip(columns, ended, strict=True)
    ]
    with sizes(**cuts, block=block):
        whole, sliced, count = both_ways(new_directory(), "plain", contents, **policy)
        if sliced is None:
            assert "lines, but" in whole[2] or "not UTF-8" in whole[2]
        elif count:
            assert_same(whole, sliced)


@settings(max_examples=examples(150))
@given(
    kind=st.sampled_from(["tsv", "csv", "jsonl"]),
    rows=st.lists(st.lists(LINE, min_size=2, max_size=3), max_size=12),
    ended=st.booleans(),
    mark=st.booleans(),
    header=st.booleans(),
    quoted=st.integers(0, 3),
    block=st.integers(1, 40),
    cuts=st.fixed_dictionaries(SIZES),
    policy=st.fixed_dictionaries(POLICIES),
)
def test_one_file(
    new_directory: Callable[[], Path],
    kind: str,
    rows: list[list[bytes]],
    ended: bool,
    mark: bool,
    header: bool,
    quoted: int,
    block: int,
    cuts: dict[str, int],
    policy: dict[str, Any],
) -> None:
    options = dict(policy)
    if kind == "jsonl":
        lines = [b'{"e": "%b", "z": "%b"}' % tuple(row[:2]) if len(row) == 2 else b" " for row in rows]
        options["fields"] = {"source": "e", "target": "z"}
    else:
        between = b"\t" if kind == "tsv" else b","
        if kind == "csv" and rows and quoted:
            rows[len(rows) // 2][1] = [b'""', b'"x,y ""z"""', b'"'][quoted - 1]
        lines = [between.join(row) for row in rows]
        if header:
            lines.insert(0, between.join([b"one", b"two", b"three"]))
            options["columns"] = {"source": "two", "target": "one"}
    with sizes(**cuts, block=block):
        content = joined(lines, ended or not (lines and lines[-1].strip(MARK)), mark)
        whole, sliced, count = both_ways(new_directory(), kind, [content], **options)
        if sliced is None:
            assert kind == "csv"
            assert quoted == 3
        elif count:
            assert_same(whole, sliced)


def test_slices_of_two_files(tmp_path: Path) -> None:
    with sizes(step=4, steps_per_slice=2, steps_per_range=1):
        whole, sliced, count = both_ways(
            tmp_path, "plain", [b"a\nbb\nccc\ndddd\ne\nf", b"1234567\n\n\n9\n10\n11\n"], crlf="strip"
        )
        assert count == 3
        assert sliced == whole
        assert [pair[:2] for pair in sliced[0]] == [
            ("a", "1234567"), ("bb", ""), ("ccc", ""), ("dddd", "9"), ("e", "10"), ("f", "11"),
        ]  # fmt: skip
        indices = {"source": index_of(tmp_path / "a.en"), "target": index_of(tmp_path / "a.zh")}
        assert [{part: (first.line, end.line) for part, (first, end) in each.items()} for each in cut(indices)] == [
            {"source": (0, 1), "target": (0, 1)},
            {"source": (1, 5), "target": (1, 5)},
            {"source": (5, 6), "target": (5, 6)},
        ]


def test_a_line_longer_than_several_slices_belongs_to_one_slice(tmp_path: Path) -> None:
    with sizes(step=4, steps_per_slice=1):
        whole, sliced, count = both_ways(tmp_path, "plain", [b"a\n" + b"b" * 50 + b"\nc\n", b"1\n2\n3\n"])
    assert count == 2
    assert sliced == whole


@pytest.mark.parametrize("slice_bytes", [4, 8, 1 << 20])
def test_errors_name_the_line_and_the_byte_in_the_file(tmp_path: Path, slice_bytes: int) -> None:
    with sizes(step=4, steps_per_slice=slice_bytes // 4):
        source = MARK + b"ok\n" * 9 + b"x\xff\n" + b"ok\n" * 9
        whole, sliced, _ = both_ways(tmp_path, "plain", [source, b"1\n" * 19])
        assert sliced[2] == whole[2]
        assert sliced[2].startswith(f"InvalidTextError: {tmp_path / 'a.en'}:10: not UTF-8 at byte 31 of the file (ff:")
        _, sliced, _ = both_ways(tmp_path, "plain", [b"ok\n" * 9 + b"x\xff\n", b"1\n" * 10], encoding="gbk")
        assert sliced[2].startswith(f"InvalidTextError: {tmp_path / 'a.en'}:10: not GBK at byte 28 of the file (ff:")
        _, sliced, _ = both_ways(tmp_path, "tsv", [b"a\tb\n" * 9 + b"x\n"])
        assert f"{tmp_path / 'a.tsv'}:10: 1 column, but column 1" in sliced[2]
        fields = {"source": "e", "target": "z"}
        _, sliced, _ = both_ways(tmp_path, "jsonl", [b'{"e":"","z":""}\n' * 9 + b"{\n"], fields=fields)
        assert f"{tmp_path / 'a.jsonl'}:10: not JSON at column 2" in sliced[2]


@pytest.mark.parametrize(("content", "lines"), [(b"", 0), (MARK, 0), (MARK + b"\n", 1), (b"\n\na", 3), (b"a\n", 1)])
def test_lines_equal_those_of_the_reader(tmp_path: Path, content: bytes, lines: int) -> None:
    (tmp_path / "a").write_bytes(content)
    with sizes(step=4):
        assert index_of(tmp_path / "a").lines == lines
    assert len(read([open_corpus(corpus("plain"), [{"source": tmp_path / "a"}], LANGUAGES)])[0]) == lines


@pytest.mark.parametrize(
    ("content", "apart"),
    [(b'a,b\n"c",d\n', True), (b'"a\nb",c\n', False), (b'a,"b""c"\n"', False), (b'a,b\nc,"d', False), (b"", True)],
)
def test_slices_do_not_split_a_quoted_newline(tmp_path: Path, content: bytes, apart: bool) -> None:
    (tmp_path / "a").write_bytes(content)
    with sizes(step=4, steps_per_range=1):
        assert index_of(tmp_path / "a", b'"').apart is apart


def test_a_file_that_lost_lines_since_they_were_counted(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a\n")
    with pytest.raises(CorpusError, match=r"a changed while it was in use; run again with --force extract"):
        LineStart(line=2, seek=0, newlines=2).find(tmp_path / "a")


@pytest.mark.parametrize(
    "encoding", ["utf-8", "ascii", "iso8859-1", "cp1252", "koi8-r", "big5", "gbk", "cp932", "cp949"]
)
def test_a_byte_0a_is_a_newline_even_after_invalid_bytes(encoding: str) -> None:
    assert one_byte_newlines(encoding)
    decode = codecs.getdecoder(encoding)
    starts = [bytes([first]) for first in range(256)]
    starts += [start + bytes([second]) for start in starts for second in range(128, 256)]
    for start in starts:
        text = decode(start + b"\n", "nmt_prep.mark_as_invalid")[0]
        assert text[-1] == "\n"
        assert text.count("\n") == start.count(b"\n") + 1
    characters = "".join(chr(code) for code in range(11, 0x11000) if not 0xD800 <= code <= 0xDFFF)
    assert b"\n" not in characters.encode(encoding, "ignore")


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-32", "utf-7", "utf-8-sig", "cp037", "gb18030", "euc_jp", "hz"]
)
def test_other_encodings_are_not_divided(encoding: str) -> None:
    assert not one_byte_newlines(codecs.lookup(encoding).name)
