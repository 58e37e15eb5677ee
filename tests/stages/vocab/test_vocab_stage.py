from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.stages.vocab.vocab_stage import VocabOutput, size_warnings, vocabulary_name
from nmt_prep.subwords.facts import VocabularyFacts
from tests.corpus import corpus_config, pair, write_corpus


def build(place: Path, **changes: Any) -> dict[str, Any]:
    write_corpus(place)
    nmt_prep.run(corpus_config(place / "run", **changes), until="vocab", workers=1)
    return json.loads((place / "run" / "vocab" / "vocab.json").read_text("utf-8"))


def test_a_vocabulary_per_side_equals_training_on_its_sample(tmp_path: Path) -> None:
    details = build(tmp_path)
    assert sorted(path.name for path in (tmp_path / "run" / "vocab").iterdir()) == [
        "vocab.json",
        "vocab.small.200.subwords.en",
        "vocab.small.200.subwords.zh",
    ]
    sides = zip(*(pair(number) for number in range(300)), strict=True)
    for side, lines, extra in zip(("source", "target"), sides, (["nothing on the other side"], [""]), strict=True):
        expected = nmt_prep.T2TTokenizer.train([*lines, *extra], 200, max_subtoken_length=200)
        built = nmt_prep.load_tokenizer(tmp_path / "run" / "vocab" / details[side]["file"])
        assert list(built.pieces) == list(expected.pieces)
        assert details[side]["fingerprint"] == built.fingerprint == expected.fingerprint
        assert details[side]["size"] == len(built)


def test_facts_recorded_with_a_vocabulary(tmp_path: Path) -> None:
    facts = build(tmp_path)["source"]
    assert {key: facts[key] for key in ("kind", "unicode_version", "pad_id", "eos_id", "bos_id", "unk_id")} == {
        "kind": "t2t",
        "unicode_version": "14.0.0",
        "pad_id": 0,
        "eos_id": 1,
        "bos_id": None,
        "unk_id": None,
    }


def test_a_sentencepiece_model_is_trained_for_its_layout(tmp_path: Path) -> None:
    vocab = {"kind": "sentencepiece", "size": 120, "id_layout": "fairseq", "options": {"hard_vocab_limit": False}}
    facts = build(tmp_path, vocab=vocab)["source"]
    assert {key: facts[key] for key in ("bos_id", "pad_id", "eos_id", "unk_id")} == {
        "bos_id": 0,
        "pad_id": 1,
        "eos_id": 2,
        "unk_id": 3,
    }
    tokenizer = nmt_prep.load_tokenizer(tmp_path / "run" / "vocab" / facts["file"], id_layout="fairseq")
    assert tokenizer.pieces[:4] == ("<s>", "<pad>", "</s>", "<unk>")
    assert tokenizer.pieces[-1] == "<mask>"


def test_a_sentencepiece_model_is_trained_for_marian(tmp_path: Path) -> None:
    vocab = {"kind": "sentencepiece", "size": 120, "id_layout": "marian", "options": {"hard_vocab_limit": False}}
    facts = build(tmp_path, vocab=vocab)["source"]
    assert {key: facts[key] for key in ("file", "id_layout", "eos_id", "unk_id", "bos_id", "pad_id")} == {
        "file": "vocab.small.120.en.spm",
        "id_layout": "sentencepiece",
        "eos_id": 0,
        "unk_id": 1,
        "bos_id": None,
        "pad_id": None,
    }
    tokenizer = nmt_prep.load_tokenizer(tmp_path / "run" / "vocab" / facts["file"])
    assert list(tokenizer.pieces[:2]) == ["</s>", "<unk>"]
    assert not {"<s>", "<pad>"} & set(tokenizer.pieces)


def test_a_shared_vocabulary_serves_both_sides(tmp_path: Path) -> None:
    details = build(tmp_path, vocab={"size": 200, "shared": True, "reserved": ["<2zh>"]})
    assert details["source"] == details["target"]
    assert details["source"]["file"] == "vocab.small.200.subwords"
    tokenizer = nmt_prep.load_tokenizer(tmp_path / "run" / "vocab" / "vocab.small.200.subwords")
    assert list(tokenizer.pieces[:3]) == ["<pad>_", "<EOS>_", "<2zh>_"]
    assert tokenizer.decode(tokenizer.encode("Time, 时间。")) == "Time, 时间。"


@pytest.mark.parametrize(
    ("languages", "names"),
    [
        (("en", "zh"), ("vocab.small.200.subwords.en", "vocab.small.200.subwords.zh")),
        (("en", "en"), ("vocab.small.200.subwords.source", "vocab.small.200.subwords.target")),
    ],
)
def test_names(tmp_path: Path, languages: tuple[str, str], names: tuple[str, str]) -> None:
    config = corpus_config(tmp_path, languages=dict(zip(("source", "target"), languages, strict=True)))
    assert (vocabulary_name(config, config.vocab, "source"), vocabulary_name(config, config.vocab, "target")) == names


@pytest.mark.parametrize(
    ("shared", "sizes", "expected"),
    [
        (False, (180, 220), []),
        (False, (179, 221), ["the source vocabulary has 179 pieces, but 200", "the target vocabulary has 221 pie"]),
        (True, (1200, 1200), ["the shared vocabulary has 1,200 pieces, but 200 were asked for (vocab.size): "]),
    ],
)
def test_a_size_far_from_the_requested_one_gives_a_warning(
    tmp_path: Path, shared: bool, sizes: tuple[int, int], expected: list[str]
) -> None:
    config = corpus_config(tmp_path, vocab={"size": 200, "shared": shared})
    source, target = (VocabularyFacts("v", "t2t", None, size, "0" * 64, None, 0, 1, None, None) for size in sizes)
    warnings = size_warnings(config, VocabOutput(source, target, {"source": {}, "target": {}}))
    assert [warning.text[: len(start)] for warning, start in zip(warnings, expected, strict=True)] == expected
