from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.artefacts import point_to
from nmt_prep.base.digests import DigestCache, StepRange, sha256_of
from nmt_prep.base.errors import AlignmentError, CorpusError
from nmt_prep.base.sides import SIDES
from nmt_prep.corpora import Fault, PairBatch, iter_pairs, open_corpus, parts, row_groups
from nmt_prep.corpora.formats import plain as line_parts
from nmt_prep.corpora.formats.plain import LineGroup, LinePart, TextFile
from nmt_prep.corpora.parts import PairFile, write_line_parts, write_parts
from nmt_prep.corpora.reader import numbered
from nmt_prep.text import chunks
from tests.corpora.formats import builders
from tests.corpora.formats.builders import read, reader
from tests.reference import corpora as reference


def test_pairs(tmp_path: Path) -> None:
    assert read(tmp_path, "plain", b"a\n\nc", "一\n二\n三\n".encode()) == [("a", "一"), ("", "二"), ("c", "三")]


def test_empty_files(tmp_path: Path) -> None:
    assert read(tmp_path, "plain", b"", b"") == []


@given(
    pairs=st.lists(st.tuples(st.text("ab中\r", max_size=9), st.text("x\x85", max_size=30))), block=st.integers(1, 40)
)
def test_sides_of_different_lengths_stay_paired(
    new_directory: Callable[[], Path], pairs: list[tuple[str, str]], block: int
) -> None:
    sides = [("".join(f"{line}\n" for line in side)).encode() for side in zip(*pairs, strict=True)] or [b"", b""]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "BLOCK_BYTES", block)
        found = read(new_directory(), "plain", *sides, crlf="keep")
    assert found == list(zip(*map(reference.lines, sides), strict=True)) == pairs


@pytest.mark.parametrize("block", [3, 1 << 20])
@pytest.mark.parametrize("surplus", [-10, -2, -1, 1, 2])
def test_unequal_line_counts(tmp_path: Path, surplus: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "BLOCK_BYTES", block)
    with pytest.raises(AlignmentError) as caught:
        read(tmp_path, "plain", b"ab\n" * 10, b"xyz\n" * (10 + surplus))
    assert str(caught.value) == (
        f"{tmp_path / 'a.en'} has 10 lines, but {tmp_path / 'a.zh'} has {10 + surplus}; line i of both makes a pair: "
        "check that the files belong together and are complete"
    )


def test_reading_one_side_does_not_open_the_other(tmp_path: Path) -> None:
    opened = reader(tmp_path, "plain", b"a\nb\n", b"\xff")
    assert [array.to_pylist() for array in opened.lines("source")] == [["a", "b"]]
    assert opened.text_files("source") == [tmp_path / "a.en"]


LINE = st.sampled_from(["", "a", "bc\r", "\r", "é" * 9, "longer than the others " * 2, "\u3000"])
STEP = 16


def steps_of(path: Path) -> StepRange:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nmt_prep.base.digests.STEP_BYTES", STEP)
        steps = DigestCache(path.parent).steps(path)
    return steps.of_range(0, steps.size)


def written(
    directory: Path, *, has_rows: bool = False, swap: bool = False, **options: Any
) -> tuple[list[PairFile], ...]:
    """Writes the pairs of the files ``a.en`` and ``a.zh`` without empty sides in both ways."""
    names = dict(zip(SIDES, ("a.en", "a.zh"), strict=True))
    corpus = builders.corpus("plain", swap=swap, **options)
    reader = open_corpus(corpus, [{side: directory / name for side, name in names.items()}], builders.LANGUAGES)
    batches = [batch for batch in (_sound(batch) for batch in numbered(reader.pairs(), 5)) if len(batch)]
    files = {}
    for side, name in zip(SIDES, reversed(names.values()) if swap else names.values(), strict=True):
        assert point_to(directory / name, directory / "inputs" / name)
        files[side] = TextFile(f"../inputs/{name}", steps_of(directory / name))
    strip = corpus.crlf == "strip"
    named = write_line_parts(batches, "c", directory / "s", "named", files, has_rows=has_rows, strip_returns=strip)
    copied = [batch if has_rows else replace(batch, rows=None) for batch in batches]
    return named, write_parts(copied, "c", directory / "s", "copied")


def _sound(batch: PairBatch) -> PairBatch:
    sound = batch.sound()
    return sound.filter(np.array([bool(a.strip() and b.strip()) for a, b in zip(*_text(sound), strict=True)], np.bool_))


def _text(batch: PairBatch) -> tuple[list[str], list[str]]:
    return batch.source.to_pylist(), batch.target.to_pylist()


