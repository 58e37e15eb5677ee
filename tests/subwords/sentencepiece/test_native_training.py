from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.base.errors import MissingPackageError, TrainingError
from nmt_prep.subwords.sentencepiece.native_training import library_reason
from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer
from tests.subwords.sentencepiece.trainings import (
    LINES,
    OPTIONS,
    RANDOM_OPTIONS,
    SETTINGS,
    SPACE,
    corpus,
    natively,
    pieces,
    same,
)

UNIGRAM: dict[str, Any] = {"model_type": "unigram"}


def test_pieces_and_scores() -> None:
    model = natively(["abab abab abc", "abc ab"], vocab_size=12)
    assert pieces(model)[4:] == [
        ("ab", 0.0),
        (f"{SPACE}ab", -1.0),
        (f"{SPACE}abc", -2.0),
        (f"{SPACE}abab", -3.0),
        ("a", -4.0),
        ("b", -5.0),
        (SPACE, -6.0),
        ("c", -7.0),
    ]


def test_pieces_and_scores_of_a_unigram_model() -> None:
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


def test_pairs_that_no_longer_occur_become_pieces_last() -> None:
    learnt = pieces(natively(["aaaa", "aaaa"], vocab_size=12))[4:]
    occurring, vanished = ["aa", f"{SPACE}aa", f"{SPACE}aaaa"], [f"{SPACE}a", "aaa", "aaaa"]
    assert [piece for piece, _ in learnt] == [*occurring, *vanished, "a", SPACE]
    same(["aaaa", "aaaa"], vocab_size=12)
    same(["aaaa", "aaaa"], vocab_size=13)


@pytest.mark.parametrize(
    "options",
    [
        *OPTIONS,
        {"split_by_whitespace": False},
        {"treat_whitespace_as_suffix": True},
        {"treat_whitespace_as_suffix": True, "split_by_whitespace": False},
        {"add_dummy_prefix": False},
        {"user_defined_symbols": ["a"]},
        {"user_defined_symbols": ["a"], "required_chars": "a"},
        {"normalization_rule_name": "nfkc_cf"},
        {"vocab_size": 40, "input_sentence_size": 101},
        {"vocab_size": 40, "max_sentence_length": 10},
        {"pad_id": -1, "unk_id": 0, "bos_id": 1, "eos_id": 2, "unk_surface": " ? "},
        {"pad_id": 50},
        {"unk_piece": "[UNK]", "bos_piece": "[BOS]", "seed_sentencepiece_size": 1000},
        {"accept_language": ["en"], "self_test_sample_size": 3, "num_sub_iterations": 3},
    ],
)
def test_same_file_as_the_library(options: dict[str, Any]) -> None:
    same(LINES, **{"vocab_size": 60, **options})


@pytest.mark.parametrize(
    "options",
    [
        *OPTIONS,
        {"num_threads": 3, "num_sub_iterations": 1, "shrinking_factor": 0.6},
        {"seed_sentencepiece_size": 20},
        {"seed_sentencepiece_size": 0},
    ],
)
def test_same_unigram_file_as_the_library(options: dict[str, Any]) -> None:
    same(LINES, **{"vocab_size": 38, **UNIGRAM, **options})


def test_same_unigram_file_from_more_words_than_are_summed_up_at_once() -> None:
    lines = ["".join(syllables) for syllables in itertools.product(("lo", "wer", "new", "a", "est"), repeat=4)]
    same(lines, vocab_size=60, num_threads=1, **UNIGRAM)


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["", "\r\n", " "],
        ["a\r\n", "  a  b \t c ", "a\u2585b", "\u2581a \u2581\u2581b"],
        ["ab ab", " ", "abc ab", "", "ab abc"],  # the library moves the last lines to the places of empty ones
        ["a" * 40, "-" * 60 + " " + "-" * 60],  # many segmentations have equal scores
        ["a\x1fb a\x1fb", "<s> <s>a</s>", "<unk>"],
        ["ａｂｃ １２ ﷺ ½ e\u0301 e\u0301", "é é"],
        ["🙂🙂👍🏽 🙂👍🏽", "क्षत्रिय क्षत्रिय", "ไทย ไทย", "العربية العربية"],
        ["ひらがなカタカナー漢字 ひらがなカタカナー漢字", "𠀀𠀁 𠀀𠀁 \U0001e900\U0001e901"],
    ],
)
@pytest.mark.parametrize("options", [{}, {"normalization_rule_name": "identity"}, UNIGRAM])
def test_same_file_for_difficult_text(lines: list[str], options: dict[str, Any]) -> None:
    same(lines, **{"vocab_size": 80, "hard_vocab_limit": False, "character_coverage": 1.0, **options})


def test_same_file_for_text_of_user_defined_symbols_alone() -> None:
    same(["a", "a"], vocab_size=5, hard_vocab_limit=False, user_defined_symbols=["\u2581a"])


