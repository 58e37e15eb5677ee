"""Values that outputs cannot hold end a run before anything is encoded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import EncodeError, VocabularyError
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
            "puts pieces before the ids, which text cannot have; set pieces: true",
        ),
        ({"kind": "marian", "pieces": True}, "{ids} </s> en_XX", "puts more than the end of sentence after the ids"),
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
