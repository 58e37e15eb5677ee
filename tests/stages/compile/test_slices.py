"""Corpora compiled in slices give the same bytes as when they are compiled as a whole."""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base import digests
from nmt_prep.base.digests import sha256_of
from nmt_prep.base.errors import AlignmentError, CorpusError, InvalidTextError
from nmt_prep.config import Config
from nmt_prep.corpora import slices
from nmt_prep.pipeline.manifest import Workspace, read_manifest
from tests.corpus import corpus_config, tree, write_corpus
from tests.stages.compile.test_compile_stage import compiled, compiled_rows, plain
from tests.stages.runs import config_of, manifest, run


@contextmanager
def small_slices(slice_bytes: int = 64) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digests, "STEP_BYTES", 16)
        patch.setattr(slices, "SLICE_BYTES", slice_bytes)
        patch.setattr(slices, "COUNT_BYTES", 96)
        yield


def files_of(config: Config, split: str = "train") -> list[str]:
    return [part["file"] for part in manifest(config, "compile").details["parts"][split]]


def text(*words: str, times: int = 1) -> bytes:
    return "".join(f"{word}\n" for word in words * times).encode()


def test_records_are_the_same_byte_for_byte(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    whole, cut = corpus_config(tmp_path / "whole"), corpus_config(tmp_path / "cut")
    nmt_prep.run(whole, until="encode")
    with small_slices(1024):
        nmt_prep.run(cut, until="encode")
    assert len(list((tmp_path / "whole" / "compiled").rglob("*.parquet"))) == 2
    assert len(list((tmp_path / "cut" / "compiled").rglob("*.parquet"))) > 8
    # All of the records except the digest of their inputs, which include the parts.
    described = [json.loads((tmp_path / name / "records/dataset.json").read_bytes()) for name in ("whole", "cut")]
    fingerprints = {description.pop("config_fingerprint") for description in described}
    assert len(fingerprints) == 2
    assert described[0] == described[1]
    for name in ("whole", "cut"):
        (tmp_path / name / "records" / "dataset.json").unlink()
    for directory in ("sample", "vocab", "records"):
        assert tree(tmp_path / "whole" / directory) == tree(tmp_path / "cut" / directory)
    details = [read_manifest(Workspace(config.run_dir).manifest("compile")) for config in (whole, cut)]
    assert details[0] is not None
    assert details[1] is not None
    assert details[0].details["corpora"] == details[1].details["corpora"]
    assert details[0].counts == details[1].counts


@pytest.mark.parametrize("workers", [1, 3])
def test_parts_are_named_in_order_and_have_their_digests(tmp_path: Path, workers: int) -> None:
    small, large = text("a", "b"), text("one", "two", "three", "", "five", times=7)
    config = config_of(tmp_path, plain(tmp_path, "s", small, small), plain(tmp_path, "l", large, large))
    with small_slices():
        run(config, until="compile", workers=workers)
    assert files_of(config) == [
        "train/part-000-00000-00000.parquet",
        "train/part-001-00000-00000.json",
        "train/part-001-00001-00000.json",
        "train/part-001-00002-00000.json",
    ]
    files = manifest(config, "compile").files
    link = f"inputs/{hashlib.sha256(large).hexdigest()}"
    assert files == {name: sha256_of(config.run_dir / "compiled" / name) for name in (*files_of(config), link)}
    counts = manifest(config, "compile").details["corpora"]["train"]["l"]
    assert (counts["pairs_in"], counts["pairs_out"], counts["dropped"]["empty_both"]) == (35, 28, 7)
    assert counts["source_bytes"] == len(large)


def test_all_options_of_a_corpus_apply_to_slices(tmp_path: Path) -> None:
    lines = [f"line {number}\r" * (number % 5 != 1) for number in range(60)]
    source, target = b"\xef\xbb\xbf" + text(*lines), text(*reversed(lines))[:-1]
    pair = plain(tmp_path, "pair", source, target)
    (tmp_path / "t.tsv").write_bytes(b"".join(b"%d\tx%d\n" % (n, n) for n in range(90)))
    corpora = [
        {**pair, "swap": True, "max_line_bytes": 8},
        {"name": "mono", "url": {"target": "pair.zh"}, "role": "vocab", "crlf": "keep"},
        {**pair, "name": "vocab", "role": "vocab"},
        {"name": "table", "url": "t.tsv", "columns": {"source": 1, "target": 0}},
    ]
    one, many = (config_of(tmp_path / name, *corpora, clean={}) for name in ("one", "many"))
    for config in (one, many):
        config.run_dir.parent.mkdir()
        for path in tmp_path.glob("*.*"):
            (config.run_dir.parent / path.name).write_bytes(path.read_bytes())
    rows = compiled_rows(one)
    with small_slices():
        assert compiled_rows(many) == rows
    assert len(files_of(one)) == 4
    assert len(files_of(many)) > 12
    assert manifest(many, "compile").details["corpora"] == manifest(one, "compile").details["corpora"]


def test_large_files_of_a_pattern_are_divided_and_small_ones_grouped(tmp_path: Path) -> None:
    members = {"a": text("a", times=5), "b": text("b", times=100), "c": text("c", times=20), "d": text("d", times=20)}
    members |= {"e": text("e")}
    for name, content in members.items():
        for side in ("en", "zh"):
            (tmp_path / f"{name}.{side}").write_bytes(content)
    with tarfile.open(tmp_path / "x.tgz", "w:gz") as archive:
        for path in tmp_path.glob("?.??"):
            archive.add(path, path.name)
    corpus = {"name": "c", "url": "x.tgz", "source": "*.en", "target": "*.zh"}
    config = config_of(tmp_path, corpus, clean={})
    with small_slices():
        rows = compiled_rows(config)
    assert [row for _, _, _, row in rows] == list(range(146))
    assert "".join(source for source, _, _, _ in rows) == "a" * 5 + "b" * 100 + "c" * 20 + "d" * 20 + "e"
    parts = manifest(config, "compile").details["parts"]["train"]
    assert [part["pairs"] for part in parts] == [5, 32, 32, 32, 4, 40, 1]


def members_of_a_pattern(directory: Path, contents: dict[str, bytes], **options: Any) -> dict[str, Any]:
    """Writes an archive of several files; returns a corpus of all of them."""
    with tarfile.open(directory / "x.tgz", "w:gz") as archive:
        for name, content in contents.items():
            (directory / name).write_bytes(content)
            archive.add(directory / name, name)
    suffix = next(iter(contents)).rpartition(".")[2]
    return {"name": "c", "url": "x.tgz", "member": f"*.{suffix}", "format": suffix, **options}


ENDS = {"source": "en", "target": "zh"}


@pytest.mark.parametrize(
    ("suffix", "row", "head", "options"),
    [
        ("tsv", "a{0}\tb\n", "en\tzh\n", {"columns": ENDS}),
        ("csv", "a{0},b\n", "en,zh\n", {"columns": ENDS}),
        ("csv", '"a\n{0}",b\n', "", {}),
        ("jsonl", '{{"en": "a{0}", "zh": "b"}}\n', "\n", {"fields": ENDS}),
        ("tmx", '<tu><tuv lang="en"><seg>a{0}</seg></tuv><tuv lang="zh"><seg>b</seg></tuv></tu>', "", {}),
    ],
)
def test_rows_count_on_through_the_files_of_a_corpus(
    tmp_path: Path, suffix: str, row: str, head: str, options: dict[str, Any]
) -> None:
    contents: dict[str, bytes] = {}
    numbers = iter(range(1000))
    for name, count in {"a": 3, "b": 40, "c": 2, "d": 2, "e": 25, "f": 1}.items():
        body = "".join(row.format(next(numbers)) for _ in range(count))
        document = f"<tmx><body>{body}</body></tmx>" if suffix == "tmx" else f"{head}{body}"
        contents[f"{name}.{suffix}"] = document.encode()
    corpus = members_of_a_pattern(tmp_path, contents, **options)
    one, many = (config_of(tmp_path / name, corpus, clean={}) for name in ("one", "many"))
    for config in (one, many):
        config.run_dir.parent.mkdir()
        (config.run_dir.parent / "x.tgz").write_bytes((tmp_path / "x.tgz").read_bytes())
    rows = compiled_rows(one)
    with small_slices():
        assert compiled_rows(many) == rows
    assert len(files_of(one)) == 1
    assert len(files_of(many)) >= 3
    blanks = [0] * 3 + [1] * 40 + [2] * 2 + [3] * 2 + [4] * 25 + [5]
    expected = [number + (1 + blank if suffix == "jsonl" else 0) for number, blank in enumerate(blanks)]
    assert [row for _, _, _, row in rows] == expected


def test_a_file_whose_newlines_take_several_bytes_is_one_task(tmp_path: Path) -> None:
    content = text("a中", times=100).decode().encode("utf-16")
    config = config_of(tmp_path, {**plain(tmp_path, "c", content, content), "encoding": "utf-16"})
    with small_slices():
        assert compiled(config) == [("a中", "a中", "c")] * 100
    assert len(files_of(config)) == 1


@pytest.mark.parametrize("surplus", [-40, -1, 1, 40])
def test_unequal_line_counts_are_found_before_anything_is_compiled(tmp_path: Path, surplus: int) -> None:
    config = config_of(tmp_path, plain(tmp_path, "c", b"a\n" * 90, b"b\n" * (90 + surplus)))
    with pytest.raises(AlignmentError) as whole:
        compiled(config)
    with small_slices(), pytest.raises(AlignmentError) as cut:
        compiled(config)
    assert str(cut.value) == str(whole.value)
    assert str(cut.value).startswith("splits.train.c: c.en has 90 lines, but c.zh has ")
    assert not list(config.run_dir.rglob("*.parquet"))


def test_only_a_whole_corpus_without_text_is_an_error(tmp_path: Path) -> None:
    nothing, something = text("", times=200), text("", times=199) + b"a\n"
    config = config_of(tmp_path, plain(tmp_path, "c", something, something))
    with small_slices():
        assert compiled(config) == [("a", "a", "c")]
    assert files_of(config) == ["train/part-000-00003-00000.json"]
    config = config_of(tmp_path, plain(tmp_path, "c", nothing, nothing))
    with pytest.raises(CorpusError) as whole:
        compiled(config)
    with small_slices(), pytest.raises(CorpusError) as cut:
        compiled(config)
    assert str(cut.value) == str(whole.value)
    assert "splits.train.c: no pair has text on both sides (200 pairs in" in str(cut.value)


def test_position_of_invalid_text_is_that_in_the_file(tmp_path: Path) -> None:
    config = config_of(tmp_path, plain(tmp_path, "c", b"ab\n" * 100 + b"\xff\n", b"x\n" * 101))
    with small_slices(), pytest.raises(InvalidTextError, match=r"^splits\.train\.c: c\.en:101: not UTF-8 at byte 300 "):
        compiled(config)


def test_a_run_interrupted_within_the_round_reuses_finished_slices(tmp_path: Path) -> None:
    good = text("a", times=200)
    config = config_of(tmp_path, plain(tmp_path, "c", good[:-2] + b"\xff\n", good))
    with small_slices():
        with pytest.raises(InvalidTextError):
            run(config, until="compile", workers=1)
        notes = sorted(path.name for path in config.run_dir.rglob("train-000-*.json"))
    assert notes == [f"train-000-{number:05d}.json" for number in range(6)]
