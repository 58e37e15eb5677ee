"""What outputs cannot do or hold is an error in the config, or ends a run before anything is encoded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import ConfigError, EncodeError, VocabularyError
from nmt_prep.subwords.sentencepiece import SentencePieceTokenizer
from nmt_prep.training.outputs import kind_of
from tests.corpus import lines_of
from tests.training.outputs.runs import output_config


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a piece that contains a carriage return, as Llama 2 has it, and with codes of languages."""
    path = tmp_path_factory.mktemp("model") / "m.model"
    SentencePieceTokenizer.train(
        ["one; two three", "一二三"] * 9,
        60,
        model_type="char",
        normalization_rule_name="identity",
        user_defined_symbols=[";\r"],
        control_symbols=["en_XX", "zh_CN"],
        hard_vocab_limit=False,
    ).save(path)
    return path


TEXT = "one two\t一二\nthree;\t三\n"


def ran(place: Path, model: Path, output: dict[str, Any], text: str = TEXT, **vocab: Any) -> Path:
    (place / "t.tsv").write_text(text, encoding="utf-8", newline="")
    splits = {"train": [{"name": "t", "url": "t.tsv"}]}
    config = output_config(place, output, splits=splits, records={}, vocab={"from": str(model), **vocab})
    nmt_prep.run(config)
    return config.run_dir / "outputs" / kind_of(config.outputs[0]).kind


@pytest.mark.parametrize(
    "output",
    [{"kind": "text"}, {"kind": "text", "pieces": False}, {"kind": "marian", "pieces": True}, {"kind": "fairseq"}],
)
def test_a_piece_with_white_space_that_the_text_does_not_use(
    tmp_path: Path, model: Path, output: dict[str, Any]
) -> None:
    directory = ran(tmp_path, model, output)
    if output == {"kind": "text"}:
        assert sorted(lines_of(directory / "train-00000-of-00001.en")) == ["▁ o n e ▁ t w o", "▁ t h r e e ;"]
        assert lines_of(directory / "vocab.en")[6] == ";\\u000d"
    if output == {"kind": "fairseq"}:
        assert lines_of(directory / "dict.en.txt")[2] == ";\\u000d 0"


@pytest.mark.parametrize("output", [{"kind": "text"}, {"kind": "marian", "pieces": True}, {"kind": "fairseq"}])
def test_text_with_a_piece_of_white_space(tmp_path: Path, model: Path, output: dict[str, Any]) -> None:
    with pytest.raises(EncodeError) as caught:
        ran(tmp_path, model, {**output, "name": "mine"}, text="one two\t一二\nthree;\r a\t三\n")
    message = "the output mine: train-00000-of-00001: the text has piece 6, ';\\r', which contains white space"
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["test_model", "llama2"])
@pytest.mark.parametrize("output", [{"kind": "marian", "pieces": True}, {"kind": "fairseq"}])
def test_published_models(tmp_path: Path, shared: Path, name: str, output: dict[str, Any]) -> None:
    model = shared / "golden" / "published" / f"{name}.sentencepiece.model"
    assert ran(tmp_path, model, output).is_dir()


def test_text_does_not_need_the_pieces(tmp_path: Path, model: Path) -> None:
    directory = ran(tmp_path, model, {"kind": "text", "pieces": False, "vocab": []})
    assert sorted(lines_of(directory / "train-00000-of-00001.en")) == ["one two", "three;"]


