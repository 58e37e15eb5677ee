from __future__ import annotations

import gzip
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.errors import AlignmentError, CorpusError, InvalidTextError
from nmt_prep.corpora import PairBatch, Reader
from nmt_prep.corpora.registry import column_files
from nmt_prep.corpora.scores import ColumnLines, column_of, score_of, with_columns
from nmt_prep.corpora.slices import LineStart
from tests.corpora.formats.builders import corpus, reader
from tests.corpora.formats.test_memories import tmx, unit
from tests.corpora.formats.test_parquet import parquet

ENDS = {"source": "en", "target": "zh"}


def scores_in(opened: Reader) -> dict[str, list[float | None]]:
    """Returns the scores of all pairs, with those that have a fault."""
    found: dict[str, list[float | None]] = {}
    for batch in opened.pairs():
        for key, values in batch.columns.items():
            assert values.type == pa.float64()
            found.setdefault(key.removeprefix("scores."), []).extend(values.to_pylist())
    return found


def test_tsv_columns_by_number(tmp_path: Path) -> None:
    content = b"0.5\tq\ta\tb\n1e-3 \t\tc\td\n\t-2\tc\td\n"
    opened = reader(tmp_path, "tsv", content, columns={"source": 2, "target": 3}, scores={"s": {"at": 0}})
    assert scores_in(opened) == {"s": [0.5, 0.001, None]}


def test_a_score_given_by_name_makes_the_first_line_the_header(tmp_path: Path) -> None:
    content = b"source\ttarget\tb\ta\nx\ty\t1\t2\n"
    scores = {"second": {"at": "b"}, "first": {"at": "a"}, "third": {"at": 2}}
    opened = reader(tmp_path, "tsv", content, scores=scores)
    assert scores_in(opened) == {"first": [2.0], "second": [1.0], "third": [1.0]}
    assert [*next(iter(opened.pairs())).columns] == ["scores.first", "scores.second", "scores.third"]


def test_csv_with_and_without_quotes(tmp_path: Path) -> None:
    content = b'en,zh,s\na,b,1\n"c\n",d,"2"\ne,f,\n'
    opened = reader(tmp_path, "csv", content, columns=ENDS, scores={"s": {"at": "s"}})
    assert scores_in(opened) == {"s": [1.0, 2.0, None]}
    opened = reader(tmp_path, "csv", b"a,b,1\nc,d,\n", scores={"s": {"at": 2}})
    assert scores_in(opened) == {"s": [1.0, None]}


def test_jsonl_numbers_texts_nulls_and_absent_fields(tmp_path: Path) -> None:
    rows = ['{"s": 1}', "", '{"s": 0.25}', '{"s": "3e2"}', '{"s": null}', "{}", "null"]
    content = "\n".join(row and f'{{"en": "a", "zh": "b", "m": {row}}}' for row in rows).encode()
    opened = reader(tmp_path, "jsonl", content, fields=ENDS, scores={"s": {"at": "m.s"}})
    assert scores_in(opened) == {"s": [1.0, None, 0.25, 300.0, None, None, None]}


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, None, 3], pa.int16()),
        pa.array([1.0, None, 3.0], pa.float32()),
        pa.array(["1", "", "3"]),
        pa.array(["1", None, "3.0"]).dictionary_encode(),
    ],
)
def test_parquet_columns(tmp_path: Path, values: pa.Array) -> None:
    content = parquet(en=["a"] * 3, zh=["b"] * 3, s=values)
    opened = reader(tmp_path, "parquet", content, fields=ENDS, scores={"s": {"at": "s"}})
    assert scores_in(opened) == {"s": [1.0, None, 3.0]}


def test_parquet_nested_columns(tmp_path: Path) -> None:
    rows = [{"s": 0.5}, None, {"s": None}]
    content = parquet(en=["a"] * 3, zh=["b"] * 3, meta=rows)
    opened = reader(tmp_path, "parquet", content, fields=ENDS, scores={"s": {"at": "meta.s"}})
    assert scores_in(opened) == {"s": [0.5, None, None]}


