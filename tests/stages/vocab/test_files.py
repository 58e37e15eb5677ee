"""Existing vocabularies of several files, and those of Hugging Face."""

from __future__ import annotations

import base64
import gzip
import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import ConfigError, VocabularyError
from nmt_prep.training.records.dataset_json import load_dataset_info
from tests.corpus import corpus_config, pair
from tests.server import web_server
from tests.stages.vocab.test_vocab_stage_existing import LINES, rows, run
from tests.subwords.sentencepiece.json_models import added, bpe, content, data, metaspace, special_tokens, unigram

PAIRS = [pair(number) for number in range(300)]


def pair_of_files(place: Path) -> nmt_prep.ByteBPETokenizer:
    tokenizer = nmt_prep.ByteBPETokenizer.train(LINES, 300)
    tokenizer.save(place, format="openai")
    return tokenizer


def expected_rows(source: nmt_prep.Tokenizer, target: nmt_prep.Tokenizer) -> set[Any]:
    sides = (source, target)
    return {
        tuple((*side.encode(text), side.eos_id) for side, text in zip(sides, texts, strict=True)) for texts in PAIRS
    }


@pytest.mark.parametrize("name", ["encoder.json", "vocab.bpe"])
def test_openais_two_files_become_one(tmp_path: Path, name: str) -> None:
    tokenizer = pair_of_files(tmp_path)
    run(tmp_path, vocab={"from": name})
    info = load_dataset_info(tmp_path / "run" / "records")
    assert (info.vocab.source.file, info.vocab.source.fingerprint) == ("../vocab/tokenizer.json", tokenizer.fingerprint)
    assert rows(tmp_path / "run") == expected_rows(tokenizer, tokenizer)


def test_another_file_of_merges_makes_other_records(tmp_path: Path) -> None:
    pair_of_files(tmp_path)
    run(tmp_path, until="vocab", vocab={"from": "encoder.json"})
    merges = tmp_path / "vocab.bpe"
    lines = merges.read_text().split("\n")
    merges.write_text("\n".join([lines[0], *reversed(lines[1:-1]), ""]))
    assert "vocab" in run(tmp_path, until="vocab", vocab={"from": "encoder.json"})


def test_openais_two_files_behind_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    tokenizer = pair_of_files(tmp_path / "served")
    with web_server() as server:
        for name in ("vocab.bpe", "encoder.json"):
            url = server.give(f"/{name}", (tmp_path / "served" / name).read_bytes())
        run(tmp_path, vocab={"from": url}, download={"cache": False})
    assert rows(tmp_path / "run") == expected_rows(tokenizer, tokenizer)


def test_openais_files_without_merges(tmp_path: Path) -> None:
    pair_of_files(tmp_path)
    (tmp_path / "vocab.bpe").unlink()
    with pytest.raises(VocabularyError, match=r"vocab.from: cannot read the vocabulary .*vocab\.bpe"):
        run(tmp_path, vocab={"from": "encoder.json"})


def test_ranks_keep_their_pattern_under_another_name(tmp_path: Path) -> None:
    tokens = [bytes([byte]) for byte in range(256)] + [bytes(pair) for pair in product(range(256), repeat=2)]
    ranks = "".join(f"{base64.b64encode(token).decode()} {number}\n" for number, token in enumerate(tokens[:50255]))
    for folder, last in (("a", b"abc"), ("b", b"cde")):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "r50k_base.tiktoken"
        path.write_text(f"{ranks}{base64.b64encode(last).decode()} 50255\n")
    names = {side: f"{side_folder}/r50k_base.tiktoken" for side, side_folder in (("source", "a"), ("target", "b"))}
    run(tmp_path, vocab={"from": names})
    info = load_dataset_info(tmp_path / "run" / "records")
    assert info.vocab.source.file == "../vocab/source.r50k_base.tiktoken"
    assert {row[-1] for both in rows(tmp_path / "run") for row in both} == {50256}
    (tmp_path / "own.tiktoken").write_text(ranks)
    with pytest.raises(VocabularyError, match=r"let its name end in one of r50k_base.tiktoken, p50k_base.tiktoken"):
        run(tmp_path, vocab={"from": "own.tiktoken"})


