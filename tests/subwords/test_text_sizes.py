"""Sizes of the text of pieces."""

from __future__ import annotations

import numpy as np
import pytest

from nmt_prep.align.subwords import piece_places
from nmt_prep.subwords.byte_bpe import ByteBPETokenizer
from nmt_prep.subwords.sentencepiece import SentencePieceTokenizer
from nmt_prep.subwords.t2t import T2TTokenizer
from nmt_prep.subwords.tokenizer import Tokenizer

LINES = ["The café_bar, \\ and 3 naïve cooks.", "the end  of 12 days", "東京は夜の七時"] * 20


def test_t2t_escapes() -> None:
    tokenizer = T2TTokenizer(["<pad>_", "<EOS>_", "the_", " , _", "a\\u", "\\\\x_", "\\228;\\32;", "é"])
    assert tokenizer.text_sizes().tolist() == [5, 5, 3, 1, 2, 2, 2, 2]


def test_sentencepiece_bytes() -> None:
    tokenizer = SentencePieceTokenizer.train(LINES, 310, model_type="bpe", byte_fallback=True)
    sizes = dict(zip(tokenizer.pieces, tokenizer.text_sizes().tolist(), strict=True))
    assert (sizes["<0xE6>"], sizes["<0x20>"], sizes["▁"], sizes["<unk>"], sizes["é"]) == (1, 0, 0, -1, 2)


@pytest.mark.parametrize(
    "tokenizer",
    [
        T2TTokenizer.train(LINES, 150),
        ByteBPETokenizer.train(LINES, 300),
        SentencePieceTokenizer.train(LINES, 80, model_type="bpe", normalization_rule_name="identity"),
    ],
    ids=["t2t", "byte_bpe", "sentencepiece"],
)
def test_pieces_are_the_text(tokenizer: Tokenizer) -> None:
    lines = [*LINES[:3], "", "a"]
    lengths = np.array([len("".join(line.split()).encode()) for line in lines])
    _, fits = piece_places(tokenizer.encode_batch(lines), tokenizer.text_sizes(), lengths)
    assert fits.all()
