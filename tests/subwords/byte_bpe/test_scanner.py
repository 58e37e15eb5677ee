"""The native scanners, compared with the ``regex`` package, tokenizers and tiktoken."""

from __future__ import annotations

import itertools
import sys
from functools import cache

import numpy as np
import pytest
import regex
import tiktoken
from _nmt_prep_core import PROPERTIES_UNICODE_VERSION, ByteBPESplitter, byte_bpe_scanner
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN
from tests.conftest import REPOSITORY, examples
from tests.reference import byte_bpe as reference
from tests.subwords.byte_bpe.models import CL100K_IN_JSON, DEEPSEEK_V3, KIMI_K2, O200K, RANKS_PATTERNS

sys.path.insert(0, str(REPOSITORY / "scripts"))

from make_property_tables import unicode_version

# Characters of the classes of the patterns, more frequent than in random text.
TELLING = "''''sstrevmldSLK  \t\n\r\x0b\x1c\x85\xa0\u2028\u3000aZéßıſǅʰñ\u0301ः的中文ひ。，09٣Ⅷ½²_-!/…\u200d👩🏽𠮷𝟘🇩K"
LINES = st.text(st.one_of(st.sampled_from(TELLING), st.characters(exclude_categories=["Cs", "Cn"])), max_size=40)


@cache
def splitter(*patterns: str, tiktoken: bool = True, keep: bool = True) -> ByteBPESplitter | None:
    """Returns a splitter by patterns, None if one is not recognised."""
    scanners = [byte_bpe_scanner(pattern, tiktoken, keep) for pattern in patterns]
    if None in scanners:
        return None
    return ByteBPESplitter([scanner for scanner in scanners if scanner], False, False, [], [])


def parts(how: ByteBPESplitter | None, line: str) -> list[str]:
    assert how is not None
    data = line.encode()
    ends = how.pretoken_ends(np.frombuffer(data, np.uint8))
    return [data[start:end].decode() for start, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", []),
        ("Hello world", ["Hello", " world"]),
        ("it's we'll I'd 'tis 'S ''re", ["it", "'s", " we", "'ll", " I", "'d", " '", "tis", " '", "S", " ''", "re"]),
        ("don't!?  x", ["don", "'t", "!?", " ", " x"]),
        ("  a   ", [" ", " a", "   "]),
        ("a\n\nb", ["a", "\n", "\n", "b"]),
        ("a \u3000 b", ["a", " \u3000", " b"]),
        ("a \u3000b", ["a", " ", "\u3000", "b"]),
        ("3½Ⅷx ٣", ["3½Ⅷ", "x", " ٣"]),
        ("你好，世界 2022年", ["你好", "，", "世界", " 2022", "年"]),
        ("'", ["'"]),
        ("'l", ["'", "l"]),
        (" ", [" "]),
    ],
)
def test_literals_of_gpt2(line: str, expected: list[str]) -> None:
    assert parts(splitter(GPT2_PATTERN), line) == expected
    assert reference.pretokens(line) == expected


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        (
            "cl100k",
            "I'LL (see) 12345  x\r\n\r\n y ",
            ["I", "'LL", " (", "see", ")", " ", "123", "45", " ", " x", "\r\n\r\n", " y", " "],
        ),
        ("o200k", "HELLOWorld'S iPhone a/b//\nЁж", ["HELLOWorld'S", " i", "Phone", " a", "/b", "//\n", "Ёж"]),
        ("Kimi K2", "你好hello世界ひらabc", ["你好", "hello", "世界", "ひらabc"]),
        ("Llama 3", "'ſ 1234\n\n  a", ["'ſ", " ", "123", "4", "\n\n", " ", " a"]),
        ("Qwen", "v12, e\u0301", ["v", "1", "2", ",", " e", "\u0301"]),
    ],
)
def test_literals(name: str, line: str, expected: list[str]) -> None:
    assert parts(splitter(RANKS_PATTERNS[name]), line) == expected


def test_literals_of_a_sequence() -> None:
    how = splitter(*DEEPSEEK_V3, tiktoken=False)
    assert parts(how, "1234x(abc) 你好，ok?!\n") == ["123", "4", "x", "(abc", ")", " ", "你好", "，", "ok", "?!\n"]


