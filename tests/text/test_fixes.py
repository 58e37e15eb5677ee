"""Fixes: their effects on literal lines, their order, and that the native core gives the same as its Python twin."""

from __future__ import annotations

import gzip
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.base.errors import InvalidTextError
from nmt_prep.text.fixes import FIXES, UNICODE_VERSION, Fixed, Fixer, FixSpec, parse_fixes
from tests.conftest import examples
from tests.guard import must_end
from tests.reference import fixes as reference

MULTI30K = Path(__file__).parents[3] / "shared" / "corpora" / "multi30k-ende"


def fixed(specs: list[FixSpec], *lines: str, language: str = "en") -> list[str]:
    return Fixer(specs, language).apply(pa.array(lines, pa.large_string())).lines.to_pylist()


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
    assert fixed([{"punctuation": "sacremoses"}], ' a."', language="ru") == ['a."']


def test_fixes_run_in_a_fixed_order_and_count_the_lines_they_alter() -> None:
    lines = ["a&nbsp;&#173;b", "c", " d\u00ad\x07 "]
    fixer = Fixer(["whitespace", "soft_hyphens", "control", "html_entities"], "en")
    assert fixer.fixes == (("html_entities", ""), ("control", ""), ("soft_hyphens", ""), ("whitespace", ""))
    assert fixer.apply(pa.array(lines)) == Fixed(
        pa.array(["a b", "c", "d"], pa.large_string()),
        {"html_entities": 1, "control": 1, "soft_hyphens": 2, "whitespace": 2},
    )


def test_clean_text_is_not_copied() -> None:
    fixer = Fixer(["control", "nfc", "whitespace", "html_entities"], "de")
    lines = pa.array(["Größe", "", "„so“", "中文。"], pa.large_string())
    assert fixer.apply(lines).lines.buffers()[2].address == lines.buffers()[2].address
    assert fixer.apply(pa.array(["a"], pa.string())).lines.type == pa.large_string()
    assert fixer.apply(pa.array([], pa.large_string())).altered == dict.fromkeys(
        ("html_entities", "control", "nfc", "whitespace"), 0
    )


def test_slices_and_empty_lines_keep_their_places() -> None:
    lines = pa.array([" x", "", "a ", "b", "", "  ", "c"], pa.large_string())
    assert Fixer(["whitespace"], "en").apply(lines.slice(1, 5)).lines.to_pylist() == ["", "a", "b", "", ""]
    assert Fixer(["whitespace"], "en").apply(lines.slice(3, 2)).lines.to_pylist() == ["b", ""]


def test_text_that_is_not_utf8_names_its_line() -> None:
    offsets = pa.py_buffer(np.array([0, 4, 6], np.int64))
    column = pa.LargeStringArray.from_buffers(2, offsets, pa.py_buffer(b"good\xc3("))
    with pytest.raises(InvalidTextError, match="line 1: byte 0"):
        Fixer(["control"], "en").apply(column)
    with pytest.raises(InvalidTextError, match="null"):
        Fixer(["control"], "en").apply(pa.array(["a", None]))


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        (["contrl"], "there is no fix 'contrl'; did you mean 'control'?"),
        (["punctuation"], "the fix punctuation needs a mode; write {punctuation: moses} or {punctuation: sacremoses}"),
        ([{"punctuation": "perl"}], "the fix punctuation has no mode 'perl'; write {punctuation: moses}"),
        ([{"nfc": "k"}], "the fix nfc has no modes; write nfc alone"),
        (["nfc", "nfc"], "the fix nfc is listed twice"),
        ([{"nfc": "", "control": ""}], "write a name, or one name and its mode"),
    ],
)
def test_wrong_fixes_are_named(specs: list[FixSpec], message: str) -> None:
    with pytest.raises(ValueError, match="^.*" + message.replace("?", r"\?").replace("{", r"\{").replace("}", r"\}")):
        parse_fixes(specs)


PLAIN: dict[str, tuple[FixSpec, Callable[[str], str]]] = {
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
        result = Fixer([spec], "fr").apply(pa.array(lines, pa.large_string()))
        expected = [plain(line) for line in lines]
        assert result.lines.to_pylist() == expected, name
        altered = sum(before != after for before, after in zip(lines, expected, strict=True))
        assert [*result.altered.values()] == [altered], name


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
    for name in FIXES.keys() - {"html_entities", "punctuation"}:
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
        names: list[FixSpec] = [name for name in FIXES if name not in {"html_entities", "punctuation"}]
        altered = Fixer(names, language).apply(pa.array(lines)).altered
        assert {name for name, count in altered.items() if count} <= {"whitespace"}
