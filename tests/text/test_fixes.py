"""Fixes: their effects on literal lines, their order, and that the native core gives the same as its Python twin."""

from __future__ import annotations

import gzip
import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import regex
from _nmt_prep_core import NORMALIZATION_UNICODE_VERSION as UNICODE_VERSION
from _nmt_prep_core import Lines, han_counts
from hypothesis import given, settings
from hypothesis import strategies as st
from make_han_tables import only_in

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import InvalidTextError
from nmt_prep.text.chain import Chain
from nmt_prep.text.step import StepContext
from nmt_prep.text.steps import replace
from nmt_prep.text.steps.replace import pattern_of_joined
from tests.conftest import examples
from tests.guard import must_end
from tests.reference import fixes as reference

MULTI30K = Path(__file__).parents[3] / "shared" / "corpora" / "multi30k-ende"


def chain(*specs: object, language: str = "en") -> Chain:
    return Chain.of(specs, StepContext(language, Path()))


def fixed(specs: Sequence[object], *lines: str, language: str = "en") -> list[str]:
    return chain(*specs, language=language).apply(pa.array(lines, pa.large_string())).lines.to_pylist()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Du&nbsp;wirst &amp; &quot;", 'Du\u00a0wirst & "'),
        ("Tom &amp; Jerry&#39;s &#x27;&#X4e2d;", "Tom & Jerry's '中"),
        ("1 &lt; 2 &gt; 0", "1 < 2 > 0"),
        ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),  # once
        ("AT&T, R&D; Q&A &c. &nosuch; &amp", "AT&T, R&D; Q&A &c. &nosuch; &amp"),
        ("?a=1&copy=2&lt=3", "?a=1&copy=2&lt=3"),
        ("&#151;&#128;&#129;", "—€&#129;"),  # Windows-1252, as browsers read them
        ("&#0;&#1;&#xD800;&#x110000;&#xFFFF;&#;&#x;", "&#0;&#1;&#xD800;&#x110000;&#xFFFF;&#;&#x;"),
        ("a&#10;b&NewLine;c&#9;d&Tab;e", "a b c d e"),
        ("&&amp;;&", "&&;&"),
        ("&acE;&NotEqualTilde;", "∾̳≂̸"),  # two characters each
    ],
)
def test_html_entities(line: str, expected: str) -> None:
    assert fixed(["html_entities"], line) == [expected]


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        ("control", "Wisse\x01\x02nsch\x7f\x1baftler", "Wissenschaftler"),
        ("control", "\ufeffa\tb\x85c\x9f\x80d\u200c\u200de\u00ad", "a\tbcd\u200c\u200de\u00ad"),
        ("control", "wei\u00c3\x9f\x07 \u00e2\x80\x99", "wei\u00c3\x9f \u00e2\x80\x99"),  # part of mojibake
        ("soft_hyphens", "Zu\u00adsam\u00admen", "Zusammen"),
        ("bidi_marks", "\u200eabc\u202a\u202e\u2066\u2069\u061c\u200c\u200d", "abc\u200c\u200d"),
        ("nfc", "Cafe\u0301 A\u030a \u212b ² ½ ﬁ ﷺ １", "Café Å Å ² ½ ﬁ ﷺ １"),
        ("nfc", "q\u0307\u0323 \u1100\u1161\u11a8", "q\u0323\u0307 각"),
        ("whitespace", "  a \t b\u00a0\u3000c\u2009\u2028", "a b c"),
        ("whitespace", "a\u200bb\u200cc", "a\u200bb\u200cc"),
        ("whitespace", " \t ", ""),
        ("ligatures", "ﬁnd oﬀ ﬂy oﬃce baﬄe ﬅ ﬆ ﷺ", "find off fly office baffle ſt st ﷺ"),
        ("width", "ＡＢＣ１２３！ 中　文", "ABC123! 中　文"),
    ],
)
def test_one_fix(name: str, line: str, expected: str) -> None:
    assert fixed([name], line) == [expected]


def test_width_stays_where_it_belongs_to_the_script() -> None:
    for language in ("zh", "zh-Hant", "ja", "ko", "yue"):
        assert fixed(["width"], "ＡＢ！", language=language) == ["ＡＢ！"]
    assert fixed(["width"], "ＡＢ！", language="de-AT") == ["AB!"]


