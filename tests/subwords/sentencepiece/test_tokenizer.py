from __future__ import annotations

import logging
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import EncodeError, InvalidTextError, VocabularyError
from nmt_prep.subwords.sentencepiece.engine import LibraryModel
from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer
from tests.reference import sentencepiece as reference
from tests.reference.sentencepiece import BYTE, CONTROL, NORMAL, UNUSED, USER_DEFINED
from tests.subwords.sentencepiece.json_models import charsmap
from tests.subwords.sentencepiece.models import BPE, BYTES, CHAR, UNIGRAM, UNK, WORD, field, library, model_file

WORDS = [
    UNK,
    ("<s>", 0.0, CONTROL),
    ("</s>", 0.0, CONTROL),
    ("▁", -3.0, NORMAL),
    ("a", -2.0, NORMAL),
    ("b", -2.5, NORMAL),
    ("▁a", -1.0, NORMAL),
    ("▁ab", -1.5, NORMAL),
    ("<x>", 0.0, USER_DEFINED),
]
TEST_MODEL = model_file(WORDS)


def test_unigram_ids_and_texts() -> None:
    tokenizer = SentencePieceTokenizer(TEST_MODEL)
    assert tokenizer.model_type == "unigram"
    assert tokenizer.library_reason is None
    assert tokenizer.encode("ab  aa<x>é日 b") == [7, 6, 4, 8, 0, 3, 5]
    assert tokenizer.decode([7, 6, 4, 8, 0, 3, 5]) == "ab aa<x> ⁇  b"
    assert tokenizer.encode("") == tokenizer.encode("  ") == []
    assert tokenizer.encode("a\u2581b") == [6, 3, 5]
    assert tokenizer.encode("<s>\0") == [3, 0]
    assert tokenizer.decode([1, 7, 2]) == "ab"
    segmented = tokenizer.segment(pa.array(["a xyb", "b", "\u2603 \uff21a", ""]))
    assert segmented.to_pylist() == ["▁a ▁ xy b", "▁ b", "▁ ☃ ▁ Ａ a", ""]
    assert tokenizer.pieces[:4] == ("<unk>", "<s>", "</s>", "▁")
    assert len(tokenizer) == 9
    assert (tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id) == (0, 1, 2, None)


def test_bpe_merges_by_score_and_splits_unused_pieces() -> None:
    pieces = [
        UNK,
        *((character, 0.0, NORMAL) for character in "▁abc"),
        ("ab", -1.0, NORMAL),
        ("bc", -2.0, NORMAL),
        ("abc", -3.0, UNUSED),
    ]
    tokenizer = SentencePieceTokenizer(model_file(pieces, BPE, dummy_prefix=False))
    assert tokenizer.encode("abc bcab") == [5, 4, 1, 6, 5]


def test_bytes_are_reassembled() -> None:
    tokenizer = SentencePieceTokenizer(model_file([UNK, *BYTES, ("a", -1.0, NORMAL)], BPE, byte_fallback=True))
    ids = tokenizer.encode("aé")
    assert [tokenizer.pieces[i] for i in ids] == ["<0xE2>", "<0x96>", "<0x81>", "a", "<0xC3>", "<0xA9>"]
    assert tokenizer.decode(ids) == "▁aé"
    assert tokenizer.decode(ids[4:5] + ids[3:4]) == "\ufffda"
    assert tokenizer.pieces[1 + 0xC3] == "<0xC3>"
    assert BYTES[0xC3][2] == BYTE


def test_denormalizer(shared: Path) -> None:
    # An NFKC table has the same effect as a denormaliser as it has as a normaliser.
    golden = (shared / "golden/published/test_model.sentencepiece.model").read_bytes()
    normalizer = dict(reference.fields(golden))[3]
    assert isinstance(normalizer, bytes)
    file = model_file([UNK, ("▁Ａ", -1.0, NORMAL), ("▁", -2.0, NORMAL)], denormalizer=normalizer)
    tokenizer = SentencePieceTokenizer(file)
    assert tokenizer.decode([1, 1]) == library(file).decode([1, 1]) == "▁A▁A"


def test_ids_outside_the_vocabulary_are_refused() -> None:
    tokenizer = SentencePieceTokenizer(TEST_MODEL)
    for bad in (-1, 9, 2**40):
        with pytest.raises(EncodeError, match=f"ID {bad} is not in the vocabulary, which has 9 pieces"):
            tokenizer.decode([4, bad])
    with pytest.raises(EncodeError, match="id 9 is not"):
        tokenizer.decode_batch(Ragged.from_lists([[4], [9]]))
    with pytest.raises(EncodeError, match="offsets"):
        tokenizer.decode_batch(Ragged(np.zeros(1, np.int32), np.array([0, 2])))


