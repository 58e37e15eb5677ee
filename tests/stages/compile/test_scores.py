"""Scores that come with a corpus, from its config to the compiled parts."""

from __future__ import annotations

import gzip
import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import nmt_prep
from nmt_prep.base.errors import AlignmentError, ArchiveError, ConfigError, CorpusError, DownloadError
from nmt_prep.config import Config
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.parts import scores_of
from tests.corpora.formats.test_parquet import parquet
from tests.corpus import corpus_config, tree, write_corpus
from tests.stages.compile.test_compile_stage import compiled, plain
from tests.stages.compile.test_slices import files_of, members_of_a_pattern, small_slices, text
from tests.stages.runs import BT, config_of, manifest, run

Row = tuple[str, int, Any]


def scored(config: Config, name: str = "s") -> list[Row]:
    """Returns the sources of the compiled pairs with their rows and one of their scores."""
    run(config, until="compile")
    rows: list[Row] = []
    for file in files_of(config):
        table = pq.read_table(config.run_dir / "compiled" / file)
        columns = [table.column(column).to_pylist() for column in ("source", "row", f"score:{name}")]
        rows += zip(*columns, strict=True)
    return rows


def archive(directory: Path, **members: bytes) -> str:
    with tarfile.open(directory / "x.tgz", "w:gz") as file:
        for name, content in members.items():
            (directory / name).write_bytes(content)
            file.add(directory / name, name)
    return "x.tgz"


def test_a_member_beside_the_two_sides(tmp_path: Path) -> None:
    url = archive(tmp_path, en=b"a\n\nc\n", zh=b"1\n2\n3\n", laser=b"1.25\n7\n\n", other=gzip.compress(b"4\n5\n6\n"))
    scores = {"s": "laser", "t": {"member": "othe?"}}
    config = config_of(tmp_path, {"name": "c", "url": url, "source": "en", "target": "zh", "scores": scores})
    assert scored(config) == [("a", 0, 1.25), ("c", 2, None)]
    assert scored(config, "t") == [("a", 0, 4.0), ("c", 2, 6.0)]
    [file] = files_of(config)
    [batch] = iter_pairs(config.run_dir / "compiled" / file)
    assert batch.schema.names == ["source", "target", "corpus", "row", "score:s", "score:t"]
    assert {name: repr(values.tolist()) for name, values in scores_of(batch).items()} == {
        "s": "[1.25, nan]",
        "t": "[4.0, 6.0]",
    }


def test_files_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "s.txt.gz").write_bytes(gzip.compress(b"1\r\n2\r\n"))
    archive(tmp_path, numbers=b"3\n4\n")
    scores = {"s": "s.txt.gz", "t": {"url": "x.tgz", "member": "numbers"}, "u": {"url": ["gone", "s.txt.gz"]}}
    config = config_of(tmp_path, {**plain(tmp_path, "c", b"a\nb\n", b"c\nd\n"), "scores": scores, "swap": True})
    assert [scored(config, name) for name in "stu"] == [
        [("c", 0, 1.0), ("d", 1, 2.0)],
        [("c", 0, 3.0), ("d", 1, 4.0)],
        [("c", 0, 1.0), ("d", 1, 2.0)],
    ]
    digest = manifest(config, "download").details["files"]["train/c/scores.s"]["sha256"]
    wrong = {"s": {"url": "s.txt.gz", "sha256": "0" * 64}}
    config = config_of(tmp_path, {**plain(tmp_path, "c", b"a\nb\n", b"c\nd\n"), "scores": wrong})
    with pytest.raises(DownloadError, match=f"expected SHA-256 {'0' * 64}, found {digest}"):
        scored(config)


