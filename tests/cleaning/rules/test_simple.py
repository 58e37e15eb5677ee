"""Rules whose values take no more than a function of the core: literal values and decisions, and their twins."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.reference import cleaning, numbers

Batch = list[tuple[str, str]]

SHORT = {"min_length": 10}
TOKENS = {"unit": "token"}


@pytest.mark.parametrize(
    ("name", "options", "batch", "expected"),
    [
        ("alphabetic", {}, [("ab 1", ""), ("नमस्ते", "1 2")], [[0.5, 1.0], [5 / 6, 0.0]]),
        ("alphabetic", {"spaces": False}, [("ab 1", "  ")], [[2 / 3, 1.0]]),
        ("alphabetic", {"unit": "word"}, [("ab 1 x2", "")], [[2 / 3, 1.0]]),
        ("average_word_length", TOKENS, [("ab abcd", ""), ("我们学习中文", "ab")], [[3, 0], [6, 2]]),
        ("average_word_length", {}, [("我们学习中文", "ab")], [[1.5, 2]]),
        ("brackets", {}, [("a) b", "a) c"), ("(a)", "(a"), ("(a)", "（a）"), ("[x", "y}")], [[0], [1], [0], [2]]),
        ("currency", {}, [("$5", "5 US$"), ("$5", "5 €"), ("$5", "5 Dollar")], [[1.0], [0.0], [1.0]]),
        ("currency", {}, [("EUR5 and £3", "5€"), ("RMB 5", "￥5")], [[2 / 3], [1.0]]),
        ("currency", {"missing": True}, [("$5", "5 Dollar")], [[0.0]]),
        ("length", {"unit": {"source": "token", "target": "char"}}, [("a b", "abc d")], [[2, 5]]),
        ("length_ratio", TOKENS, [("a", "b c d"), ("a b", "c d e"), ("", "")], [[3.0], [1.5], [0.0]]),
        ("length_ratio", TOKENS, [("", "a")], [[math.inf]]),
        ("length_ratio", {"factors": {"source": 1, "target": 2}}, [("ab", "abcd"), ("ab", "ab")], [[1.0], [2.0]]),
        # to the last bit, on every processor
        ("length_ratio", {**TOKENS, "formula": "log"}, [("a b c d e f g h i", "a b c")], [[0.6020599913279623]]),
        ("length_ratio", {**TOKENS, "formula": "log"}, [("", ""), ("a", "")], [[1.0], [0.0]]),
        ("length_ratio", SHORT, [("x" * 9, "x"), ("x" * 10, "x"), ("x" * 9, "")], [[1.0], [10.0], [1.0]]),
        ("length_ratio", {**SHORT, "formula": "log"}, [("x" * 9, "x")], [[1.0]]),
        (
            "length_ratio",
            {**SHORT, "factors": {"source": 1, "target": 0.5}},
            [("x", "x" * 4), ("x", "x" * 5)],
            [[1.0], [10.0]],
        ),
        ("longest_word", TOKENS, [("我今天在北京大学学习中文", "iPhone手机")], [[12, 8]]),
        ("longest_word", {}, [("我今天在北京大学学习中文", "iPhone手机")], [[0, 6]]),
        ("numerals", {}, [("in 2010", "2010"), ("no", "ne"), ("12", "1")], [[1.0], [1.0], [2 / 3]]),
        ("numerals", {}, [("10", "100"), ("١", "a"), ("1", "2")], [[1.0], [1.0], [0.0]]),
        ("only_digits", {}, [("12 ab", "Ⅷ٣"), ("!", "")], [[0.5, 1.0], [0.0, 0.0]]),
        ("only_symbols", {}, [("== ++ a", "…"), ("", "第1章")], [[0.2, 0.0], [1.0, 1.0]]),
        *(
            ("script", {"script": {"source": name, "target": None}}, [("コーヒー", "ab")], [[0.5, 1.0]])
            for name in ("Katakana", "kana", "KATAKANA")
        ),
        ("terminal_punctuation", {}, [("A.", "B."), ("A", "B.")], [[-math.log(1)], [-math.log(2)]]),
        ("terminal_punctuation", {}, [("A...", "B")], [[-math.log(6)]]),
        (
            "url_only",
            {},
            [("https://a.org/b", "see www.a.de."), ("", "字http://a.b字")],
            [[1.0, 8 / 12], [0.0, 10 / 12]],
        ),
        ("url_only", {}, [("(mail me@x.org)", "e.g. U.S. 3.5 etc.")], [[8 / 14, 0.0]]),
        ("urls", {}, [("see http://a.b.", "siehe http://a.b"), ("http://a.b", ""), ("x", "y")], [[1.0], [0.0], [1.0]]),
        ("urls", {}, [("www.a.b www.a.b", "www.a.b")], [[2 / 3]]),
    ],
)
def test_values(name: str, options: dict[str, Any], batch: Batch, expected: list[list[float]]) -> None:
    assert values(rule_of(name, options), *batch) == expected


@pytest.mark.parametrize(
    ("name", "options", "languages", "batch", "expected"),
    [
        (
            "script",
            {},
            ("ru", "ja"),
            [("Привет, wor", "コーヒーを飲む ab"), ("123", "漢")],
            [[6 / 9, 7 / 9], [1.0, 1.0]],
        ),
        ("script", {}, ("zh-TW", "ko"), [("漢字a", "한국어 漢字 ab")], [[2 / 3, 5 / 7]]),
        ("script", {}, ("zh-TW", "zh"), [("这是湾", "這是灣"), ("灣国皇后", "灣国皇后")], [[0.0, 0.0], [0.5, 0.5]]),
        ("script", {}, ("yue", "zh-CN"), [("這個人", "这个人"), ("人们", "人們")], [[1.0, 1.0], [0.0, 0.0]]),
        ("script", {"script": "Hant"}, ("und", "ja"), [("这a", "國")], [[0.0, 1.0]]),
        ("script", {}, ("sr-Latn", "uz-Cyrl"), [("čovek", "одам"), ("човек", "odam")], [[1.0, 1.0], [0.0, 0.0]]),
        ("script", {}, ("pa-PK", "kk-CN"), [("پنجابی", "قازاق"), ("ਪੰਜਾਬੀ", "қазақ")], [[1.0, 1.0], [0.0, 0.0]]),
        (
            "length_ratio",
            {"factors": "auto"},
            ("en", "zh"),
            [("x" * 100, "字" * 29), ("x" * 50, "字" * 29)],
            [[1], [2]],
        ),
    ],
)
def test_values_that_depend_on_the_languages(
    name: str, options: dict[str, Any], languages: tuple[str, str], batch: Batch, expected: list[list[float]]
) -> None:
    assert values(rule_of(name, options, languages), *batch) == expected


@pytest.mark.parametrize(
    ("name", "options", "passing", "dropped"),
    [
        ("alphabetic", {"min": 0.5}, [("ab12", "a")], [("ab123", "a")]),
        ("average_word_length", {"min": 2, "max": 3}, [("ab", "abc")], [("a", "ab"), ("abcd", "ab")]),
        ("brackets", {}, [("a) b", "a) c"), ("(a)", "（a）")], [("(a)", "(a"), ("[x", "y}")]),
        ("currency", {}, [("$5", "5 US$"), ("EUR5 and £3", "5€")], [("$5", "5 €")]),
        ("length", {**TOKENS, "min": 2, "max": 3}, [("a b", "a b c")], [("a", "a b"), ("a b c d", "a b")]),
        (
            "length",
            {"unit": "char", "max": {"source": 2, "target": 4}},
            [("ab", "abcd")],
            [("abc", "a"), ("a", "abcde")],
        ),
        ("length_ratio", TOKENS, [("a b", "c d e"), ("", "")], [("a", "b c d"), ("", "a")]),
        ("length_ratio", {**TOKENS, "formula": "log"}, [("a", "b c")], [("a", "a b c d")]),
        ("longest_word", {"max": 4}, [("abc abc", "a")], [("abcd", "a")]),
        ("numerals", {}, [("11", "2311")], [("13", "2244")]),
        ("only_digits", {"max": 0.5}, [("1ab", "a")], [("12a", "a")]),
        ("only_symbols", {}, [("a!", "b")], [("a!!!", "b")]),
        ("script", {"script": "Latin", "min": 1}, [("é", "ß")], [("éя", "ß")]),
        ("terminal_punctuation", {}, [("A...", "…")], [("A!!!!!", "B")]),
        ("too_short", {"min": 2}, [("ab", "a b")], [("1234", "ab"), ("ab", "é.")]),
        ("url_only", {}, [("hello a.de", "x")], [("a.de", "x")]),
        (
            "urls",
            {},
            [("see http://a.b.", "siehe http://a.b"), ("x", "y")],
            [("http://a.b", ""), ("www.a.b www.a.b", "www.a.b")],
        ),
    ],
)
def test_decisions(name: str, options: dict[str, Any], passing: Batch, dropped: Batch) -> None:
    assert decisions(name, options, *passing, *dropped) == [True] * len(passing) + [False] * len(dropped)


def _each(twin: Callable[..., float], *keys: str) -> Callable[[str, str, dict[str, Any]], list[float]]:
    """Returns a twin that judges each side, given some of the options."""
    return lambda source, target, options: [twin(line, *map(options.get, keys)) for line in (source, target)]


def _both(twin: Callable[..., float], *keys: str) -> Callable[[str, str, dict[str, Any]], list[float]]:
    """Returns a twin that compares the sides, given some of the options."""
    return lambda source, target, options: [twin(source, target, *map(options.get, keys))]


def _ratio(source: str, target: str) -> float:
    shorter, longer = sorted([len(source), len(target)])
    return longer / shorter if shorter else math.inf if longer else 0.0


def _brackets(source: str, target: str) -> float:
    return sum(abs(a - b) for a, b in zip(*map(cleaning.bracket_depths, (source, target)), strict=True))


SCRIPTS = ["Latin", "Han", "Cyrillic", "Thai", "Old_Italic"]
NONE = st.just({})
DIGITS = st.text("0123456789", min_size=150, max_size=400)


@pytest.mark.parametrize(
    ("name", "options", "side", "twin"),
    [
        ("alphabetic", st.builds(dict, spaces=st.booleans()), lines(), _each(cleaning.alphabetic_share, "spaces")),
        ("alphabetic", st.just({"unit": "word"}), lines(), _each(cleaning.letter_word_share)),
        ("brackets", NONE, lines(list("()[]{}⟨⟩【】（）〈〉") * 2), _both(_brackets)),
        (
            "currency",
            st.builds(dict, missing=st.booleans()),
            lines(["$", "USD", "€", "EUR", "A", "z", "5", "￥", "CNY", "฿", "CHF", "ä"] * 2),
            _both(numbers.currency_similarity, "missing"),
        ),
        ("length_ratio", NONE, lines(), _both(_ratio)),
        ("numerals", NONE, lines(list("0123456789" * 3)), _both(cleaning.numerals)),
        ("numerals", NONE, DIGITS, _both(cleaning.numerals)),
        ("only_digits", NONE, lines(), _each(cleaning.number_share)),
        ("only_symbols", NONE, lines(), _each(cleaning.word_character_share)),
        (
            "script",
            st.builds(dict, script=st.sampled_from(SCRIPTS)),
            lines(),
            _each(lambda line, script: cleaning.script_share(line, [script]), "script"),
        ),
        ("terminal_punctuation", NONE, lines(list(".?!…")), _both(cleaning.terminal_punctuation)),
        (
            "url_only",
            NONE,
            lines(["http://", "www.", "a.de", "b.co.uk/x?y=1", "me@x.org", ".", "HTTPS://"] * 2),
            _each(cleaning.address_share),
        ),
        ("urls", NONE, lines(["http://a.b", "www.a.de", "a.de", " ", "."] * 2), _both(cleaning.url_similarity)),
    ],
)
@given(data=st.data())
def test_values_are_those_of_the_twin(
    name: str,
    options: st.SearchStrategy[dict[str, Any]],
    side: st.SearchStrategy[str],
    twin: Callable[[str, str, dict[str, Any]], list[float]],
    data: st.DataObject,
) -> None:
    chosen = data.draw(options)
    batch = data.draw(st.lists(st.tuples(side, side), max_size=4))
    batch += [(source, source) for source, _ in batch[:1]]
    assert values(rule_of(name, chosen), *batch) == [twin(*pair, chosen) for pair in batch]