def test_tmx_properties_of_units(tmp_path: Path) -> None:
    other = '<prop type="score-aligner">9</prop><note>8</note>'
    inner = '<tuv xml:lang="en"><prop type="score-bicleaner">7</prop><seg>c</seg></tuv>'
    content = tmx(
        f'{other}<prop type="score-bicleaner"> 0.75 </prop>{unit(en="a", zh="b")}',
        f'<prop type="score-bicleaner">0.5</prop>{inner}{unit(zh="d")}',
        f"{inner}{unit(zh='d')}",
    )
    scores = {"b": {"at": "prop:score-bicleaner"}, "again": {"at": "prop:score-bicleaner"}}
    opened = reader(tmp_path, "tmx", content, scores={**scores, "a": {"at": "prop:score-aligner"}}, swap=True)
    assert scores_in(opened) == {"a": [9.0, None, None], "b": [0.75, 0.5, None], "again": [0.75, 0.5, None]}


TSV = b"a\tb\t1\nc\td\t0,5\n"


@pytest.mark.parametrize(
    ("kind", "content", "options", "message"),
    [
        ("tsv", TSV, {"at": 2}, r"a\.tsv:2: scores\.s: found '0,5', which is not a number; fix it, leave it empty"),
        ("tsv", b"a\tb\tNaN\n", {"at": 2}, r"a\.tsv:1: scores\.s: found 'NaN', which is not a number"),
        ("tsv", b"a\tb\t1\nc\td\n", {"at": 2}, r"a\.tsv:2: 2 columns, but column 2 \(counted from 0\) is needed"),
        ("tsv", b"x\ty\tz\n", {"at": "zz"}, r"a\.tsv:1: no column named 'zz' \(it has 'z'\); correct scores\.s in the"),
        ("csv", b'a,b,"x"\n', {"at": 2}, r"a\.csv:1: scores\.s: found 'x', which is not a number"),
        ("csv", b"a,b,1\nc,d,0x10\n", {"at": 2}, r"a\.csv:2: scores\.s: found '0x10', which is not a number"),
        ("jsonl", b'{"en": "a", "zh": "b", "s": NaN}', {"at": "s"}, r"a\.jsonl:1: scores\.s: found nan, which"),
        ("jsonl", b'{"en": "a", "zh": "b", "s": true}', {"at": "s"}, r"a\.jsonl:1: scores\.s: found True, which"),
        ("jsonl", b'\n{"en": "a", "zh": "b", "s": 1}', {"at": "s.x"}, r"a\.jsonl:2: scores\.s: the field s is not an"),
        (
            "parquet",
            parquet(en=["a"] * 2, zh=["b"] * 2, s=[1.0, math.nan]),
            {"at": "s"},
            r"a\.parquet, row 1: scores\.s: found nan",
        ),
        (
            "parquet",
            parquet(en=["a"], zh=["b"]),
            {"at": "s"},
            r"there is no field 's' .*correct scores\.s in the config",
        ),
        ("parquet", parquet(en=["a"], zh=["b"], s=[True]), {"at": "s"}, "the field 's' is bool, not numbers"),
        (
            "tmx",
            tmx(f'<prop type="p">high</prop>{unit(en="a", zh="b")}'),
            {"at": "prop:p"},
            r"a\.tmx:4: scores\.s: found 'high', which is not a number",
        ),
    ],
)
def test_what_is_no_number(tmp_path: Path, kind: str, content: bytes, options: dict[str, Any], message: str) -> None:
    fields = {"fields": ENDS} if kind in ("jsonl", "parquet") else {}
    with pytest.raises(CorpusError, match=message):
        scores_in(reader(tmp_path, kind, content, scores={"s": options}, **fields))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1.0),
        (" 1.\r", 1.0),
        (".5", 0.5),
        ("+2", 2.0),
        ("-1E+3", -1000.0),
        ("inf", math.inf),
        ("", None),
        ("\t", None),
    ],
)
def test_numbers(text: str, number: float | None) -> None:
    assert score_of(text, "s", "f:1") == number
    for others in ([], ["+1"]):  # Arrow parses the column, or Python
        assert column_of(pa.array([text, *others]), "scores.s", str)[:1].to_pylist() == [number]