@pytest.mark.parametrize(
    ("spec", "language", "line", "made"),
    [
        ("wiki", "en", "== See also ==", "See also"),
        ("wiki", "en", "=== History === In 1990", "History In 1990"),
        ("wiki", "en", "a == b, == c", "a == b, == c"),
        ("wiki", "en", "[[Berlin|the city]]'s [[wall]]", "the city's wall"),
        ("wiki", "en", "[[File:a.jpg|thumb|In [[b|C]]]] x [[a|]]", "In C x a"),
        ("wiki", "en", "x {{cite|{{a}}|b}} y {{{p}}} {{z}}", "x y"),
        ("wiki", "en", "'''Bold''' it's '''''both''''' ''it''", "Bold it's both ''it''"),
        ("wiki", "en", "{{open [[a|b]] [[c }} ]]", "]]"),
        ("wiki", "en", "[[open a|b] }} {x}", "[[open a|b] }} {x}"),
        ({"detokenize": "spaces"}, "zh", " 我 爱 Python 编程 ， 真 的 。", "我爱 Python 编程，真的。"),
        ({"detokenize": "spaces"}, "zh-TW", "用GPT4寫C++ 程式", "用 GPT4 寫 C++ 程式"),
        ({"detokenize": "spaces"}, "zh", "2020 年 5 月 ， iPhone  12 （ Pro ）", "2020年5月，iPhone 12（Pro）"),
        ({"detokenize": "spaces"}, "ja", "スマート フォン を Linux で", "スマートフォンを Linux で"),
        ({"detokenize": "spaces"}, "en", "a  中 文", "a  中 文"),
        ({"detokenize": "moses"}, "en", "I &apos;m here , ok .", "I'm here, ok."),
        ({"non_printing": "moses"}, "en", "a\u00ad\tb", "a  b"),
        ({"unicode_punctuation": "moses"}, "zh", "１。 好", "1. 好"),
        ({"replace": {"pattern": r"(\d) %", "with": r"\1%"}}, "de", "5 % und 6 %", "5% und 6%"),
        ({"replace": {"pattern": r"^\s*[-•]\s*|\s+$"}}, "de", " • a ", "a"),
        ({"replace": {"pattern": "(?:foo){e<=1}", "with": "x"}}, "en", "fob", "x"),  # searched for by line
    ],
)
def test_one_step(spec: object, language: str, line: str, made: str) -> None:
    assert fixed([spec], line, "", line, language=language) == [made, "", made]
    many = pa.array([line, ""] * 3000, pa.large_string())
    assert chain(spec, language=language).apply(many, threads=2).lines.to_pylist() == [made, ""] * 3000


@pytest.mark.parametrize(
    ("to", "language", "line", "made"),
    [
        ("simplified", "zh", "臺灣的皇后", "台湾的皇后"),
        ("traditional", "zh-Hant", "皇后的头发里", "皇后的頭髮裏"),
        ("tw", "zh-TW", "里面有台湾", "裡面有臺灣"),
        ("tw", "zh-TW", "裏面", "裡面"),
        ("hk", "yue", "里面有台湾", "裏面有台灣"),
        ("simplified", "ja", "国會", "国會"),
    ],
)
def test_chinese_scripts(to: str, language: str, line: str, made: str) -> None:
    pytest.importorskip("opencc")
    assert fixed([{"han": to}], line, "ok", "", language=language) == [made, "ok", ""]


PARTS = [
    "a",
    "b",
    r"\s",
    r"\S",
    r"\W",
    "[^a]",
    "[^]]",
    ".",
    r"\b",
    "^",
    "$",
    r"\d",
    "x|",
    "(?=b)",
    r"(?<!\s)",
    r"(?!\s)",
    "[ab]",
]
PARTS += [r"\P{L}", r"\n", "(?<=[^b])", "(a|b)", r"[\s\d]", r"\A", r"\Z", "(?:ab?)", "[[:space:]]"]
PATTERNS = st.lists(
    st.tuples(st.sampled_from(PARTS), st.sampled_from(["", "", "", "*", "+", "?", "{1,2}"])), min_size=1
)


