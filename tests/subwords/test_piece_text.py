from __future__ import annotations

import numpy as np
import pytest

from nmt_prep import SentencePieceTokenizer
from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import EncodeError
from nmt_prep.subwords.piece_text import PieceText


@pytest.fixture(scope="module")
def with_white_pieces() -> SentencePieceTokenizer:
    """Returns a model with the pieces "\r" and U+3000, as some published ones have."""
    lines = ["the cat sat on the mat", "a cat and a mat", "cats\r and\u3000 mats"] * 20
    return SentencePieceTokenizer.train(
        lines,
        60,
        model_type="bpe",
        normalization_rule_name="identity",
        hard_vocab_limit=False,
        user_defined_symbols=["\r", "\u3000"],
    )


def test_lines_of_pieces(with_white_pieces: SentencePieceTokenizer) -> None:
    text = PieceText(with_white_pieces)
    rows = with_white_pieces.encode_batch(["the cat", "mats"])
    lines = text.lines(rows).to_pylist()
    assert "".join(lines[0].split(" ")) == "▁the▁cat"
    assert text.rows(lines).to_lists() == rows.to_lists()


@pytest.mark.parametrize("white", ["\r", "\u3000"])
def test_error_names_a_piece_of_white_space_in_the_text(with_white_pieces: SentencePieceTokenizer, white: str) -> None:
    text = PieceText(with_white_pieces)
    number = list(with_white_pieces.pieces).index(white)
    with pytest.raises(EncodeError, match=rf"the text has piece {number}, .* contains white space"):
        text.lines(with_white_pieces.encode_batch([f"cats{white}"]))


def test_a_vocabulary_list_spells_white_space_as_an_escape(with_white_pieces: SentencePieceTokenizer) -> None:
    pieces, words = list(with_white_pieces.pieces), PieceText(with_white_pieces).words()
    assert words[pieces.index("\r")] == "\\u000d"
    assert words[pieces.index("\u3000")] == "\\u3000"
    others = [number for number, piece in enumerate(pieces) if piece not in ("\r", "\u3000")]
    assert [words[number] for number in others] == [pieces[number] for number in others]


def test_escapes_differ_from_other_pieces() -> None:
    tokenizer = SentencePieceTokenizer.train(
        ["one two"] * 9,
        60,
        model_type="char",
        normalization_rule_name="identity",
        user_defined_symbols=["\r", "\\u000d", "\\\\u000d"],
        hard_vocab_limit=False,
    )
    words = PieceText(tokenizer).words()
    assert words[tokenizer.pieces.index("\r")] == "\\\\\\u000d"
    assert len(set(words)) == len(words)


def test_ids_beyond_the_vocabulary_are_refused(with_white_pieces: SentencePieceTokenizer) -> None:
    rows = Ragged(np.array([len(with_white_pieces)], np.int32), np.array([0, 1], np.int64))
    with pytest.raises(EncodeError, match="IDs must be from 0 to"):
        PieceText(with_white_pieces).lines(rows)