@pytest.mark.parametrize(
    "text", ["nan", "NaN", "-nan", "nan(1)", "1_0", "1 2", "0x1", "1,5", "\u0661", "null", "--1", "1e"]
)
def test_no_numbers(text: str) -> None:
    with pytest.raises(CorpusError, match=r"^f:1: scores\.s: found "):
        score_of(text, "s", "f:1")
    for others in ([], ["+1"]):
        with pytest.raises(CorpusError, match=r"^0: scores\.s: found "):
            column_of(pa.array([text, *others]), "scores.s", str)


@given(st.floats(allow_nan=False))
def test_both_parsers_give_the_same_bits(number: float) -> None:
    text = repr(number)
    assert repr(score_of(text, "s", "")) == repr(number)
    assert repr(column_of(pa.array([text]), "scores.s", str).to_pylist()) == repr([number])


@pytest.mark.parametrize("value", [10**400, 2**1023])
def test_large_integers(value: int) -> None:
    assert score_of(value, "s", "") == (math.inf if value == 10**400 else 2.0**1023)


def batches(*sizes: int) -> list[PairBatch]:
    return [PairBatch(*[pa.array(["a"] * size, pa.large_string())] * 2) for size in sizes]


def lines_of(path: Path, *sizes: int, start: LineStart | None = None, last: bool = True) -> list[list[float | None]]:
    read = with_columns(iter(batches(*sizes)), [ColumnLines("scores.s", path, start)], last=last)
    return [batch.columns["scores.s"].to_pylist() for batch in read]


def test_line_i_of_a_file_is_the_score_of_row_i(tmp_path: Path) -> None:
    path = tmp_path / "s.txt"
    path.write_bytes(b"\xef\xbb\xbf1\r\n\n3\n 4 \n5")
    assert lines_of(path, 2, 0, 3) == [[1.0, None], [], [3.0, 4.0, 5.0]]
    assert lines_of(path, 1, 1, start=LineStart(2, 0, 2), last=False) == [[3.0], [4.0]]
    assert lines_of(path, start=LineStart(5, path.stat().st_size, 0)) == []


@pytest.mark.parametrize(("sizes", "rows"), [((2, 2), 4), ((1,), 1), ((), 0), ((1, 3, 2), 6), ((7,), 7)])
def test_unequal_numbers_of_lines(tmp_path: Path, sizes: tuple[int, ...], rows: int) -> None:
    path = tmp_path / "s.txt"
    path.write_bytes(b"1\n2\n3\n4\n5\n")
    message = rf"^scores\.s: .*s\.txt has 5 lines, but the corpus has {rows} rows; line i must be the value of row i"
    with pytest.raises(AlignmentError, match=message):
        lines_of(path, *sizes)


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (b"1\nx\n", CorpusError, r"s\.txt:2: scores\.s: found 'x', which is not a number"),
        (b"1\n" + b"1" * 70_000 + b"\n", CorpusError, r"s\.txt:2: scores\.s: a line has more than 65536 bytes; "),
        (b"1\n\xff\n", InvalidTextError, r"s\.txt:2: not UTF-8"),
        (gzip.compress(b"1\n2\n", mtime=0), InvalidTextError, r"s\.txt:1: not UTF-8"),
    ],
)
def test_bad_lines(tmp_path: Path, content: bytes, kind: type[Exception], message: str) -> None:
    path = tmp_path / "s.txt"
    path.write_bytes(content)
    with pytest.raises(kind, match=message):
        lines_of(path, 2)


def test_where_the_file_of_a_score_is() -> None:
    both = {"both": ("a.zip",)}
    found = column_files(corpus("plain", url=both, source="a", target="b", scores={"s": {"at": "x.scores"}}))
    assert found["scores.s"].model_dump() == {"at": None, "url": None, "sha256": None, "member": "x.scores"}
    found = column_files(corpus("plain", scores={"s": {"at": "x.scores.gz"}}))
    assert found["scores.s"].url == ("x.scores.gz",)
    assert column_files(corpus("tsv", scores={"s": {"at": "x"}, "t": {"at": 3}, "u": {"member": "x"}})).keys() == {
        "scores.u"
    }
    assert column_files(corpus("tmx", scores={"s": {"at": "prop:x"}, "t": {"at": "x"}})).keys() == {"scores.t"}