def test_batches_in_every_form() -> None:
    tokenizer = SentencePieceTokenizer(TEST_MODEL)
    expected = [[7], [], [6, 4]]
    lines = ["ab", "", "aa"]
    assert tokenizer.encode_batch(lines).to_lists() == expected
    assert tokenizer.encode_batch(pa.array(lines)).to_lists() == expected
    assert tokenizer.encode_batch(pa.chunked_array([lines[:1], lines[1:]])).to_lists() == expected
    assert tokenizer.encode_batch(iter([pa.array(["x", "ab"])[1:], pa.array(lines[1:])])).to_lists() == expected
    assert tokenizer.encode_batch([]).to_lists() == []
    assert tokenizer.decode_batch(Ragged.from_lists(expected)) == lines


def test_lone_surrogates_are_refused() -> None:
    tokenizer = SentencePieceTokenizer(TEST_MODEL)
    with pytest.raises(InvalidTextError, match="U\\+D800"):
        tokenizer.encode("\ud800")
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"a\xff")]
    )
    with pytest.raises(InvalidTextError, match="line 0: byte 1"):
        tokenizer.encode_batch(broken)


def test_save_writes_the_bytes_that_were_loaded(tmp_path: Path) -> None:
    path = tmp_path / "in.model"
    path.write_bytes(TEST_MODEL)
    tokenizer = SentencePieceTokenizer.load(path)
    tokenizer.save(tmp_path / "out.model")
    assert (tmp_path / "out.model").read_bytes() == TEST_MODEL
    assert SentencePieceTokenizer.load(tmp_path / "out.model").fingerprint == tokenizer.fingerprint
    other = SentencePieceTokenizer(model_file(WORDS, dummy_prefix=False))
    assert (
        other.fingerprint
        != tokenizer.fingerprint
        != SentencePieceTokenizer(TEST_MODEL, id_layout="fairseq").fingerprint
    )


def test_fairseq_layout() -> None:
    tokenizer = SentencePieceTokenizer(TEST_MODEL, id_layout="fairseq")
    assert tokenizer.pieces == ("<s>", "<pad>", "</s>", "<unk>", "▁", "a", "b", "▁a", "▁ab", "<x>", "<mask>")
    assert (tokenizer.bos_id, tokenizer.pad_id, tokenizer.eos_id, tokenizer.unk_id) == (0, 1, 2, 3)
    assert tokenizer.encode("ab é") == [8, 4, 3]
    assert tokenizer.decode([0, 8, 3, 1, 10, 2]) == "ab ⁇ "
    with pytest.raises(VocabularyError, match="does not begin with <unk>, <s> and </s>"):
        SentencePieceTokenizer(model_file([UNK, *WORDS[3:]]), id_layout="fairseq")
    with pytest.raises(VocabularyError, match="has the piece <pad> already"):
        SentencePieceTokenizer(model_file([*WORDS, ("<pad>", 0.0, CONTROL)]), id_layout="fairseq")
    with pytest.raises(VocabularyError, match="no ID layout 'xlm'"):
        SentencePieceTokenizer(TEST_MODEL, id_layout="xlm")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [WORD, CHAR])
@pytest.mark.parametrize("layout", ["sentencepiece", "fairseq"])
def test_other_kinds_are_encoded_by_the_library(kind: int, layout: str, caplog: pytest.LogCaptureFixture) -> None:
    file = model_file(WORDS, kind)
    with caplog.at_level(logging.WARNING):
        tokenizer = SentencePieceTokenizer(file, id_layout=layout)  # type: ignore[arg-type]
    reason = "it is a word model" if kind == WORD else "it is a character model"
    assert tokenizer.library_reason == reason
    assert [record.message for record in caplog.records] == [
        f"the sentencepiece library runs this model, more slowly: {reason}"
    ]
    pieces = [tokenizer.pieces[i] for i in tokenizer.encode("a ab")]
    assert pieces == (["▁a", "▁ab"] if kind == WORD else ["▁", "a", "▁", "a", "b"])
    assert tokenizer.decode(tokenizer.encode("a ab")) == "a ab"
    assert tokenizer.encode_batch([]).to_lists() == []
    with pytest.raises(EncodeError, match=r"cannot sample|is for"):
        tokenizer.encode("a", dropout=0.1, seed=1)
    with pytest.raises(EncodeError, match="not in the vocabulary"):
        tokenizer.decode([99])


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ({"é": "e", "éa": "f", "b" * 300: "c", "日" * 300: "本"}, None),
        ({"a" * size: "b" for size in range(1, 33)}, None),
        ({"a" * size: "b" for size in range(1, 34)}, "its normalisation table has rules that split characters"),
        ({"\udcc3": "e"}, "its normalisation table has rules that split characters"),
        ({"é": "e", "aé\udcc3": "e"}, "its normalisation table has rules that split characters"),
        ({"a\udca9": "e"}, "its normalisation table has rules that split characters"),
        ({"a" * 1025: "b"}, "its normalisation table is too large"),
    ],
)
def test_normalisation_tables_that_the_core_supports(rules: dict[str, str], reason: str | None) -> None:
    assert SentencePieceTokenizer(model_file(WORDS, charsmap=charsmap(rules))).library_reason == reason