def test_a_table_may_have_scores_beside_it_and_in_its_columns(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_bytes(b"en\tzh\tq\na\tb\t0.5\nc\td\t\n")
    (tmp_path / "s.txt").write_bytes(b"1\n2\n")
    corpus = {"name": "c", "url": "t.tsv", "scores": {"s": {"url": "s.txt"}, "q": "q"}}
    assert scored(config_of(tmp_path, corpus)) == [("a", 0, 1.0), ("c", 1, 2.0)]
    assert scored(config_of(tmp_path, corpus), "q") == [("a", 0, 0.5), ("c", 1, None)]


def test_a_change_of_scores_is_seen(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_bytes(b"a\tb\t1\t2\n")
    corpus = {"name": "c", "url": "t.tsv"}
    assert scored(config_of(tmp_path, {**corpus, "scores": {"s": 2}})) == [("a", 0, 1.0)]
    assert scored(config_of(tmp_path, {**corpus, "scores": {"s": 3}})) == [("a", 0, 2.0)]
    (tmp_path / "s.txt").write_bytes(b"5\n")
    config = config_of(tmp_path, {**corpus, "scores": {"s": {"url": "s.txt"}}})
    assert scored(config) == [("a", 0, 5.0)]
    (tmp_path / "s.txt").write_bytes(b"6\n")
    assert scored(config) == [("a", 0, 6.0)]
    config = config_of(tmp_path, corpus)
    assert compiled(config) == [("a", "b", "c")]
    [file] = files_of(config)
    assert pq.read_schema(config.run_dir / "compiled" / file).names == ["source", "target", "corpus"]


@pytest.mark.parametrize("count", [0, 59, 61, 200])
def test_files_of_another_length(tmp_path: Path, count: int) -> None:
    (tmp_path / "s.txt").write_bytes(text("1", times=count))
    sides = text("ab", times=60)
    config = config_of(tmp_path, {**plain(tmp_path, "c", sides, sides), "scores": {"s": "s.txt"}})
    with pytest.raises(AlignmentError) as whole:
        scored(config)
    with small_slices(), pytest.raises(AlignmentError) as cut:
        scored(config)
    assert str(cut.value) == str(whole.value)
    assert str(whole.value).startswith(
        f"splits.train.c: scores.s: s.txt has {count} lines, but the corpus has 60 rows; line i must be the value of "
    )
    assert not list(config.run_dir.rglob("*.parquet"))


def test_a_number_that_is_none_is_placed_in_its_file_though_it_is_read_in_slices(tmp_path: Path) -> None:
    sides, numbers = text("ab", times=60), text("1", times=47) + b"nan\n" + text("1", times=12)
    (tmp_path / "s.txt").write_bytes(numbers)
    config = config_of(tmp_path, {**plain(tmp_path, "c", sides, sides), "scores": {"s": "s.txt"}})
    message = r"^splits\.train\.c: s\.txt:48: scores\.s: found 'nan', which is not a number; fix it, leave it empty for"
    with pytest.raises(CorpusError, match=message):
        scored(config)
    with small_slices(), pytest.raises(CorpusError, match=message):
        scored(config)


def test_slices_have_the_scores_that_the_whole_has(tmp_path: Path) -> None:
    numbers = [f"{number / 8}" * (number % 7 != 3) for number in range(90)]
    lines = [f"line {number}" * (number % 5 != 1) for number in range(90)]
    (tmp_path / "s.txt").write_bytes(text(*numbers))
    (tmp_path / "t.tsv").write_bytes(
        b"en\tzh\tq\n" + b"".join(f"{a}\t{a}\t{n}\n".encode() for a, n in zip(lines, numbers, strict=True))
    )
    rows = [json.dumps({"en": a, "zh": a, "q": float(n) if n else None}) for a, n in zip(lines, numbers, strict=True)]
    (tmp_path / "j.jsonl").write_bytes(text(*rows))
    (tmp_path / "c.csv").write_bytes(
        b"en,zh,q\n" + b"".join(f'"{a}","{a}",{n}\n'.encode() for a, n in zip(lines, numbers, strict=True))
    )
    ends = {"source": "en", "target": "zh"}
    corpora = [
        {**plain(tmp_path, "p", text(*lines), text(*lines)), "scores": {"q": "s.txt"}},
        {"name": "t", "url": "t.tsv", "columns": ends, "scores": {"q": "q", "s": {"url": "s.txt"}}},
        {"name": "j", "url": "j.jsonl", "fields": ends, "scores": {"q": "q", "s": {"url": "s.txt"}}},
        {"name": "c", "url": "c.csv", "columns": ends, "scores": {"q": "q", "s": {"url": "s.txt"}}},
    ]
    expected = [
        (line, row, float(number) if number else None)
        for row, (line, number) in enumerate(zip(lines, numbers, strict=True))
        if line
    ]
    for corpus in corpora:
        config = config_of(tmp_path, corpus)
        assert scored(config, "q") == expected
        with small_slices():
            run(config, until="compile", workers=3, force=["download", "compile"])
            assert scored(config, "q") == expected
            assert len(files_of(config)) > 5
            if "s" in corpus["scores"]:
                assert scored(config) == expected


def test_one_file_of_scores_for_all_files_of_a_pattern(tmp_path: Path) -> None:
    counts = {"a": 3, "b": 100, "c": 2, "d": 2, "e": 30, "f": 3}
    rows = iter(range(200))
    contents = {f"{name}.tsv": b"".join(b"x%d\ty\n" % next(rows) for _ in range(n)) for name, n in counts.items()}
    (tmp_path / "s.txt").write_bytes(text(*(str(number) for number in range(140)))[:-1])
    corpus = members_of_a_pattern(tmp_path, contents, scores={"s": {"url": "s.txt"}})
    config = config_of(tmp_path, corpus)
    expected = [(f"x{number}", number, float(number)) for number in range(140)]
    assert scored(config) == expected
    with small_slices():
        assert scored(config_of(tmp_path, {**corpus, "name": "d"})) == expected
        for count in (100, 139, 141):
            (tmp_path / "s.txt").write_bytes(text("1", times=count))
            with pytest.raises(AlignmentError, match=f"s.txt has {count} lines, but the corpus has (at least )?1[34]"):
                scored(config)


def test_patterns_of_scores_name_one_file(tmp_path: Path) -> None:
    url = archive(tmp_path, en=b"a\n", zh=b"b\n", s1=b"1\n", s2=b"1\n")
    corpus = {"name": "c", "url": url, "source": "en", "target": "zh"}
    message = r"^splits\.train\.c\.scores\.s: the pattern matches 2 members, but its values are in one file for the"
    with pytest.raises(AlignmentError, match=message):
        scored(config_of(tmp_path, {**corpus, "scores": {"s": "s?"}}))
    with pytest.raises(ArchiveError, match=r"^splits\.train\.c\.scores\.s: "):
        scored(config_of(tmp_path, {**corpus, "scores": {"s": "t"}}))


def test_a_score_that_no_pair_has(tmp_path: Path) -> None:
    (tmp_path / "j.jsonl").write_bytes(b'{"en": "a", "zh": "b", "score": 1}\n' * 9)
    fields = {"source": "en", "target": "zh"}
    config = config_of(tmp_path, {"name": "c", "url": "j.jsonl", "fields": fields, "scores": {"s": "scor"}})
    message = r"^splits\.train\.c\.scores\.s: no pair has this score; correct it in the config$"
    with pytest.raises(CorpusError, match=message):
        scored(config)
    with small_slices(), pytest.raises(CorpusError, match=message):
        scored(config)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"scores": {"s": 2}}, r"splits.train.0: scores.s: format plain has no columns: give {url: …}, a file"),
        ({"scores": {"s": {"member": "x"}}}, "scores.s: the corpus has one file per side, not an archive"),
        ({"scores": {"s": "prop:x"}}, "scores.s: only format tmx has properties"),
        ({"scores": {"s": True}}, "splits.train.0.scores.s: found true; allowed: the number of a column, counted"),
        ({"scores": {"s": -1}}, "splits.train.0.scores.s: found the number -1; allowed: the number of a column"),
        ({"scores": {"s": {"ulr": "x"}}}, "scores.s.ulr: unknown key; did you mean 'url'?"),
        ({"scores": {"s": {}}}, "scores.s: give either a column or field of the corpus, or the url or member"),
        ({"scores": {"s": {"at": 1, "url": "x"}}}, "scores.s: give either a column or field of the corpus, or"),
        ({"scores": {"s": {"member": "x", "sha256": "0" * 64}}}, "scores.s: sha256 is for the file at url; give url"),
        ({"scores": {"a b": 1}}, "splits.train.0.scores"),
        ({"scores": 1}, "splits.train.0.scores: found the number 1; allowed: a mapping from names to places"),
        ({"licence": ""}, "splits.train.0.licence: found the text ''; allowed: a text such as CC-BY-4.0"),
    ],
)
def test_refused_keys(tmp_path: Path, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        config_of(tmp_path, {**plain(tmp_path, "c", b"a\n", b"b\n"), **keys})


def test_vocabularies_and_records_do_not_depend_on_scores_or_licence(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    (tmp_path / "numbers.gz").write_bytes(gzip.compress(text(*(str(number) for number in range(301)))))
    corpus = {"name": "x", "url": "train.tgz", "source": "t/x.en", "target": "t/x.zh"}
    dev = [{"name": "y", "url": "dev.tgz", "source": "d/x.en.sgm", "target": "d/x.zh.sgm"}]
    extra = {"scores": {"s": {"url": "numbers.gz"}}, "licence": "CC-BY-4.0"}
    for name, keys in (("without", {}), ("with", extra)):
        config = corpus_config(tmp_path / name, splits={"train": [{**corpus, **keys}], "dev": dev})
        nmt_prep.run(config)
    described = [json.loads((tmp_path / name / "records/dataset.json").read_bytes()) for name in ("without", "with")]
    assert [description.pop("config_fingerprint") != "" for description in described] == [True, True]
    assert described[1]["corpora"]["train"][0].pop("licence") == "CC-BY-4.0"
    assert described[0] == described[1]
    for name in ("without", "with"):
        (tmp_path / name / "records" / "dataset.json").unlink()
    for directory in ("sample", "vocab", "records"):
        assert tree(tmp_path / "without" / directory) == tree(tmp_path / "with" / directory)
    summaries = [json.loads((tmp_path / name / "report/summary.json").read_bytes()) for name in ("without", "with")]
    assert summaries[1]["corpora"]["train"]["x"].pop("licence") == "CC-BY-4.0"
    for name in ("signature", "provenance"):  # they name the files of the scores
        values = [summary.pop(name) for summary in summaries]
        assert values[0] != values[1]
    assert summaries[0] == summaries[1]
    lines = (tmp_path / "with" / "report" / "summary.txt").read_text("utf-8").splitlines()
    row, drops = (line.split() for line in lines if line.startswith("train/x"))
    assert (row[:4], row[-1]) == (["train/x", "301", "300", "99.7%"], "CC-BY-4.0")
    assert drops[-3:] == ["empty_target", "1", "0.3%"]


def test_parquet_and_a_corpus_of_one_side(tmp_path: Path) -> None:
    (tmp_path / "p.parquet").write_bytes(parquet(en=["a", "b"], zh=["c", "d"], laser=[1.5, None]))
    fields = {"source": "en", "target": "zh"}
    config = config_of(tmp_path, {"name": "c", "url": "p.parquet", "fields": fields, "scores": {"s": "laser"}})
    assert scored(config) == [("a", 0, 1.5), ("b", 1, None)]
    (tmp_path / "mono.en").write_bytes(b"a\nb\n")
    (tmp_path / "s.txt").write_bytes(b"1\n2\n")
    mono = {"name": "m", "url": {"target": "mono.en"}, "translate": "bt", "scores": {"s": "s.txt"}}
    assert scored(config_of(tmp_path, mono, computed=BT, sample={"made": True})) == [("", 0, 1.0), ("", 1, 2.0)]
