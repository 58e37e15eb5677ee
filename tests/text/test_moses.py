"""The Moses steps in the core: literal lines, and the readable twins on random lines."""

from __future__ import annotations

import hashlib
import re

import numpy as np
import pyarrow as pa
import pytest
from _nmt_prep_core import (
    TextStep,
    TruecaserTrainer,
    apply_steps,
    moses_detokenizer,
    moses_tokenizer,
    simple_step,
    truecaser,
)
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import InvalidTextError
from nmt_prep.text.step import apply_native
from tests.reference import moses as twin

PREFIXES = {"Dr": False, "etc": False, "x.y": False, "No": True, "5": True, "Ä": True}
LANGUAGES = ["en", "de", "fr", "it", "ga", "ca", "so", "tdt", "fi", "sv", "cs", "ko", "zh", "xx"]
ATOMS = [
    *("'", ".", ",", "-", " ", "  ", "a", "B", "5", "½", "é", "ß", '"', "&", "|", "<", ">", "[", "]", "`", ":"),
    *("·", "Â", "日", "한", "İ", "\x00", "\x01", "\t", "\x1f", "\x7f", "\u00a0", "\u3000", "\u2028", "..", "..."),
    *("DOTMULTI", "DOT", "Dr.", "No.", "no", "etc.", "s", "'s", "$", "€", "¿", "(", ")", "!", "?", ";", "%", "}"),
    *("„", "“", "”", "li", "-", "–", "mail", "@-@", " @-@ ", "&amp;", "&apos;", "&bar;", "@", "/", "\\", "\u0308"),
    *("ª", "ⅷ", "Ⅷ", "٣", "ǅ", "ﬁ", "😀", "1", "USA:", "ssa", "ni", "Σ", "ς.", "x|<b>", "<b>", "x|", "Ä."),
]
LINES = st.lists(st.lists(st.sampled_from(ATOMS), max_size=20).map("".join), max_size=8)


def applied(step: TextStep, *lines: str) -> list[str]:
    changed, altered, first = apply_native((step,), pa.array(lines, pa.large_string()), 2)
    made: list[str] = changed.to_pylist()
    differ = [i for i, (before, after) in enumerate(zip(lines, made, strict=True)) if before != after]
    assert altered.tolist() == [len(differ)]
    assert first.tolist() == [[*differ, -1, -1, -1][:3]]
    return made


def tokenizer(language: str, *, aggressive: bool = False, escape: bool = True, skip_tags: bool = False) -> TextStep:
    return moses_tokenizer(language, [*PREFIXES.items()], aggressive, escape, skip_tags)


@pytest.mark.parametrize(
    ("language", "line", "tokens"),
    [
        ("en", "Dr. No. 5, it's 1,000.50 a.b. “x”. End.", "Dr. No. 5 , it &apos;s 1,000.50 a.b. “ x ” . End ."),
        ("en", "It's.'", "It &apos;s . &apos; "),
        ("en", "the '90s, the 1990's", "the &apos; 90s , the 1990 &apos;s"),
        ("fr", "l'eau d'un 5'x", "l&apos; eau d&apos; un 5 &apos; x"),
        ("de", "z.B. [a|b] & 5'6", "z.B. &#91; a &#124; b &#93; &amp; 5 &apos; 6"),
        ("fi", "USA:n EU:Ssa", "USA:n EU : Ssa"),
        ("ca", "l·l · a", "l·l · a"),
        ("so", "ba'ba 'ba", "ba&apos;ba &apos; ba"),
        ("en", "wait... .. DOTDOTMULTI. x", "wait ... .. ... x"),
        ("en", "a\x00b \x01 c", "ab c"),
        ("en", " \t\u3000", " \t\u3000"),
        ("en", "\U0001e4d0\u1c89 x", "\U0001e4d0 \u1c89 x"),  # letters of Unicode 15 and 16 are none for Perl 5.36
        ("en", ",5 a,,5 5,,6 ½,¾", ",5 a , ,5 5 , , 6 ½ , ¾"),
    ],
)
def test_tokens(language: str, line: str, tokens: str) -> None:
    assert applied(tokenizer(language), line) == [tokens]


def test_tokens_with_options() -> None:
    assert applied(tokenizer("en", aggressive=True), "a-b-c -d 5-é") == ["a @-@ b @-@ c -d 5 @-@ é"]
    assert applied(tokenizer("en", escape=False), "a|b <it's>") == ["a | b < it 's >"]
    assert applied(tokenizer("en", skip_tags=True), "<a b='c'>", "<>") == ["<a b='c'>", "&lt; &gt;"]


