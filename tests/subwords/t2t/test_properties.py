"""The native core against the readable twin, on random texts and options."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from _nmt_prep_core import T2TTrainer
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import EncodeError
from nmt_prep.subwords.t2t.tokenizer import T2TTokenizer
from nmt_prep.subwords.t2t.training import TokenCounts
from tests.conftest import examples
from tests.reference import t2t as reference
from tests.subwords.counted import as_dict, token_counts

ALPHABETS = ["ab", "ab ", "ab_\\u;09 ", "中文字。 ", "ab\né😀 ", "a_", "\u0301 x", "a\x00\u2028 _"]
lines_of_one_alphabet = st.sampled_from(ALPHABETS).flatmap(
    lambda alphabet: st.lists(st.text(alphabet, max_size=30), min_size=1, max_size=12)
)
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
reserved_tokens = st.lists(
    st.sampled_from(["a", "b", "ab", "bb", "<x>", "中文", "_", "\\", " ", "a_", "a\nb", "é", "文字。"]),
    max_size=4,
    unique=True,
)


@given(
    lines=lines_of_one_alphabet,
    size=st.integers(1, 120),
    max_subtoken_length=st.none() | st.integers(0, 8) | st.just(200),
    reserved=reserved_tokens,
    threads=st.integers(1, 3),
)
@example(lines=["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"], size=40, max_subtoken_length=None, reserved=[], threads=1)
@example(lines=["ab"] * 3 + ["xab"] * 2, size=60, max_subtoken_length=2, reserved=["ab", "b"], threads=1)
@settings(max_examples=examples(300))
def test_training(
    lines: list[str], size: int, max_subtoken_length: int | None, reserved: list[str], threads: int
) -> None:
    assume(any(lines))
    expected = reference.train(lines, size, max_subtoken_length, reserved)
    found = T2TTokenizer.train(lines, size, max_subtoken_length=max_subtoken_length, reserved=reserved, threads=threads)
    assert list(found.pieces) == expected


@given(
    counts=st.dictionaries(st.text("ab_中", min_size=1, max_size=12), st.integers(1, 600), min_size=1, max_size=12),
    min_count=st.integers(1, 400),
    max_subtoken_length=st.none() | st.integers(1, 6),
    excess=st.integers(0, 4),
)
@example(counts={"abab": 9, "ab": 8, "bab": 20}, min_count=8, max_subtoken_length=None, excess=4)  # all are 8 or more
@settings(max_examples=examples(200))
def test_training_with_large_counts(
    counts: dict[str, int], min_count: int, max_subtoken_length: int | None, excess: int
) -> None:
    size = len(reference.build(counts, min_count, max_subtoken_length, [])) + excess
    expected = reference.train_counts(counts, size, max_subtoken_length)
    assert (
        list(T2TTokenizer.train(token_counts(counts), size, max_subtoken_length=max_subtoken_length).pieces) == expected
    )


@given(
    counts=st.dictionaries(st.text("ab_中", min_size=1, max_size=12), st.integers(1, 60), min_size=1, max_size=12),
    min_counts=st.lists(st.integers(1, 60), min_size=1, max_size=4),
    max_depth=st.just(-1) | st.integers(0, 5),
)
@settings(max_examples=examples(200))
def test_upper_bound_of_pieces(counts: dict[str, int], min_counts: list[int], max_depth: int) -> None:
    trainer = T2TTrainer(token_counts(counts).native, ["<pad>", "<EOS>"], max_depth)
    for min_count in min_counts:
        most = trainer.most_pieces(min_count)
        assert all(len(trainer.build(min_count, passes, 1)) <= most for passes in (1, 2, 3, 4))


def test_a_tree_of_many_nodes_serves_several_minimum_counts() -> None:
    counts = {f"{number * 2654435761 % 2**32:x}": 1 + number % 3 for number in range(20_000)}
    native = token_counts(counts).native
    trainer = T2TTrainer(native, ["<pad>"], -1)
    for min_count in (40, 12, 6, 3, 2, 1, 7):
        alone = T2TTrainer(native, ["<pad>"], -1)  # its tree is built for this minimum count
        found = trainer.pieces(trainer.build(min_count, 4, 2))
        assert found == alone.pieces(alone.build(min_count, 4, 1))


@given(lines=st.lists(any_text | st.text("ab _中。\n", max_size=20), max_size=6), threads=st.integers(1, 3))
@settings(max_examples=examples(200))
def test_counting(lines: list[str], threads: int) -> None:
    counts = TokenCounts()
    counts.add(lines[:2], threads)
    counts.add(lines[2:], threads)
    assert as_dict(counts.columns()) == dict(reference.token_counts(lines))


def test_counting_more_words_than_the_cache_holds() -> None:
    lines = [
        " ".join(f"word{number % 50_000}" for number in range(first, first + 1000)) for first in range(0, 120_000, 1000)
    ]
    counts = TokenCounts()
    for begin in range(0, 120, 40):
        counts.add(lines[begin : begin + 40], 2)
    found = as_dict(counts.columns())
    assert len(found) == 50_000
    assert (found["word0"], found["word19999"], found["word20000"], found["word49999"]) == (3, 3, 2, 2)
    assert sum(found.values()) == 120_000


vocabularies = st.lists(st.text("ab_\\u;0123456789中。é😀 '\n", max_size=6), min_size=1, max_size=30)


@given(pieces=vocabularies, lines=st.lists(any_text | st.text("ab_\\;1中。 é😀\n", max_size=30), max_size=6))
@settings(max_examples=examples(400))
def test_encoding(pieces: list[str], lines: list[str]) -> None:
    assume(any(pieces))
    twin = reference.Vocabulary(pieces)
    tokenizer = T2TTokenizer(pieces)
    for line in lines:
        try:
            expected = twin.encode(line)
        except LookupError:
            with pytest.raises(EncodeError):
                tokenizer.encode(line)
        else:
            assert tokenizer.encode(line) == expected


def test_ids_that_need_more_than_16_bits() -> None:
    pieces = [*"\\_u;0123456789c", *(f"c{number}" for number in range(70_000)), "a", "b", "bb", "b_"]
    words = ["".join(letters) for size in range(1, 9) for letters in product("ab", repeat=size)]
    twin = reference.Vocabulary(pieces)
    tokenizer = T2TTokenizer(pieces)
    for _ in range(2):  # the second time, tokens are cached
        assert tokenizer.encode_batch(words).to_lists() == [twin.encode(word) for word in words]


@given(
    pieces=vocabularies.map(lambda pieces: pieces + list("\\_u;0123456789ab中。é😀 '\n")),
    long_pieces=st.lists(st.text("ab", min_size=14, max_size=50), max_size=6),
    lines=st.lists(st.text("ab_ 中\U0010fffe", max_size=80), min_size=1, max_size=6),
    threads=st.integers(1, 3),
)
@settings(max_examples=examples(200))
def test_round_trip(pieces: list[str], long_pieces: list[str], lines: list[str], threads: int) -> None:
    pieces += long_pieces
    lines += [piece[cut:] + "ab" + piece for piece in long_pieces for cut in (0, 1)]
    twin = reference.Vocabulary(pieces)
    tokenizer = T2TTokenizer(pieces)
    rows = tokenizer.encode_batch(lines, threads)
    assert rows.to_lists() == [twin.encode(line) for line in lines]
    assert tokenizer.decode_batch(rows, threads) == lines


@given(pieces=vocabularies, rows=st.lists(st.lists(st.integers(-2, 32), max_size=12), max_size=6))
@settings(max_examples=examples(300))
def test_decoding(pieces: list[str], rows: list[list[int]]) -> None:
    assume(any(pieces))
    twin = reference.Vocabulary(pieces)
    tokenizer = T2TTokenizer(pieces)
    expected = [twin.decode(row) for row in rows]
    assert tokenizer.decode_batch(Ragged.from_lists(rows)) == expected
    assert [tokenizer.decode(row) for row in rows] == expected


@given(content=st.lists(st.text("ab'\" \u3000\x0b\x1c\u2028\r\n", max_size=8), max_size=10))
@settings(max_examples=examples(200))
def test_loading(new_directory: Callable[[], Path], content: list[str]) -> None:
    data = "\n".join(["'<pad>_'", '"<EOS>_"', *content]).encode()
    path = new_directory() / "v.subwords"
    path.write_bytes(data)
    assert list(T2TTokenizer.load(path).pieces) == reference.load(data).pieces


@given(lines=lines_of_one_alphabet)
def test_saving(new_directory: Callable[[], Path], lines: list[str]) -> None:
    assume(any(lines))
    tokenizer = T2TTokenizer.train(lines, 50)
    path = new_directory() / "v.subwords"
    tokenizer.save(path)
    assert path.read_bytes() == "".join(f"'{piece}'\n" for piece in tokenizer.pieces).encode()
    if not {"\n", "\r"} & set("".join(lines)):
        assert T2TTokenizer.load(path).pieces == tokenizer.pieces
