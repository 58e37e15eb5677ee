"""Counts gathered by several processes equal those gathered by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import InvalidTextError, OutputError, TrainingError
from nmt_prep.subwords import ByteBPETokenizer, SentencePieceTokenizer, T2TTokenizer
from nmt_prep.subwords.byte_bpe.pretokenization import Pretokenization
from nmt_prep.subwords.byte_bpe.training import PretokenCounts
from nmt_prep.subwords.dialect import CountColumns, read_counts, write_counts
from nmt_prep.subwords.t2t.training import TokenCounts
from tests.conftest import examples
from tests.reference import byte_bpe as byte_bpe_reference
from tests.reference import t2t as t2t_reference
from tests.subwords.counted import as_dict, columns_of

LINES = ["the cat, the dog", "", "das Wörk 2", "中文，中文", "the  cat"]


def test_columns() -> None:
    counts = TokenCounts()
    counts.add(LINES, threads=3)
    assert as_dict(counts.columns()) == {
        "the": 3, "cat": 2, ", ": 1, "dog": 1, "das": 1, "Wörk": 1, "2": 1, "中文": 2, "，": 1, "  ": 1,
    }  # fmt: skip
    pretokens = PretokenCounts()
    pretokens.add(LINES, threads=3)
    assert as_dict(pretokens.columns()) == {
        "the": 2, " cat": 2, ",": 1, " the": 1, " dog": 1, "das": 1, " Wörk": 1, " 2": 1, "中文": 2, "，": 1, " ": 1,
    }  # fmt: skip
    assert as_dict(PretokenCounts().columns()) == as_dict(TokenCounts().columns()) == {}


@settings(max_examples=examples(25))
@given(
    lines=st.lists(st.text("ab ,中🙂2", max_size=12), max_size=12), cut=st.integers(0, 12), threads=st.integers(1, 3)
)
def test_slices_add_up(new_directory: Callable[[], Path], lines: list[str], cut: int, threads: int) -> None:
    directory = new_directory()
    for kind in (TokenCounts, PretokenCounts):
        whole, added = kind(), kind()
        whole.add(lines, threads=1)
        for number, some in enumerate((lines[:cut], lines[cut:])):
            part = kind()
            part.add(some, threads)
            write_counts(directory / str(number), part.columns())
            added.add_counted(read_counts(directory / str(number)))
        assert as_dict(added.columns()) == as_dict(whole.columns())
        assert added.training_bytes == whole.training_bytes
        if lines and any(lines):
            trained = T2TTokenizer if kind is TokenCounts else ByteBPETokenizer
            vocabularies = [trained.train(each, 300) for each in (whole, added, whole)]  # type: ignore[arg-type]
            assert len({vocabulary.fingerprint for vocabulary in vocabularies}) == 1


@given(lines=st.lists(st.text("ab _'s,中🙂2\u2028", max_size=12), max_size=8))
def test_counts_equal_those_of_the_twins(lines: list[str]) -> None:
    tokens, pretokens = TokenCounts(), PretokenCounts()
    tokens.add(lines)
    pretokens.add(lines)
    expected_tokens = [token for line in lines for token in t2t_reference.tokens(line)]
    expected_pretokens = [word for line in lines for word in byte_bpe_reference.pretokens(line)]
    assert as_dict(tokens.columns()) == {token: expected_tokens.count(token) for token in expected_tokens}
    assert as_dict(pretokens.columns()) == {word: expected_pretokens.count(word) for word in expected_pretokens}


def test_a_file_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    counts = TokenCounts()
    counts.add(LINES, threads=1)
    for name in ("a", "b"):
        write_counts(tmp_path / name, counts.columns())
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_invalid_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"no counts")
    for name in ("a", "b"):
        with pytest.raises(
            OutputError, match=rf"cannot read the counts in .*/{name}: .*; run again with --force vocab"
        ):
            read_counts(tmp_path / name)


@pytest.mark.parametrize("kind", [TokenCounts, PretokenCounts])
def test_invalid_columns(kind: type[TokenCounts] | type[PretokenCounts]) -> None:
    for columns in (columns_of({"a": 0}), columns_of({"": 1})):
        with pytest.raises(ValueError, match="texts must not be empty, and counts must be 1 or more"):
            kind().add_counted(columns)
    with pytest.raises(ValueError, match="there must be a count for each text"):
        kind().add_counted(CountColumns(TextColumn.from_strings(["a", "b"]), np.ones(1, np.int64)))
    invalid = TextColumn(np.array([0xFF], np.uint8), np.array([0, 1], np.int64))
    with pytest.raises(InvalidTextError, match="line 0"):
        kind().add_counted(CountColumns(invalid, np.ones(1, np.int64)))


def test_a_training_that_would_not_fit_is_refused() -> None:
    lines = [f"{number} words" for number in range(2000)]
    for train, what in ((T2TTokenizer.train, "tokens"), (ByteBPETokenizer.train, "words")):
        with pytest.raises(
            TrainingError,
            match=rf"training from the distinct {what} of these lines needs 1 MB of memory, but 0 MB are",
        ):
            train(lines, 300, memory=1000)
        assert train(lines, 300, memory=10**7).fingerprint == train(lines, 300).fingerprint


def test_a_sentencepiece_training_that_would_not_fit_is_refused_while_lines_are_read() -> None:
    read = 0

    def lines(count: int = 200_000):  # type: ignore[no-untyped-def]
        nonlocal read
        for number in range(count):
            read = number
            yield f"{number} words and more words, {number % 97}"

    message = r"training a unigram model needs 1\d MB or more for the \d MB of lines read so far, but 10 MB are .*_size"
    with pytest.raises(TrainingError, match=message):
        SentencePieceTokenizer.train(lines(), 100, memory=10**7)
    assert read < 70_000
    trained = SentencePieceTokenizer.train(lines(), 100, memory=10**7, input_sentence_size=2000)
    assert trained.pieces == SentencePieceTokenizer.train(lines(2000), 100, memory=10**7).pieces


def test_short_lines_count_for_the_memory_of_a_sentencepiece_training() -> None:
    library = {"split_by_whitespace": False}  # native training counts words, and needs little for these lines
    assert SentencePieceTokenizer.train(["a"] * 10_000, 6, memory=10**7, **library)
    with pytest.raises(TrainingError, match=r"training a unigram model needs 2 MB or more"):
        SentencePieceTokenizer.train(["a"] * 10_000, 6, memory=10**6, **library)  # 24 bytes per byte alone would fit
    assert SentencePieceTokenizer.train(["a"] * 10_000, 6, memory=10**6)


def test_custom_pattern() -> None:
    counts = PretokenCounts(r"\w")
    counts.add(["ab c"])
    assert as_dict(counts.columns()) == {"a": 1, "b": 1, " ": 1, "c": 1}
    assert (
        ByteBPETokenizer.train(counts, 300).vocabulary.pretokenization
        == Pretokenization.by_pattern(r"\w")
        != Pretokenization()
    )


@pytest.mark.parametrize("threads", [1, 3])
def test_short_and_long_tokens(threads: int) -> None:
    tokens = [letter * size + "x" * (number % 50) for number in range(3000) for letter in "aé" for size in (1, 7, 8)]
    tokens += [letter * size for size in range(1, 40) for letter in "ab中"] * 2
    counts = TokenCounts()
    counts.add([" ".join(tokens[start : start + 100]) for start in range(0, len(tokens), 100)], threads)
    assert as_dict(counts.columns()) == Counter(tokens)