characters = st.sampled_from(
    [*"aaabb", "c", "1", "2", " ", " ", "\u2581", "é", "日", "本", "カ", "ー", "🙂", "\u0301", "<", "s", ">", "\x1f"]
)
texts = st.lists(st.text(characters, max_size=12), max_size=6)
library_options = st.fixed_dictionaries(
    {"vocab_size": st.integers(10, 60), "hard_vocab_limit": st.booleans()},
    optional={
        **RANDOM_OPTIONS,
        **dict.fromkeys(("split_by_whitespace", "add_dummy_prefix", "treat_whitespace_as_suffix"), st.booleans()),
        "max_sentencepiece_length": st.integers(1, 5),
        "user_defined_symbols": st.lists(
            st.sampled_from(["ab", "aba", "é", "\u2581a", "\u2581aa", "b a"]), unique=True
        ),
        "control_symbols": st.lists(st.sampled_from(["<s", "1"]), unique=True),
        "pretokenization_delimiter": st.sampled_from(["", "ab", "\u2581"]),
        "normalization_rule_name": st.sampled_from(["nmt_nfkc", "identity", "nfkc_cf"]),
    },
)


@given(texts, library_options)
@settings(max_examples=25)
def test_same_as_the_library_for_random_text(lines: list[str], options: dict[str, Any]) -> None:
    same(lines, **options)


@pytest.mark.slow
@given(st.lists(st.text(characters, max_size=40), max_size=30), library_options)
@settings(max_examples=3000)
def test_same_as_the_library_for_much_random_text(lines: list[str], options: dict[str, Any]) -> None:
    same(lines, **options)


unigram_characters = st.sampled_from([*"aaabb", "c", "1", "2", " ", " ", "é", "日", "本", "カ", "ー", "\u0301", "\x1f"])
unigram_options = st.fixed_dictionaries(
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


@given(st.lists(st.text(unigram_characters, max_size=25), max_size=8), unigram_options)
@settings(max_examples=20)
def test_same_unigram_model_as_the_library_for_random_text(lines: list[str], options: dict[str, Any]) -> None:
    same(lines, hard_vocab_limit=False, **UNIGRAM, **options)


@pytest.mark.slow
@given(st.lists(st.text(unigram_characters, max_size=80), max_size=30), unigram_options)
@settings(max_examples=2000)
def test_same_unigram_model_as_the_library_for_much_random_text(lines: list[str], options: dict[str, Any]) -> None:
    same(lines, hard_vocab_limit=False, **UNIGRAM, **options)


@pytest.mark.slow
@pytest.mark.parametrize("size", [8000, 32_000])
@pytest.mark.parametrize("name", ["en", "zh", "de"])
def test_same_file_for_a_corpus(shared: Path, name: str, size: int) -> None:
    lines = corpus(shared, name)
    same(lines, vocab_size=size)
    same(lines, vocab_size=min(size, 16_000), **UNIGRAM)
    same(lines, vocab_size=size, split_by_whitespace=False, hard_vocab_limit=False, byte_fallback=True)


@pytest.mark.parametrize(("options", "count"), [({}, 30_000), (UNIGRAM, 5000)])
def test_same_bytes_for_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], count: int
) -> None:
    lines = [f"{number} lines of text, the {number % 7}th" for number in range(count)] + ["", " "] * 50
    for threads in (1, 2, 5):
        monkeypatch.setattr("nmt_prep.subwords.sentencepiece.native_training.available_cores", lambda n=threads: n)
        same(lines, vocab_size=200, **options)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, None),
        ({"model_type": "word"}, "a SentencePiece word model"),
        ({"model_type": "char"}, "a SentencePiece char model"),
        ({"auto_character_coverage": True}, "a SentencePiece model with auto_character_coverage"),
        ({"auto_character_coverage": "no"}, None),
        ({"normalization_rule_tsv": "rules.tsv"}, "a SentencePiece model with normalization_rule_tsv"),
        (
            {"input_sentence_size": 200, "shuffle_input_sentence": True},
            "a SentencePiece model with shuffle_input_sentence",
        ),
        ({"input_sentence_size": 200}, None),
        ({"shuffle_input_sentence": True}, None),
        ({"required_chars": "a b"}, r"a SentencePiece model with a space or U+2585 in required_chars"),
        (UNIGRAM, None),
        ({**UNIGRAM, "split_by_whitespace": False}, "a SentencePiece unigram model with split_by_whitespace: false"),
        (
            {**UNIGRAM, "treat_whitespace_as_suffix": True},
            "a SentencePiece unigram model with treat_whitespace_as_suffix",
        ),
        ({**UNIGRAM, "add_dummy_prefix": "false"}, "a SentencePiece unigram model with add_dummy_prefix: false"),
        (
            {**UNIGRAM, "user_defined_symbols": ["a", f"{SPACE}b"]},
            "a SentencePiece unigram model with a reserved piece that begins with a space",
        ),
        ({**UNIGRAM, "seed_sentencepieces_file": "seeds.tsv"}, "a SentencePiece model with seed_sentencepieces_file"),
    ],
)
def test_reasons_for_the_library(options: dict[str, Any], reason: str | None) -> None:
    assert library_reason({**SETTINGS, **options}) == reason


def test_the_library_is_only_needed_for_what_it_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    monkeypatch.setattr("nmt_prep.base.runtime.find_spec", lambda name: None)
    trained = SentencePieceTokenizer.train(LINES, 60, model_type="bpe")
    assert trained.decode(trained.encode("lower")) == "lower"
    with pytest.raises(MissingPackageError, match="training a SentencePiece char model needs sent"):
        SentencePieceTokenizer.train(LINES, 60, model_type="char")


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_too_little_memory_is_refused_while_lines_are_read(kind: Any) -> None:
    message = rf"training a {kind} model needs .*, but 0 MB are allowed.*engine\.memory"
    with pytest.raises(TrainingError, match=message):
        SentencePieceTokenizer.train(LINES, 60, model_type=kind, memory=1000)
