"""Texts for which a quadratic step would take hours."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from nmt_prep.base.errors import EncodeError
from nmt_prep.subwords.t2t.tokenizer import T2TTokenizer
from tests.interrupting import control_c_ends_this
from tests.subwords.counted import token_counts


def fibonacci(size: int) -> str:
    shorter, longer = "a", "ab"
    while len(longer) < size:
        shorter, longer = longer, longer + shorter
    return longer[:size]


def there_and_back(lines: list[str], size: int, max_subtoken_length: int | None = None) -> T2TTokenizer:
    tokenizer = T2TTokenizer.train(lines, size, max_subtoken_length=max_subtoken_length)
    rows = tokenizer.encode_batch(lines)
    assert tokenizer.decode_batch(rows) == lines
    return tokenizer


TOKENS = {
    "a": "a" * 200_000,
    "ab": "ab" * 100_000,
    "Fibonacci": fibonacci(200_000),
    "Chinese": "中文" * 100_000,
    "astral": "𝒳" * 200_000,
}


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("max_subtoken_length", [None, 200])
def test_one_long_repetitive_token(token: str, max_subtoken_length: int | None) -> None:
    there_and_back([TOKENS[token]], 8192, max_subtoken_length)


def test_one_long_token_of_two_equal_halves() -> None:
    half = "".join(random.Random(1).choices("abcdefgh", k=100_000))
    there_and_back([half + half], 8192)


@pytest.mark.slow
def test_a_token_of_ten_million_characters() -> None:
    there_and_back(["a" * 10_000_000], 8192)


def test_thirty_thousand_escapes() -> None:
    tokenizer = there_and_back(["_" * 30_000, "\\" * 30_000, "\n" * 30_000], 100)
    text = "é" * 30_000 + "😀" * 30_000
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.decode([tokenizer.pieces.index("\\")] * 30_000) == "\\" * 15_000


def test_unfinished_escapes_are_read_once() -> None:
    digits = T2TTokenizer(["<pad>_", "<EOS>_", "\\1", "1"])
    assert digits.decode([2] * 200_000 + [3] * 200_000) == "\\1" * 200_000 + "1" * 200_000


def test_many_tokens_of_one_character() -> None:
    points = [point for point in range(1, 0x110000) if not 0xD800 <= point < 0xE000 and point != 10][:70_000]
    tokenizer = there_and_back([chr(point) for point in points], 8192)
    assert len(tokenizer) > 70_000


@pytest.mark.parametrize(
    ("unit", "times"), [(" ", 1), (" ", 100_000), ("\u0301", 100_000), ("\0", 100_000), ("a\0b \0", 1)]
)
def test_one_kind_of_character(unit: str, times: int) -> None:
    line = unit * times
    there_and_back([line] * 3, 60)


def test_pieces_with_long_common_prefixes() -> None:
    pieces = ["<pad>_", "<EOS>_", "_", "a", "b", "a" * 200_000 + "b", "a" * 200_000 + "c", "a" * 100_000]
    tokenizer = T2TTokenizer(pieces)
    assert tokenizer.encode("a" * 200_000 + "b") == [5, 2]
    assert tokenizer.encode("a" * 200_000) == [7, 7, 2]


def test_pieces_that_almost_fit_everywhere() -> None:
    head = ["<pad>_", "<EOS>_", "_", "a", "b", "aa"]
    tail = T2TTokenizer([*head, "a" * 100_000 + "b"])
    nested = T2TTokenizer([*head, *("a" * size + "b" for size in range(1, 1500))])
    text = "a" * 1_000_001
    assert tail.encode(text) == nested.encode(text) == [5] * 500_000 + [3, 2]
    assert tail.encode("a" * 300_000 + "b") == [5] * 100_000 + [6, 2]
    assert nested.encode("a" * 300_000 + "b") == [5] * 149_251 + [nested.pieces.index("a" * 1498 + "b"), 2]
    with pytest.raises(EncodeError, match="no piece for the character '0'"):
        T2TTokenizer([*head, "a" * 100_000 + "b", "0a"]).encode(text + "0b" + text)


def test_control_c_ends_a_training() -> None:
    counts = token_counts({fibonacci(3_000_000): 1})
    with control_c_ends_this():
        T2TTokenizer.train(counts, 8192)


@pytest.mark.parametrize("unit", ["ab", "a "])
def test_control_c_ends_the_encoding_of_a_long_line(unit: str) -> None:
    tokenizer = T2TTokenizer([*"<>ab \\_u;0123456789"])
    column = pa.array([unit * 10_000_000], pa.large_string())
    with control_c_ends_this():
        tokenizer.encode_batch(column, threads=2)


def test_control_c_ends_the_encoding_of_many_lines() -> None:
    tokenizer = T2TTokenizer([*"<>ab \\_u;0123456789"])
    column = pa.array(["ab" * 10_000] * 4000, pa.large_string())
    with control_c_ends_this():
        tokenizer.encode_batch(column, threads=2)
