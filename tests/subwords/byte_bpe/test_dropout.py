from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import byte_bpe as reference
from tests.subwords.byte_bpe.samples import LINES, TEXTS, small_tokenizer


@given(TEXTS, st.sampled_from([0.1, 0.5, 0.9]), st.integers(0, 2**64 - 1))
def test_dropout_equals_its_twin(text: str, dropout: float, seed: int) -> None:
    tokenizer = small_tokenizer()
    twin = reference.Vocabulary(tokenizer.vocabulary.tokens, tokenizer.vocabulary.merges.tolist())
    ids = tokenizer.encode(text, disallowed_special=(), dropout=dropout, seed=seed)
    assert ids == twin.encode_with_dropout(text, dropout, seed)
    assert tokenizer.encode_batch([text] * 3, 1, dropout=dropout, seed=seed).to_lists() == [ids] * 3
    assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("dropout", [0.1, 0.5, 1.0])
def test_dropout_of_frequent_words_equals_its_twin(dropout: float) -> None:
    # Of 1 to 40 bytes, in the cache and not, and long ones; most outcomes of the short ones occur again, and all of the
    # last one.
    words = [word for line in LINES for word in line.split(" ")] + ["the" * i for i in range(14)] + ["there" * 52]
    words += ["thethe"] * 300
    text = " ".join(words * 2)
    tokenizer = small_tokenizer()
    twin = reference.Vocabulary(tokenizer.vocabulary.tokens, tokenizer.vocabulary.merges.tolist())
    assert tokenizer.encode(text, dropout=dropout, seed=3) == twin.encode_with_dropout(text, dropout, 3)


def test_dropout_depends_only_on_seed_and_text() -> None:
    tokenizer = small_tokenizer()
    whole = tokenizer.encode_batch(LINES * 50, 2, dropout=0.2, seed=7).to_lists()
    assert whole == tokenizer.encode_batch(LINES, 1, dropout=0.2, seed=7).to_lists() * 50
    assert whole[3:6] == tokenizer.encode_batch(LINES[3:], dropout=0.2, seed=7).to_lists()
    assert whole[0] == tokenizer.encode(LINES[0], dropout=0.2, seed=7)
    assert whole[:6] != tokenizer.encode_batch(LINES, dropout=0.2, seed=8).to_lists()


def test_dropout_of_0_and_1() -> None:
    tokenizer = small_tokenizer()
    line = LINES[0]
    assert tokenizer.encode(line, dropout=0.0) == tokenizer.encode(line)
    assert tokenizer.encode(line, dropout=1.0, seed=0) == [tokenizer.pieces.index(c.replace(" ", "Ġ")) for c in line]


def test_share_of_merges_left_out() -> None:
    tokenizer = small_tokenizer()
    lengths = [len(tokenizer.encode("the", dropout=0.3, seed=seed)) for seed in range(4000)]
    # "the" takes two merges; the first is left out with probability 0.3, and then neither can be made.
    assert sum(length == 3 for length in lengths) / 4000 == pytest.approx(0.3, abs=0.03)
    assert sum(length == 1 for length in lengths) / 4000 == pytest.approx(0.49, abs=0.03)


def test_seed_is_required() -> None:
    with pytest.raises(ValueError, match="dropout needs a seed"):
        small_tokenizer().encode("the", dropout=0.1)
    with pytest.raises(ValueError, match=r"dropout 1\.5: it must be between 0 and 1"):
        small_tokenizer().encode_batch(["the"], dropout=1.5, seed=1)