@given(pattern=PATTERNS, lines=st.lists(st.text("ab 1\t\u2028x", max_size=5), max_size=8))
@settings(max_examples=examples(150))
def test_joined_lines_are_replaced_as_lines(pattern: list[tuple[str, str]], lines: list[str]) -> None:
    written = "".join(f"{part}{repeat}" if len(part) == 1 or part[0] in "\\[" else part for part, repeat in pattern)
    try:
        compiled = regex.compile(written)
    except regex.error:
        return
    assert pattern_of_joined(written) is not None
    assert fixed([{"replace": {"pattern": written, "with": "-"}}], *lines) == [
        compiled.sub("-", line) for line in lines
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pattern": "("}, "replace: pattern: not a regular expression: missing )"),
        ({"pattern": "a", "with": "\\1"}, "replace: with: '\\\\1' is no replacement for 'a': invalid group reference"),
        ({"pattern": "a", "with": "\n"}, "replace: with: '\\n' has a line feed"),
        ({"pattern": "a", "label": "a b"}, "replace.label: "),
    ],
)
def test_wrong_replacements_are_named(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        chain({"replace": options})


def test_hostile_replacements_end(monkeypatch: pytest.MonkeyPatch) -> None:
    with must_end(60), pytest.raises(InvalidTextError, match="makes more than 67,108,864 characters of the line 'aaaa"):
        fixed([{"replace": {"pattern": "(?=(.*))", "with": r"\1"}}], "a" * 100_000)
    monkeypatch.setattr(replace, "_SECONDS", 0.001)
    with must_end(60), pytest.raises(InvalidTextError, match=r"takes more than 0\.001 s per core on the line 'xxxx"):
        fixed([{"replace": {"pattern": "(x+x+)+y"}}], "a", "x" * 200)


@pytest.mark.parametrize("unit", ["[[", "{{", "[[a|", "[[{{", "'", "== ", "{{[["])
def test_wiki_markup_takes_no_quadratic_time(unit: str) -> None:
    with must_end(60):
        assert len(fixed(["wiki"], unit * 200_000 + "]]}}" * 200_000)) == 1


def test_no_break_spaces_stay_in_french_if_asked() -> None:
    line = "\u00a0 «\u00a0Oui\u00a0» \u202f!  non\u00a0"
    assert fixed([{"whitespace": "keep_no_break"}], line, language="fr-CA") == ["«\u00a0Oui\u00a0»\u202f! non"]
    assert fixed([{"whitespace": "keep_no_break"}], line, language="en") == ["« Oui » ! non"]


def test_punctuation_follows_moses_or_sacremoses() -> None:
    line = '„Das“ ( ist ) ’so’ – «\u00a0gut\u00a0», sagt ’s "hier." 12\u00a0000 \u2026'
    assert fixed([{"punctuation": "sacremoses"}], line, language="de") == [
        '"Das" (ist) \'so\' - "gut", sagt \'s "hier". 12,000 ...'
    ]
    assert fixed([{"punctuation": "moses"}], line, language="de") == [
        '"Das" (ist) "so" - "gut", sagt "s "hier". 12,000 ...'
    ]
    # Moses sees a line break after the quote, strips nothing, and treats other languages like German.
    assert fixed([{"punctuation": "moses"}], ' a."', language="ru") == [' a".']
    assert fixed([{"punctuation": {"like": "moses", "language": "en"}}], ' a."', language="ru") == [' a."']
    assert fixed([{"punctuation": "sacremoses"}], ' a."', language="ru") == ['a."']


def test_fixes_run_in_the_written_order_and_count_the_lines_they_alter() -> None:
    lines = pa.array(["a&nbsp;&#173;b", "c", " d\u00ad\x07 "])
    names = ["html_entities", "control", "soft_hyphens", "whitespace"]
    made = pa.array(["a b", "c", "d"], pa.large_string())
    assert chain(*names).apply(lines) == (made, (1, 1, 2, 2), ((0,), (2,), (0, 2), (0, 2)))
    backward = pa.array(["a\u00a0\u00adb", "c", "d"], pa.large_string())
    assert chain(*reversed(names)).apply(lines) == (backward, (1, 1, 1, 1), ((2,), (2,), (2,), (0,)))
    assert chain("nfc", "control", "nfc", {"nfc": {"label": "last"}}).labels == ("nfc", "control", "nfc-2", "last")


def test_clean_text_is_not_copied() -> None:
    fixer = chain("control", "nfc", "whitespace", "html_entities", language="de")
    lines = pa.array(["Größe", "", "„so“", "中文。"], pa.large_string())
    assert fixer.apply(lines).lines.buffers()[2].address == lines.buffers()[2].address
    assert fixer.apply(pa.array(["a"], pa.string())).lines.type == pa.large_string()
    assert fixer.apply(pa.array([], pa.large_string())).altered == (0, 0, 0, 0)


def test_slices_and_empty_lines_keep_their_places() -> None:
    lines = pa.array([" x", "", "a ", "b", "", "  ", "c"], pa.large_string())
    assert chain("whitespace").apply(lines.slice(1, 5)).lines.to_pylist() == ["", "a", "b", "", ""]
    assert chain("whitespace").apply(lines.slice(3, 2)).lines.to_pylist() == ["b", ""]


def test_text_that_is_not_utf8_names_its_line() -> None:
    offsets = pa.py_buffer(np.array([0, 4, 6], np.int64))
    column = pa.LargeStringArray.from_buffers(2, offsets, pa.py_buffer(b"good\xc3("))
    with pytest.raises(InvalidTextError, match="line 1: byte 0"):
        chain("control").apply(column)
    with pytest.raises(InvalidTextError, match="null"):
        chain("control").apply(pa.array(["a", None]))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("contrl", "there is no step 'contrl'; did you mean 'control'?"),
        ("punctuation", "punctuation.like: this key is required: moses or sacremoses: as normalize-punctuation"),
        ({"punctuation": "perl"}, "punctuation.like: found the text 'perl'; allowed: moses or sacremoses"),
        ({"nfc": "k"}, "nfc: found 'k'; the step takes no single value"),
        ({"nfc": "", "control": ""}, "is not a step; write a name, or one name and its options"),
    ],
)
def test_wrong_fixes_are_named(spec: object, message: str) -> None:
    with pytest.raises(ValueError, match="^.*" + re.escape(message)):
        chain(spec)


