"""Documents whose sentences are aligned in known ways."""

from __future__ import annotations

import random

Lines = list[str]

_ENGLISH = "house river mountain child teacher city garden letter window story doctor bridge forest kitchen train"
_GERMAN = "Haus Fluss Berg Kind Lehrerin Stadt Garten Brief Fenster Geschichte Arzt Brücke Wald Küche Zug"
_NOUNS = list(zip(_ENGLISH.split(), _GERMAN.split(), strict=True))
_VERBS = [("sees", "sieht"), ("finds", "findet"), ("paints", "malt"), ("visits", "besucht"), ("forgets", "vergisst")]
_TAILS = [
    ("in the morning", "am Morgen"),
    ("without a word", "wortlos"),
    ("again and again", "immer wieder"),
    ("at the station", "am Bahnhof"),
]


def sentence(draw: random.Random) -> tuple[str, str]:
    """Returns a sentence and its translation."""
    (a, x), (b, y), (verb, zverb), (tail, ztail) = (draw.choice(some) for some in (_NOUNS, _NOUNS, _VERBS, _TAILS))
    number = draw.choice(["", "", "", f" {draw.randint(2, 99)}"])
    more = draw.random() < 0.5
    return (
        f"The {a}{number} {verb} the {b}{f' {tail}' if more else ''}.",
        f"{x}{number} {zverb} {y}{f' {ztail}' if more else ''}.",
    )


def shuffled_document(draw: random.Random, sentences: int) -> tuple[tuple[Lines, Lines], list[list[int]]]:
    """Returns both sides of a document, some of whose lines are joined or missing, and its beads with both sides."""
    source: Lines = []
    target: Lines = []
    beads = []
    while len(source) < sentences:
        kind = draw.choices(["one", "two", "two to one", "no target", "no source"], [80, 6, 6, 4, 4])[0]
        first, second = sentence(draw), sentence(draw)
        before = len(source), len(target)
        source += [] if kind == "no source" else [first[0]]
        target += [] if kind == "no target" else [first[1]]
        if kind == "two":
            source[-1] += f" {second[0]}"
            target.append(second[1])
        elif kind == "two to one":
            source.append(second[0])
            target[-1] += f" {second[1]}"
        if not kind.startswith("no "):
            beads.append([before[0], len(source), before[1], len(target)])
    return (source, target), beads
