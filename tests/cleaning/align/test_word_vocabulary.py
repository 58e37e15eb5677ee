from __future__ import annotations

import pytest
from _nmt_prep_core import count_words

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import InvalidTextError
from nmt_prep.cleaning.align.word_vocabulary import words_of


def split(line: str, *, pretokenized: bool = False) -> list[str]:
    text = line.encode()
    words = words_of(TextColumn.from_strings([line]), pretokenized=pretokenized)
    assert words.offsets.tolist() == [0, len(words.begins)]
    return [text[begin:end].decode() for begin, end in zip(words.begins, words.ends, strict=True)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        (" \t\u00a0 ", []),
        ("Don't stop!", ["Don", "'", "t", "stop", "!"]),
        ("l’homme, là-bas", ["l", "’", "homme", ",", "là", "-", "bas"]),
        ("It cost 1,000.50 (10%).", ["It", "cost", "1,000.50", "(", "10", "%", ")", "."]),
        ("3. Mai 1.5", ["3", ".", "Mai", "1.5"]),
        ("wait... what?!", ["wait", "...", "what", "?", "!"]),
        ("snake_case x2", ["snake_case", "x2"]),
        ("cafe\u0301 a\u00adb", ["cafe\u0301", "a\u00adb"]),
        ("我有2个苹果。", ["我", "有", "2", "个", "苹", "果", "。"]),
        ("東京タワーへ行く", ["東", "京", "タワー", "へ", "行", "く"]),
        ("เด็กไทย", ["เด็", "ก", "ไท", "ย"]),
        ("ຂ້າ", ["ຂ້າ"]),
        ("ភាសា\u17d2ខ", ["ភា", "សា\u17d2ខ"]),
        ("བོད་ཡིག", ["བོད", "ཡིག"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("👍🏽👍🏽", ["👍", "🏽", "👍", "🏽"]),
    ],
)
def test_words_of_scripts(line: str, words: list[str]) -> None:
    assert split(line) == words


def test_pretokenized_words_are_separated_by_ascii_space() -> None:
    assert split(" Do n't\t1 , 000 a\u00a0b \r", pretokenized=True) == ["Do", "n't", "1", ",", "000", "a\u00a0b"]


def share_a_stem(first: str, second: str, length: int = 4) -> bool:
    lines = TextColumn.from_strings([f"{first} {second}"])
    wholes, stems, *_ = count_words(lines.data, lines.offsets, True, length, 1)
    assert len(set(wholes.tolist())) == 2
    return bool(stems[0] == stems[1])


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("walking", "Walks", True),
        ("walk", "walked", True),
        ("wall", "walk", False),
        ("wal", "walk", False),
        ("1234567", "1234568", False),
        ("문장을", "문장은", True),  # two syllables
        ("문장", "문장에서", True),
        ("문을", "문은", False),
        ("الكتاب", "كتاب", True),  # the article
        ("الكتاب", "كتابة", True),
        ("الكتاب", "الكتف", False),
        ("الم", "م", False),  # one letter is too little
        ("ال", "الكتاب", False),
    ],
)
def test_stems(first: str, second: str, same: bool) -> None:
    assert share_a_stem(first, second) == same


def test_short_stems_and_none() -> None:
    assert [share_a_stem("الكتاب", "كتابة", length) for length in range(4)] == [False, True, True, True]
    assert [share_a_stem("문장을", "문화", length) for length in range(4)] == [False, True, True, False]
    assert not any(share_a_stem("ال", "ل", length) for length in range(4))
    assert not share_a_stem("walked", "walk", 0)


def test_offsets_count_the_words_of_each_line() -> None:
    words = words_of(TextColumn.from_strings(["a b", "", "äö c"]))
    assert words.offsets.tolist() == [0, 2, 2, 4]
    assert words.begins.tolist() == [0, 2, 0, 5]
    assert words.ends.tolist() == [1, 3, 4, 6]


def test_text_that_is_not_utf8() -> None:
    column = TextColumn.from_strings(["a", "b"])
    column.data.setflags(write=False)
    broken = TextColumn(column.data + 0x7F, column.offsets)
    with pytest.raises(InvalidTextError, match="line 0"):
        words_of(broken)
