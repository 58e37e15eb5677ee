"""Kinds of corpora through the stages: one side, several files, swapped, tagged, and every packaging."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import AlignmentError, ConfigError, CorpusError
from nmt_prep.training.records.shard_reader import read_shard
from tests.corpora.formats.test_alignment import SEPARATORS
from tests.corpus import write_tgz
from tests.stages.compile.test_compile_stage import compiled, plain
from tests.stages.runs import BT, config_of, manifest, run


def sampled(directory: Path) -> tuple[str, str]:
    files = (directory / "run" / "sample" / f"{side}.txt" for side in ("source", "target"))
    source, target = (file.read_text(encoding="utf-8") for file in files)
    return source, target


def counts(config: Any, name: str) -> dict[str, Any]:
    found: dict[str, Any] = manifest(config, "compile").details["corpora"]["train"][name]
    return found


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_corpus_for_the_vocabularies_only(tmp_path: Path, side: str) -> None:
    (tmp_path / "mono").write_bytes(b"m1\nm2\n")
    config = config_of(
        tmp_path, plain(tmp_path, "c", b"a\n", b"b\n"), {"name": "v", "url": {side: "mono"}, "role": "vocab"}
    )
    assert compiled(config) == [("a", "b", "c")]
    assert counts(config, "v")["dropped"]["vocab_only"] == counts(config, "v")["pairs_in"] == 2
    run(config)
    more = {"source": ("a\nm1\nm2\n", "b\n"), "target": ("a\n", "b\nm1\nm2\n")}
    assert sampled(tmp_path) == more[side]


def test_a_corpus_of_both_sides_for_the_vocabularies_only(tmp_path: Path) -> None:
    vocab = {**plain(tmp_path, "v", b"m\n", b"n\n"), "role": "vocab"}
    config = config_of(tmp_path, vocab, plain(tmp_path, "c", b"a\n", b"b\n"))
    assert compiled(config) == [("a", "b", "c")]
    run(config)
    assert sampled(tmp_path) == ("m\na\n", "n\nb\n")


ONE_SIDE = (
    ({"url": {"target": "mono"}}, "一\n\n二\n"),
    ({"url": {"target": "a.tsv"}}, "一\tx\n\tx\n二\tx\n"),
    ({"url": "a.tsv", "columns": {"target": "zh"}}, "en\tzh\nx\t一\ny\t\nz\t二\n"),
    ({"url": "a.csv", "columns": {"target": 1}}, 'x,一\n"y\nz",""\n"z","二"\n'),
    ({"url": {"target": "a.jsonl"}, "fields": {"target": "t"}}, '{"t": "一"}\n{"t": null}\n{"t": "二"}\n'),
    ({"url": {"target": "a.sgm"}}, '<doc docid="d"><seg id="1">一</seg><seg id="2"/><seg id="3">二</seg></doc>'),
)


@pytest.mark.parametrize(("corpus", "text"), ONE_SIDE)
def test_a_corpus_of_one_side(tmp_path: Path, corpus: dict[str, Any], text: str) -> None:
    (path,) = corpus["url"].values() if isinstance(corpus["url"], dict) else [corpus["url"]]
    (tmp_path / path).write_text(text, "utf-8")
    config = config_of(tmp_path, {"name": "m", **corpus, "translate": "bt"}, computed=BT, sample={"made": True})
    assert compiled(config) == [("", "一", "m"), ("", "二", "m")]
    run(config)
    assert sampled(tmp_path) == ("一\n二\n", "一\n二\n")


def test_swapped_and_tagged(tmp_path: Path) -> None:
    corpus = plain(tmp_path, "c", b"a\nb\n", b"1\n2\n")
    assert compiled(config_of(tmp_path, {**corpus, "swap": True})) == [("1", "a", "c"), ("2", "b", "c")]
    tagged = {**corpus, "swap": True, "tag": {"source": "<2zh>"}}
    config = config_of(tmp_path, tagged, vocab={"reserved": ["<2zh>"]})
    assert compiled(config) == [("1", "a", "c"), ("2", "b", "c")]
    assert manifest(config, "compile").details["parts"]["train"][0]["bytes"] == 4
    [*_, last] = run(config)
    assert (last.stage, sampled(tmp_path)) == ("sample", ("1\n2\n", "a\nb\n"))
    assert [outcome.ran for outcome in run(config_of(tmp_path, {**corpus, "swap": True}))][2:] == [False, False]


@pytest.mark.parametrize(
    "option", [{"crlf": "keep"}, {"max_line_bytes": 2}, {"invalid": "drop"}, {"encoding": "latin-1"}, {"swap": True}]
)
def test_changed_reader_options_compile_again(tmp_path: Path, option: dict[str, Any]) -> None:
    corpus = plain(tmp_path, "c", b"aa\nb\r\n", b"1\n2\n")
    run(config_of(tmp_path, corpus))
    assert [outcome.ran for outcome in run(config_of(tmp_path, {**corpus, **option}))] == [False, False, True, True]
    assert [outcome.ran for outcome in run(config_of(tmp_path, {**corpus, **option}))] == [False] * 4


def test_limits_of_archives_change_nothing(tmp_path: Path) -> None:
    corpus = plain(tmp_path, "c", b"a\n", b"1\n")
    run(config_of(tmp_path, corpus))
    assert not any(outcome.ran for outcome in run(config_of(tmp_path, corpus, extract={"max_member_bytes": 7})))


MEMBERS = {"d/b.en": b"3\n", "d/a.en": b"1\n2\n", "d/a.zh": b"x\ny\n", "d/b.zh": b"z\n", "d/c.zh": b"w\n"}


def test_members_by_pattern(tmp_path: Path) -> None:
    write_tgz(tmp_path / "x.tgz", MEMBERS)
    corpus = {"name": "c", "url": "x.tgz", "source": "d/*.en", "target": "d/[ab].zh"}
    assert compiled(config_of(tmp_path, {**corpus, "source": "d/b.e?", "target": "d/b.z?"})) == [("3", "z", "c")]
    with pytest.raises(AlignmentError, match=r"c: 'd/\*\.en' matches 2 and .* matches 3 .* counterpart: 'd/c\.zh';"):
        compiled(config_of(tmp_path, {**corpus, "target": "d/*.zh"}))
    write_tgz(tmp_path / "x.tgz", {name: content for name, content in MEMBERS.items() if name != "d/c.zh"})
    config = config_of(tmp_path, {**corpus, "target": "d/*.zh"})
    assert compiled(config) == [("1", "x", "c"), ("2", "y", "c"), ("3", "z", "c")]
    run(config)
    assert sampled(tmp_path) == ("1\n2\n3\n", "x\ny\nz\n")
    numbers = {n: b"%d\n" % n for n in (1, 2, 10)}
    write_tgz(tmp_path / "x.tgz", {f"{name}{n}": line for name in ("p.", "q.0") for n, line in numbers.items()})
    numbered = config_of(tmp_path, {**corpus, "source": "p.*", "target": "q.*"})
    assert compiled(numbered) == [("1", "1", "c"), ("2", "2", "c"), ("10", "10", "c")]


def test_each_pair_of_files_is_aligned_by_itself(tmp_path: Path) -> None:
    write_tgz(tmp_path / "x.tgz", {"a.en": b"1\n2\n", "a.zh": b"x\n", "b.en": b"3\n", "b.zh": b"y\nz\n"})
    with pytest.raises(AlignmentError, match=r"c: a\.en \(.*in x\.tgz\) has 2 lines, but a\.zh \(.*in x\.tgz\) has 1;"):
        compiled(config_of(tmp_path, {"name": "c", "url": "x.tgz", "source": "*.en", "target": "*.zh"}))


def test_faults_are_counted_by_reason(tmp_path: Path) -> None:
    source, target = b"a\n\xff\n" + b"x" * 60 + b"\n\nb\n", b"1\n2\n3\n4\n" + b"y" * 51 + b"\n"
    corpus = {**plain(tmp_path, "c", source, target), "invalid": "drop", "max_line_bytes": 50}
    config = config_of(tmp_path, corpus)
    assert compiled(config) == [("a", "1", "c")]
    dropped = {reason: count for reason, count in counts(config, "c")["dropped"].items() if count}
    assert dropped == {"invalid_text": 1, "too_long": 2, "empty_source": 1}
    run(config)
    assert sampled(tmp_path) == ("a\n\nb\n", "1\n2\n3\n4\n")


def test_a_corpus_without_valid_pairs_says_why(tmp_path: Path) -> None:
    corpus = {**plain(tmp_path, "c", b"\xff\n", b"1\n"), "invalid": "drop"}
    with pytest.raises(CorpusError, match=r"no pair has text on both sides \(1 pairs .*: invalid_text 1\)"):
        compiled(config_of(tmp_path, corpus))


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ({"url": {"source": "a"}}, "the corpus has only the side source: name the other one too, or give translate"),
        ({"url": {"source": "a"}, "role": "vocab", "format": "po"}, "one side has format plain, tsv, .*, not po"),
        ({"url": {"source": "a"}, "role": "monolingual"}, "role: it no longer exists: a corpus of one side gets the"),
        ({"url": {"source": "a"}, "placeholder": "x"}, "this key no longer exists: a corpus of one side"),
        ({"url": "a.tsv", "rules": {}}, "unknown key; clean.overrides sets rules for a corpus"),
        ({"url": {"target": "a.de"}, "source": "b.en"}, "source names a member of an archive, and url has no source"),
        ({"url": {"target": "a.tmx"}, "translate": "bt"}, "a corpus of one side has format plain, tsv, .*, not tmx"),
        ({"url": {"target": "a"}, "swap": True, "translate": "bt"}, "swap exchanges two sides, and the corpus has one"),
        ({"url": "a.tmx", "columns": {"source": 1}}, "columns does not belong to format tmx, which takes encoding"),
        ({"url": "a.tmx", "crlf": "keep"}, "crlf does not belong to format tmx"),
        ({"url": "a.jsonl"}, "format jsonl needs fields, such as"),
        (
            {"url": "a.tgz", "member": "a", "format": "plain"},
            "format plain has one file per side: name them with source",
        ),
        ({"url": "a.tsv", "format": "klingon"}, r"no reader is named 'klingon'; allowed: plain, tsv, csv, sgm"),
        ({"url": "a.tsv", "encoding": "rot13"}, r"found the text 'rot13'; allowed: an encoding that Python knows"),
        ({"url": "a.tsv", "encoding": "idna"}, r"found the text 'idna'; allowed: an encoding that Python knows"),
        (
            {"url": "a.tsv", "encoding": {"source": "utf-8"}},
            "encoding must be one value, because both sides are in one",
        ),
        (
            {"url": {"source": "a", "target": "b"}, "encoding": {"en": "utf-8"}},
            "encoding has 'en', but the corpus has s",
        ),
        (
            {"url": {"source": "a", "target": "b"}, "encoding": {"target": "rot13"}},
            r"encoding\.target: found the text 'rot13'; allowed: an encoding",
        ),
        ({"url": "a.tsv", "tag": {"source": "two words"}}, r"found the text 'two words'; allowed: a word without"),
        (
            {"url": "a.tsv", "tag": {"source": "<2zh>", "target": "<2en>"}},
            r"splits\.train\.c\.tag\.source is '<2zh>', which is not in vocab\.reserved; add it there",
        ),
        ({"url": "a.tsv", "max_line_bytes": "2GB"}, "max_line_bytes: found .*; allowed: an amount of bytes from 1"),
        ({"url": "a.tsv", "role": "vocab"}, "all corpora of splits.train are for the vocabularies"),
    ],
)
def test_options_that_the_config_refuses(tmp_path: Path, corpus: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config_of(tmp_path, {"name": "c", **corpus})


def test_vocab_corpora_are_for_training_only(tmp_path: Path) -> None:
    corpus = {"name": "c", "url": "a.tsv"}
    with pytest.raises(
        ConfigError, match=r"splits\.dev has a corpus of role vocab, but the vocabularies are built from"
    ):
        config_of(tmp_path, corpus, splits={"dev": [corpus, {**corpus, "name": "v", "role": "vocab"}]})


PACKAGINGS = {
    "compressed members, by pattern": (
        22_499,
        {"url": "wmt22-enzh/training-parallel-reverse-v22.tgz", "source": "**.en.gz", "target": "**.zh.gz"},
    ),
    "a compressed file a side": (
        1_014,
        {"url": {"source": "multi30k-ende/val.en.gz", "target": "multi30k-ende/val.de.gz"}},
    ),
    "WMT XML": (
        2_006,
        {"url": "wmt22-xml/wmttest2022.fr-de.all.xml.gz", "languages": {"source": "fr", "target": "de"}},
    ),
    "WMT XML, outputs of two systems": (
        4_012,
        {
            "url": "wmt22-xml/wmttest2022.fr-de.all.xml.gz",
            "languages": {"source": "fr", "target": "de"},
            "systems": ["Online-A", "Online-B"],
        },
    ),
}


@pytest.mark.parametrize("packaging", PACKAGINGS)
def test_real_packagings(shared: Path, tmp_path: Path, packaging: str) -> None:
    pairs, corpus = PACKAGINGS[packaging]
    url = corpus["url"]
    there = shared / "corpora"
    url = str(there / url) if isinstance(url, str) else {side: str(there / name) for side, name in url.items()}
    config = config_of(tmp_path, {"name": "c", **corpus, "url": url})
    run(config, until="compile")
    assert counts(config, "c")["pairs_out"] == pairs


def test_pairs_stay_pairs_up_to_the_records(tmp_path: Path) -> None:
    texts = [
        "".join((f"ab{number}"[:at], separator, f"ab{number}"[at:]))
        for number, separator in enumerate(SEPARATORS)
        for at in (1, 2)
    ]
    pairs = [(text, f"source {number}") for number, text in enumerate(texts)]
    pairs += [(f"target {number}", text) for number, text in enumerate(texts)]
    for name, side in zip(("x.en", "x.zh"), zip(*pairs, strict=True), strict=True):
        content = "".join(f"{line}\n" for line in side).encode()
        assert content.count(b"\n") == len(pairs) == 40
        (tmp_path / name).write_bytes(content)
    corpus = {"name": "x", "url": {"source": "x.en", "target": "x.zh"}}
    nmt_prep.run(config_of(tmp_path, corpus, vocab={"size": 100}))
    root = tmp_path / "run"
    source, target = (nmt_prep.load_tokenizer(path) for path in sorted((root / "vocab").glob("*.subwords.*")))
    [shard] = (root / "records").glob("t-train-*")
    rows = zip(*(ids.to_lists() for ids in read_shard(shard)), strict=True)
    found = [(source.decode(inputs[:-1]), target.decode(targets[:-1])) for inputs, targets in rows]
    assert Counter(found) == Counter(pairs)
