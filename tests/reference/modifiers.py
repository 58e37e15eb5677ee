"""Readable twins of the native functions for modifiers: labelled words, titles, typos and tags, line by line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import TypeAlias

import numpy as np
from _nmt_prep_core import word_spans

from nmt_prep.training.modifiers.block import Line, Units
from nmt_prep.training.modifiers.draws import Draws
from nmt_prep.training.modifiers.noise import random_words

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
    """Returns a character of a key beside the key of the given one, or the same character if it has no key."""
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


def title(line: str) -> str:
    """Returns a line whose words begin with upper case; the same one without letters of a case."""
    if line.upper() == line.lower():
        return line
    return " ".join(word[0].upper() + word[1:] for word in SPACED.findall(line))


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
    """Returns the links after a change of the source; the links of a removed word go to a word beside it."""
    spans, pairs = spans_of(texts[0], units), parsed(links)
    labels = labels_of(texts[0], spans)
    label = labels[at] if added and removed else -1
    labels[at : at + removed] = [label] * added
    places = words_by_label(texts[1], labels, units)
    for gone in set(range(len(spans))) - set(places):
        beside = [word for word in (gone - 1, gone + 1) if word in places]
        places[gone] = places[draws.choice(beside)][:1] if beside else []
    return followed(pairs, places, {pair[1]: [pair[1]] for pair in pairs})


class Tags:
    """Tags of single pairs: shares of the modes augment, replace and tag, and whether sides have tokens of ICU."""

    def __init__(
        self, probability: float, template: str, shares: tuple[float, float, float], icu: tuple[bool, bool]
    ) -> None:
        self.probability, self.template, self.icu = probability, re.split(r"(\{src\}|\{trg\})", template), icu
        self.modes = [(name, share) for name, share in zip(("augment", "replace", "tag"), shares, strict=True) if share]

    def edit(self, line: Line, draws: Draws, units: Units) -> Line:
        """Returns the pair with some words changed; the same one if its links are wrong."""
        source, target, links = line
        try:
            pairs = parsed(links or "")
        except ValueError:
            return line
        words = spans_of(source, units), spans_of(target, units)
        if not all(0 <= s < len(words[0]) and 0 <= t < len(words[1]) for s, t in pairs):
            return line
        changes = _Changes(pairs, self.template)
        for s, t in _candidates(line, pairs, words):
            if draws.random() < self.probability:
                self._change(changes, line, (s, t), words, draws)
        if not changes.source:
            return line
        texts, places = [], []
        for text, spans, edits in zip((source, target), words, (changes.source, changes.target), strict=True):
            made, labels = assembled(text, labels_of(text, spans), _parts(text, spans, edits))
            texts.append(made)
            places.append(words_by_label(made, labels, units))
        return Line(texts[0], texts[1], followed(changes.links, *places))

    def _change(
        self, changes: _Changes, line: Line, link: tuple[int, int], words: tuple[Spans, Spans], draws: Draws
    ) -> None:
        """Changes the words of a link, as a mode that is drawn says."""
        mode = self.modes[0][0]
        if len(self.modes) > 1:
            drawn = draws.random()
            sums = np.cumsum([share for _, share in self.modes])
            mode = self.modes[int(np.searchsorted(sums, drawn, side="right"))][0]
        if mode == "tag":
            begin, end = words[1][link[1]]
            changes.tag(link, words[0][link[0]], [line.target[begin:end]])
        elif mode == "replace":
            changes.replace(link, words[0][link[0]], random_words(draws, 2, 10, 3))
        else:
            changes.augment(link, words, random_words(draws, 2, 10, 3), line, self.icu)


def _candidates(line: Line, pairs: Pairs, words: tuple[Spans, Spans]) -> Pairs:
    """Returns the links of words that have one link each and differ, from left to right."""
    sources, targets = (Counter(side) for side in zip(*pairs, strict=True)) if pairs else (Counter(), Counter())
    single = sorted(pair for pair in pairs if sources[pair[0]] == 1 == targets[pair[1]])
    return [(s, t) for s, t in single if line.source[slice(*words[0][s])] != line.target[slice(*words[1][t])]]


class _Changes:
    """Changes of the words of a pair, and its links between labels: numbers of words, and higher ones of new words.

    Attributes:
        source: what replaces words of the source, by number.
        target: the same of the target.
        links: the links.
    """

    def __init__(self, pairs: Pairs, template: list[str]) -> None:
        self.source, self.target = dict[int, list[Part]](), dict[int, list[Part]]()
        self.links, self._template, self._labels = list(pairs), template, count(NEW_WORDS)

    def tag(self, link: tuple[int, int], word: tuple[int, int], hint: list[str]) -> None:
        """Puts the template in place of the source word; the hint is linked with the target word."""
        label = next(self._labels)
        self.source[link[0]] = self._filled(word, [(" ".join(hint), label)])
        self.links.append((label, link[1]))

    def replace(self, link: tuple[int, int], word: tuple[int, int], texts: list[str]) -> None:
        """Puts random words in place of the target word, and the template with them in place of the source word."""
        labels = [next(self._labels) for _ in texts]
        spaced = [part for text, label in zip(texts, labels, strict=True) for part in ((" ", -1), (text, label))][1:]
        self.source[link[0]] = self._filled(word, list(spaced))
        self.target[link[1]] = list(spaced)
        self.links += [(link[0], label) for label in labels] + [(label, label) for label in labels]

    def augment(
        self, link: tuple[int, int], words: tuple[Spans, Spans], texts: list[str], line: Line, icu: tuple[bool, bool]
    ) -> None:
        """Inserts random words after the words of a link."""
        labels = [next(self._labels) for _ in texts]
        self.links += [(label, label) for label in labels]
        for text, spans, number, edits, mark in zip(
            line[:2], words, link, (self.source, self.target), icu, strict=True
        ):
            inserted: list[Part] = [spans[number]]
            for random, label in zip(texts, labels, strict=True):
                inserted += [(" ▁ " if mark else " ", -1), (random, label)]
            rest = text[spans[number][1] :]
            if mark and rest and not rest.startswith(" ▁"):
                inserted.append((" ▁", -1))
            elif not mark and rest and not rest[0].isspace():
                inserted.append((" ", -1))
            edits[number] = inserted

    def _filled(self, word: tuple[int, int], hint: list[Part]) -> list[Part]:
        filled = list[Part]()
        for text in self._template:
            filled += [word] if text == "{src}" else hint if text == "{trg}" else [(text, -1)]
        return filled


def _parts(text: str, spans: Spans, edits: dict[int, list[Part]]) -> list[Part]:
    parts, done = list[Part](), 0
    for number in sorted(edits):
        parts += [(done, spans[number][0]), *edits[number]]
        done = spans[number][1]
    return [*parts, (done, len(text))]
