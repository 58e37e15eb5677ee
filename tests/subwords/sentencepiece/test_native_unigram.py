from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.errors import TrainingError
from nmt_prep.subwords.sentencepiece.native_training import library_reason
from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer
from tests.subwords.sentencepiece.trainings import (
    LINES,
    OPTIONS,
    RANDOM_OPTIONS,
    SETTINGS,
    SPACE,
    by_library,
    corpus,
    natively,
    pieces,
    same,
)

UNIGRAM: dict[str, Any] = {"model_type": "unigram"}


def test_pieces_and_scores() -> None:
    model = natively(["abab abab abc", "abc ab"], vocab_size=11, **UNIGRAM)
    assert [(piece, round(score, 4)) for piece, score in pieces(model)[4:]] == [
        (f"{SPACE}ab", -0.95),
        ("c", -1.4497),
        (SPACE, -1.4498),
        ("b", -1.4499),
        ("ab", -1.45),
        ("a", -1.45),
        (f"{SPACE}abc", -1.45),
    ]


@pytest.mark.parametrize(
    "options",
    [
        *OPTIONS,
        {"num_threads": 3, "num_sub_iterations": 1, "shrinking_factor": 0.6},
        {"seed_sentencepiece_size": 20},
        {"seed_sentencepiece_size": 0},
    ],
)
def test_same_file_as_the_library(options: dict[str, Any]) -> None:
    same(LINES, **{"vocab_size": 38, **UNIGRAM, **options})


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [" ", "\u3000"],
        ["ab ab", " ", "abc ab", "", "ab abc"],  # the library moves the last lines to the places of empty ones
        ["a" * 40, "-" * 60 + " " + "-" * 60],  # many segmentations have equal scores
        ["a\x1fb a\x1fb", "<s> <s>a</s>", "<unk> a"],
        ["ひらがなカタカナー漢字 ひらがなカタカナー漢字", "𠀀𠀁 𠀀𠀁 e\u0301 e\u0301"],
    ],
)
def test_same_file_for_difficult_text(lines: list[str]) -> None:
    same(lines, vocab_size=60, hard_vocab_limit=False, character_coverage=1.0, **UNIGRAM)


characters = st.sampled_from([*"aaabb", "c", "1", "2", " ", " ", "é", "日", "本", "カ", "ー", "\u0301", "\x1f"])
texts = st.lists(st.text(characters, max_size=25), max_size=8)
library_options = st.fixed_dictionaries(
    {"vocab_size": st.integers(12, 40)},
    optional={
        **RANDOM_OPTIONS,
        "max_sentencepiece_length": st.sampled_from([1, 2, 5, 40]),
        "num_threads": st.sampled_from([1, 2, 16]),
        "num_sub_iterations": st.integers(1, 3),
        "shrinking_factor": st.sampled_from([0.5, 0.7, 0.95]),
        "seed_sentencepiece_size": st.sampled_from([0, 15, 1000]),
    },
)


@given(texts, library_options)
@settings(max_examples=20, deadline=None)
def test_same_as_the_library_for_random_text(lines: list[str], options: dict[str, Any]) -> None:
    same(lines, hard_vocab_limit=False, **UNIGRAM, **options)


@pytest.mark.slow
@given(st.lists(st.text(characters, max_size=80), max_size=30), library_options)
@settings(max_examples=2000, deadline=None)
def test_same_as_the_library_for_much_random_text(lines: list[str], options: dict[str, Any]) -> None:
    same(lines, hard_vocab_limit=False, **UNIGRAM, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["en", "zh", "de"])
@pytest.mark.parametrize("size", [8000, 16000])
def test_same_file_for_a_corpus(shared: Path, name: str, size: int) -> None:
    same(corpus(shared, name), vocab_size=size, **UNIGRAM)


def test_same_bytes_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{number} lines of text, the {number % 7}th" for number in range(5000)] + ["", " "] * 50
    models = []
    for threads in (1, 2, 5):
        monkeypatch.setattr("nmt_prep.subwords.sentencepiece.native_training.available_cores", lambda n=threads: n)
        models.append(natively(lines, vocab_size=200, **UNIGRAM))
    assert isinstance(models[0], bytes)
    assert models[0] == models[1] == models[2] == by_library(lines, vocab_size=200, **UNIGRAM)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, None),
        ({"split_by_whitespace": False}, "a SentencePiece unigram model with split_by_whitespace: false"),
        ({"treat_whitespace_as_suffix": True}, "a SentencePiece unigram model with treat_whitespace_as_suffix"),
        ({"add_dummy_prefix": "false"}, "a SentencePiece unigram model with add_dummy_prefix: false"),
        (
            {"user_defined_symbols": ["a", f"{SPACE}b"]},
            "a SentencePiece unigram model with a reserved piece that begins with a space",
        ),
        ({"seed_sentencepieces_file": "seeds.tsv"}, "a SentencePiece model with seed_sentencepieces_file"),
    ],
)
def test_reasons_for_the_library(options: dict[str, Any], reason: str | None) -> None:
    assert library_reason({**SETTINGS, **UNIGRAM, **options}) == reason


def test_too_little_memory_is_refused_while_lines_are_read() -> None:
    with pytest.raises(TrainingError, match=r"need .* to train a unigram model from, but 0 MB are allowed"):
        SentencePieceTokenizer.train(LINES, 60, memory=1000)
