"""Long and unusual lines: time is linear in the length of a line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from _nmt_prep_core import SentencePieceModel, SentencePieceTracer

from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.base.errors import EncodeError, VocabularyError
from nmt_prep.subwords.sentencepiece.json_file import Steps
from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer
from tests.reference.sentencepiece import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED
from tests.subwords.sentencepiece.json_models import charsmap
from tests.subwords.sentencepiece.models import BPE, BYTES, UNIGRAM, UNK, WORD, field, library, model_file

PIECES = [
    (text, -len(text) * 1.3 - i / 7, NORMAL)
    for i, text in enumerate(["▁", "a", "b", "aa", "aaaa", "ab", "▁a", "▁▁", "語", "語言", "語" * 6, "言語言", "▁語"])
]
MODELS = {
    name: model_file([UNK, *BYTES, *PIECES], kind, byte_fallback=True, collapse=False)
    for name, kind in {"unigram": UNIGRAM, "bpe": BPE}.items()
}
HOSTILE = {
    "one letter": "a",
    "spaces": " ",
    "joined emoji": "👩‍👩‍👧‍👦",
    "word": "abba",
    "escaped spaces": "\u2581a",
    "controls": "\0\x01\x7f",
    "without spaces": "語言語語言本",
    "words of one script": "語 語言 言 ",
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("name", MODELS)
def test_long_lines(name: str, kind: str) -> None:
    unit = HOSTILE[kind]
    tokenizer = SentencePieceTokenizer(MODELS[name])
    short = unit * (20_000 // len(unit.encode()))
    assert tokenizer.encode(short) == library(MODELS[name]).encode(short)
    line = unit * (300_000 // len(unit.encode()))
    ids = tokenizer.encode(line)
    assert tokenizer.decode(ids) == library(MODELS[name]).decode(ids)


@pytest.mark.parametrize(("a", "b"), ["ab", "語言"])
def test_sums_restart_as_in_the_library(a: str, b: str) -> None:
    # Scores so low that the line's sum passes 100,000 again and again.
    pieces = [(a, -901.1), (b, -902.3), (a + b, -1803.4), (b + a, -1803.3), ("▁", -900.0)]
    file = model_file([UNK, *((text, score, NORMAL) for text, score in pieces)], dummy_prefix=False)
    for line in ("ab" * 3000, "abba" * 900 + " " + "baab" * 900, " ".join(["abab", "bab", "a"] * 500)):
        text = line.replace("a", a).replace("b", b)
        assert SentencePieceTokenizer(file).encode(text) == library(file).encode(text)


@pytest.mark.parametrize("kind", [UNIGRAM, BPE, WORD])
def test_a_piece_that_is_not_utf8_is_refused(kind: int) -> None:
    file = model_file([UNK, *BYTES, *PIECES, ("xx", -9.0, NORMAL)], kind, byte_fallback=True).replace(
        b"xx", b"\xff\xfe"
    )
    with pytest.raises(VocabularyError, match=r"has a piece that is not UTF-8, the one with id 270$"):
        SentencePieceTokenizer(file)


@pytest.mark.parametrize("denormalizer", [None, field(2, charsmap({"é": "e"}))], ids=["as it is", "denormalized"])
@pytest.mark.parametrize("end", [b"\xff", b"\xc3", b"\xf0\x9f"])
def test_an_unknown_text_that_is_not_utf8_is_refused(end: bytes, denormalizer: bytes | None) -> None:
    surface = 44
    file = model_file([UNK, *PIECES], denormalizer=denormalizer) + field(2, field(surface, b"?" + end))
    with pytest.raises(VocabularyError, match="decodes the unknown piece to what is not UTF-8"):
        SentencePieceTokenizer(file)
    with pytest.raises(ValueError, match="decodes the unknown piece to what is not UTF-8"):
        SentencePieceModel(np.frombuffer(file, np.uint8), False)


def test_text_of_the_library_that_is_not_utf8_is_refused() -> None:
    table = charsmap({"a": "xx"}).replace(b"xx", b"\xff\xfe")
    tokenizer = SentencePieceTokenizer(model_file([UNK, *PIECES], denormalizer=field(2, table)))
    assert tokenizer.library_reason == "its normalisation table has rules that split characters"
    with pytest.raises(EncodeError, match="the text of row 1 is not UTF-8"):
        tokenizer.decode_batch(Ragged.from_lists([[3], [2]]))


@pytest.mark.parametrize("load", [SentencePieceModel, SentencePieceTracer])
@pytest.mark.parametrize("kind", [NORMAL, USER_DEFINED, CONTROL, UNUSED])
def test_the_core_refuses_pieces_that_are_not_utf8(load: Any, kind: int) -> None:
    file = model_file([UNK, *PIECES, ("xx", 0.0, kind)]).replace(b"\x02xx", b"\x02\xe8\xaa")
    with pytest.raises(ValueError, match="has a piece that is not UTF-8, the one with id 14"):
        load(np.frombuffer(file, np.uint8), False)


def test_an_unknown_piece_within_a_character_has_no_place() -> None:
    """The IDs do not belong to the line."""
    file = model_file([UNK, *BYTES, *PIECES], byte_fallback=True, dummy_prefix=False)
    tracer = SentencePieceTracer(np.frombuffer(file, np.uint8), False)
    line = TextColumn.from_strings(["é"])
    unknown, first_byte, a = 0, 1 + 0xC3, 258
    spans = tracer.spans(line.data, line.offsets, np.array([first_byte, unknown, a], np.int32), np.array([0, 3]))
    assert [part.tolist() for part in spans] == [[0, 0, 0], [0, 0, 0], [False]]


def load_pieces(
    pieces: list[tuple[str, int]], scores: list[float], merges: list[int], *, is_unigram: bool = True
) -> SentencePieceModel:
    rules = Steps(escaped=True).rules(fuse_unknown=True)
    numbers = np.array(scores, np.float64), np.array(merges, np.int32)
    return SentencePieceModel.of_tokenizers(pieces, is_unigram, False, "<unk>", True, rules, *numbers)


def test_numbers_that_are_not_those_of_pieces_are_refused() -> None:
    known = [("<unk>", UNKNOWN), ("a", NORMAL), ("b", NORMAL)]
    assert len(load_pieces(known, [0.0, -1.0, -2.0], [])) == 3
    for scores, message in (
        ([0.0] * 4, "has more scores than pieces"),
        ([0.0, -1.0], "has a piece without a score"),
        ([0.0, -1.0, float("nan")], "has a score that is not finite"),
        ([0.0, -1.0, 1e300], "has a score that is not finite"),
    ):
        with pytest.raises(ValueError, match=message):
            load_pieces(known, scores, [])
    for merges in ([1, 2, 3], [-1, 1, 2]):
        with pytest.raises(ValueError, match="has a merge of an unknown piece"):
            load_pieces(known, [], merges, is_unigram=False)
    for piece, message in (
        (("b", 7), "has a piece of an unknown type"),
        (("b", BYTE), "has a byte piece without a byte"),
        (("", NORMAL), "has an empty piece"),
    ):
        with pytest.raises(ValueError, match=message):
            load_pieces([*known[:2], piece], [0.0] * 3, [])
