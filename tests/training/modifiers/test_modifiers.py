"""What modifiers make of literal pairs; any division into blocks gives the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_prep.base.errors import ConfigError
from nmt_prep.training.modifiers import read_modifiers
from nmt_prep.training.modifiers.block import Block, Line, LineModifier, Units
from nmt_prep.training.modifiers.draws import Draws
from tests.training.modifiers.conftest import block_of, lines_of

PAIR = ("Hello big world.", "Hallo große Welt.", "0-0 1-1 2-2")
NATURAL = ("Hello, big world.", "Hallo, große Welt.", "0-0 1-1 2-2 3-3 4-4")


def modified(entry: dict[str, Any], block: Block) -> list[Line]:
    return lines_of(read_modifiers([entry], "modifiers", Path())(block))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"UpperCase": 1}, ("HELLO BIG WORLD.", "HALLO GROSSE WELT.", "0-0 1-1 2-2")),
        ({"LowerCase": 1}, ("hello big world.", "hallo große welt.", "0-0 1-1 2-2")),
        ({"TitleCase": 1}, ("Hello Big World.", "Hallo Große Welt.", "0-0 1-1 2-2")),
        ({"RemoveEndPunct": 1}, ("Hello big world", "Hallo große Welt", "0-0 1-1")),
        ({"WordBlank": 1, "share": 1}, ("<blank> <blank> <blank>", PAIR[1], "")),
        ({"WordDrop": 1, "share": 1}, PAIR),
        ({"Prefix": 1, "min_words": 3, "max_words": 3}, (
            "__start__ Hallo große Welt. __end__ Hello big world.", PAIR[1], "1-0 2-1 3-2 5-0 6-1 7-2",
        )),
        ({"Tags": 1}, (
            "__source__ Hello __target__ Hallo __done__ __source__ big __target__ große __done__ "  # noqa: ISC004
            "__source__ world. __target__ Welt. __done__",
            PAIR[1],
            "1-0 3-0 6-1 8-1 11-2 13-2",
        )),
    ],
)  # fmt: skip
def test_modifier_of_a_pair(entry: dict[str, Any], expected: tuple[str, str, str]) -> None:
    assert modified(entry, block_of([PAIR])) == [expected]


def test_words_of_the_aligner_keep_their_links() -> None:
    block = block_of([NATURAL], "words")
    assert modified({"RemoveEndPunct": 1}, block) == [("Hello, big world", "Hallo, große Welt", "0-0 1-1 2-2 3-3")]
    tagged = modified({"Tags": 1, "template": "<{src}|{trg}>"}, block)
    assert tagged == [("<Hello|Hallo>, <big|große> <world|Welt>.", NATURAL[1], "1-0 3-0 5-1 7-2 9-2 12-3 14-3 16-4")]


@pytest.mark.parametrize("name", ["Typos", "Prefix", "Merge", "WordDrop", "WordBlank", "WordShuffle", "Tags"])
def test_pairs_without_words_stay(name: str) -> None:
    """Alone, and together with another pair."""
    for line in (("", "", ""), ("", "", None), (" ", "a", "")):
        assert modified({name: 1}, block_of([line]))[0].source.strip() == ""


def test_a_no_break_space_is_within_a_word() -> None:
    pairs = [("a\u00a0b c", "d\u2003e", "0-0 1-0"), ("f  g", "h", "0-0 1-0 2-0 7-9")]
    assert modified({"Merge": 1}, block_of(pairs)) == [("a\u00a0b c f g", "d\u2003e h", "0-0 1-0 2-1 3-1")]
    assert modified({"TitleCase": 1}, block_of(pairs))[0] == ("A\u00a0b C", "D\u2003e", "0-0 1-0")


def test_chinese_has_the_words_of_the_aligner() -> None:
    block = block_of([("我喜欢蛋糕。", "I like cake.", "0-0 3-2 5-3")], "words")
    assert modified({"TitleCase": 1}, block)[0][:2] == ("我喜欢蛋糕。", "I Like Cake.")
    assert modified({"Typos": 1, "missing_char": 1}, block)[0].source == "我喜欢蛋糕。"
    (blanked,) = modified({"WordBlank": 1, "share": 1, "blank": "_"}, block)
    assert blanked.source == "______"
    (prefixed,) = modified({"Prefix": 1, "min_words": 2, "max_words": 2, "template": "{trg}|"}, block_of(
        [("I like cake.", "我喜欢蛋糕。", None)]
    ))  # fmt: skip
    assert prefixed.source.split("|")[0] in ("我喜", "喜欢", "欢蛋", "蛋糕", "糕。")


@pytest.mark.parametrize(
    ("name", "pair", "expected"),
    [
        ("UpperCase", ("a.\u0345 b", "x y", "2-1"), ("A.\u0399 B", "X Y", "3-1")),
        ("UpperCase", ("ⓐⒶ b", "x y", "0-0 1-0 2-1"), ("ⒶⒶ B", "X Y", "0-0 1-1")),
        ("LowerCase", ("ⓐⒶ B", "X Y", "1-0 2-1"), ("ⓐⓐ b", "x y", "0-0 1-1")),
        ("TitleCase", ("ⓐⒶ b", "x y", "0-0 2-1"), ("ⒶⒶ B", "X Y", "0-0 1-1")),
    ],
)
def test_case_can_change_words_of_the_aligner(name: str, pair: Any, expected: Any) -> None:
    assert modified({name: 1}, block_of([pair], "words")) == [expected]


class Quotes(LineModifier):
    """As in docs/training.md."""

    def edit(self, line: Line, draws: Draws, units: Units) -> Line:
        return Line(line.source.replace('"', "'"), line.target, line.links)


def test_a_modifier_of_single_pairs() -> None:
    block = block_of([('a "b"', '"c"', "0-0"), *[('"', '"', "")] * 20])
    assert lines_of(Quotes(1)(block))[0] == ("a 'b'", '"c"', "0-0")
    assert {line.source for line in lines_of(Quotes(0.5)(block))[1:]} == {'"', "'"}


def test_noise_is_before_its_pair_with_the_same_row() -> None:
    block = read_modifiers([{"Noise": 1}], "m", Path())(block_of([PAIR, NATURAL]))
    lines = lines_of(block)
    assert (lines[1], lines[3]) == (PAIR, NATURAL)
    assert lines[0].source == lines[0].target != lines[2].source
    assert lines[0].links == " ".join(f"{n}-{n}" for n in range(len(lines[0].source.split(" "))))
    assert block.rows.tolist() == [0, 0, 1, 1]
    assert len(set(block.keys.tolist())) == 4


def test_merge_moves_links_and_stops_at_the_end() -> None:
    entry = {"Merge": 1, "min_lines": 2, "max_lines": 2}
    block = read_modifiers([entry], "m", Path())(block_of([PAIR, PAIR, PAIR]))
    assert lines_of(block) == [
        (f"{PAIR[0]} {PAIR[0]}", f"{PAIR[1]} {PAIR[1]}", "0-0 1-1 2-2 3-3 4-4 5-5"),
        PAIR,
    ]
    assert block.rows.tolist() == [0, 2]


def test_shuffled_words_stay_near() -> None:
    words = [str(number) for number in range(100)]
    (line,) = modified({"WordShuffle": 1, "distance": 3}, block_of([(" ".join(words), "x", "7-0")]))
    moved = [int(word) for word in line.source.split()]
    assert sorted(moved) == [*range(100)] != moved
    assert max(abs(number - place) for place, number in enumerate(moved)) <= 3
    assert line.links == f"{moved.index(7)}-0"


def test_a_pair_with_wrong_links_is_not_tagged() -> None:
    for links in ("0-0 7-1", "0-0 1-9", "x", "1-"):
        assert modified({"Tags": 1}, block_of([(*PAIR[:2], links)])) == [(*PAIR[:2], links)]


LINKS = "0-0 1-1 2-2 3-3 4-4"
ALL = [
    {"UpperCase": 0.1}, {"TitleCase": 0.1}, {"LowerCase": 0.1}, {"RemoveEndPunct": 0.4}, {"Typos": 0.3},
    {"Noise": 0.05}, {"Prefix": 0.1}, {"WordDrop": 0.2}, {"WordBlank": 0.2}, {"WordShuffle": 0.2},
    {"Tags": 0.1, "augment": 0.3, "replace": 0.3, "tag": 0.4},
]  # fmt: skip


@pytest.mark.parametrize("units", ["spaced", "words"])
def test_a_pair_does_not_depend_on_the_others(units: Any) -> None:
    lines = [(f"Pair {n} of many, old.", f"Paar {n} von vielen, alten.", LINKS) for n in range(120)]
    block, modifiers = block_of(lines, units, 5), read_modifiers(ALL, "m", Path())
    whole = lines_of(modifiers(block))
    apart = [line for n in range(120) for line in lines_of(modifiers(block.taken(np.array([n]))))]
    assert whole == apart
    for line in whole:
        source, target = (counts.tolist() for counts in block_of([line], units).word_counts())
        links = [link.split("-") for link in (line.links or "").split()]
        assert all(int(s) < source[0] and int(t) < target[0] for s, t in links), line


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"Shout": 1}, "m.0: no modifier is named 'Shout'; the modifiers are UpperCase, "),
        ({"UpperCase": 2}, "m.0: UpperCase: probability is 2; it must be a number from 0 to 1"),
        ({"UpperCase": 1, "loud": 1}, "m.0.loud: UpperCase has no such option; it has none"),
        ({"Merge": 1, "lines": 1}, "m.0.lines: Merge has no such option; its options are min_lines, max_lines"),
        ({"Merge": 1, "min_lines": 5}, "m.0: Merge: min_lines is 5 and max_lines is 4; "),
        ({"Typos": 1, "keys": 1}, "m.0: Typos: 'keys' is no kind of typo; the kinds are char_swap, "),
        ({"Typos": 1, "unichar": -1}, "m.0: Typos: unichar is -1; it must be a number from 0 to 1"),
        ({"Prefix": 1, "template": "x"}, "m.0: Prefix: template is 'x'; it must have {trg} once"),
        ({"Tags": 1, "template": "{src}"}, "m.0: Tags: template is '{src}'; it must have {src} and {trg} once each"),
        ({"Tags": 1, "custom_detok_trg": "icu:zh"}, "m.0: Tags: ICU tokens need augment: 1, replace: 0 and "),
        ({"Tags": 1, "tag": 0.5}, "m.0: Tags: augment, replace and tag sum to less than 1"),
        ({"Retokenize": 0, "src": {"split": "x"}}, "m.0: Retokenize: src and trg have no key 'split'; "),
        ({"Retokenize": 0, "src": {"detokenize": "x"}}, "m.0: Retokenize: unknown detokenizer 'x'; "),
        ({"WordShuffle": 1, "distance": 0}, "m.0: WordShuffle: distance is 0; it must be a whole number"),
    ],
)
def test_wrong_options(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_modifiers([entry], "m", Path())
    assert str(error.value).startswith(message)
