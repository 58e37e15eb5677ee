"""Places of pieces in lines."""

from __future__ import annotations

import functools
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.base.errors import EncodeError
from nmt_prep.subwords.byte_bpe import ByteBPETokenizer
from nmt_prep.subwords.sentencepiece import SentencePieceTokenizer
from nmt_prep.subwords.t2t import T2TTokenizer
from nmt_prep.subwords.tokenizer import Tokenizer
from tests.conftest import examples

LINES = ["The café_bar, \\ and 3 naïve cooks.", "the end  of 12 days", "東京は夜の七時、ﬁn…", "½ﬁ"] * 20
OPTIONS: dict[str, dict[str, Any]] = {
    "bpe": {"model_type": "bpe", "byte_fallback": True},
    "unigram": {"user_defined_symbols": ["<2de>"]},
    "identity": {"normalization_rule_name": "identity", "user_defined_symbols": ["  "]},
    "suffix": {"treat_whitespace_as_suffix": True, "remove_extra_whitespaces": False},
    "char": {"model_type": "char"},
}
NAMES = ("t2t", "byte_bpe", *OPTIONS)


@functools.cache
def made(name: str) -> Tokenizer:
    if name == "t2t":
        return T2TTokenizer.train(LINES, 150)
    if name == "byte_bpe":
        return ByteBPETokenizer.train(LINES, 300)
    return SentencePieceTokenizer.train(LINES, 320, hard_vocab_limit=False, **OPTIONS[name])


TEXT = st.text(
    st.sampled_from("the cafe 3é東夜ﬁ…½ \t\u3000\u200b▁_\\;𠮷x<2de>") | st.characters(codec="utf-8"), max_size=20
)


def spans(tokenizer: Tokenizer, lines: list[str]) -> list[list[tuple[int, int]] | None]:
    """Returns the spans of the pieces of each line; None where they are not found."""
    column, rows = TextColumn.from_strings(lines), tokenizer.encode_batch(lines, 1)
    found = tokenizer.piece_spans(column, rows)
    listed = list(zip(found.begins.tolist(), found.ends.tolist(), strict=True))
    bounds = pairwise(rows.offsets.tolist())
    return [listed[a:b] if known else None for (a, b), known in zip(bounds, found.known.tolist(), strict=True)]


def texts(tokenizer: Tokenizer, line: str) -> list[str]:
    """Returns the text of each piece of a line."""
    [places] = spans(tokenizer, [line])
    assert places is not None
    return [line.encode()[begin:end].decode("utf-8", "replace") for begin, end in places]


def test_t2t() -> None:
    vocabulary = T2TTokenizer(["<pad>_", "<EOS>_", "the_", "a", "_", " , _", "\\", "u", "2", "8", ";", "c"])
    assert texts(vocabulary, "the a , a_c") == ["the", "a", "", " , ", "a", "", "_", "_", "", "c", ""]
    assert texts(vocabulary, "\x1c") == ["\x1c", "\x1c", "\x1c", "\x1c", ""]
    assert texts(vocabulary, "a\\c") == ["a", "", "\\", "\\", "", "c", ""]


@pytest.mark.parametrize("name", NAMES)
def test_pieces_cover_the_text(name: str) -> None:
    tokenizer = made(name)
    for line in (*LINES[:4], "", "a", "\u4e00ß\\u_"):
        pieces = texts(tokenizer, line)
        assert len(pieces) == len(tokenizer.encode(line))
        [places] = spans(tokenizer, [line])
        covered = {byte for begin, end in places or () for byte in range(begin, end)}
        assert {byte for byte, value in enumerate(line.encode()) if value not in b" "} <= covered


def test_normalized_characters() -> None:
    model = SentencePieceTokenizer.train(["a fin . b"] * 9, 30, model_type="char", hard_vocab_limit=False)
    assert [model.pieces[i] for i in model.encode("ﬁn …")] == ["▁", "f", "i", "n", "▁", ".", ".", "."]
    assert texts(model, "ﬁn …") == ["", "ﬁ", "ﬁ", "n", " ", "…", "…", "…"]


def test_bytes_of_a_character() -> None:
    assert texts(made("bpe"), "a𠮷") == ["a", "𠮷", "𠮷", "𠮷", "𠮷"]


def test_lines_that_are_not_those_of_the_ids() -> None:
    for tokenizer in map(made, NAMES):
        column = TextColumn.from_strings(["the end", "the"])
        rows = Ragged.joined([tokenizer.encode_batch(["days"]), tokenizer.encode_batch(["the"])])
        found = tokenizer.piece_spans(column, rows)
        assert found.known.tolist() == [False, True]
        assert not found.ends[: rows.offsets[1]].any()
    with pytest.raises(EncodeError, match="id 999 is not in the vocabulary"):
        made("unigram").piece_spans(TextColumn.from_strings(["a"]), Ragged.from_lists([[999]]))


@pytest.mark.parametrize("name", OPTIONS)
@settings(max_examples=examples(40))
@given(lines=st.lists(TEXT, max_size=4))
@example(lines=["0 ¼"])
def test_spans_are_those_of_the_library(name: str, lines: list[str]) -> None:
    """The library gives a character to its last piece only, and removed characters to the piece before them."""
    model = made(name)
    assert isinstance(model, SentencePieceTokenizer)
    library = pytest.importorskip("sentencepiece").SentencePieceProcessor(model_proto=model.model_bytes)
    for line, places in zip(lines, spans(model, lines), strict=True):
        assert places is not None
        expected = library.encode(line, return_type="offset_mapping", return_bytes=True)["offsets"]
        assert [begin for begin, _ in places] == [begin for begin, _ in expected]
        for (_, end), (_, last) in zip(places, expected, strict=True):
            if last < end:
                assert len(line.encode()[last:end].decode()) == 1  # the next pieces take it too
            else:
                assert not "".join(library.encode(line.encode()[end:last].decode(), out_type=str)).strip("▁")


@given(st.lists(TEXT, max_size=4))
def test_other_dialects_find_all_lines(lines: list[str]) -> None:
    assert None not in spans(made("t2t"), lines)
    assert None not in spans(made("byte_bpe"), lines)
