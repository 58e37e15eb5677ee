from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.base.errors import CorpusError
from nmt_prep.training.batches.staged import FilePairs


def test_lines_without_links_have_none(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a b\tc\t0-0 1-0\nd\te\none\n\tx\t\nf\tg\t\nh\ti\t0-0\tmore\nlast\tline")
    pairs = FilePairs([tmp_path / "a.tsv"], None, 1)
    assert pairs.columns == ("links",)
    read = sorted(tuple(row.values()) for row in pairs.window(0, 0, 0).to_pylist())
    assert read == [("a b", "c", "0-0 1-0"), ("d", "e", ""), ("h", "i", "0-0"), ("last", "line", "")]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (None, [("a", "b"), ("c", "d")]),
        (2, [("a", "b"), ("c", "d")]),
        (3, "no line has 3 columns with text"),
        (4, "no line has 3 columns with text"),
    ],
)
def test_number_of_columns(tmp_path: Path, fields: int | None, expected: object) -> None:
    (tmp_path / "a.tsv").write_text("a\tb\nc\td\n\n")
    if isinstance(expected, str):
        with pytest.raises(CorpusError, match=expected):
            FilePairs([tmp_path / "a.tsv"], fields, 1)
        return
    pairs = FilePairs([tmp_path / "a.tsv"], fields, 1)
    assert pairs.columns == ()
    assert sorted(tuple(row.values()) for row in pairs.window(0, 0, 0).to_pylist()) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no line has 2 columns with text"),
        (b"\n", "no line has 2 columns with text"),
        (b"a\tb\nc\t\xff\n", "line 2 is not UTF-8"),
        (b"a\tb\t0-0\nskipped\nc\td\t1\n", "line 3: '1' in the third column are no links"),
    ],
)
def test_damaged_files(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.tsv").write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        FilePairs([tmp_path / "a.tsv"], None, 1)