@given(
    lines=st.lists(st.tuples(LINE, LINE), max_size=40),
    ends=st.tuples(st.booleans(), st.booleans()),
    mark=st.booleans(),
    sizes=st.sampled_from([(1, 1, 1), (20, 50, 1 << 20), (60, 100, 40), (1 << 20, 1 << 20, 1 << 20)]),
    options=st.fixed_dictionaries(
        {"has_rows": st.booleans(), "swap": st.booleans(), "crlf": st.sampled_from(["strip", "keep"])},
        optional={"max_line_bytes": st.integers(1, 30)},
    ),
)
def test_parts_are_read_as_those_with_a_copy(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[tuple[str, str]],
    ends: tuple[bool, bool],
    mark: bool,
    sizes: tuple[int, int, int],
    options: dict[str, Any],
) -> None:
    directory = tmp_path_factory.mktemp("parts")
    for name, side, ended in zip(("a.en", "a.zh"), zip(*lines, strict=True) if lines else ((), ()), ends, strict=True):
        content = "\ufeff" * mark + "".join(f"{line}\n" for line in side)
        if not ended and side and side[-1]:
            content = content[:-1]
        (directory / name).write_bytes(content.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "ROW_GROUP_BYTES", sizes[0])
        patch.setattr(parts, "PART_BYTES", sizes[1])
        patch.setattr(chunks, "BLOCK_BYTES", 24)
        if sizes[2] < 1 << 20:
            patch.setattr(line_parts, "LARGEST_GROUP", sizes[2])
        named, copied = written(directory, **options)
    rows = [
        [row for part in listed for batch in iter_pairs(directory / "s" / part.file) for row in batch.to_pylist()]
        for listed in (named, copied)
    ]
    assert rows[0] == rows[1]
    for part in named:
        assert part.sha256 == sha256_of(directory / "s" / part.file)
    if sizes[2] == 1 << 20:
        assert [(part.pairs, part.bytes) for part in named] == [(part.pairs, part.bytes) for part in copied]
        paths = [(directory / "s" / a.file, directory / "s" / b.file) for a, b in zip(named, copied, strict=True)]
        for a, b in paths:
            assert row_groups(a) == row_groups(b)
            numbers = [*reversed(range(len(row_groups(a)))), 0]
            assert list(iter_pairs(a, numbers)) == list(iter_pairs(b, numbers))
            assert list(iter_pairs(a, columns=["target", "corpus"])) == list(
                iter_pairs(b, columns=["target", "corpus"])
            )


def small_part(directory: Path) -> Path:
    (directory / "a.en").write_bytes(b"one\ntwo\n\nfour and more\n")
    (directory / "a.zh").write_bytes(b"1\n2\n3\n4\n")
    [part], _ = written(directory)
    return directory / "s" / part.file


def test_literal_content(tmp_path: Path) -> None:
    path = small_part(tmp_path)
    part = LinePart.load(path)
    assert part.groups == (LineGroup(3, 5, (0, 23), (0, 8), (2, 1)),)
    assert (part.corpus, part.has_rows, part.strip_returns, part.format) == ("c", False, True, 1)
    assert part.source.file == "../inputs/a.en"
    assert (part.source.steps.first, len(part.source.steps.hashes)) == (0, 2)
    assert [row for batch in iter_pairs(path) for row in batch.to_pylist()] == [
        {"source": "one", "target": "1", "corpus": "c"},
        {"source": "two", "target": "2", "corpus": "c"},
        {"source": "four and more", "target": "4", "corpus": "c"},
    ]
    assert part.groups[0].rows().tolist() == [5, 6, 8]


def test_lines_that_are_left_out_do_not_make_groups_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_parts, "LARGEST_GROUP", 100)
    (tmp_path / "a.en").write_bytes(b"a\n" + b"x" * 500 + b"\nb\n" + b"\n" * 300 + b"c\nd\n")
    (tmp_path / "a.zh").write_bytes(b"1\n" * 305)
    [part], _ = written(tmp_path, max_line_bytes=10)
    groups = LinePart.load(tmp_path / "s" / part.file).groups
    assert [(group.pairs, group.source) for group in groups] == [(1, (0, 2)), (1, (503, 505)), (2, (805, 809))]


def test_a_file_that_changed(tmp_path: Path) -> None:
    path = small_part(tmp_path)
    for content in (b"one\ntwo\n\nfour and More\n", b"one\ntwo\n\nfour", b""):
        (tmp_path / "a.en").write_bytes(content)
        with pytest.raises(CorpusError, match=r"a\.en changed while it was in use; run again with --verify"):
            list(iter_pairs(path))
    assert [batch.column("target").to_pylist() for batch in iter_pairs(path, columns=["target"])] == [["1", "2", "4"]]


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    path = small_part(tmp_path)
    (tmp_path / "a.zh").unlink()
    with pytest.raises(
        CorpusError,
        match=rf"cannot read {tmp_path}/a\.zh, .* in place: No such file .*; put it back, then run again",
    ):
        list(iter_pairs(path))
    (tmp_path / "inputs" / "a.en").unlink()
    with pytest.raises(CorpusError, match=r"cannot read .*inputs/a\.en, which is read"):
        list(iter_pairs(path))
    assert row_groups(path) == [3]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "it has format 2, and this version of nmt_prep reads 1"),
        ({"corpus": 5}, "corpus: Input should be a valid string"),
        ({"groups": [{"pairs": 5, "row": 0, "source": [0, 23], "target": [0, 8]}]}, "other lines than expected"),
    ],
)
def test_a_damaged_part(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = small_part(tmp_path)
    path.write_text(json.dumps(json.loads(path.read_bytes()) | change), encoding="utf-8")
    with pytest.raises(CorpusError, match=rf"cannot read the compiled part .*named-00000\.json: .*{message}"):
        list(iter_pairs(path))


def test_a_line_of_2_gib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(parts, "LARGEST_COLUMN", 9)
    lines = pa.array(["0123456789"], pa.large_string())
    batch = PairBatch(lines, lines, rows=np.zeros(1, np.int64), places=np.array([[0, 11, 0, 11]]))
    with pytest.raises(CorpusError, match="corpus c: a line has 2 GiB or more"):
        write_line_parts([batch], "c", tmp_path, "p", {}, has_rows=False, strip_returns=False)


def test_faults_keep_their_places(tmp_path: Path) -> None:
    reader = builders.reader(tmp_path, "plain", b"a\nbad \xff\nc\n", b"1\n2\n3\n", invalid="drop")
    batches = list(reader.pairs())
    faults = [fault for batch in batches for fault in (np.zeros(1) if batch.faults is None else batch.faults).tolist()]
    assert faults == [0, Fault.INVALID_TEXT, 0]
    places = [place for batch in batches for place in (() if batch.places is None else batch.places.tolist())]
    assert places == [[0, 2, 0, 2], [2, 8, 2, 4], [8, 10, 4, 6]]