@pytest.mark.parametrize("language", LANGUAGES)
@given(lines=LINES, aggressive=st.booleans(), escape=st.booleans(), skip_tags=st.booleans(), upper=st.booleans())
def test_lines_are_those_of_the_twins(
    language: str, lines: list[str], aggressive: bool, escape: bool, skip_tags: bool, upper: bool
) -> None:
    kinds = ({word for word, numeric in PREFIXES.items() if numeric == kind} for kind in (False, True))
    prefixes = (next(kinds), next(kinds))
    options = {"aggressive": aggressive, "escape": escape, "skip_tags": skip_tags}
    tokens = [twin.tokenize(line, language, prefixes, **options) for line in lines]
    assert applied(tokenizer(language, **options), *lines) == tokens
    assert applied(moses_detokenizer(language, upper), *lines) == [
        twin.detokenize(line, language, upper=upper) for line in lines
    ]


@given(lines=LINES, more=LINES, first=st.booleans(), asr=st.booleans())
def test_cases_are_those_of_the_twin(lines: list[str], more: list[str], first: bool, asr: bool) -> None:
    trainer = TruecaserTrainer(first)
    column = TextColumn.from_strings(lines)
    trainer.add(column.data, column.offsets)
    model = twin.train_truecaser(lines, first_tokens=first)
    assert trainer.model() == model
    best, known = twin.read_model(model)
    forms = [re.findall(f"[^{twin.WS}]+", line)[::2] for line in model]
    cased = [twin.truecase(line, best, known, asr=asr) for line in more]
    assert applied(truecaser(forms, asr), *more) == cased
    assert applied(simple_step("detruecase"), *cased) == [*map(twin.detruecase, cased)]


def test_of_equally_frequent_forms_the_first_is_the_best() -> None:
    trainer = TruecaserTrainer(False)
    column = TextColumn.from_strings(["x weg Weg wEG wEG", "y Weg weg : Neu", "alt neu"])
    trainer.add(column.data, column.offsets)
    assert trainer.model() == ["neu (1/1)", "weg (2/6) Weg (2) wEG (2)"]


@pytest.mark.parametrize(
    ("name", "line", "made"),
    [
        ("lowercase", "ΟΔΟΣ İẞ", "οδοσ i\u0307ß"),
        ("non_printing", "a\x00\t\u00ad\u200b\ue000\U0001e4d0b", "a      b"),
        ("unicode_punctuation", "“你。  好．”１、…", '"你. 好. "1,...'),
        ("pipes", "a|b||", "ab"),
        ("detruecase", "ß &quot; a . &apos; b : c d", "SS &quot; a . &apos; B : C d"),
        ("escape", "a&b'[", "a&amp;b&apos;&#91;"),
        ("unescape", "&amp;lt; &bar; &#91;&ket; &", "&lt; | [] &"),
    ],
)
def test_simple_steps(name: str, line: str, made: str) -> None:
    assert applied(simple_step(name), line) == [made]


def test_unknown_names_and_bad_text_are_rejected() -> None:
    with pytest.raises(ValueError, match="there is no step uppercase"):
        simple_step("uppercase")
    column = TextColumn.from_strings(["é"])
    with pytest.raises(InvalidTextError, match="line 0"):
        apply_steps((simple_step("pipes"),), column.data, np.array([0, 1, 2]), 1)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    lines = pa.array([f"Line {number}, it's no. {number}." for number in range(30_000)], pa.large_string())
    steps = (tokenizer("en"), simple_step("lowercase"))
    (one, *counts), (many, *same) = ([each.tolist() for each in apply_native(steps, lines, n)] for n in (1, 7))
    assert one == many
    assert counts == same == [[30_000, 30_000], [[0, 1, 2]] * 2]
    assert one[29_999] == "line 29999 , it &apos;s no . 29999 ."
    assert apply_native(steps, lines[100:102], 7).lines.to_pylist() == one[100:102]


@pytest.mark.parametrize(
    "unit", ["a ", "'", "a'", ",", ".", "DOT", "DOTMULTI", "<x ", "-a", "a:", "„", "é.", "&", "@-@ "]
)
def test_long_lines_take_linear_time(unit: str) -> None:
    line = unit * (1_000_000 // len(unit))
    steps = [tokenizer("en", aggressive=True), tokenizer("fi"), truecaser([["A"]], False)]
    others = [("punctuation_moses", "en"), ("detruecase", "")]
    for step in [*steps, moses_detokenizer("cs", True), *(simple_step(*each) for each in others)]:
        (made,) = applied(step, line)  # quadratic work would take hours
        assert len(made) > len(line) // 9


def test_classes_of_all_characters() -> None:
    """The digests are those of outputs that were compared with classes and cases of Perl 5.36."""
    characters = [chr(point) for point in range(0x32000) if not 0xD800 <= point < 0xE000 and point != ord("\n")]
    made = [
        *applied(tokenizer("en"), *(f"a{each}b q. {each} z {each}'b 5,{each}" for each in characters)),
        *applied(tokenizer("fi"), *(f"a:{each}z" for each in characters)),
        *applied(moses_detokenizer("en", True), *(f"a {each} b" for each in characters)),
        *applied(simple_step("non_printing"), *characters),
        *applied(simple_step("lowercase"), *characters),
        *applied(simple_step("detruecase"), *characters),
    ]
    assert hashlib.sha256("\n".join(made).encode()).hexdigest()[:16] == "dfa25f84c76d4252"
