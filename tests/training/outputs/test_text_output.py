from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nmt_prep import load_tokenizer
from nmt_prep.base.errors import ConfigError
from tests.corpus import lines_of, pair
from tests.training.outputs.runs import SENTENCEPIECE, recorded_ids, run_outputs

VOCABULARIES: dict[str, dict[str, Any]] = {
    "t2t": {"size": 200},
    "byte_bpe": {"kind": "byte_bpe", "size": 300, "shared": True},
    "sentencepiece": SENTENCEPIECE,
}


def texts(directory: Path, language: str) -> list[str]:
    return [line for n in range(3) for line in lines_of(directory / f"train-{n:05d}-of-00003.{language}")]


@pytest.mark.parametrize("kind", VOCABULARIES)
def test_pieces_are_those_of_the_records(tmp_path: Path, kind: str) -> None:
    outputs = run_outputs(tmp_path, {"kind": "text"}, vocab=VOCABULARIES[kind])
    directory = outputs / "text"
    names = {f"train-{n:05d}-of-00003.{side}" for n in range(3) for side in ("en", "zh")}
    names |= {"dev-00000-of-00001.en", "dev-00000-of-00001.zh", "vocab.en", "vocab.zh", "output.json"}
    assert {path.name for path in directory.iterdir()} == names
    description = json.loads((directory / "output.json").read_text())
    assert {split: facts["pairs"] for split, facts in description["splits"].items()} == {"train": 60, "dev": 20}
    for side, ids in zip(("en", "zh"), recorded_ids(tmp_path / "run"), strict=True):
        vocab = description["vocab"]["source" if side == "en" else "target"]
        tokenizer = load_tokenizer(directory / vocab["file"])
        words = tokenizer.words()
        assert texts(directory, side) == [" ".join(words[n] for n in row[:-1]) for row in ids]
        assert {row[-1] for row in ids} == {tokenizer.eos_id} == {vocab["eos_id"]}
        listed = lines_of(directory / f"vocab.{side}")
        assert listed[:3] == ["<unk>", "<s>", "</s>"]
        assert len(set(listed)) == len(listed)
        assert set(words) <= set(listed)


def test_pieces_without_an_id_in_the_order_of_the_corpus(tmp_path: Path) -> None:
    vocab = {"kind": "subword_nmt", "merges": 20, "joint": True, "words": ["lowercase", {"pipes": "delete"}]}
    vocab["reserved"] = ["<2zh>"]
    train = {"name": "x", "url": "train.tgz", "source": "t/x.en", "target": "t/x.zh", "tag": {"source": "<2zh>"}}
    dev = {"name": "y", "url": {"source": "d.en", "target": "d.zh"}, "tag": {"source": "<2zh>"}}
    (tmp_path / "d.en").write_text("Time Ωx\n| Time |\n")
    (tmp_path / "d.zh").write_text("Ωx\na\n")
    text = {"kind": "text", "order": "corpus"}
    outputs = run_outputs(tmp_path, text, vocab=vocab, splits={"train": [train], "dev": [dev]})
    assert lines_of(outputs / "text" / "dev-00000-of-00001.en") == ["<2zh> time ω@@ x", "<2zh> time"]
    assert lines_of(outputs / "text" / "dev-00000-of-00001.zh") == ["ω@@ x", "a"]


def test_text_is_that_of_the_corpus_in_the_order_of_the_records(tmp_path: Path) -> None:
    written = {"kind": "text", "pieces": False, "corpus": True, "vocab": []}
    outputs = run_outputs(tmp_path, written, vocab={"size": 200})
    sources, targets = texts(outputs / "text", "en"), texts(outputs / "text", "zh")
    assert sorted(zip(sources, targets, strict=True)) == sorted(pair(n) for n in range(60))
    assert texts(outputs / "text", "corpus") == ["x"] * 60
    tokenizer = load_tokenizer(next((tmp_path / "run" / "vocab").glob("*.en")))
    assert [row[:-1] for row in recorded_ids(tmp_path / "run")[0]] == tokenizer.encode_batch(sources).to_lists()


