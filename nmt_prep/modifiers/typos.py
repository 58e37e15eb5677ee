"""Typos: errors of typing in the source, as of the package ``typo``, on a keyboard of the United States."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from nmt_prep.modifiers.block import Line, LineModifier, Units, check_share
from nmt_prep.modifiers.draws import Draws
from nmt_prep.modifiers.words import UNSPACED, followed, labels_of, parsed, spans_of, words_by_label


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


class Typos(LineModifier):
    """Makes errors of typing in the source, each kind at most once, with a probability of its own.

    Args:
        probability: share of the pairs to change.
        kinds: probability of each kind; 0.1 of all if none is given, else 0 of those that are not.
    """

    scripts = "scripts of letters with spaces between words"

    def __init__(self, probability: float, **kinds: float) -> None:
        super().__init__(probability)
        unknown = next((kind for kind in kinds if kind not in _CHANGES), None)
        if unknown is not None:
            raise ValueError(f"{unknown!r} is no kind of typo; the kinds are {', '.join(_CHANGES)}")
        check_share(**kinds)
        self.kinds = kinds or dict.fromkeys(_CHANGES, 0.1)

    def edit(self, line: Line, draws: Draws, units: Units) -> Line:
        """Returns the pair with typos in the source."""
        source, target, links = line
        if not source.isascii() and UNSPACED.search(source):
            return line
        for kind, probability in self.kinds.items():
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
        return Line(source, target, links)


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
