"""Damages pairs with typical defects of web corpora, one named defect per pair."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import cycle
from typing import NamedTuple

Pair = tuple[str, str]

_SHARE = 3
"""Number of pairs of which one is damaged."""


class LabelledPair(NamedTuple):
    """A pair, what is wrong with it, and a score as a quality model would give it.

    Attributes:
        en: the English side.
        zh: the Chinese side.
        kind: a key of :data:`DEFECTS`, or ``clean``.
        quality: from 0 to 1.
    """

    en: str
    zh: str
    kind: str
    quality: str


def _overlong(en: str, zh: str) -> Pair:
    return " ".join([en] * (160 // len(en.split()) + 1)), zh * (400 // len(zh) + 1)


DEFECTS: Mapping[str, Callable[[str, str], Pair]] = {
    "copy": lambda en, _: (en, en),
    "swapped_sides": lambda en, zh: (zh, en),
    "overlong": _overlong,
    "symbols_only": lambda en, _: ("*** ### *** ===", "*** ### *** ==="),
    "digits_only": lambda en, _: (f"{len(en)} {len(en) ** 5} 2021 77", f"{len(en)} {len(en) ** 5} 2021 77"),
    "repetition": lambda en, zh: (" ".join([*en.split()[:2]] * 6), zh[:4] * 6),
    "url_only": lambda en, _: (f"https://example.org/{len(en)}/index.html",) * 2,
    "html_tags": lambda en, zh: (f'<p class="x"><b>{en}</b></p>', f'<p class="x"><b>{zh}</b></p>'),
    "long_word": lambda en, zh: (f"{en.replace(' ', '')}{'x' * 80}", zh),
    "empty_side": lambda en, _: (en, "\u200a\u00a0"),
    "spaces": lambda en, zh: (f"  {en.replace(' ', '  ')}\u00a0", f"\u3000{zh} "),
    "control_characters": lambda en, zh: (f"\x07{en}\x1b", f"{zh}\x02"),
}
"""The kinds of damage."""

REPAIRED = ("spaces", "control_characters")
"""The kinds that a fix repairs; other pairs should be dropped."""


def damaged(pairs: Iterable[Pair]) -> Iterator[LabelledPair]:
    """Yields pairs with labels, of which every third is damaged, the kinds in turn."""
    draw = random.Random(1)
    kinds = cycle(DEFECTS)
    for number, (en, zh) in enumerate(pairs):
        bad = number % _SHARE == _SHARE - 1
        kind = next(kinds) if bad else "clean"
        quality = draw.random() / 2 + (0.5 if kind in ("clean", *REPAIRED) else 0.0)
        yield LabelledPair(*(DEFECTS[kind](en, zh) if bad else (en, zh)), kind, f"{quality:.3f}")
