from __future__ import annotations

import pyarrow as pa
import pytest

from nmt_prep.subwords import ByteBPETokenizer, SentencePieceTokenizer, Tokenizer
from nmt_prep.subwords.comparison import TextFit


def test_a_text_in_any_blocks_has_the_same_numbers() -> None:
    tokenizer = ByteBPETokenizer.train(["low low lower"] * 9, 262)
    lines = ["low  lower", "", " slowest\u3000ü", "low"]
    expected = TextFit(5, 23, 16, 0, 5, 262, 251, [("slowest", 5), ("lower", 2), ("ü", 2)])
    assert TextFit.of(tokenizer, [pa.array(lines)]) == expected
    assert TextFit.of(tokenizer, [pa.array([""]), *(pa.array(["-", *lines])[at : at + 1] for at in (1, 2, 3, 4))]) == (
        TextFit.of(tokenizer, [pa.array(["", *lines])])
    )


@pytest.mark.parametrize(
    ("fallback", "unknown", "partial", "cut"),
    [(False, 2, 0, [("ab", 2), ("éπ", 2), ("🦆", 2)]), (True, 0, 8, [("éπ", 5), ("🦆", 5), ("ab", 2)])],
)
def test_unknown_and_byte_pieces(fallback: bool, unknown: int, partial: int, cut: list[tuple[str, int]]) -> None:
    tokenizer: Tokenizer = SentencePieceTokenizer.train(
        ["a b c"] * 9, 266 if fallback else 10, model_type="bpe", byte_fallback=fallback, hard_vocab_limit=False
    )
    fit = TextFit.of(tokenizer, [pa.array(["ab éπ a", "🦆"])])
    assert (fit.words, fit.unknown, fit.partial, fit.cut) == (4, unknown, partial, cut)