PLAIN: dict[str, tuple[object, Callable[[str], str]]] = {
    "html_entities": ("html_entities", reference.html_entities),
    "control": ("control", reference.control),
    "soft_hyphens": ("soft_hyphens", reference.soft_hyphens),
    "bidi_marks": ("bidi_marks", reference.bidi_marks),
    "nfc": ("nfc", reference.nfc),
    "whitespace": ("whitespace", reference.whitespace),
    "keep_no_break": ({"whitespace": "keep_no_break"}, reference.whitespace_keep_no_break),
    "ligatures": ("ligatures", reference.ligatures),
    "width": ("width", reference.width),
}
ODD = st.sampled_from(
    [
        *"a1;#x& ÄÃ\t\x00\x1f\x7f\x80\x85\xa0\xad\u0301\u0323\u0344\u1100\u1161\u11a7\u11a8\uac00",
        *"\u061c\u200d\u200e\u2028\u2069\u202f\u3000\ufb00\ufb06\uff01\uff5e\ufeff\U0001d15f",
        *("&amp;", "&#8", "&#x", "  ", "&nosuch;"),
    ]
)
LINES = st.lists(st.lists(ODD | st.characters(exclude_categories=["Cs"], exclude_characters="\n")).map("".join))


@pytest.mark.skipif(unicodedata.unidata_version != UNICODE_VERSION, reason="this Python has another Unicode version")
@given(lines=LINES)
@settings(max_examples=examples(150))
def test_core_gives_the_same_as_the_python_twins(lines: list[str]) -> None:
    for name, (spec, plain) in PLAIN.items():
        result = chain(spec, language="fr").apply(pa.array(lines, pa.large_string()))
        expected = [plain(line) for line in lines]
        assert result.lines.to_pylist() == expected, name
        altered = sum(before != after for before, after in zip(lines, expected, strict=True))
        assert result.altered == (altered,), name


WIKI = [*"=[]{}'| ab", "==", "[[", "]]", "{{", "}}", "'''"]
SPACED = [*"ab1.+,（A） 我字アー々。，・“”\u0301Ａ１\u3000", " ", " "]


@given(line=st.lists(st.sampled_from(WIKI)).map("".join), spaced=st.lists(st.sampled_from(SPACED)).map("".join))
@settings(max_examples=examples(300))
def test_wiki_and_spaces_give_the_same_as_the_python_twins(line: str, spaced: str) -> None:
    assert fixed(["wiki"], line) == [reference.wiki(line)]
    assert fixed([{"detokenize": "spaces"}], spaced, language="zh") == [reference.join_east_asian(spaced)]