def test_pieces_before_the_ids_are_in_lines_of_pieces(tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    SentencePieceTokenizer.train(
        ["one two three", "一二三"] * 9, 60, model_type="char", control_symbols=["en_XX"], hard_vocab_limit=False
    ).save(path)
    directory = ran(tmp_path, path, {"kind": "marian", "pieces": True}, frame={"source": "en_XX {ids} </s>"})
    lines = [line.split("\t") for line in lines_of(directory / "train-00000-of-00001.tsv")]
    assert ["en_XX ▁ o n e ▁ t w o", "▁ 一 二"] in lines


@pytest.mark.parametrize(
    ("output", "frame", "problem"),
    [
        (
            {"kind": "marian"},
            "en_XX {ids} </s>",
            "puts pieces before the IDs, which text cannot have; set pieces: true",
        ),
        ({"kind": "marian", "pieces": True}, "{ids} </s> en_XX", "puts more than the end of sentence after the IDs"),
    ],
)
def test_a_frame_that_lines_cannot_have(
    tmp_path: Path, model: Path, output: dict[str, Any], frame: str, problem: str
) -> None:
    with pytest.raises(VocabularyError) as caught:
        ran(tmp_path, model, output, frame={"source": frame})
    assert f"vocab.frame.source: {frame!r} {problem}" in str(caught.value)
    assert f"The output {output['kind']} cannot hold such rows" in str(caught.value)
    assert not (tmp_path / "run" / "records").exists()


T2T = {"vocab": {"size": 200}}
SHARED = {"vocab": {"kind": "byte_bpe", "size": 300, "shared": True}}
CORPUS = [{"name": "x", "url": "train.tgz", "source": "t/x.en", "target": "t/x.zh"}]


@pytest.mark.parametrize(
    ("kind", "options", "changes", "problem"),
    [
        ("fairseq", {"alignments": True}, {}, "alignments: unknown key"),
        ("fairseq", {"corpus": True}, {}, "corpus: files of kind fairseq cannot hold the name of a corpus; remove"),
        ("fairseq", {"dtype": "uint16"}, {}, "dtype: this key no longer exists: the size of the vocabulary determines"),
        ("fairseq", {"shards": {"dev": 2}}, {}, "shards: fairseq reads the first shard of dev only, as of every split"),
        ("fairseq", {}, {"splits": {"train": CORPUS, "train1": CORPUS}},
         "shards: shard 1 of train would have the files of the split train1; rename that split"),
        ("huggingface", {"prompts": ["{source}"]}, {}, ": prompts is for rows with prompts (chat, messages, "),
        ("huggingface", {"rows": "chat", "prompts": ["Translate!"]}, {}, ": prompts.0: must have {source} once"),
        ("huggingface", {"rows": "chat", "prompts": ["{source} {x}"]}, {},
         ": prompts.0: {x} is not one of {source}, {source_l"),
        ("huggingface", {"rows": "chat"}, {"languages": {"source": "qqq", "target": "zh"}},
         "language_names: the English name of the language qqq is not known; set this key"),
        ("huggingface", {"rows": "chat", "language_names": "de"}, {"languages": {"source": "qqq", "target": "zh"}},
         "language_names: the name in de of the language qqq is not known; set this key"),
        ("huggingface", {"rows": "rows"}, {}, "rows: found the text 'rows'; allowed: translation, messages (or chat)"),
        ("huggingface", {"rows": "prompt_only", "system": "S"}, {}, ": system is for rows of messages; set conv"),
        ("huggingface", {"rows": "messages", "system": "{source}"}, {}, ": system: {source} is not one of {source"),
        ("huggingface", {"rows": "messages", "prompts": "{glossary} {source}"}, {}, ": a prompt with {glossary} and"),
        ("huggingface", {"rows": "preference"}, {}, ": score and rows: preference must be set together"),
        ("huggingface", {"rows": "preference", "score": "s"}, {}, "score: no corpus has the score 's'; name one"),
        ("huggingface", {"rows": "causal"}, {}, "rows: causal rows come from records of layout causal; set records.l"),
        ("huggingface", {}, {"splits": {"train": CORPUS, "dev-1": CORPUS}},
         "kind: datasets does not allow the name of the split dev-1; it must be letters"),
        ("marian", {"alignments": True}, {}, "alignments: the run has no word links; add a section align"),
        ("marian", {"pieces": False}, T2T,
         "pieces: Marian segments text by a SentencePiece model only, and vocab.kind is t2t"),
        ("marian", {}, {"vocab": {"kind": "sentencepiece", "words": ["lowercase"]}},
         "pieces: Marian segments text without the steps of vocab.words; set it to true"),
        ("text", {"vocab": ["hf_marian"]}, {"vocab": {"kind": "sentencepiece", "words": ["lowercase"]}},
         "vocab: hf_marian segments text without the steps of vocab.words; remove one of them"),
        ("text", {"vocab": ["subword_nmt"]}, {"vocab": {"kind": "subword_nmt"}},
         "vocab: subword_nmt needs codes that are learned from both sides; set vocab.joint to true"),
        ("megatron", {}, T2T, "kind: megatron joins both sides to one sequence, which needs one vocabulary; set"),
        ("megatron", {"pair": "{source}{target}{end}"}, SHARED,
         "pair: {end} is not one of {source}, {target}, {sep}, {pad}"),
        ("megatron", {"pair": "{source}{source}"}, SHARED, "pair: must have {source} once"),
        ("megatron", {"pair": "{source} <x> {target}"}, SHARED, "pair: '<x>' is not in vocab.reserved; add it there"),
        ("megatron", {"sep": "<x>"}, SHARED, "sep: '<x>' is not in vocab.reserved; add it there to make it a single"),
        ("text", {"alignments": True}, {"align": {"splits": ["dev"]}}, "alignments: align.splits lacks train;"),
        ("text", {"tags": False}, {}, "tags: IDs and pieces always have the tags of the records; remove"),
        ("text", {"vocab": ["fairseq"]}, {}, "vocab.0: found the text 'fairseq'; allowed: a list of list, eole"),
        ("text", {"vocab": ["hf_marian"]}, T2T, "vocab: hf_marian needs a SentencePiece model, and vocab.kind is t2t"),
        ("text", {"vocab": ["list", "list"]}, {}, "vocab: names a format twice"),
        ("tfrecord", {}, {}, "kind: the kind tfrecord no longer exists: records/ has such shards"),
    ],
)  # fmt: skip
def test_what_outputs_cannot_do(
    tmp_path: Path, kind: str, options: dict[str, Any], changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        output_config(tmp_path, {"kind": kind, **options}, **changes)
    assert f"outputs.0{'' if problem.startswith(':') else '.'}{problem}" in str(caught.value)
