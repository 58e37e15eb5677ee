from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any

import pytest

from nmt_prep.base.errors import EncodeError
from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer
from tests.reference import sentencepiece as reference
from tests.reference.sentencepiece import NORMAL
from tests.subwords.sentencepiece.models import BPE, UNIGRAM, UNK, model_file

PIECES = {"a": -1.5, "b": -1.0, "ab": -2.0, "ba": -2.2, "aba": -4.0}
FLAGS: dict[str, Any] = {"dummy_prefix": False}
UNIGRAM_MODEL = SentencePieceTokenizer(
    model_file([UNK, *((text, score, NORMAL) for text, score in PIECES.items())], UNIGRAM, **FLAGS)
)
BPE_MODEL = SentencePieceTokenizer(
    model_file([UNK, *((text, -i, NORMAL) for i, text in enumerate(["a", "b", "ab", "abab"]))], BPE, **FLAGS)
)


def ways(text: str) -> dict[tuple[str, ...], float]:
    """Returns all segmentations of a text with their scores."""
    found = {}
    for size in range(1, len(text) + 1):
        for way in product(PIECES, repeat=size):
            if "".join(way) == text:
                found[way] = sum(PIECES[piece] for piece in way)
    return found


def shares(tokenizer: SentencePieceTokenizer, text: str, count: int, **options: Any) -> dict[tuple[str, ...], float]:
    rows = tokenizer.encode_batch([text] * count, seed=5, **options).to_lists()
    return {way: n / count for way, n in Counter(tuple(tokenizer.pieces[i] for i in row) for row in rows).items()}


@pytest.mark.parametrize(("alpha", "nbest"), [(0.5, None), (1.0, None), (0.0, None), (0.7, 3), (0.0, 2), (2.0, 1)])
def test_segmentations_are_drawn_by_their_scores(alpha: float, nbest: int | None) -> None:
    best = dict(sorted(ways("ababa").items(), key=lambda item: -item[1])[:nbest])
    total = sum(math.exp(alpha * score) for score in best.values())
    found = shares(UNIGRAM_MODEL, "ababa", 40_000, alpha=alpha, nbest=nbest)
    assert set(found) <= set(best)
    for way, score in best.items():
        assert found.get(way, 0) == pytest.approx(math.exp(alpha * score) / total, abs=0.012)


def test_dropout() -> None:
    found = shares(BPE_MODEL, "ab", 40_000, dropout=0.3)
    assert found["a", "b"] == pytest.approx(0.3, abs=0.012)
    # A merge that was skipped is not drawn again after another merge.
    found = shares(BPE_MODEL, "abab", 40_000, dropout=0.3)
    assert found == {
        ("a", "b", "a", "b"): pytest.approx(0.09, abs=0.012),
        ("a", "b", "ab"): pytest.approx(0.21, abs=0.012),
        ("ab", "a", "b"): pytest.approx(0.21, abs=0.012),
        ("ab", "ab"): pytest.approx(0.7 * 0.7 * 0.3, abs=0.012),
        ("abab",): pytest.approx(0.7 * 0.7 * 0.7, abs=0.012),
    }
    assert shares(BPE_MODEL, "abab", 10, dropout=1.0) == {("a", "b", "a", "b"): 1.0}
    assert BPE_MODEL.encode("abab c", dropout=0.0, seed=1) == BPE_MODEL.encode("abab c")


def test_dropout_does_not_depend_on_the_length_of_a_line() -> None:
    rows = BPE_MODEL.encode_batch([" ".join(["ab"] * 400)] * 50, dropout=0.3, seed=5).to_lists()
    first = BPE_MODEL.pieces.index("a")
    assert sum(row.count(first) for row in rows) / (50 * 400) == pytest.approx(0.3, abs=0.012)


