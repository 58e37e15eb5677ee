"""Readable twin of the index of evaluation segments: compares every pair with every segment."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

from tests.reference.dedup import compared_text, normalized

WORDLESS = regex.compile(
    r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}"
    r"\p{Script=Myanmar}\p{Script=Tibetan}ー]"
)
EXACT, PAIR, SIDE, COVERED = 1, 2, 3, 4
LONG_ENOUGH, FEWEST_GRAMS = 20, 6


def words(line: str) -> list[str]:
    """Returns the normalized text of each run of characters that are not dropped."""
    lengths, run = list[int](), 0
    for character in line:
        left = len(normalized(character))
        if left == 0 and run:
            lengths.append(run)
            run = 0
        run += left
    text, start, found = normalized(line), 0, list[str]()
    for length in [*lengths, *([run] if run else [])]:
        found.append(text[start : start + length])
        start += length
    return found


def units(line: str) -> list[tuple[str, int]]:
    """Returns the words, and the characters of scripts without spaces, each with the size of the n-gram it begins."""
    found: list[tuple[str, int]] = []
    for word in words(line):
        unit = ""
        character = False
        for each in word:
            mark = unicodedata.category(each)[0] == "M"
            wordless = WORDLESS.match(each) is not None
            if not unit:
                character = wordless and not mark
            elif not mark and (wordless or character):
                found.append((unit, 3 if character else 2))
                unit, character = "", wordless
            unit += each
        found.append((unit, 3 if character else 2))
    return found


def grams(line: str) -> set[tuple[str, ...]]:
    """Returns the different n-grams of a line."""
    sequence = units(line)
    texts = [text for text, _ in sequence]
    return {tuple(texts[i : i + size]) for i, (_, size) in enumerate(sequence) if i + size <= len(sequence)}


def letters(line: str) -> int:
    """Returns the number of letters of a line; letters of scripts without spaces count twice."""
    found = (each for each in normalized(line) if unicodedata.category(each)[0] == "L")
    return sum(2 if WORDLESS.match(each) else 1 for each in found)


def key(line: str) -> str:
    """Returns the text by which lines are the same."""
    return compared_text(line, normalize=True)


@dataclass(frozen=True)
class Matched:
    """The closest segment of a pair (-1 if there is none), how it matches, and the share of its n-grams."""

    segment: int
    kind: int
    share: float


def matches(pair: Sequence[str], segment: Sequence[str], coverage: float) -> Iterator[tuple[int, float]]:
    """Yields the ways in which a pair matches a segment, with the share of n-grams. An empty side matches nothing."""
    if all(pair) and all(segment):
        if sorted(pair) == sorted(segment):
            yield EXACT, 1.0
        if sorted(map(key, pair)) == sorted(map(key, segment)):
            yield PAIR, 1.0
    for own in filter(None, pair):
        for other in filter(None, segment):
            if letters(own) < LONG_ENOUGH:
                continue
            if key(own) == key(other):
                yield SIDE, 1.0
                continue
            wanted = grams(other)
            if letters(other) >= LONG_ENOUGH and len(wanted) >= FEWEST_GRAMS:
                common = len(wanted & grams(own))
                if common >= max(math.ceil(coverage * len(wanted) - 1e-9), 1):
                    yield COVERED, common / len(wanted)


def search(
    pairs: Sequence[Sequence[str]], segments: Sequence[Sequence[str]], coverage: float
) -> tuple[list[Matched], dict[int, int]]:
    """Returns the closest match of each pair, and the kind of the closest match of each segment with a match."""
    closest, found = list[Matched](), dict[int, int]()
    for pair in pairs:
        best = (99, 0.0, -1)
        for number, segment in enumerate(segments):
            for kind, share in matches(pair, segment, coverage):
                best = min(best, (kind, -share, number))
                found[number] = min(found.get(number, 99), kind)
        closest.append(Matched(best[2], 0, 0.0) if best[2] < 0 else Matched(best[2], best[0], -best[1]))
    return closest, dict(sorted(found.items()))