@pytest.mark.parametrize("layout", ["example", "chunk", "packed"])
def test_other_numbers_of_shards_hold_the_same_pairs(tmp_path: Path, layout: str) -> None:
    outputs = run_outputs(
        tmp_path,
        {"kind": "text", "name": "seven", "shards": {"train": 7, "dev": 40}},
        {"kind": "text", "pieces": False, "shards": {"train": 5}},
        records={"shards": {"train": 3}, "layout": layout},
        vocab={"size": 200},
    )
    seven = [line for n in range(7) for line in lines_of(outputs / "seven" / f"train-{n:05d}-of-00007.en")]
    words = load_tokenizer(next((tmp_path / "run" / "vocab").glob("*.en"))).words()
    assert seven == [" ".join(words[n] for n in row[:-1]) for row in recorded_ids(tmp_path / "run")[0]]
    five = [line for n in range(5) for line in lines_of(outputs / "text" / f"train-{n:05d}-of-00005.en")]
    assert sorted(five) == sorted(pair(n)[0] for n in range(60))
    assert sum(len(lines_of(outputs / "seven" / f"dev-{n:05d}-of-00040.zh")) for n in range(40)) == 20


def test_a_tag_is_the_first_word_of_a_line_of_text(tmp_path: Path) -> None:
    splits = {"train": [{"name": "t", "url": "t.tsv", "tag": {"source": "<2zh>"}}]}
    (tmp_path / "t.tsv").write_text("one\t一\ntwo\t二\n")
    outputs = run_outputs(
        tmp_path,
        {"kind": "text", "pieces": False},
        splits=splits,
        vocab={"size": 120, "reserved": ["<2zh>"]},
        records={},
    )
    lines = [lines_of(outputs / "text" / f"train-00000-of-00001.{side}") for side in ("en", "zh")]
    assert sorted(zip(*lines, strict=True)) == [("<2zh> one", "一"), ("<2zh> two", "二")]


def test_vocabularies_for_other_toolkits(tmp_path: Path) -> None:
    outputs = run_outputs(tmp_path, {"kind": "text", "vocab": ["eole", "joey", "hf_marian"]}, vocab=SENTENCEPIECE)
    directory = outputs / "text"
    pieces = list(load_tokenizer(next((tmp_path / "run" / "vocab").glob("*.en.model"))).pieces)
    assert pieces[:4] == ["<pad>", "</s>", "<unk>", "<s>"]
    for format_ in ("eole", "joey"):
        assert lines_of(directory / f"vocab.{format_}.en") == pieces[4:]
    assert json.loads((directory / "vocab.json").read_text()) == {piece: n for n, piece in enumerate(pieces)}
    assert (directory / "source.spm").read_bytes() == next((tmp_path / "run" / "vocab").glob("*.en.model")).read_bytes()
    config = json.loads((directory / "tokenizer_config.json").read_text())
    assert (config["separate_vocabs"], config["source_lang"]) == (True, "en")


def test_lists_count_the_pieces_of_train(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("b a b xy xy\tz z\nc b\tz a\n")
    train = {"name": "x", "url": "x.tsv"}
    lists = [{"as": "joey", "least": 2}, {"as": "tensorflow_nmt", "joint": ["target", "source"]}]
    text = {"kind": "text", "order": "corpus", "lists": lists}
    words = {"kind": "subword_nmt", "merges": 1, "shared": True}
    directory = run_outputs(tmp_path, text, splits={"train": [train]}, vocab=words, records={}) / "text"
    assert lines_of(directory / "vocab.joey.en") == ["b", "xy"]
    assert lines_of(directory / "vocab.joey.zh") == ["z"]
    assert lines_of(directory / "vocab.tensorflow_nmt") == ["<unk>", "<s>", "</s>", "z", "b", "a", "xy", "c"]
    for options, problem in (
        ({**text, "pieces": False}, "lists: count pieces"),
        ({**text, "vocab": ["joey"]}, "lists: has a trainer twice"),
    ):
        with pytest.raises(ConfigError, match=problem):
            run_outputs(tmp_path, options, splits={"train": [train]}, vocab=words, records={})
