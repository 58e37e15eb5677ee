"""Compares two files of pairs in both directions: which pairs they have in common."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from nmt_prep.base.errors import CorpusError
from nmt_prep.cleaning.evaluation_segments import KINDS, Kinds, Matches, Segments, numbered_segments, read_segments
from nmt_prep.config import Languages
from nmt_prep.corpora import PairBatch

FOUND = KINDS[1:]  # The ways in which a pair of one file can match a pair of the other, the closest first


@dataclass(frozen=True)
class Compared:
    """The pairs of one file."""

    file: str
    pairs: int  # number of its pairs
    found: dict[str, int]  # number of its pairs that are also in the other file, by the kind of the closest match


@dataclass(frozen=True)
class CommonPair:
    """A pair in one file and the closest pair in the other."""

    kind: str  # how they match
    share: float  # the share of `b`'s n-grams that are in `a`, 1 if sides are the same
    line: tuple[int, int]  # numbers of the two pairs in their files, counted from 1
    a: tuple[str, str]  # sides of the pair in the first file
    b: tuple[str, str]  # sides of the pair in the second file; the target is empty if the file has one side


@dataclass(frozen=True)
class Overlap:
    """Counts of the pairs that two files have in common."""

    a: Compared  # the pairs of the first file
    b: Compared  # the pairs of the second file
    examples: tuple[CommonPair, ...]  # the first pairs of the first file for each way of matching


def overlap_of(
    a: Path, b: Path, languages: Languages, coverage: float | None, *, examples: int, threads: int
) -> Overlap:
    """Compares two files: the second's index is in memory, and the first is read in batches.

    Args:
        coverage: a pair of ``a`` contains a side of ``b`` if it has this share of the side's n-grams; None to compare
            only whole sides.
    """
    with tempfile.TemporaryDirectory(prefix="nmt-prep-") as directory:
        unpacked = Path(directory) / "b"
        segments = Segments.of(numbered_segments(read_segments(b, languages, unpacked), 0), coverage)
        unpacked.unlink(missing_ok=True)
        _require_pairs(len(segments.index), b)
        comparison = _Comparison(segments, examples)
        with ThreadPoolExecutor(threads) as pool:
            batches = read_segments(a, languages, Path(directory) / "a")
            while group := list(islice(batches, 2 * threads)):
                for batch, matches in zip(group, pool.map(segments.search_pairs, group), strict=True):
                    comparison.add(batch, matches)
        _require_pairs(comparison.pairs, a)
    return Overlap(
        Compared(str(a), comparison.pairs, _by_kind(comparison.found_in_a)),
        Compared(str(b), len(segments.index), _by_kind(np.bincount(comparison.kinds_of_b, minlength=len(KINDS)))),
        tuple(example for own in comparison.examples.values() for example in own),
    )


class _Comparison:
    """Compares the batches of the first file with the second, and adds up the counts."""

    def __init__(self, segments: Segments, examples: int) -> None:
        self._segments, self._most = segments, examples
        self.pairs = 0
        self.found_in_a = np.zeros(len(KINDS), np.int64)
        self.kinds_of_b: Kinds = np.zeros(len(segments.index), np.uint8)
        self.examples: dict[str, list[CommonPair]] = {kind: [] for kind in FOUND}

    def add(self, batch: PairBatch, matches: Matches) -> None:
        before = self.kinds_of_b[matches.found]
        closest = np.where(before == 0, matches.found_kinds, np.minimum(before, matches.found_kinds))
        self.kinds_of_b[matches.found] = closest
        self.found_in_a += np.bincount(matches.kinds, minlength=len(KINDS))
        for number, kind in enumerate(KINDS[1:], 1):
            wanted = self._most - len(self.examples[kind])
            for place in np.flatnonzero(matches.kinds == number)[:wanted].tolist():
                self.examples[kind].append(self._example(batch, place, matches))
        self.pairs += len(batch)

    def _example(self, batch: PairBatch, place: int, matches: Matches) -> CommonPair:
        segment = int(matches.closest[place])
        return CommonPair(
            KINDS[int(matches.kinds[place])],
            float(matches.shares[place]),
            (self.pairs + place + 1, int(self._segments.rows[segment]) + 1),
            (batch.source[place].as_py(), batch.target[place].as_py()),
            (self._segments.first[segment].as_py(), self._segments.second[segment].as_py()),
        )


def _by_kind(counts: Iterable[int]) -> dict[str, int]:
    return dict(zip(FOUND, map(int, islice(counts, 1, None)), strict=True))


def _require_pairs(pairs: int, path: Path) -> None:
    if not pairs:
        raise CorpusError(f"{path} has no pairs")


def lines_of(overlap: Overlap) -> Iterator[str]:
    """Yields the counts as text lines."""
    for one, other in ((overlap.a, overlap.b), (overlap.b, overlap.a)):
        total = sum(one.found.values())
        parts = ", ".join(f"{kind} {count:,}" for kind, count in one.found.items())
        yield f"{one.file}: {total:,} of {one.pairs:,} pairs ({total / one.pairs:.1%}) in {other.file}: {parts}"