def test_a_numbering_gives_the_ids_of_both_sides(tmp_path: Path) -> None:
    sides = [
        nmt_prep.SentencePieceTokenizer.train(
            [texts[side] for texts in PAIRS], 90, hard_vocab_limit=False, pad_id=None, eos_id=0, unk_id=1, bos_id=None
        )
        for side in (0, 1)
    ]
    pieces = sorted({*sides[0].pieces, *sides[1].pieces, ">>zho<<"} - {"</s>", "<unk>"})
    ids = {"</s>": 0, "<unk>": 1, **{piece: number for number, piece in enumerate(pieces, 2)}}
    sides[0].save(tmp_path / "source.spm")
    sides[1].save(tmp_path / "target.spm")
    (tmp_path / "vocab.json").write_text(json.dumps(ids))
    names = {"source": "source.spm", "target": "target.spm"}
    run(tmp_path, vocab={"from": names, "ids": "vocab.json", "frame": {"source": ">>zho<< {ids} </s>"}})
    source, target = (side.numbered(ids) for side in sides)
    first = ids[">>zho<<"]
    expected = {((first, *left), right) for left, right in expected_rows(source, target)}
    assert rows(tmp_path / "run") == expected
    info = load_dataset_info(tmp_path / "run" / "records")
    assert (info.vocab.source.file, info.vocab.target.file) == ("../vocab/source.spm", "../vocab/target.spm")
    assert (info.vocab.source.size, info.vocab.target.size) == (len(ids), len(ids))
    (tmp_path / "vocab.json").write_text(json.dumps({"</s>": 0}))
    with pytest.raises(VocabularyError, match=r"vocab.from.source: .*vocab.json has no ID for <unk>"):
        run(tmp_path, vocab={"from": names, "ids": "vocab.json"})


def test_a_numbering_is_for_models(tmp_path: Path) -> None:
    nmt_prep.T2TTokenizer.train(LINES, 200).save(tmp_path / "words")
    (tmp_path / "vocab.json").write_text('{"</s>": 0, "<unk>": 1}')
    with pytest.raises(VocabularyError, match=r"only SentencePiece models are numbered by another file, not t2t"):
        run(tmp_path, vocab={"from": "words", "ids": "vocab.json"})


def characters() -> dict[str, float]:
    return {character: -1.0 - number for number, character in enumerate(sorted({"▁", *"".join(LINES)} - {" "}))}


@pytest.mark.parametrize(
    ("frame", "before", "after"),
    [({}, [], [2]), ({"target": "<s> {ids}"}, [1], []), ({"target": "eng_Latn {ids} </s>"}, ["eng_Latn"], [2])],
)
def test_frames_around_the_ids_of_a_tokenizer_json(
    tmp_path: Path, frame: dict[str, str], before: list[Any], after: list[int]
) -> None:
    model = unigram(characters())
    code = len(model["vocab"])
    parts = content(model, None, metaspace(), tokens=[*special_tokens(model), *added([("eng_Latn", code)])])
    (tmp_path / "tokenizer.json").write_bytes(data(parts))
    run(tmp_path, vocab={"from": "tokenizer.json", "frame": frame})
    tokenizer = nmt_prep.load_tokenizer(tmp_path / "tokenizer.json")
    before = [code if piece == "eng_Latn" else piece for piece in before]
    expected = {
        ((*tokenizer.encode(source), 2), (*before, *tokenizer.encode(target), *after)) for source, target in PAIRS
    }
    assert rows(tmp_path / "run") == expected
    assert load_dataset_info(tmp_path / "run" / "records").vocab.source.kind == "sentencepiece"


@pytest.mark.parametrize(
    ("outputs", "problem"),
    [
        ([{"kind": "marian", "pieces": False}], "only, and vocab.from is a tokenizer.json; set it to true"),
        ([{"kind": "text", "vocab": ["hf_marian"]}], "SentencePiece model, and vocab.from is a tokenizer"),
    ],
)
def test_outputs_that_need_a_model(tmp_path: Path, outputs: list[dict[str, Any]], problem: str) -> None:
    model = unigram(characters())
    (tmp_path / "tokenizer.json").write_bytes(data(content(model, None, metaspace(), tokens=special_tokens(model))))
    with pytest.raises(ConfigError) as raised:
        run(tmp_path, None, vocab={"from": "tokenizer.json", "kind": "sentencepiece"}, outputs=outputs)
    assert problem in str(raised.value)


