"""The words of a line, and its links after its text was changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from _nmt_prep_core import word_spans

from nmt_prep.modifiers.block import Units

Spans: TypeAlias = list[tuple[int, int]]
Pairs: TypeAlias = list[tuple[int, int]]
Part: TypeAlias = tuple[int, int] | tuple[str, int]

UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""A character of Thai, Lao, Burmese, Khmer, Japanese or Chinese, which have no spaces between words."""

NEW_WORDS = 1 << 32
"""The first label of words that a modifier inserts. Those with one label on both sides are equal."""

SPACED = re.compile(r"\S+", re.ASCII)
"""A word between spaces. A no-break space is within a word."""

LINKS_PATTERN = r"^ *(\d{1,7}-\d{1,7}( +|$))*$"
"""Matches links such as ``0-0 1-2`` (RE2)."""


def spans_of(text: str, units: Units) -> Spans:
    """Returns the first and the last position, exclusive, of each word of a line, in characters.

    Raises:
        ValueError: links of the line count pieces, so its words are unknown.
    """
    if units == "spaced":
        return [match.span() for match in SPACED.finditer(text)]
    if units == "pieces":
        raise ValueError("its links count pieces; put the modifier before the one that makes pieces")
    data = text.encode()
    begins, ends, _ = word_spans(np.frombuffer(data, np.uint8), np.array([0, len(data)]), False)
    if len(data) != len(text):
        place = np.cumsum((np.frombuffer(data + b"a", np.uint8) & 0xC0) != 0x80) - 1
        begins, ends = place[begins], place[ends]
    return list(zip(begins.tolist(), ends.tolist(), strict=True))


def tokens_of(text: str) -> Spans:
    """Returns the places of words between spaces; in scripts without spaces, those of the words of the aligner."""
    return spans_of(text, "words" if UNSPACED.search(text) else "spaced")


def parsed(links: str) -> Pairs:
    """Returns links such as ``0-0 1-2`` as numbers.

    Raises:
        ValueError: they are not links.
    """
    pairs = [link.split("-", 1) for link in links.split()]
    return [(int(source), int(target)) for source, target in pairs]


def formatted(pairs: Iterable[tuple[int, int]]) -> str:
    """Returns links as text, sorted and without repetitions."""
    return " ".join(f"{source}-{target}" for source, target in sorted(set(pairs)))


def labels_of(text: str, spans: Spans) -> list[int]:
    """Returns the number of the word of each character; -1 outside of words."""
    labels = [-1] * len(text)
    for number, (begin, end) in enumerate(spans):
        labels[begin:end] = [number] * (end - begin)
    return labels


def assembled(text: str, labels: Sequence[int], parts: Iterable[Part]) -> tuple[str, list[int]]:
    """Returns the text that is made of parts, and the label of each of its characters.

    Args:
        text: the original line.
        labels: label of each of its characters.
        parts: places (begin, end) of the line to copy, and (text, label) to insert.
    """
    made, marks = [], list[int]()
    for first, second in parts:
        if isinstance(first, str):
            made.append(first)
            marks += [second] * len(first)
        else:
            made.append(text[first:second])
            marks += labels[first:second]
    return "".join(made), marks


def words_by_label(text: str, labels: Sequence[int], units: Units) -> dict[int, list[int]]:
    """Returns the numbers of the words of a line that contain characters of each label."""
    places: dict[int, list[int]] = {}
    for number, (begin, end) in enumerate(spans_of(text, units)):
        for label in set(labels[begin:end]):
            places.setdefault(label, []).append(number)
    return places


def followed(links: Iterable[tuple[int, int]], source: dict[int, list[int]], target: dict[int, list[int]]) -> str:
    """Returns links of labels as links of words.

    Args:
        links: pairs of labels.
        source: numbers of the words of each label of the source.
        target: the same of the target.
    """
    pairs = list[tuple[int, int]]()
    for left, right in links:
        words, others = source.get(left, []), target.get(right, [])
        if left == right >= NEW_WORDS and len(words) == len(others):
            pairs += zip(words, others, strict=True)
        else:
            pairs += [(s, t) for s in words for t in others]
    return formatted(pairs)