def test_endless_normalisation_rules_are_left_to_the_library() -> None:
    table = bytearray(charsmap({"a": "b"}))
    header, root_children, byte = 4, 256, ord("a")
    unit = root_children | byte
    # The unit of "a" points back to the children of the root.
    table[header + 4 * unit : header + 4 * unit + 4] = struct.pack("<I", (unit ^ root_children) << 10 | byte)
    tokenizer = SentencePieceTokenizer(model_file(WORDS, charsmap=bytes(table)))
    assert tokenizer.library_reason == "its normalisation table is too large"


def test_test_sentences_of_a_model_decide_what_encodes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert SentencePieceTokenizer(model_file(WORDS, self_tests=[("ab", "▁ab")])).library_reason is None
    # The file says how unknown text is written; the IDs must still be the library's.
    assert SentencePieceTokenizer(model_file(WORDS, self_tests=[("ab 日", "▁ab ▁ 日")])).library_reason is None
    damaged = TEST_MODEL + field(4, field(1, field(1, b"a\xff") + field(2, b"\xfe")))
    assert SentencePieceTokenizer(damaged).library_reason is None
    other = Ragged.from_lists([[6, 5]])
    monkeypatch.setattr(LibraryModel, "encode", lambda *_: other)
    tokenizer = SentencePieceTokenizer(model_file(WORDS, self_tests=[("ab", "▁a b")]))
    assert tokenizer.library_reason == "its own test sentences fail in the native core"
    assert tokenizer.encode("ab") == [6, 5]


def test_every_cut_of_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.model"
    for size in range(len(TEST_MODEL)):
        path.write_bytes(TEST_MODEL[:size])
        with pytest.raises(VocabularyError, match=r"cut\.model: the SentencePiece model .*complete \.model file"):
            SentencePieceTokenizer.load(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no pieces"),
        (b"<html><body>404</body></html>", "is not a SentencePiece model, or is damaged: a "),
        (b"'<pad>_'\n'<EOS>_'\n", "is not a SentencePiece model, or is damaged: a "),
        (b"\xff" * 100, "is not a SentencePiece model"),
        (b"\0" * 100, "is not a SentencePiece model"),
        (model_file([("a", 0.0, NORMAL)]), "has 0 unknown pieces"),
        (model_file([UNK, ("<unk2>", 0.0, 2)]), "has no pieces that text could match|has 2 unknown pieces"),
        (model_file([UNK]), "no pieces that text could match"),
        (model_file([UNK, ("a", 0.0, NORMAL), ("a", 0.0, UNUSED)]), "has the piece 'a' twice"),
        (model_file([UNK, ("", 0.0, NORMAL)]), "has an empty piece"),
        (model_file([UNK, ("a\0", 0.0, NORMAL)]), "NUL"),
        (model_file([UNK, ("a" * 8000, 0.0, NORMAL)]), "8,000 bytes"),
        (model_file([UNK, ("a", float("nan"), NORMAL)]), "a score that is not finite"),
        (model_file([UNK, ("a", 0.0, NORMAL), BYTES[0]]), "'<0x00>', but no byte fallback"),
        (model_file([UNK, ("a", 0.0, NORMAL), BYTES[0]], byte_fallback=True), "lacks some of the 256 byte pieces"),
        (model_file(WORDS, charsmap=b"abc"), "damaged normalisation table"),
        (model_file(WORDS, charsmap=b"\0\4\0\0" + b"\1" * 1024 + b"x"), "damaged normalisation table"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "other.model"
    path.write_bytes(content)
    with pytest.raises(VocabularyError, match=message) as caught:
        SentencePieceTokenizer.load(path)
    assert str(path) in str(caught.value)


def test_large_numbers_choose_as_in_the_library() -> None:
    wide = 1 << 32
    file = model_file([UNK, *((text, -2.0, NORMAL) for text in "▁ab"), ("ab", -9.0, NORMAL + wide)], BPE + wide)
    assert SentencePieceTokenizer(file).model_type == "bpe"
    assert SentencePieceTokenizer(file).encode("ab") == library(file).encode("ab") == [1, 4]
    file = model_file([UNK, *((text, -2.0, NORMAL) for text in "▁ab"), ("ab", -9.0, USER_DEFINED + wide)])
    assert SentencePieceTokenizer(file).encode("ab") == library(file).encode("ab") == [1, 4]


def test_unusual_pieces_are_left_to_the_library() -> None:
    nested = [("x" * length, 0.0, USER_DEFINED) for length in range(1, 70)]
    tokenizer = SentencePieceTokenizer(model_file([*WORDS, *nested], UNIGRAM))
    assert tokenizer.library_reason == "a user-defined symbol begins with 64 others or more"
    assert tokenizer.encode("x" * 69) == library(model_file([*WORDS, *nested])).encode("x" * 69)
