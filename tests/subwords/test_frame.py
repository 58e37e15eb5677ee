"""Special pieces around the IDs, in each dialect against its own library."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as PeerTokenizer

from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import VocabularyError
from nmt_prep.subwords import ByteBPETokenizer, SentencePieceTokenizer, T2TTokenizer, Tokenizer
from nmt_prep.subwords.frame import Frame
from tests.reference import records as reference

LINES = ["the cat sat on the mat", "a cat and a dog, or <2de> and a mat", "hello world_wide"] * 20

ids = st.integers(-(2**31), 2**31 - 1)
rows_of_ids = st.lists(st.lists(ids, max_size=5), max_size=6)


@cache
def tokenizer(kind: str) -> Tokenizer:
    if kind == "t2t":
        return T2TTokenizer.train(LINES, 100, reserved=["<2de>", "<a_b\\c>"])
    if kind == "byte_bpe":
        return ByteBPETokenizer.train(LINES, 300, reserved=["<2de>"])
    symbols = {"control_symbols" if kind == "control" else "user_defined_symbols": ["<2de>"]}
    return SentencePieceTokenizer.train(LINES, 60, model_type="bpe", hard_vocab_limit=False, **symbols)


DIALECTS = ("t2t", "byte_bpe", "sentencepiece", "control")


@given(rows_of_ids, st.lists(ids, max_size=3), st.lists(ids, max_size=3))
def test_framed_rows_equal_those_of_the_reference(rows: list[list[int]], before: list[int], after: list[int]) -> None:
    frame = Frame(tuple(before), tuple(after))
    framed = frame.around(Ragged.from_lists(rows))
    assert framed.to_lists() == reference.frame_rows(rows, before, after)
    assert [frame.inside(row) for row in framed.to_lists()] == rows


def test_rows_that_use_part_of_the_values() -> None:
    part = Ragged(np.arange(10, dtype=np.int32), np.array([3, 5, 5, 9], np.int64))
    assert Frame((7,), (-1,)).around(part).to_lists() == [[7, 3, 4, -1], [7, -1], [7, 5, 6, 7, 8, -1]]


@pytest.mark.parametrize("offsets", [[], [0, 11], [-1, 3], [0, 5, 4]])
def test_bad_offsets_are_refused(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="offsets must"):
        Frame(after=(1,)).around(Ragged(np.arange(10, dtype=np.int32), np.array(offsets, np.int64)))


@pytest.mark.parametrize("row", [[], [8], [9], [8, 7], [8, 9, 7], [9, 8]])
def test_rows_without_the_frame(row: list[int]) -> None:
    assert Frame((8,), (9,)).inside(row) is None


@pytest.mark.parametrize("kind", DIALECTS)
def test_the_usual_frame_is_tag_text_and_eos(kind: str) -> None:
    made = tokenizer(kind)
    rows = made.encode_batch(["the cat", ""])
    tag = made.piece_id("<2de>")
    assert made.pieces[tag] == ("<2de>_" if kind == "t2t" else "<2de>")
    text = rows.to_lists()[0]
    assert tag not in text
    assert Frame.of(made, "<2de>").around(rows).to_lists() == [[tag, *text, made.eos_id], [tag, made.eos_id]]
    assert Frame.of(made, "<2de>", eos=False).around(rows).to_lists() == [[tag, *text], [tag]]
    assert Frame.of(made).around(rows).to_lists() == [[*text, made.eos_id], [made.eos_id]]
    assert Frame.of(made, eos=False).around(rows) is rows


def test_tagged_rows_equal_those_of_tokenizers(tmp_path: Path) -> None:
    ours = tokenizer("byte_bpe")
    ours.save(tmp_path / "tokenizer.json")
    theirs = PeerTokenizer.from_file(str(tmp_path / "tokenizer.json"))
    framed = Frame.of(ours, "<2de>", eos=False).around(ours.encode_batch(LINES[:3:2]))
    assert framed.to_lists() == [theirs.encode(f"<2de>{line}").ids for line in LINES[:3:2]]
    assert framed.to_lists()[0][0] == theirs.token_to_id("<2de>") == 2
    # nmt_prep never takes text of a corpus for a tag.
    assert theirs.token_to_id("<2de>") not in ours.encode("or <2de> and", disallowed_special=())  # type: ignore[call-arg]
    assert theirs.token_to_id("<2de>") in theirs.encode("or <2de> and").ids


@pytest.mark.parametrize("kind", ["sentencepiece", "control"])
def test_tagged_rows_equal_those_of_the_sentencepiece_library(kind: str) -> None:
    ours = tokenizer(kind)
    assert isinstance(ours, SentencePieceTokenizer)
    theirs = sentencepiece.SentencePieceProcessor(model_proto=ours.model_bytes)
    tag = theirs.piece_to_id("<2de>")
    framed = Frame.of(ours, "<2de>").around(ours.encode_batch(LINES[:3]))
    assert framed.to_lists() == [[tag, *theirs.encode(line), theirs.eos_id()] for line in LINES[:3]]
    # The library finds user-defined symbols in text, and never control symbols.
    assert (tag in ours.encode(LINES[1])) == (kind == "sentencepiece")


def test_tagged_rows_of_tensor2tensor_begin_with_the_reserved_token() -> None:
    made = tokenizer("t2t")
    assert list(made.pieces[:4]) == ["<pad>_", "<EOS>_", "<2de>_", "<a\\ub\\\\c>_"]
    assert [made.piece_id(name) for name in ("<2de>", "<2de>_", "<a_b\\c>")] == [2, 2, 3]
    assert Frame.of(made, "<2de>").around(made.encode_batch(LINES[:1]))[0][0] == 2
    assert 2 not in made.encode(LINES[1])


@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize("tag", ["<2fr>", "the cat", ""])
def test_a_tag_without_a_piece_is_refused(kind: str, tag: str) -> None:
    with pytest.raises(VocabularyError, match=rf"^'{tag}' is not a piece of the vocabulary; reserve it"):
        Frame.of(tokenizer(kind), tag)


def test_pieces_of_text_can_be_tags_too() -> None:
    made = tokenizer("byte_bpe")
    assert made.piece_id("Ġcat") == made.encode(" cat")[0]


def test_a_vocabulary_without_eos_is_refused_if_rows_end_with_it() -> None:
    made = SentencePieceTokenizer.train(LINES, 60, hard_vocab_limit=False, eos_id=None)
    assert Frame.of(made, eos=False) == Frame()
    with pytest.raises(VocabularyError, match="the vocabulary has no eos piece"):
        Frame.of(made)
