"""Files in the formats of published models, compared with the IDs of the library ``tokenizers``."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from nmt_prep.subwords.byte_bpe.tokenizer import ByteBPETokenizer
from nmt_prep.subwords.piece_text import PieceText
from tests.conftest import examples
from tests.subwords.byte_bpe.models import MODELS, model_file
from tests.subwords.byte_bpe.samples import LINES

NAMES = sorted(MODELS)

# Text that the models' patterns and added tokens treat differently, of characters that have been in Unicode since 2015.
TELLING = [
    *" \t\n\r\u00a0\u3000\x85 ab'.,!?/-_|¹²½٣09Ⅷ的猫ーひ。，¿ßſKİıʕǅé\u0301\u0323\u0338ÅΩᾳв가ﬁö",
    *(
        "  ",
        "   ",
        "'S",
        "'ſ",
        "'LL",
        "'re",
        "12345",
        "the",
        " the",
        "naïve",
        "HELLO",
        "iPhone",
        "\r\n",
        " \n ",
        "a.",
        "aa",
    ),
    *(
        "e\u0301",
        "o\u0308",
        "ö",
        "<|endoftext|",
        "<tool>",
        "</tool>",
        "[MASK]",
        " <r> ",
        "|||IP|||",
        "<|im|>",
        "👩🏽\u200d🚀",
    ),
    *(" " * 24, "\t\t", "ʼn", "ﬆ", "़क", "ᄀ", "ᅡ", "ᆨ", "각"),
]
OLD = st.characters(exclude_categories=["Cs", "Cn", "Co"], max_codepoint=0x7F0)
TEXTS = st.lists(st.one_of(st.sampled_from(TELLING), st.sampled_from(LINES), OLD), max_size=14).map("".join)


@lru_cache(maxsize=1)
def loaded(name: str) -> tuple[ByteBPETokenizer, ByteBPETokenizer, Tokenizer, Tokenizer]:
    """Returns our tokenizer and its saved and reloaded copy, then both files as loaded by ``tokenizers``."""
    with tempfile.TemporaryDirectory() as directory:
        first, again = (Path(directory) / file for file in ("first.json", "again.json"))
        first.write_text(model_file(name))
        ours = ByteBPETokenizer.load(first)
        ours.save(again)
        theirs = [Tokenizer.from_file(str(path)) for path in (first, again)]
        for peer in theirs:
            peer.encode_special_tokens = True  # names of special tokens are ordinary text, as in our tokenizer
        return ours, ByteBPETokenizer.load(again), theirs[0], theirs[1]


@pytest.mark.parametrize("name", NAMES, scope="module")
@settings(max_examples=examples(50))
@given(text=TEXTS)
def test_ids(name: str, text: str) -> None:
    ours, again, theirs, saved = loaded(name)
    expected = theirs.encode(text, add_special_tokens=False).ids
    assert ours.encode(text, disallowed_special=()) == expected
    assert ours.encode_batch([text, "", text], 1).to_lists() == [expected, [], expected]
    assert again.encode(text, disallowed_special=()) == expected
    assert saved.encode(text, add_special_tokens=False).ids == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("GPT-NeoX", "the   cat", ["the", "   ", "cat"]),
        ("GPT-NeoX", "e\u0301", ["Ã", "©"]),
        ("prefix", "cat<x>cat", ["Ġcat", "<x>", "Ġcat"]),
        ("StarCoder", "a12 3", ["a", "1", "2", "Ġ", "3"]),
        ("Falcon", "1234", ["1", "2", "3", "4"]),
        ("Phi-4", "a <|im|> the", ["a", "<|im|>", "the"]),
        ("DeepSeek V2", "sößen", ["s", "ö", "Ã", "Ł", "e", "n"]),
        ("single words", "the thethe", ["the", "Ġthe", "the"]),
        ("Removed, not inverted", "xa by", ["x", "y"]),
        ("Removed, inverted", "xa by", ["a", "Ġ", "b"]),
        ("NFD", "é", ["e", "Ì", "ģ"]),
    ],
)
def test_literals(name: str, text: str, expected: list[str]) -> None:
    ours, _, theirs, _ = loaded(name)
    ids = ours.encode(text)
    assert [ours.pieces[number] for number in ids] == expected
    assert ids == theirs.encode(text).ids


def test_decoding_gives_normalised_text() -> None:
    ours, _, _, _ = loaded("GPT-NeoX")
    assert ours.decode(ours.encode("e\u0301  x")) == "é  x"
    assert loaded("DeepSeek V2")[0].decode(loaded("DeepSeek V2")[0].encode("schön")) == "schön"


def test_added_tokens_as_words_of_a_text_file() -> None:
    ours = loaded("GPT-NeoX")[0]
    rows = ours.encode_batch(["the   cat"], 1)
    assert PieceText(ours).lines(rows).to_pylist() == ["the ĠĠĠ cat"]
    assert PieceText(ours).rows(["the ĠĠĠ cat"]).to_lists() == rows.to_lists()


def test_dropout_is_refused_if_text_is_split_after_normalisation() -> None:
    with pytest.raises(ValueError, match="dropout is not supported for a vocabulary that splits text after"):
        loaded("Falcon")[0].encode("x", dropout=0.1, seed=1)


def test_allowed_specials_include_adjacent_white_space() -> None:
    ours, _, _, _ = loaded("RoBERTa")
    assert ours.encode("the  <mask> cat", allowed_special="all") == [
        *ours.encode("the"),
        ours.special_id("<mask>"),
        *ours.encode(" cat"),
    ]


@pytest.mark.parametrize("name", NAMES, scope="module")
def test_saved_and_loaded(name: str) -> None:
    ours, again, _, _ = loaded(name)
    assert again.fingerprint == ours.fingerprint
    assert again.vocabulary.pretokenization == ours.vocabulary.pretokenization
    assert again.vocabulary.added == ours.vocabulary.added
    assert again.pieces == ours.pieces
