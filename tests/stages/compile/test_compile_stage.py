from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base.errors import AlignmentError, CorpusError, InvalidTextError
from nmt_prep.config import Config
from nmt_prep.corpora import iter_pairs
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.stages.compile import DROP_REASONS
from tests.stages.runs import config_of, manifest, run, run_of, steps


def plain(directory: Path, name: str, source: bytes, target: bytes) -> dict[str, Any]:
    (directory / f"{name}.en").write_bytes(source)
    (directory / f"{name}.zh").write_bytes(target)
    return {"name": name, "url": {"source": f"{name}.en", "target": f"{name}.zh"}}


def compiled(config: Config, split: str = "train") -> list[tuple[str, str, str]]:
    """Returns all pairs of a split in the order of the manifest."""
    return [(source, target, corpus) for source, target, corpus, _ in compiled_rows(config, split)]


def compiled_rows(config: Config, split: str = "train") -> list[tuple[str, str, str, int]]:
    """Returns all pairs of a split with their rows, -1 where there are none, in the order of the manifest."""
    run(config, until="compile")
    rows: list[tuple[str, str, str, int]] = []
    for part in manifest(config, "compile").details["parts"][split]:
        read = [row for batch in iter_pairs(config.run_dir / "compiled" / part["file"]) for row in batch.to_pylist()]
        assert len(read) == part["pairs"]
        assert sum(len((row["source"] + row["target"]).encode()) for row in read) == part["bytes"]
        rows += [(row["source"], row["target"], row["corpus"], row.get("row", -1)) for row in read]
    return rows


