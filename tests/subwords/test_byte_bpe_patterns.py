"""Patterns in common words: what they match is what the pattern matches in its own engine."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from nmt_prep.subwords.byte_bpe.patterns import PatternError, Syntax, common_pattern
from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN
from nmt_prep.subwords.byte_bpe.ranks import CL100K_PATTERN, O200K_PATTERN
from tests.subwords.byte_bpe_models import BLOOM, CL100K_IN_JSON, DEEPSEEK_V2, DEEPSEEK_V3, LLAMA3, O200K, TEKKEN

PUBLISHED = [BLOOM, CL100K_IN_JSON, *DEEPSEEK_V2, *DEEPSEEK_V3, LLAMA3, O200K, TEKKEN, GPT2_PATTERN]


@pytest.mark.parametrize(
    ("pattern", "as_oniguruma", "as_regex"),
    [
        (r"a|ab?|[c-e]+?|.*+a| \S", r"a|ab?|[c-e]+?|.*+a| \S", r"a|ab?|[c-e]+?|.*+a| \S"),
        (r"\p{N}{1,3}+", r"(?:\p{N}{1,3})+", r"(?>\p{N}{1,3})"),
        (r"a{2}?b{,2}c", r"(?:a{2})?b{0,2}c", r"a{2}b{0,2}c"),
        (r"\s+$", r"\s+(?=\n|(?![\s\S]))", r"\s+(?=\n?(?![\s\S]))"),
        (r"^a", r"(?:(?<![\s\S])|(?<=\n)(?=[\s\S]))a", r"(?<![\s\S])a"),
        (r"(?i:'s|[dm]|k)x", "(?:'[sSſ]|[dDmM]|[kK\u212a])x", "(?:'[sSſ]|[dDmM]|[kK\u212a])x"),
        (r"[^(\s|[.,])]", r"[^(\s|.,)]", None),
        (r"[a[b]", None, r"[a\[b]"),
        (r"(a)(?:b)(?!c)(?<=d)(?>e)", r"(?:a)(?:b)(?!c)(?<=d)(?>e)", r"(?:a)(?:b)(?!c)(?<=d)(?>e)"),
        (r"\u4e00\x{4E01}\x41", "一丁A", None),
    ],
)
def test_literals(pattern: str, as_oniguruma: str | None, as_regex: str | None) -> None:
    if as_oniguruma is not None:
        assert common_pattern(pattern, "oniguruma") == as_oniguruma
    if as_regex is not None:
        assert common_pattern(pattern, "regex") == as_regex


@pytest.mark.parametrize("syntax", ["oniguruma", "regex"])
@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"(?i:ss)", r"\(\?i:…ss…\) matches one character as well"),
        (r"(?i:é)", "'é' where case is ignored"),
        (r"(?i:\p{Lu})", r"the property \\p\{Lu\}"),
        (r"(?i:[a-z])", "the range a-z in a set"),
        (r"(?i:(?:a))", "a group where case is ignored"),
        (r"(?i:[^a])", "where case is ignored"),
        (r"(?i)a", r"a group that opens with \(\?i\)"),
        (r"(?<name>a)", r"a group that opens with \(\?<n"),
        (r"(?<=a+)b", "repetition in what must come before"),
        (r"[[:alpha:]]", r"\[: inside a set"),
        (r"\h|a", r"\\h"),
        (r"\1", r"\\1"),
        (r"\bx", r"\\b"),
        (r"\p{^L}", r"the property \\p\{\^"),
        (r"\p{Emoji}", r"the property \\p\{Emoji\}"),
        (r"\pL", r"the property \\pL"),
        (r"[\d-z]", r"the range \\d-z in a set"),
        (r"[\W]", r"\\W"),
        ("a**", r"'\*' behind a repetition"),
        ("a{2}{3}", "'{' behind a repetition"),
        ("^*", "which matches no text"),
        ("(?=a)?", "which matches no text"),
        ("a*", "it matches no text, too"),
        ("a{x}", "'{' that opens no repetition"),
        ("*", "has nothing to repeat"),
        ("(a", "a group is not closed"),
        ("a)", "closes a group"),
        ("[a", "ends too early"),
        ("[]", "a set without members"),
        ("\\", "ends too early"),
    ],
)
def test_refused(pattern: str, message: str, syntax: Syntax) -> None:
    with pytest.raises(PatternError, match=message):
        common_pattern(pattern, syntax)


def test_refused_of_one_syntax() -> None:
    for pattern, syntax, message in (
        (r"[a&&b]", "oniguruma", "&& inside a set"),
        (r"[a[^b]]", "oniguruma", r"\[\^ inside a set"),
        (r"(?i:i)", "regex", "'i' where case is ignored"),
    ):
        with pytest.raises(PatternError, match=message):
            common_pattern(pattern, syntax)  # type: ignore[arg-type]


def by_oniguruma(pattern: str, text: str) -> list[str]:
    return [part for part, _ in pre_tokenizers.Split(Regex(pattern), "removed", invert=True).pre_tokenize_str(text)]


def by_regex(pattern: str, text: str) -> list[str]:
    return [match[0] for match in regex.finditer(pattern, text) if match[0]]


TELLING = " \t\n\r\u00a0\u3000\x85'aAbBdDkKKmlsSſtTeEvVrR.,!?[](){}|&^$-_/\\#~0123¹½٣ßıİʕǅé\u0301的一龥あ가👩🏽\u200d،"
TEXTS = st.text(
    st.one_of(st.sampled_from(TELLING), st.characters(max_codepoint=0x7F0, exclude_categories=["Cs", "Cn"]))
)


@pytest.mark.parametrize("pattern", PUBLISHED)
@settings(deadline=None, max_examples=100)
@given(text=TEXTS)
def test_published(pattern: str, text: str) -> None:
    expected = by_oniguruma(pattern, text)
    common = common_pattern(pattern, "oniguruma")
    assert by_regex(common, text) == expected
    assert by_oniguruma(common, text) == expected


@pytest.mark.parametrize("pattern", [CL100K_PATTERN, O200K_PATTERN, r"\w+|\W", r"\S+$|^ ", r"[\w.-]+|\d{2}?"])
@settings(deadline=None, max_examples=100)
@given(text=TEXTS)
def test_patterns_of_regex(pattern: str, text: str) -> None:
    expected = by_regex(pattern, text)
    common = common_pattern(pattern, "regex")
    assert by_regex(common, text) == expected
    assert by_oniguruma(common, text) == expected


ATOMS = st.sampled_from(
    [
        *"aAb .",
        r"\s",
        r"\S",
        r"\d",
        r"\w",
        r"\n",
        r"[^a\n]",
        "[ab-]",
        r"[\]\[a]",
        "(?i:s|T)",
        r"\p{L}",
        r"\P{N}",
    ]
)
REPEATS = st.sampled_from(
    ["", "", "", "?", "*", "+", "??", "*?", "+?", "?+", "*+", "++", "{2}", "{1,2}", "{2}?", "{1,2}+", "{0,1}?"]
)
PATTERNS = st.recursive(
    st.lists(st.tuples(ATOMS, REPEATS).map("".join), min_size=1, max_size=4).map("".join),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("|".join),
        st.tuples(st.sampled_from(["(?:", "(", "(?>"]), inner, st.just(")"), REPEATS).map("".join),
    ),
    max_leaves=3,
)


@settings(deadline=None, max_examples=300)
@given(pattern=PATTERNS, text=st.text(st.sampled_from("aAb \nsSſtT1.é]["), max_size=12))
def test_made_up_patterns(pattern: str, text: str) -> None:
    try:
        of_oniguruma, of_regex = common_pattern(pattern, "oniguruma"), common_pattern(pattern, "regex")
    except PatternError as error:
        if "matches no text" not in str(error):
            raise
        return
    expected = by_oniguruma(pattern, text)
    assert by_oniguruma(of_oniguruma, text) == by_regex(of_oniguruma, text) == expected
    expected = by_regex(pattern, text)
    assert by_regex(of_regex, text) == by_oniguruma(of_regex, text) == expected
    for common in (of_oniguruma, of_regex):
        assert common_pattern(common, "regex") == common_pattern(common, "oniguruma")