@pytest.mark.parametrize("name", sorted(RANKS_PATTERNS))
@given(line=LINES)
def test_matches_of_published_patterns(name: str, line: str) -> None:
    assert parts(splitter(RANKS_PATTERNS[name]), line) == reference.pretokens(line, RANKS_PATTERNS[name])


@pytest.mark.parametrize("name", sorted(RANKS_PATTERNS))
@given(line=st.text(st.sampled_from("abSL' \t\n\r./0"), max_size=80))
def test_matches_of_published_patterns_in_ascii(name: str, line: str) -> None:
    assert parts(splitter(RANKS_PATTERNS[name]), line) == reference.pretokens(line, RANKS_PATTERNS[name])


@given(line=st.one_of(LINES, st.text(st.sampled_from("abSL' 12\n"), max_size=80)))
def test_pattern_with_too_many_states_for_steps_of_two_characters(line: str) -> None:
    pattern = O200K.replace("{1,3}", "{1,60}")
    assert parts(splitter(pattern), line) == reference.pretokens(line, pattern)


@pytest.mark.parametrize("pattern", [CL100K_IN_JSON, O200K, KIMI_K2])
def test_words_longer_than_a_block(pattern: str) -> None:
    for length in range(1, 70):
        words = ["x" * length, "X" * length, "X" + "x" * length, "x" * length + "é" + "y" * length, "z" * length + "{"]
        for word in words:
            for line in (word, f"{word} {word}", f"  {word}'s"):
                assert parts(splitter(pattern), line) == reference.pretokens(line, pattern)


@cache
def every_character() -> tuple[str, np.ndarray, np.ndarray]:
    """Returns a text of all characters, its bytes, and the place where each character ends."""
    text = "".join(chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000)
    sizes = [len(character.encode()) for character in text]
    return text, np.frombuffer(text.encode(), np.uint8), np.cumsum(sizes)


@pytest.mark.parametrize(
    "pattern", [r"\p{L}", r"\p{N}", r"\s", r"\p{Lu}", r"\p{M}", r"[\p{P}\p{S}]", r"\p{Han}", "(?i:[sk])"]
)
def test_every_character_of_a_set(pattern: str) -> None:
    if unicode_version() != PROPERTIES_UNICODE_VERSION:
        pytest.skip(f"regex has Unicode {unicode_version()}, the tables have {PROPERTIES_UNICODE_VERSION}")
    how = splitter(pattern, keep=False)
    assert how is not None
    text, data, ends = every_character()
    matched = [match.start() for match in regex.finditer(pattern, text)]
    assert how.pretoken_ends(data) == ends[matched].tolist()


def test_text_between_matches() -> None:
    assert parts(splitter(r"\p{N}+"), "ab12, 3x") == ["ab", "12", ", ", "3", "x"]


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            r"\w+",
            r"a+?",
            r"^a",
            r"(?<=a)b",
            r"(a)\1",
            r"(?<name>a)",
            r"\bx",
            r"\h",
            r"\X",
            r"(?>a)",
            r"a**",
            "(?i:ss)",
        ),
        *(r"(?:ab)++", r"(?!ab)c", r"(?i:\p{Lu})", r"(?i:é)", r"[[:alpha:]]", r"[a--b]", "[]a]", "[z-a]", "a{3,2}"),
        *(
            "(a",
            "a)",
            "[a",
            "a{",
            "+",
            r"\p{Nonsense}",
            r"(?:a*)*",
            "\\",
            "(?i:[^a])",
            r"\<a",
            "a|",
            "a*",
            "",
            r"\s*(?!\S)",
        ),
        *(r"(?:\p{L}|\p{N}{100}){100}", "((((((((((" * 6 + "a" + "))))))))))" * 6),
    ],
)
def test_patterns_that_are_left_to_the_library(pattern: str) -> None:
    assert byte_bpe_scanner(pattern, True, True) is None
    assert byte_bpe_scanner(pattern, False, True) is None


@pytest.mark.parametrize(
    ("pattern", "recognised"),
    [
        ("((((){100}){100}){100}){100}a", False),  # 100,000,000 times nothing
        ("(?:(?:(?:a|()){100}|()){100}|b){100}c", False),
        ("(?:(?:a?|b?){60}){10}c", False),
        ("(?:a?|b?){16}c", True),  # 2 ** 32 ways to match nothing
        (r"(?:\p{L}?|\p{N}?){60}c", True),
        ("(?:(?!a)|(?!b)|(?!c)){100}c", True),
        ("[" + r"\p{L}" * 3000 + "]", True),
        ("a" * 20_000, False),
    ],
)
def test_patterns_that_would_take_long_to_compile(pattern: str, recognised: bool) -> None:
    assert (byte_bpe_scanner(pattern, False, True) is not None) == recognised