def test_characters_of_one_script_are_those_of_opencc() -> None:
    pytest.importorskip("opencc")
    simplified, traditional = only_in("s2t", "big5"), only_in("t2s", "gb2312")
    column = TextColumn.from_strings([chr(point) for point in range(0x3000, 0xAFFF)] + ["国a國這", ""])
    counts = [found.astype(int).tolist() for found in han_counts(Lines(column.data, column.offsets))]
    sets = [(simplified - traditional, [1, 0]), (traditional - simplified, [2, 0])]
    for found, (characters, last) in zip(counts, sets, strict=True):
        assert found[-2:] == last
        assert {0x3000 + index for index, count in enumerate(found[:-2]) if count} == characters


@pytest.mark.skipif(unicodedata.unidata_version != UNICODE_VERSION, reason="this Python has another Unicode version")
def test_normal_form_of_every_character() -> None:
    points = [
        chr(point) for point in range(0x110000) if unicodedata.category(chr(point)) not in {"Cc", "Cn", "Co", "Cs"}
    ]
    for form in ("NFC", "NFD"):
        lines = [unicodedata.normalize(form, point) for point in points]
        assert fixed(["nfc"], *lines) == [unicodedata.normalize("NFC", point) for point in points]


# Entities are replaced once, by design: "&amp;amp;" stands for "&amp;". Moses' substitutions make each other possible.
@given(lines=LINES)
def test_fixing_twice_is_fixing_once(lines: list[str]) -> None:
    for name in PLAIN.keys() - {"html_entities", "keep_no_break"}:
        once = fixed([name], *lines)
        assert fixed([name], *once) == once, name


PIECES = [*"aZ1 .,\"'`()%:;!?<„“”–—´‘’‚…«»\u00a0º\t\r\x1c\x85\u2009\u3000٣中", ' "', '."', "\u00a0cm", "nº\u00a0", "''"]


@pytest.mark.parametrize("language", ["en", "de", "cs", "fr", "es", "ru"])
@given(pieces=st.lists(st.lists(st.sampled_from(PIECES)).map("".join), max_size=20))
@settings(max_examples=examples(150))
def test_punctuation_equals_sacremoses(language: str, pieces: list[str]) -> None:
    sacremoses = pytest.importorskip("sacremoses")
    normalizer = sacremoses.MosesPunctNormalizer(language)
    expected = [normalizer.normalize(line) for line in pieces]
    assert fixed([{"punctuation": "sacremoses"}], *pieces, language=language) == expected
    # Its parity with Perl has gaps: it strips, and knows neither the line break nor that Moses' digits are ASCII.
    if language in {"en", "cs"}:
        ascii_digits = [line.replace("٣", "3") for line in pieces]
        perl = sacremoses.MosesPunctNormalizer(language, perl_parity=True)
        result = fixed([{"punctuation": "moses"}], *ascii_digits, language=language)
        assert [line.strip() for line in result] == [perl.normalize(line) for line in ascii_digits]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (") " * 1_000_000, ")" * 1_000_000 + " "),
        (")  a" * 1_000_000, ") a" * 1_000_000),
        ("a’b" * 1_000_000, "a'b" * 1_000_000),
        ("1\u00a0" * 1_000_000, "1,1\u00a0" * 500_000),
        ('a."' * 1_000_000, 'a".' * 1_000_000),
    ],
)
def test_punctuation_of_long_lines_takes_no_quadratic_time(line: str, expected: str) -> None:
    """They take minutes if each replacement moves the rest of the line."""
    with must_end(60):
        assert fixed([{"punctuation": "moses"}], line, language="de") == [expected]


@pytest.mark.skipif(not MULTI30K.exists(), reason="needs the Multi30k corpus")
def test_real_text_is_altered_only_in_its_whitespace() -> None:
    for language in ("en", "de"):
        lines = gzip.decompress((MULTI30K / f"train.{language}.gz").read_bytes()).decode().split("\n")[:-1]
        names = [name for name in PLAIN if name not in {"html_entities", "keep_no_break", "whitespace"}]
        assert not any(chain(*names, language=language).apply(pa.array(lines)).altered)