@pytest.mark.parametrize("dropout", [0.001, 0.1, 0.5, 1.0])
def test_dropout_of_frequent_words_equals_the_twin(dropout: float) -> None:
    # Words of 2 to 40 symbols, and most outcomes of the short ones, occur again, and all of the last one.
    line = " ".join("abaab"[i % 5 :] + "ab" * i for i in range(18)) + " abab" * 10 + " abababab" * 300
    twin = reference.Model(BPE_MODEL.model_bytes)
    rows = BPE_MODEL.encode_batch([line] * 8, threads=1, seed=3, dropout=dropout).to_lists()
    assert rows == [twin.sample(line, 3, number, dropout=dropout) for number in range(8)]


def test_dropout_of_many_new_words_equals_the_twin() -> None:
    # Words of up to 36 symbols, more than are merged together, some of them twice, and some with an unknown character.
    units = ["".join(letters) for letters in product("abab", "ab", "aab", "ab", "ba", "abx")]
    line = " ".join(unit * (1 + i % 6) for i, unit in enumerate(units))
    tokenizer = SentencePieceTokenizer(BPE_MODEL.model_bytes)
    twin = reference.Model(BPE_MODEL.model_bytes)
    rows = tokenizer.encode_batch([line] * 3, threads=1, seed=5, dropout=0.2).to_lists()
    assert rows == [twin.sample(line, 5, number, dropout=0.2) for number in range(3)]


def test_samples_of_a_seed_stay_the_same() -> None:
    assert UNIGRAM_MODEL.encode("abababaab", alpha=0.3, seed=1) == [1, 2, 1, 4, 2, 1, 3]
    assert BPE_MODEL.encode("abababaab abab", dropout=0.3, seed=1) == [1, 2, 4, 1, 1, 2, 0, 4]


@pytest.mark.parametrize(
    ("tokenizer", "options"),
    [(UNIGRAM_MODEL, {"alpha": 0.3}), (UNIGRAM_MODEL, {"alpha": 0.3, "nbest": 8}), (BPE_MODEL, {"dropout": 0.4})],
)
def test_samples_depend_only_on_seed_and_line(tokenizer: SentencePieceTokenizer, options: dict[str, Any]) -> None:
    lines = ["abababcaba " * (i % 7) for i in range(3000)]
    rows = tokenizer.encode_batch(lines, threads=1, seed=9, **options).to_lists()
    assert tokenizer.encode_batch(lines, threads=4, seed=9, **options).to_lists() == rows
    assert tokenizer.encode_batch(lines, threads=2, seed=10, **options).to_lists() != rows
    assert tokenizer.encode(lines[0], seed=9, **options) == rows[0]
    assert [tokenizer.decode(row) for row in rows] == [tokenizer.decode(tokenizer.encode(line)) for line in lines]


@pytest.mark.parametrize(
    ("tokenizer", "options", "message"),
    [
        (UNIGRAM_MODEL, {"seed": 1}, "set alpha"),
        (UNIGRAM_MODEL, {"nbest": 4}, "set alpha"),
        (UNIGRAM_MODEL, {"alpha": 0.1}, "needs a seed"),
        (UNIGRAM_MODEL, {"alpha": 0.1, "seed": -1}, "seed -1"),
        (UNIGRAM_MODEL, {"alpha": -0.1, "seed": 1}, "alpha -0.1"),
        (UNIGRAM_MODEL, {"alpha": 0.1, "nbest": 513, "seed": 1}, "nbest 513"),
        (UNIGRAM_MODEL, {"dropout": 0.1, "seed": 1}, "dropout is for BPE"),
        (BPE_MODEL, {"alpha": 0.1, "seed": 1}, "alpha is for unigram"),
        (BPE_MODEL, {"dropout": 1.1, "seed": 1}, "dropout 1.1"),
        (BPE_MODEL, {"dropout": 0.1, "nbest": 4, "seed": 1}, "nbest is not for BPE models"),
    ],
)
def test_invalid_options(tokenizer: SentencePieceTokenizer, options: dict[str, Any], message: str) -> None:
    with pytest.raises(EncodeError, match=message):
        tokenizer.encode("ab", **options)


def test_line_too_long_for_nbest() -> None:
    with pytest.raises(EncodeError, match="too long to sample from its 512 best segmentations"):
        UNIGRAM_MODEL.encode("ab" * 100_000, alpha=0.1, nbest=512, seed=1)
