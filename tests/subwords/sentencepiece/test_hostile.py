"""Long and unusual lines: time is linear in the length of a line."""

from __future__ import annotations

import pytest

from nmt_prep.errors import VocabularyError
from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer
from tests.reference.sentencepiece import NORMAL
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


def test_an_unknown_text_that_is_not_utf8_is_refused() -> None:
    surface = 44
    file = model_file([UNK, *PIECES]) + field(2, field(surface, b"?\xff"))
    with pytest.raises(VocabularyError, match=r"decodes the unknown piece to what is not UTF-8: b'\?\\xff'"):
        SentencePieceTokenizer(file)