def test_nothing_in_many_ways() -> None:
    assert parts(splitter("(?:a?|b?){16}c"), "abcabac" + "ab" * 9 + "c") == ["abc", "abac", "ab", "ab" * 8 + "c"]


@pytest.mark.parametrize(
    ("pattern", "line", "tiktoken", "tokenizers"),
    [
        (r"\p{N}{1,2}+", "12345", ["12", "34", "5"], ["12345"]),
        (r"\s+$", "a \n b", ["a \n b"], ["a", " ", "\n b"]),
    ],
)
def test_syntaxes_that_differ(pattern: str, line: str, tiktoken: list[str], tokenizers: list[str]) -> None:
    assert parts(splitter(pattern), line) == tiktoken
    assert parts(splitter(pattern, tiktoken=False), line) == tokenizers
    peer = pre_tokenizers.Split(Regex(pattern), "isolated")
    assert [part for part, _ in peer.pre_tokenize_str(line)] == tokenizers


# Random expressions, and texts in which they match in many ways.
SETS = [
    *("a", "b", "[ab]", "[^a]", r"\s", r"\S", r"\p{L}", r"\p{Lu}", r"\p{N}", r"[^\s\p{L}]", r"[\r\n]", ".", " ", "'"),
    *(r"[\p{L}&&[^a]]", r"[^\p{L}\p{N}]"),
]
AHEAD = ["", "", "", "", "$", r"(?!\S)", "(?=a)", "(?!a)", r"(?!\s)"]
REPEATED = ["", "", "", "+", "*", "?", "{1,3}", "{2}", "{0,2}", "{1,}"]
POSSESSIVE = ["++", "*+", "?+", "{1,3}+", "{2}+"]


def sequences(atoms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeated = st.tuples(atoms, st.sampled_from(REPEATED)).map("".join)
    possessive = st.tuples(st.sampled_from(SETS), st.sampled_from(POSSESSIVE)).map("".join)
    several = st.lists(st.one_of(repeated, repeated, possessive), min_size=1, max_size=3).map("".join)
    return st.tuples(several, st.sampled_from(AHEAD)).map("".join)


def expressions(atoms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(sequences(atoms), min_size=1, max_size=3).map("|".join)


LEAVES = st.one_of(st.sampled_from(SETS), st.sampled_from(["(?i:'s)", "(?i:a)", "(?i:[as])", "(?i:b'|a)"]))
EXPRESSIONS = expressions(st.one_of(LEAVES, LEAVES, expressions(LEAVES).map(lambda inner: f"(?:{inner})")))
ALPHABET = "aAbsS 1.\n'"
TEXTS = [
    "".join(ALPHABET[(seed * 7 + i * i * (seed % 5 + 1) + i * seed) % len(ALPHABET)] for i in range(1 + seed % 9))
    for seed in range(40)
]


@settings(max_examples=examples(80))
@given(EXPRESSIONS)
def test_random_expressions_in_tokenizers(pattern: str) -> None:
    how = splitter(pattern, tiktoken=False)
    assume(how is not None)
    peer = pre_tokenizers.Split(Regex(pattern), "isolated")
    for line in TEXTS:
        assert parts(how, line) == [part for part, _ in peer.pre_tokenize_str(line)]


@cache
def short_texts() -> dict[bytes, int]:
    """Returns tokens for all bytes and all texts of two to four characters, so that IDs show how tiktoken split."""
    texts = ["".join(text) for size in (2, 3, 4) for text in itertools.product(ALPHABET, repeat=size)]
    return {token: i for i, token in enumerate([*(bytes([byte]) for byte in range(256)), *map(str.encode, texts)])}


@settings(max_examples=examples(20))
@given(EXPRESSIONS)
def test_random_expressions_in_tiktoken(pattern: str) -> None:
    how = splitter(pattern)
    assume(how is not None)
    peer = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=short_texts(), special_tokens={})
    for line in TEXTS:
        theirs = [peer.decode([number]) for number in peer.encode_ordinary(line[:4])]
        if "".join(theirs) == line[:4]:  # else it leaves out what does not match
            assert parts(how, line[:4]) == theirs
