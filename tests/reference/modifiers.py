"""Readable twins of the native functions for modifiers: text with labelled words, and typos, one line at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
from _nmt_prep_core import word_spans

from nmt_prep.modifiers.block import Units
from nmt_prep.modifiers.draws import Draws

Spans: TypeAlias = list[tuple[int, int]]
Pairs: TypeAlias = list[tuple[int, int]]
Part: TypeAlias = tuple[int, int] | tuple[str, int]

UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""A character of Thai, Lao, Burmese, Khmer, Japanese or Chinese, which have no spaces between words."""

NEW_WORDS = 1 << 30
"""The first label of words that a modifier inserts. Those with one label on both sides are equal."""

SPACED = re.compile(r"\S+", re.ASCII)
"""A word between spaces. A no-break space is within a word."""


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


def _table(entries: str) -> dict[str, str]:
    return {entry[0]: entry[2:] for entry in entries.split()}


_NEAR = _table(
    "a:qwsz b:vghn c:xdfv d:serfcx e:rdsw f:drtgvc g:ftyhbv h:nbgyuj i:okju j:huikmn k:jiolm l:kop m:njk n:bhjm o:iklp "
    "p:ol q:aw r:edft s:azxdew t:rfgy u:yhji v:cfgb w:qasde x:zsdc y:tghu z:asx"
)
_NUMPAD = _table("0:12 1:4520 2:014563 3:256 4:78521 5:78946123 6:98523 7:854 8:74569 9:856")
_SIMILAR = _table(
    "0:689oDOU 1:7I 2:7QZ 3:589 4:9U 5:38S 6:08bG 7:12TZ 8:0356BS 9:034gq b:6 c:e e:c g:9q i:I m:n n:mp o:0 p:n q:9g "
    "u:v v:u y:z z:y B:8P C:G D:0O E:F F:7ER G:6C I:1iLT L:I M:N N:M O:0DU P:B Q:2 S:58 T:I7 U:04OV V:UW W:U X:Y Y:5X "
    "Z:27"
)

_LETTER = re.compile(r"\w")
_PLACES = {
    "char_swap": re.compile(r"(?=\w{2})"),
    "missing_char": _LETTER,
    "extra_char": _LETTER,
    "nearby_char": _LETTER,
    "similar_char": _LETTER,
    "skipped_space": re.compile(" "),
    "random_space": re.compile(r"\S"),
    "repeated_char": _LETTER,
    "unichar": re.compile(r"(.)\1"),
}
_PLACES_WITH_LINKS = {
    **_PLACES,
    "missing_char": re.compile(r"\S"),
    "skipped_space": re.compile(r"(?<!^)\s(?!$)"),
}
"""The places in pairs with links, as in OpusTrainer."""

Change: TypeAlias = tuple[int, str]
"""Number of characters that are replaced, and what replaces them."""


def _neighbour(character: str, draws: Draws) -> str:
    """Returns a character of a key beside that of the given one, which is the same if it has no key."""
    if character in _NUMPAD:
        if draws.choice((True, False)):
            return draws.choice(_NUMPAD[character])
        ends = {"0": "9", "1": "2"}
        return ends.get(character) or str(int(character) + (-1) ** draws.randint(0, 1))
    if character.lower() not in _NEAR:
        return character
    near = draws.choice(_NEAR[character.lower()])
    return near.upper() if character.isupper() else near


def _swapped(text: str, at: int, draws: Draws) -> Change:
    first, second = text[at], text[at + 1]
    cased = [char.upper() if like.isupper() else char.lower() for char, like in ((second, first), (first, second))]
    return 2, "".join(cased)


def _nearby(text: str, at: int, draws: Draws) -> Change:
    near = _neighbour(text[at], draws)
    return 1, near.upper() if text[at].isupper() else near.lower()


def _similar(text: str, at: int, draws: Draws) -> Change:
    return 1, draws.choice(_SIMILAR[text[at]]) if text[at] in _SIMILAR else text[at]


_CHANGES: dict[str, Callable[[str, int, Draws], Change]] = {
    "char_swap": _swapped,
    "missing_char": lambda text, at, draws: (1, ""),
    "extra_char": lambda text, at, draws: (0, _neighbour(text[at], draws)),
    "nearby_char": _nearby,
    "similar_char": _similar,
    "skipped_space": lambda text, at, draws: (1, ""),
    "random_space": lambda text, at, draws: (0, " "),
    "repeated_char": lambda text, at, draws: (0, text[at]),
    "unichar": lambda text, at, draws: (1, ""),
}


def with_typos(
    source: str, links: str | None, kinds: dict[str, float], draws: Draws, units: Units
) -> tuple[str, str | None]:
    """Returns a source with typos, each kind with its probability, and its links."""
    if UNSPACED.search(source):
        return source, links
    for kind, probability in kinds.items():
        if draws.random() >= probability:
            continue
        table = _PLACES if links is None else _PLACES_WITH_LINKS
        places = [match.start() for match in table[kind].finditer(source)]
        if kind == "random_space" and links is not None:
            places = places[1:]  # not before the text
        if len(places) <= (kind == "missing_char"):
            continue
        at = draws.choice(places)
        replaced, text = _CHANGES[kind](source, at, draws)
        changed = source[:at] + text + source[at + replaced :]
        if links and (units == "words" or _moves_words(kind, source, at)):
            links = _relinked(links, (source, changed), at, replaced, len(text), units, draws)
        source = changed
    return source, links


def _moves_words(kind: str, text: str, at: int) -> bool:
    """Returns true if a change of a kind may change the numbers of words between spaces."""
    before, after = text[at - 1 : at] if at else " ", text[at + 1 : at + 2] or " "
    if kind == "random_space":
        return not before.isspace()
    return kind == "skipped_space" or (kind == "missing_char" and before.isspace() and after.isspace())


def _relinked(links: str, texts: tuple[str, str], at: int, removed: int, added: int, units: Units, draws: Draws) -> str:
    """Returns the links after a change of the source; those of a removed word go to a word beside it."""
    spans, pairs = spans_of(texts[0], units), parsed(links)
    labels = labels_of(texts[0], spans)
    label = labels[at] if added and removed else -1
    labels[at : at + removed] = [label] * added
    places = words_by_label(texts[1], labels, units)
    for gone in set(range(len(spans))) - set(places):
        beside = [word for word in (gone - 1, gone + 1) if word in places]
        places[gone] = places[draws.choice(beside)][:1] if beside else []
    return followed(pairs, places, {pair[1]: [pair[1]] for pair in pairs})
