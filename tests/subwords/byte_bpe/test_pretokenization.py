from __future__ import annotations

import numpy as np
import pytest

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import EncodeError, InvalidTextError, VocabularyError
from nmt_prep.subwords.added import AddedToken
from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN, Pretokenization, Pretokenizer, byte_level
from tests.subwords.byte_bpe.models import MODELS

UNRECOGNISED = r"\d+?|é"  # a lazy repetition


def by_pattern(pattern: str) -> Pretokenizer:
    return Pretokenizer(Pretokenization.by_pattern(pattern))


def test_own_pattern_keeps_what_it_does_not_match() -> None:
    column = TextColumn.from_strings(["ab12, é3", "", "x"])
    _, _, pretokens = by_pattern(UNRECOGNISED).cut(column)
    assert pretokens is not None
    assert [token.decode() for token in pretokens.texts.to_bytes()] == ["ab", "1", "2", ", ", "é", "3", "x"]
    assert pretokens.firsts.tolist() == [0, 6, 6, 7]


def test_lines_of_a_sliced_column() -> None:
    column = TextColumn.from_strings(["12", "a1b", "é"])
    _, _, pretokens = by_pattern(UNRECOGNISED).cut(TextColumn(column.data, column.offsets[1:]))
    assert pretokens is not None
    assert [token.decode() for token in pretokens.texts.to_bytes()] == ["a", "1", "b", "é"]
    assert pretokens.firsts.tolist() == [0, 3, 4]


@pytest.mark.parametrize("pattern", [GPT2_PATTERN, r"\d+|é", r"\p{N}{1,3}|[^(\s|[.,])]+"])
def test_whole_lines_with_patterns_that_the_core_recognises(pattern: str) -> None:
    column = TextColumn.from_strings(["ab12"])
    texts, _, pretokens = by_pattern(pattern).cut(column)
    assert texts is column
    assert pretokens is None
    assert Pretokenization.by_pattern(pattern).libraries == []


def test_whole_lines_without_a_pattern() -> None:
    column = TextColumn.from_strings(["ab"])
    assert Pretokenizer(Pretokenization(gpt2=False)).cut(column)[2] is None


NATIVE = {
    *("GPT-2", "RoBERTa", "prefix", "GPT-NeoX", "CodeGen", "BLOOM", "StarCoder", "Llama 3", "Qwen2.5", "DeepSeek V2"),
    *("DeepSeek V3", "cl100k in JSON", "GPT-4o", "Mistral Nemo", "GPT-2 by Split", "whole lines"),
    *("Removed, inverted", "Isolated, not inverted"),
}
# These have added tokens that depend on the text around them, which are found in Python.
NATIVE_SPLIT = NATIVE | {"ModernBERT", "Phi-4", "single words", "stripping"}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_models_that_need_no_library(name: str) -> None:
    pre_tokenizer, normalizer, tokens, _ = MODELS[name]
    how = Pretokenization.by_steps(normalizer, pre_tokenizer)
    assert how.libraries == ([] if name in NATIVE_SPLIT else ["tokenizers"])
    added = {
        token["content"]: AddedToken(token["id"], **{k: v for k, v in token.items() if k not in ("content", "id")})
        for token in tokens
    }
    is_whole = Pretokenizer(how, added).cut(TextColumn.from_strings(["x"]))[2] is None
    assert is_whole == (name in NATIVE)


def test_steps_after_byte_level_are_left_to_the_library() -> None:
    digits = {"type": "Digits", "individual_digits": True}
    steps = {"type": "Sequence", "pretokenizers": [byte_level(use_regex=True), digits]}
    assert Pretokenization.by_steps(None, steps).libraries == ["tokenizers"]


def test_invalid_pattern() -> None:
    with pytest.raises(VocabularyError, match=r"tokenizers does not accept .*\(a.*; correct it"):
        by_pattern("(a")


@pytest.mark.parametrize("step", ["normalizer", "pre_tokenizer"])
def test_a_pattern_for_which_the_library_panics(step: str) -> None:
    pattern = {"Regex": "(a|a)*$"}
    split = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
    steps = {
        "normalizer": ({"type": "Replace", "pattern": pattern, "content": ""}, byte_level()),
        "pre_tokenizer": (None, {"type": "Sequence", "pretokenizers": [split, byte_level()]}),
    }
    split_lines = Pretokenizer(Pretokenization.by_steps(*steps[step]))
    with pytest.raises(EncodeError, match=r"tokenizers cannot match its pattern .*; correct the pattern, or"):
        split_lines.cut(TextColumn.from_strings(["ok", "a" * 60 + "b"]))


def test_own_pattern_on_bytes_that_are_not_utf8() -> None:
    column = TextColumn(np.frombuffer(b"ok\xff", np.uint8), np.array([0, 2, 3], np.int64))
    with pytest.raises(InvalidTextError, match="line 1: byte 0 is not UTF-8"):
        by_pattern(UNRECOGNISED).cut(column)
