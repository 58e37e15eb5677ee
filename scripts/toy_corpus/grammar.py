"""Draws sentence pairs: a pattern by weight, then a row of a table for each of its slots."""

import operator
import random
import re
from collections.abc import Callable, Iterator

from .numbers import NUMBERS
from .patterns import GROUPS
from .tables import Table, build

Row = tuple[str, ...]
Draw = Callable[[], Row]
Pair = tuple[str, str]

_SLOT = re.compile(r"\{(([a-z]+)\d?)(?:\.([a-z]+))?\}")


def _lottery(weights: list[float], tickets: int) -> list[int]:
    """Returns row numbers, each repeated in proportion to its weight and at least once: a draw is then one index."""
    scale = tickets / sum(weights)
    return [row for row, weight in enumerate(weights) for _ in range(max(1, int(weight * scale + 0.5)))]


def _distinct(draw: Draw, count: int) -> Draw:
    """Returns a draw of `count` rows, joined, that all differ in their first form."""
    if count == 1:
        return draw

    def several() -> Row:
        forms: Row = ()
        seen: list[str] = []
        while len(seen) < count:
            row = draw()
            if row[0] not in seen:
                seen.append(row[0])
                forms += row
        return forms

    return several


class Grammar:
    """The patterns of `patterns.py` over the tables of `tables.py`, with one stream of random numbers.

    Of `random.Random` only `random()` is used: its sequence for a seed is the same in every Python version.
    """

    def __init__(self, seed: int) -> None:
        """Builds the tables and compile the patterns.

        Args:
            seed: fixes every pair that `pairs` yields; not negative.
        """
        self._uniform = random.Random(seed).random
        self._columns: dict[str, tuple[str, ...]] = {}
        self._draws: dict[str, Draw] = {}
        for name, table in build().items():
            self._add_table(name, table)
        for name, number in NUMBERS.items():
            self._columns[name] = ("en", "zh")
            self._draws[name] = self._number(number)
        for name, text in GROUPS.items():
            self._columns[name] = ("en", "zh")
            self._draws[name] = self._compile(text)

    def pairs(self) -> Iterator[Pair]:
        """Yields (English, Chinese) sentences without end."""
        draw = self._draws["sentence"]
        while True:
            en, zh = draw()
            first = en[0]
            if first.islower():
                yield first.upper() + en[1:], zh
            elif first in '"“':
                yield first + en[1].upper() + en[2:], zh
            else:
                yield en, zh

    def _add_table(self, name: str, table: Table) -> None:
        rows = table.rows
        tickets = [rows[row] for row in _lottery(table.weights, max(256, 4 * len(rows)))]
        uniform, size = self._uniform, len(tickets)
        self._columns[name] = table.columns
        self._draws[name] = lambda: tickets[int(uniform() * size)]

    def _number(self, number: Callable[[Callable[[], float]], Row]) -> Draw:
        uniform = self._uniform
        return lambda: number(uniform)

    def _compile(self, text: str) -> Draw:
        """Compiles "weight English" and "Chinese" lines in turn to one draw from all of them."""
        lines = [line for line in text.splitlines() if line]
        patterns: list[Draw] = []
        weights: list[float] = []
        for english, zh in zip(lines[::2], lines[1::2], strict=True):
            weight, _, en = english.partition(" ")
            patterns.append(self._pattern(en, zh))
            weights.append(float(weight))
        tickets = [patterns[i] for i in _lottery(weights, 8 * int(sum(weights)))]
        uniform, size = self._uniform, len(tickets)
        return lambda: tickets[int(uniform() * size)]()

    def _pattern(self, en: str, zh: str) -> Draw:
        """Compiles one pattern: slots of the same name ("{who}" and "{who.his}") share one drawn row."""
        slots: dict[str, list[str]] = {}
        for slot, source, _ in _SLOT.findall(en + zh):
            if slot not in slots.setdefault(source, []):
                slots[source].append(slot)
        offsets: dict[str, int] = {}
        width = 0
        for source, names in slots.items():
            for slot in names:
                offsets[slot] = width
                width += len(self._columns[source])
        draws = [_distinct(self._draws[source], len(names)) for source, names in slots.items()]

        def positions(side: str, default: str) -> list[int]:
            return [
                offsets[slot] + self._columns[source].index(column or default)
                for slot, source, column in _SLOT.findall(side)
            ]

        en_forms, zh_forms = positions(en, "en"), positions(zh, "zh")
        en_format, zh_format = (_SLOT.sub("%s", side.replace("%", "%%")) for side in (en, zh))
        if not draws:
            fixed = (en, zh)
            return lambda: fixed
        # With a sentinel the getter returns a tuple even for one form or none.
        get_en = operator.itemgetter(*en_forms, 0, 0)
        get_zh = operator.itemgetter(*zh_forms, 0, 0)
        en_format, zh_format = en_format + "%.0s%.0s", zh_format + "%.0s%.0s"

        def draw() -> Row:
            forms: Row = ()
            for source in draws:
                forms += source()
            return en_format % get_en(forms), zh_format % get_zh(forms)

        return draw