def test_pairs_of_all_corpora_in_order(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_bytes(b"3\tc\n")
    (tmp_path / "s.sgm").write_bytes(b'<doc docid="d"><seg id="1">4&amp;</seg></doc>')
    train = [plain(tmp_path, "b", b"1\n2\n", b"a\nb\n"), {"name": "a", "url": "t.tsv"}]
    dev = {"name": "dev", "url": {"source": "s.sgm", "target": "s.sgm"}}
    config = config_of(tmp_path, *train, splits={"dev": [dev]})
    assert compiled(config) == [("1", "a", "b"), ("2", "b", "b"), ("3", "c", "a")]
    assert compiled(config, "dev") == [("4&", "4&", "dev")]
    counts = {"dropped": dict.fromkeys(DROP_REASONS, 0), "altered": {"byte_order_marks": 0, "carriage_returns": 0}}
    details = manifest(config, "compile").details
    assert details["parts"] == {
        "train": [
            {"file": "train/part-000-00000-00000.parquet", "pairs": 2, "bytes": 4, "corpus": "b"},
            {"file": "train/part-001-00000-00000.parquet", "pairs": 1, "bytes": 2, "corpus": "a"},
        ],
        "dev": [{"file": "dev/part-000-00000-00000.parquet", "pairs": 1, "bytes": 4, "corpus": "dev"}],
    }
    assert details["corpora"] == {
        "train": {
            "b": {"pairs_in": 2, "pairs_out": 2, **counts, "source_bytes": 4, "target_bytes": 4},
            "a": {"pairs_in": 1, "pairs_out": 1, **counts, "source_bytes": 2, "target_bytes": 2},
        },
        "dev": {"dev": {"pairs_in": 1, "pairs_out": 1, **counts, "source_bytes": 3, "target_bytes": 3}},
    }


def test_pairs_with_an_empty_side_are_dropped_and_counted(tmp_path: Path) -> None:
    rows = [("a", "b"), ("", "c"), ("d", "\u3000\u2028"), (" \t\x1c", "\r"), ("\x85e\xa0", "\0"), ("\u200b", "f")]
    source, target = ("".join(f"{line}\n" for line in side).encode() for side in zip(*rows, strict=True))
    config = config_of(tmp_path, plain(tmp_path, "c", source, target), clean={})
    assert compiled_rows(config) == [("a", "b", "c", 0), ("\x85e\xa0", "\0", "c", 4), ("\u200b", "f", "c", 5)]
    reasons = {"empty_source": 1, "empty_target": 1, "empty_both": 1}
    dropped = {**dict.fromkeys(DROP_REASONS, 0), **reasons}
    assert manifest(config, "compile").counts == Counts(6, 3, dropped)
    assert manifest(config, "compile").details["corpora"]["train"]["c"] == {
        "pairs_in": 6,
        "pairs_out": 3,
        "dropped": dropped,
        "altered": {"byte_order_marks": 0, "carriage_returns": 1},
        "source_bytes": len(source),
        "target_bytes": len(target) - 1,
    }


def test_rows_count_what_is_dropped_but_no_header(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_bytes(b"en\tzh\n\tb\nc\td\n\xff\tf\ng\th\n")
    (tmp_path / "c.csv").write_bytes(b'en,zh\n"a\nb",c\nd,\ne,f\n')
    (tmp_path / "j.jsonl").write_bytes(
        b'\n{"en": "a", "zh": "b"}\n \n\n{"en": null, "zh": "b"}\n{"en": "c", "zh": "d"}\n'
    )
    columns, fields = {"source": "en", "target": "zh"}, {"source": "en", "target": "zh"}
    config = config_of(
        tmp_path,
        {"name": "t", "url": "t.tsv", "columns": columns, "invalid": "drop"},
        {"name": "c", "url": "c.csv", "columns": columns},
        {"name": "j", "url": "j.jsonl", "fields": fields},
        clean={},
    )
    assert compiled_rows(config) == [
        *[("c", "d", "t", 1), ("g", "h", "t", 3)],
        *[("a b", "c", "c", 0), ("e", "f", "c", 2)],
        *[("a", "b", "j", 1), ("c", "d", "j", 5)],
    ]
    counts = manifest(config, "compile").details["corpora"]["train"]["j"]
    assert (counts["pairs_in"], counts["pairs_out"], counts["dropped"]["missing_side"]) == (3, 2, 1)
    assert (counts["source_bytes"], counts["target_bytes"]) == (5, 5)


def test_marks_and_carriage_returns_are_removed_and_counted(tmp_path: Path) -> None:
    config = config_of(tmp_path, plain(tmp_path, "c", b"\xef\xbb\xbfa \r\n", b"\tb\n"))
    assert compiled(config) == [("a ", "\tb", "c")]
    counts = manifest(config, "compile").details["corpora"]["train"]["c"]
    assert counts["altered"] == {"byte_order_marks": 1, "carriage_returns": 1}


@pytest.mark.parametrize("surplus", [-2, -1, 1, 2])
def test_unequal_line_counts(tmp_path: Path, surplus: int) -> None:
    config = config_of(tmp_path, plain(tmp_path, "c", b"a\n" * 9, b"b\n" * (9 + surplus)))
    with pytest.raises(AlignmentError, match=rf"^splits\.train\.c: c\.en has 9 lines, but c\.zh has {9 + surplus};"):
        compiled(config)
    assert not (config.run_dir / "compiled").exists()


def test_invalid_text(tmp_path: Path) -> None:
    with pytest.raises(InvalidTextError, match=r"train\.c: c\.zh:2: not UTF-8 at byte 2 of the file \(ff: invalid"):
        compiled(config_of(tmp_path, plain(tmp_path, "c", b"a\nb\n", b"a\n\xff\n")))


@pytest.mark.parametrize(
    ("source", "change", "problem"),
    [
        (b"", {}, "no pair has text on both sides (0 pairs in"),
        (b" \n", {}, "no pair has text on both sides (1 pairs in"),
        (b"", {"url": {"source": "c.en"}, "translate": "t"}, "no line has text (0 pairs in"),
    ],
)
def test_a_corpus_without_pairs(tmp_path: Path, source: bytes, change: dict[str, Any], problem: str) -> None:
    computed = {"t": {"program": "cat", "input": "source", "output": "text"}}
    corpus = {**plain(tmp_path, "c", source, source), **change}
    with pytest.raises(CorpusError, match=re.escape(f"splits.train.c: {problem}")):
        compiled(config_of(tmp_path, corpus, computed=computed, sample={"made": True}))


def test_renaming_a_corpus_compiles_again(tmp_path: Path) -> None:
    corpus = plain(tmp_path, "c", b"a\n", b"b\n")
    compiled(config_of(tmp_path, corpus))
    config = config_of(tmp_path, {**corpus, "name": "d"})
    reasons = [step.reason for step in steps(config)]
    assert reasons[0].startswith(
        "config splits.train.c is gone; config splits.train.d is new; file splits.train.c.url.source"
    )
    assert reasons[2] == (
        'follows extract; config splits.train lost "c" and gained "d"; config splits.train.c is gone; '
        "config splits.train.d is new"
    )
    assert compiled(config) == [("a", "b", "d")]


@pytest.mark.parametrize("option", [{"columns": {"source": 1, "target": 0}}, {"header": True}])
def test_changed_reader_options_compile_again(tmp_path: Path, option: dict[str, Any]) -> None:
    (tmp_path / "t.tsv").write_bytes(b"a\tb\nc\td\n")
    corpus = {"name": "t", "url": "t.tsv"}
    compiled(config_of(tmp_path, corpus))
    expected = [("c", "d", "t")] if "header" in option else [("b", "a", "t"), ("d", "c", "t")]
    assert compiled(config_of(tmp_path, {**corpus, **option})) == expected


def test_real_corpora(shared: Path, tmp_path: Path) -> None:
    corpora = shared / "corpora" / "wmt22-enzh"

    def entry(name: str, url: str, **members: str) -> dict[str, Any]:
        return {"name": name, "url": str(corpora / url), **members}

    train = [
        entry(
            "general",
            "training-parallel-general-v22.tgz",
            source="training/general-v22.zh-en.en",
            target="training/general-v22.zh-en.zh",
        ),
        entry(
            "reverse",
            "training-parallel-reverse-v22.tgz",
            source="reverse/reverse-v22.zh-en.en.gz",
            target="reverse/reverse-v22.zh-en.zh.gz",
        ),
        entry("references", "references-v22.en-zh.tsv.gz"),
    ]
    dev = entry(
        "dev", "dev.tgz", source="dev/generaltest2022-enzh-src.en.sgm", target="dev/generaltest2022-enzh-ref.zh.sgm"
    )
    config = run_of(tmp_path, *train, splits={"dev": [dev]})
    details = manifest(config, "compile").details["corpora"]
    counted = {name: counts["pairs_out"] for split in details.values() for name, counts in split.items()}
    assert counted == {"general": 26_481, "reverse": 22_499, "references": 3_750, "dev": 2_037}
    assert manifest(config, "sample").details["source"] == {"lines": 52_730, "bytes": 6_600_563}
