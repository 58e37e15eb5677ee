"""Puts typical defects of crawled parallel text into clean pairs, and labels the pairs.

Every pair gets at most one defect. If a fix can restore the text, the clean pair is kept beside the defective one, so
that repairs can be distinguished from losses.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Pair: TypeAlias = tuple[str, str]
Make: TypeAlias = "Callable[[Pair, random.Random, Texts], Pair | None]"


@dataclass(frozen=True)
class Texts:
    """The texts that pairs with defects are made from.

    Attributes:
        pairs: the clean pairs.
        foreign: lines in other languages than those of the pairs.
        spaces: true for each side if its script separates words by spaces.
    """

    pairs: Sequence[Pair]
    foreign: Sequence[str]
    spaces: tuple[bool, bool]


@dataclass(frozen=True)
class LabelledPair:
    """A pair with its label, and the clean pair that it was made from; None if there is nothing to restore."""

    label: str
    pair: Pair
    meant: Pair | None


def dirty_pairs(texts: Texts, each: int, seed: int = 1) -> list[LabelledPair]:
    """Returns all clean pairs, and ``each`` pairs with every kind of defect, made from pairs drawn at random.

    There are fewer pairs of a kind if it cannot be applied to enough pairs.
    """
    labelled = [LabelledPair("clean", pair, pair) for pair in texts.pairs]
    for label, make in DEFECTS.items():
        draw = random.Random(f"{seed} {label}")
        order = list(range(len(texts.pairs)))
        draw.shuffle(order)
        made = 0
        for index in order:
            if made == each:
                break
            pair = make(texts.pairs[index], draw, texts)
            if pair is not None and pair != texts.pairs[index]:
                labelled.append(LabelledPair(label, pair, texts.pairs[index] if label in RESTORABLE else None))
                made += 1
    return labelled


def _copy(pair: Pair, draw: random.Random, texts: Texts) -> Pair | None:
    return (pair[0], pair[0]) if len(pair[0]) > 20 else None


def _copy_case(pair: Pair, draw: random.Random, texts: Texts) -> Pair | None:
    return (pair[0], pair[0].upper()) if len(pair[0]) > 20 and pair[0].upper() != pair[0] else None


def _target_wrong_language(pair: Pair, draw: random.Random, texts: Texts) -> Pair | None:
    line = draw.choice(texts.foreign or [""])
    return (pair[0], line) if len(pair[0]) > 30 and 0.6 < len(line) / len(pair[0]) < 1.7 else None


def _source_wrong_language(pair: Pair, draw: random.Random, texts: Texts) -> Pair | None:
    line = draw.choice(texts.foreign or [""])
    return (line, pair[1]) if len(pair[0]) > 30 and 0.6 < len(line) / len(pair[0]) < 1.7 else None


def _swapped_sides(pair: Pair, draw: random.Random, texts: Texts) -> Pair | None:
    return (pair[1], pair[0]) if len(pair[0]) > 30 else None


def _cut(line: str, spaces: bool, draw: random.Random) -> str | None:
    share = draw.uniform(0.1, 0.2)
    if spaces:
        words = line.split()
        return " ".join(words[: max(2, int(share * len(words)))]) if len(words) > 10 else None
    return line[: max(3, int(share * len(line)))] if len(line) > 25 else None


def _target_truncated(pair: Pair, draw: random.Random, texts: Texts) -> Pair | None:
    cut = _cut(pair[1], texts.spaces[1], draw)
    return None if cut is None else (pair[0], cut)


def _source_truncated(pair: Pair, draw: random.Random, texts: Texts) -> Pair | None:
    cut = _cut(pair[0], texts.spaces[0], draw)
    return None if cut is None else (cut, pair[1])


def _overlong(pair: Pair, draw: random.Random, texts: Texts) -> Pair | None:
    chosen = [draw.choice(texts.pairs) for _ in range(60)]
    between = [" " if spaces else "" for spaces in texts.spaces]
    return between[0].join(one[0] for one in chosen), between[1].join(one[1] for one in chosen)


def _symbols_only(pair: Pair, draw: random.Random, texts: Texts) -> Pair | None:
    line = " ".join(draw.choice("#*=-_→•+~/|") * draw.randint(1, 5) for _ in range(6))
    return line, line


def _digits_only(pair: Pair, draw: random.Random, texts: Texts) -> Pair | None:
    line = " ".join(str(draw.randint(100, 99_999)) for _ in range(6))
    return line, line


def _repetition(pair: Pair, draw: random.Random, texts: Texts) -> Pair | None:
    if texts.spaces[1]:
        words = pair[1].split()
        return (pair[0], (" ".join(words[:4]) + " ") * 7 + words[0]) if len(words) >= 8 else None
    return (pair[0], pair[1][:6] * 7) if len(pair[1]) >= 20 else None


def _long_word(pair: Pair, draw: random.Random, texts: Texts) -> Pair | None:
    word = "".join(draw.choice(string.ascii_lowercase + string.digits) for _ in range(90))
    middle = len(pair[1]) // 2
    return (pair[0], f"{pair[1][:middle]} {word}{pair[1][middle:]}") if len(pair[1]) > 60 else None


def _url_only(pair: Pair, draw: random.Random, texts: Texts) -> Pair | None:
    line = f"https://www.example{draw.randint(1, 999)}.org/{draw.randint(1, 9999)}/index.html?id={draw.randint(1, 99)}"
    return line, line


def _html_tags(pair: Pair, draw: random.Random, texts: Texts) -> Pair | None:
    return pair[0], f'<div class="x"><p>{pair[1]}</p><br/></div>'


def _control_characters(pair: Pair, draw: random.Random, texts: Texts) -> Pair | None:
    if len(pair[1]) < 10:
        return None
    place = draw.randint(1, len(pair[1]) - 4)
    return pair[0], pair[1][:place] + "\x01\x02" + pair[1][place : place + 3] + "\x7f\x1b" + pair[1][place + 3 :]


def _html_entities(pair: Pair, draw: random.Random, texts: Texts) -> Pair | None:
    line = pair[1].replace("&", "&amp;").replace('"', "&quot;").replace(" ", "&nbsp;", 3).replace("<", "&lt;")
    return (pair[0], line) if line != pair[1] else None


def _mojibake(pair: Pair, draw: random.Random, texts: Texts) -> Pair | None:
    try:
        return pair[0], pair[1].encode("utf-8").decode("windows-1252")
    except UnicodeDecodeError:
        return None


def _numbers_differ(pair: Pair, draw: random.Random, texts: Texts) -> Pair | None:
    digits = [i for i, character in enumerate(pair[1]) if character in string.digits]
    if not digits or not any(character in string.digits for character in pair[0]):
        return None
    line = list(pair[1])
    for i in digits:
        line[i] = str((int(line[i]) + draw.randint(1, 8)) % 9 + 1) if line[i] != "0" else "7"
    return pair[0], "".join(line)


DEFECTS: Mapping[str, Make] = {
    "copy": _copy,
    "copy_case": _copy_case,
    "target_wrong_language": _target_wrong_language,
    "source_wrong_language": _source_wrong_language,
    "swapped_sides": _swapped_sides,
    "target_truncated": _target_truncated,
    "source_truncated": _source_truncated,
    "overlong": _overlong,
    "symbols_only": _symbols_only,
    "digits_only": _digits_only,
    "repetition": _repetition,
    "long_word": _long_word,
    "url_only": _url_only,
    "html_tags": _html_tags,
    "control_characters": _control_characters,
    "html_entities": _html_entities,
    "mojibake": _mojibake,
    "numbers_differ": _numbers_differ,
}
"""The kinds of defects, by label."""

RESTORABLE = frozenset({"control_characters", "html_entities", "mojibake", "html_tags"})
"""The kinds whose clean text can be restored."""
