"""Readable twin of near duplicates: n-grams, MinHash bands, and the pairs that are dropped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count

import regex

from tests.reference.dedup import Row, compared_text

_MASK = (1 << 64) - 1
_ODD = 0x9E3779B97F4A7C15
_OTHER = 0xD1B54A32D192ED03
_DENSE = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\u30fc]")
_INHERITED = regex.compile(r"\p{Script=Inherited}")


def grams(line: str) -> list[str]:
    """Returns the n-grams of a line: two characters from each one in Han, kana or Thai, four from each other one."""
    text = compared_text(line, normalize=True)
    sizes: list[int] = []
    for each in text:
        if _INHERITED.match(each) and each >= "\u0e00":
            sizes.append(sizes[-1] if sizes else 4)
        else:
            sizes.append(2 if _DENSE.match(each) else 4)
    found = [text[at : at + size] for at, size in enumerate(sizes) if at + size <= len(text)]
    return found or [text]


def similarity(first: str, second: str) -> float:
    """Returns the Jaccard similarity of the sets of n-grams of two lines."""
    one, other = set(grams(first)), set(grams(second))
    return len(one & other) / len(one | other)


def bands_of(similarity: float) -> tuple[int, int]:
    """Returns the numbers of bands and of rows for a similarity."""
    for rows in range(8, 0, -1):
        same = similarity ** (2 * rows)
        for bands in range(1, 65):
            if 1 - (1 - same) ** bands >= 0.98 and (bands <= 32 or rows == 1):
                return bands, rows
    return 64, 1


def band_hashes(first: str, second: str, bands: int, rows: int) -> list[int]:
    """Returns the hash of each band of a pair."""
    left, right = _minima(first, bands * rows, 1), _minima(second, bands * rows, 2)
    hashes = []
    for band in range(bands):
        value = band
        for row in range(band * rows, (band + 1) * rows):
            value = _mix(value ^ (left[row] << 32 | right[row]) ^ _ODD, _OTHER)
        hashes.append(_mix(value ^ _ODD, _ODD))
    return hashes


def _minima(line: str, size: int, seed: int) -> list[int]:
    hashes = {_gram_hash(each) >> 32 for each in grams(line)}
    random = _random(seed)
    functions = [(next(random) >> 32 | 1, next(random) >> 32) for _ in range(size)]
    return [min((factor * each + term) & 0xFFFFFFFF for each in hashes) for factor, term in functions]


def _gram_hash(gram: str) -> int:
    points = [ord(each) for each in gram] + [0] * (4 - len(gram))
    return _mix((points[0] | points[1] << 21 | points[2] << 42) ^ _ODD, (points[3] | len(gram) << 32) ^ _OTHER)


def _mix(one: int, other: int) -> int:
    product = one * other
    return (product ^ product >> 64) & _MASK


def _random(state: int):  # type: ignore[no-untyped-def]
    for step in count(1):
        value = (state + step * _ODD) & _MASK
        value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _MASK
        value = (value ^ value >> 27) * 0x94D049BB133111EB & _MASK
        yield value ^ value >> 31


def ranked(rows: Sequence[Row], *, by_score: bool) -> list[Row]:
    """Returns rows with the best first; they are given in the order of the corpora."""
    return sorted(rows, key=lambda row: math.inf if row.score is None else -row.score) if by_score else list(rows)


def candidates(rows: Sequence[Row], least: float, cap: int) -> tuple[set[tuple[int, int]], int]:
    """Returns the indexes of pairs to compare, the worse one first, and the number of buckets with too many pairs.

    Args:
        rows: the best first.
        least: the smallest similarity.
        cap: number of the best pairs of a bucket that others are compared with.
    """
    bands, per_band = bands_of(least)
    buckets: dict[int, list[int]] = {}
    for number, row in enumerate(rows):
        first = row.target if row.source == "<mono>" else row.source
        for value in band_hashes(first, row.target, bands, per_band):
            buckets.setdefault(value, []).append(number)
    found = {
        (worse, better)
        for bucket in buckets.values()
        for place, worse in enumerate(bucket)
        for better in bucket[: min(place, cap)]
    }
    return found, sum(len(bucket) > cap + 1 for bucket in buckets.values())


def near_duplicates(rows: Sequence[Row], least: float, cap: int, *, by_score: bool) -> tuple[dict[Row, Row], int]:
    """Returns the rows that are dropped, with the best near duplicate of each, and the number of full buckets."""
    order = ranked(rows, by_score=by_score)
    pairs, full = candidates(order, least, cap)
    found: dict[Row, Row] = {}
    for worse, better in sorted(pairs):
        one, other = order[worse], order[better]
        if (
            one not in found
            and min(similarity(one.source, other.source), similarity(one.target, other.target)) >= least
        ):
            found[one] = other
    return found, full
