"""Readable twins of the counts of the report: exact, pair by pair, with Python's numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache

from tests.reference.cleaning import words

RATIOS = range(-15, 16)
"""Quarters of octaves that bound the bins of ratios."""


def length_bin(length: int) -> int:
    """Each of 1 to 8 has a bin; from there on, each octave has four bins of equal width."""
    if length <= 8:
        return max(length, 1) - 1
    octave = length.bit_length() - 1
    return min(7 + 4 * (octave - 3) + (length - (1 << octave)) * 4 // (1 << octave), 78)


@cache
def ratio_bin(source: int, target: int) -> int:
    """The number of bounds 2 ** (k / 4) that the ratio reaches."""
    return sum(Fraction(target, source) ** 4 >= Fraction(2) ** k for k in RATIOS)


def length_of(text: str, unit: str) -> int:
    return words(text) if unit == "word" else len(text)


def histogram(bins: Iterable[int]) -> list[int]:
    counts = Counter(bins)
    return [counts[place] for place in range(max(counts, default=-1) + 1)]


def ratio_histogram(pairs: Iterable[tuple[int, int]]) -> list[int]:
    counts = Counter(ratio_bin(source, target) for source, target in pairs if source and target)
    return [counts[place] for place in range(len(RATIOS) + 1)]


def cells(pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    counts = Counter((length_bin(source), length_bin(target)) for source, target in pairs)
    return [[*cell, count] for cell, count in sorted(counts.items())]


def padded_cells(batches: Iterable[Sequence[tuple[int, int]]]) -> int:
    """Cells of batches of pairs of lengths, each side padded to its longest row."""
    return sum(len(batch) * max(pair[side] for pair in batch) for batch in batches for side in (0, 1))
