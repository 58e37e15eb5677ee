"""Segments of evaluation sets in corpora: counts and examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import TypeAlias

from nmt_prep.cleaning.decontamination.sets import REASON

LARGE_SHARE = 0.05
"""A corpus that contains a larger share of the segments of a set is warned about."""

EXAMPLES = 20
"""Most examples of a set and a corpus in the report."""


@dataclass(frozen=True)
class EvaluationSet:
    """An evaluation set, or a part of one with a name of its own.

    Attributes:
        name: such as ``dev/news``, ``wmt22/en-de`` or ``extra.txt``.
        entry: name of the evaluation set that it belongs to, such as ``dev``, ``wmt22`` or ``extra.txt``.
        segments: number of its segments.
    """

    name: str
    entry: str
    segments: int

    @property
    def reason(self) -> str:
        """The reason for which pairs that contain its segments are dropped."""
        return f"{REASON}{self.entry}"


@dataclass(frozen=True)
class Against:
    """Evaluation segments to search the pairs of a corpus for.

    Attributes:
        file: the file with the segments of all sets.
        sha256: digest of the file.
        sets: the sets, by number.
        coverage: the share of n-grams by which a pair contains a segment.
        drop: true to drop pairs, false to count them only.
    """

    file: Path
    sha256: str
    sets: tuple[EvaluationSet, ...]
    coverage: float
    drop: bool


@dataclass(frozen=True)
class LeakExample:
    """A pair that contains a segment.

    Attributes:
        row: row of the pair in its corpus, counted from 0.
        source: source side of the pair.
        target: target side of the pair.
        segment: row of the segment in its set, counted from 0.
        first: one side of the segment.
        second: the other side; empty if it has one side.
        kind: how the pair matches the segment: ``exact``, ``pair``, ``side`` or ``covered``.
        share: the share of the segment's n-grams in the pair.
    """

    row: int
    source: str
    target: str
    segment: int
    first: str
    second: str
    kind: str
    share: float


@dataclass(frozen=True)
class SetLeaks:
    """Counts of one set in a corpus, or in a part of it.

    Attributes:
        pairs: number of pairs whose closest segment is in the set.
        dropped: number of these that were dropped for it.
        found: numbers of the segments that some pair contains, ascending, counted through all sets.
        examples: the first pairs.
    """

    pairs: int = 0
    dropped: int = 0
    found: tuple[int, ...] = ()
    examples: tuple[LeakExample, ...] = field(default=())

    def __add__(self, later: SetLeaks) -> SetLeaks:
        """Returns the leaks of both parts; those of the other part must come later in the corpus."""
        return SetLeaks(
            self.pairs + later.pairs,
            self.dropped + later.dropped,
            tuple(sorted({*self.found, *later.found})),
            (self.examples + later.examples)[:EXAMPLES],
        )


Leaks: TypeAlias = dict[int, SetLeaks]
"""Leaks by the number of the set; only sets of which something was found."""


def total_leaks(parts: Sequence[Leaks]) -> Leaks:
    """Returns the leaks of a corpus from those of its parts, which must be in order."""
    numbers = sorted({number for part in parts for number in part})
    return {number: reduce(SetLeaks.__add__, (part[number] for part in parts if number in part)) for number in numbers}