def test_marian_gets_pieces_of_a_tokenizer_json(tmp_path: Path) -> None:
    model = unigram(characters())
    (tmp_path / "tokenizer.json").write_bytes(data(content(model, None, metaspace(), tokens=special_tokens(model))))
    vocab = {"from": "tokenizer.json", "kind": "sentencepiece"}
    run(tmp_path, "outputs", vocab=vocab, outputs=[{"kind": "marian"}, {"kind": "huggingface", "rows": "ids"}])
    outputs = tmp_path / "run" / "outputs"
    assert (outputs / "marian" / "vocab.txt").read_text().split("\n")[:3] == ["<unk>", "<s>", "</s>"]
    assert (outputs / "huggingface" / "tokenizer.json").read_bytes() == (tmp_path / "tokenizer.json").read_bytes()


def template(*pieces: str, ids: dict[str, int]) -> dict[str, Any]:
    """Returns a post-processor that puts special tokens around a sequence, ``A``."""
    parts = [{"Sequence" if p == "A" else "SpecialToken": {"id": p, "type_id": 0}} for p in pieces]
    tokens = {p: {"id": p, "ids": [ids[p]], "tokens": [p]} for p in pieces if p != "A"}
    return {"type": "TemplateProcessing", "single": parts, "pair": [*parts, *parts], "special_tokens": tokens}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "frame", "pieces"),
    [
        ("t5", None, ("A", "</s>")),
        ("nllb", "eng_Latn {ids} </s>", ("eng_Latn", "A", "</s>")),
        ("llama", "<s> {ids}", ("<s>", "A")),
    ],
)
def test_frames_give_the_ids_of_transformers(
    tmp_path: Path, shared: Path, name: str, frame: str | None, pieces: tuple[str, ...]
) -> None:
    transformers = pytest.importorskip("transformers")
    references = shared / "corpora" / "wmt22-enzh" / "references-v22.en-zh.tsv.gz"
    lines = gzip.decompress(references.read_bytes()).decode().split("\n")[:300]
    texts = [line.split("\t")[:2] for line in lines]
    if name == "llama":
        letters = sorted({"▁", *"".join(lines)})
        model = bpe(letters, [("t", "h"), ("th", "e"), ("▁", "the"), ("i", "n")], byte_fallback=True)
        parts = content(model, None, metaspace("first", split=False), tokens=special_tokens(model))
        ids = model["vocab"]
    else:
        letters = sorted({"▁", "▁the", *"".join(lines)})
        model = unigram({piece: -1.0 - number / 7 for number, piece in enumerate(letters)})
        parts = content(model, None, metaspace(), tokens=special_tokens(model))
        ids = {piece: number for number, (piece, _) in enumerate(model["vocab"])}
    if name == "nllb":
        ids = {**ids, "eng_Latn": len(ids)}
        parts["added_tokens"] += added([("eng_Latn", ids["eng_Latn"])])
    parts["post_processor"] = template(*pieces, ids=ids)
    (tmp_path / "tokenizer.json").write_bytes(data(parts))
    for side, column in (("source", 0), ("target", 1)):
        (tmp_path / side).write_text("".join(f"{text[column]}\n" for text in texts if len(text) == 2))
    vocab = {"from": "tokenizer.json", "frame": {} if frame is None else {"source": frame, "target": frame}}
    corpus = {"name": "c", "url": {"source": "source", "target": "target"}}
    config = corpus_config(tmp_path / "run", vocab=vocab, splits={"train": [corpus]})
    nmt_prep.run(config, until="encode", workers=1)
    peer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    expected = {tuple(tuple(peer(text)["input_ids"]) for text in both) for both in texts if len(both) == 2}
    assert rows(tmp_path / "run") == expected
