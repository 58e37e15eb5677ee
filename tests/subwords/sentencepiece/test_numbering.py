"""SentencePiece models whose pieces are numbered by another file, as those of MarianTokenizer."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from nmt_prep import load_tokenizer
from nmt_prep.base.errors import EncodeError, VocabularyError
from nmt_prep.subwords.sentencepiece.numbering import checked_numbering
from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer
from nmt_prep.subwords.tokenizer_json import parse_json
from tests.reference.sentencepiece import CONTROL, NORMAL, UNKNOWN
from tests.subwords.sentencepiece.models import library, model_file

MODEL = model_file(
    [
        ("</s>", 0.0, CONTROL),
        ("<unk>", 0.0, UNKNOWN),
        ("▁", -2.0, NORMAL),
        ("▁ab", -1.0, NORMAL),
        ("a", -3.0, NORMAL),
        ("b", -3.0, NORMAL),
        ("жx", -3.0, NORMAL),
    ]
)
IDS = {"</s>": 0, "<unk>": 1, "b": 2, "▁ab": 3, "日本": 4, "▁": 5, ">>deu<<": 6, "жx": 7, "ж": 8, "<pad>": 9}


def numbered() -> SentencePieceTokenizer:
    return SentencePieceTokenizer(MODEL).numbered(IDS)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("ab b", [3, 5, 2]),
        ("ab日本b", [3, 4, 2]),  # a piece of the other side, which the model does not know
        ("ab日b", [3, 1, 2]),
        ("aba", [3, 1]),  # a piece without an ID
        ("ab жжx", [3, 5, 8, 7]),
        ("日本", [5, 4]),
        ("", []),
    ],
)
def test_ids_are_those_of_the_numbering(text: str, ids: list[int]) -> None:
    assert numbered().encode(text) == ids
    assert numbered().encode_batch(["ab", text, "b"]).to_lists() == [[3], ids, [5, 2]]


def test_roles_pieces_and_texts() -> None:
    tokenizer = numbered()
    roles = (tokenizer.pad_id, tokenizer.eos_id, tokenizer.bos_id, tokenizer.unk_id)
    assert (roles, len(tokenizer), tokenizer.piece_id(">>deu<<"), tokenizer.has_spm) == ((9, 0, None, 1), 10, 6, True)
    assert tokenizer.decode([3, 5, 2, 0]) == "ab b"
    assert tokenizer.decode([3, 4, 0, 9]) == "ab日本"
    with pytest.raises(EncodeError, match="ID 10 is not in the vocabulary, which has 10 pieces"):
        tokenizer.decode([10])


def test_the_file_contains_the_numbering(tmp_path: Path) -> None:
    path = tmp_path / "source.spm"
    numbered().save(path)
    loaded = load_tokenizer(path)
    assert loaded.encode("ab日本b") == [3, 4, 2]
    assert loaded.fingerprint == numbered().fingerprint != SentencePieceTokenizer(MODEL).fingerprint
    assert library(path.read_bytes()).encode("ab b") == [3, 2, 5]  # for others the model is what it was
    with pytest.raises(VocabularyError, match="a numbering is for the pieces of"):
        numbered().numbered(IDS)


def test_samples_have_the_ids_of_the_numbering() -> None:
    rows = numbered().encode_batch(["abb"] * 30, alpha=0.1, seed=1).to_lists()
    assert {tuple(row) for row in rows} >= {(3, 2), (5, 1, 2, 2)}
    assert rows == numbered().encode_batch(["abb"] * 30, threads=2, alpha=0.1, seed=1).to_lists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "is not valid JSON"),
        ("[]", "is JSON, but not an object"),
        ('{"</s>": 0}', "has no ID for <unk>; name the vocab.json of a MarianTokenizer"),
        ('{"</s>": 0, "<unk>": 0}', "several pieces have the same ID"),
        ('{"</s>": 0, "<unk>": "1"}', "the piece '<unk>' has the ID '1', not a number from 0 on"),
        ('{"</s>": 0, "<unk>": -1}', "the piece '<unk>' has the ID -1"),
    ],
)
def test_bad_numberings(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "vocab.json"
    path.write_text(text)
    with pytest.raises(VocabularyError) as raised:
        checked_numbering(parse_json(path, path.read_bytes()), str(path))
    assert str(raised.value).startswith(str(path))
    assert problem in str(raised.value)


@pytest.mark.slow
def test_ids_are_those_of_marian_tokenizer(tmp_path: Path, shared: Path) -> None:
    transformers = pytest.importorskip("transformers")
    references = shared / "corpora" / "wmt22-enzh" / "references-v22.en-zh.tsv.gz"
    pairs = [line.split("\t")[:2] for line in gzip.decompress(references.read_bytes()).decode().split("\n")[:400]]
    sides = []
    for name, column in (("source.spm", 0), ("target.spm", 1)):
        lines = [pair[column] for pair in pairs]
        side = SentencePieceTokenizer.train(lines, 1700, pad_id=None, eos_id=0, unk_id=1, bos_id=None)
        side.save(tmp_path / name)
        sides.append(side)
    pieces = sorted({*sides[0].pieces, *sides[1].pieces} - {"</s>", "<unk>"})[50:]
    ids = {"</s>": 0, "<unk>": 1, **{piece: number for number, piece in enumerate(pieces, 2)}}
    ids["<pad>"] = len(ids)
    (tmp_path / "vocab.json").write_text(json.dumps(ids))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"source_lang": "en", "target_lang": "zh"}))
    peer = transformers.MarianTokenizer.from_pretrained(str(tmp_path))
    source, target = (side.numbered(ids) for side in sides)
    for source_text, target_text in pairs:
        # Each side has text of the other too, which its model does not know.
        text = f"{source_text} {target_text[:8]}"
        assert [*source.encode(text), 0] == peer(text)["input_ids"]
        assert [*target.encode(target_text), 0] == peer(text_target=target_text)["input_ids"]
