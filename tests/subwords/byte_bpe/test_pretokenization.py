from __future__ import annotations

import numpy as np
import pytest
import regex
from _nmt_prep_core import GPT2_UNICODE_VERSION, gpt2_class, gpt2_pretoken_ends
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.columns import TextColumn
from nmt_prep.errors import InvalidTextError, VocabularyError
from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN, Pretokenization, Pretokenizer, Pretokens
from scripts.make_pattern_tables import unicode_version
from tests.reference import byte_bpe as reference

# Characters of the classes of the pattern, more frequent than in random text.
TELLING = "''''sstrevmldSL  \t\n\r\x0b\x1c\x85\u00a0\u2028\u3000aZéßıñ的中文。，09٣Ⅷ½²_-!…\u200d\u0301👩🏽𠮷𝟘\U0001f1e9"
LINES = st.text(st.one_of(st.sampled_from(TELLING), st.characters(exclude_categories=["Cs", "Cn"])), max_size=40)


def pretokens(line: str) -> list[str]:
    data = line.encode()
    ends = gpt2_pretoken_ends(np.frombuffer(data, np.uint8))
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
def test_literals(line: str, expected: list[str]) -> None:
    assert pretokens(line) == expected
    assert reference.pretokens(line) == expected


@settings(deadline=None)
@given(LINES)
def test_matches_of_the_pattern(line: str) -> None:
    assert pretokens(line) == reference.pretokens(line)


@settings(deadline=None)
@given(st.text(st.sampled_from("ab' \t.0"), max_size=80))
def test_matches_of_the_pattern_in_ascii(line: str) -> None:
    assert pretokens(line) == reference.pretokens(line)


def test_every_character_has_the_class_that_regex_gives() -> None:
    if unicode_version() != GPT2_UNICODE_VERSION:
        pytest.skip(f"the installed regex has Unicode {unicode_version()}, the tables have {GPT2_UNICODE_VERSION}")
    text = "".join(map(chr, range(0x110000)))
    expected = np.full(0x110000, 3)
    for number, pattern in enumerate((r"\p{L}", r"\p{N}", r"\s")):
        expected[[match.start() for match in regex.finditer(pattern, text)]] = number
    assert [gpt2_class(point) for point in range(0x110000)] == expected.tolist()


def test_scanner_agrees_with_the_classes_of_chinese() -> None:
    for point in range(0x3400, 0xA000):
        assert len(pretokens(f"字{chr(point)}")) == (1 if gpt2_class(point) == 0 else 2)


def by_pattern(pattern: str) -> Pretokenizer:
    return Pretokenizer(Pretokenization.by_pattern(pattern))


def test_own_pattern_keeps_what_it_does_not_match() -> None:
    column = TextColumn.from_strings(["ab12, é3", "", "x"])
    pretokens = by_pattern(r"\d+|é").cut(column)
    assert pretokens is not None
    assert [token.decode() for token in pretokens.column.to_bytes()] == ["ab", "12", ", ", "é", "3", "x"]
    assert pretokens.firsts.tolist() == [0, 5, 5, 6]


def test_lines_of_a_sliced_column() -> None:
    column = TextColumn.from_strings(["12", "a1b", "é"])
    pretokens = by_pattern(r"\d").cut(TextColumn(column.data, column.offsets[1:]))
    assert isinstance(pretokens, Pretokens)
    assert [token.decode() for token in pretokens.column.to_bytes()] == ["a", "1", "b", "é"]
    assert pretokens.firsts.tolist() == [0, 3, 4]


def test_empty_texts() -> None:
    column = TextColumn.from_strings(["ab"])
    assert by_pattern(GPT2_PATTERN).cut(column) is None
    assert Pretokenizer(Pretokenization(gpt2=False)).cut(column) is None


def test_invalid_pattern() -> None:
    with pytest.raises(VocabularyError, match=r"tokenizers does not accept .*\(a.*; correct it"):
        by_pattern("(a")


def test_own_pattern_on_bytes_that_are_not_utf8() -> None:
    column = TextColumn(np.frombuffer(b"ok\xff", np.uint8), np.array([0, 2, 3], np.int64))
    with pytest.raises(InvalidTextError, match="line 1: byte 0 is not UTF-8"):
        by_pattern(r"\w+").cut(column)
