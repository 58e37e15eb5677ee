"""Counts corpus pairs that contain evaluation-set segments, and drops or keeps these pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.errors import CorpusError
from nmt_prep.cleaning.evaluation_segments import KINDS, REASON, Matches, Segments, load_segments, numbered_segments
from nmt_prep.cleaning.rejects import CleanCounts, Instead, Verdict, dropped_counts
from nmt_prep.cleaning.rule import Values
from nmt_prep.corpora import PairBatch

if TYPE_CHECKING:
    from nmt_prep.cleaning.cleaner import Judged

LARGE_SHARE = 0.05  # Maximum share of a set's segments that a corpus may contain without a warning
EXAMPLES = 20  # Maximum number of examples per set and corpus in the report


@dataclass(frozen=True)
class EvaluationSet:
    """An evaluation set, or a named part of one."""

    name: str  # such as `dev/news`, `wmt22/en-de` or `extra.txt`
    entry: str  # name of the evaluation set that it belongs to, such as `dev`, `wmt22` or `extra.txt`
    segments: int

    @property
    def reason(self) -> str:
        """The reason for which pairs that contain its segments are dropped."""
        return f"{REASON}{self.entry}"


@dataclass(frozen=True)
class Against:
    """Evaluation segments to search a corpus's pairs for."""

    file: Path  # the file with the segments of all sets
    sha256: str
    sets: tuple[EvaluationSet, ...]
    coverage: float  # the share of n-grams by which a pair contains a segment
    drop: bool  # true to drop pairs, false to count them only


@dataclass(frozen=True)
class LeakExample:
    """A pair that contains a segment."""

    row: int  # row of the pair in its corpus, counted from 0
    source: str
    target: str
    segment: int  # row of the segment in its set, counted from 0
    first: str  # the first side of the segment, or its only one
    second: str  # its second side; empty for a segment with one side
    kind: str  # how the pair matches the segment: `exact`, `pair`, `side` or `covered`
    share: float  # the share of the segment's n-grams in the pair


@dataclass(frozen=True)
class SetLeaks:
    """Counts for one set in a corpus, or in a part of it."""

    pairs: int = 0  # number of pairs whose closest segment is in the set
    dropped: int = 0  # number of these pairs that were dropped because of the set
    found: tuple[int, ...] = ()  # numbers of the segments that some pair contains, ascending, counted through all sets
    examples: tuple[LeakExample, ...] = field(default=())  # the first of these pairs

    def __add__(self, later: SetLeaks) -> SetLeaks:
        """Returns the leaks of both parts. The other part must come later in the corpus."""
        return SetLeaks(
            self.pairs + later.pairs,
            self.dropped + later.dropped,
            tuple(sorted({*self.found, *later.found})),
            (self.examples + later.examples)[:EXAMPLES],
        )


Leaks: TypeAlias = dict[int, SetLeaks]  # Leaks by the number of the set; only sets with leaks


def total_leaks(parts: Sequence[Leaks]) -> Leaks:
    """Returns a corpus's leaks, summed over its parts, which must be in order."""
    numbers = sorted({number for part in parts for number in part})
    return {number: reduce(SetLeaks.__add__, (part[number] for part in parts if number in part)) for number in numbers}


Mask: TypeAlias = "npt.NDArray[np.bool_]"
Places: TypeAlias = "npt.NDArray[np.int64]"


class LeakFinder:
    """Finds the leaks in the batches of one part, in order. It is not thread-safe."""

    def __init__(self, segments: Segments, sets: Sequence[EvaluationSet], coverage: float, *, drop: bool) -> None:
        self._segments, self._sets, self._coverage, self._drop = segments, sets, coverage, drop
        self._found = np.zeros(len(segments.index), np.bool_)
        self._leaks: Leaks = {}

    @classmethod
    def of(cls, against: Against) -> LeakFinder:
        """Returns a finder of the evaluation segments with which a corpus is compared."""
        segments = load_segments(against.file, against.sha256, against.coverage)
        return cls(segments, against.sets, against.coverage, drop=against.drop)

    @property
    def leaks(self) -> Leaks:
        """The leaks that were found so far."""
        # A segment may be found only as the second-closest of pairs: then its set is listed without pairs of its own.
        sets = self._segments.sets
        return {
            number: replace(
                self._leaks.get(number, SetLeaks()),
                found=tuple(np.flatnonzero(self._found & (sets == number)).tolist()),
            )
            for number in np.unique(sets[self._found]).tolist()
        }

    @property
    def counts(self) -> CleanCounts:
        """The counts of dropped pairs so far, to add to the counts of the rules."""
        # A leak that a rule drops too counts as failed here, but is dropped for the rule: rules come first.
        dropped = {each.reason: 0 for each in self._sets if self._drop}
        failed = dict(dropped)
        for number, leaks in self._leaks.items() if self._drop else ():
            dropped[self._sets[number].reason] += leaks.dropped
            failed[self._sets[number].reason] += leaks.pairs
        return dropped_counts(dropped, failed=failed)

    def judge(self, judged: Judged, rows: Places) -> Verdict:
        """Adds a batch's leaks, and returns which of its pairs are dropped, by the rules or as leaks."""
        # Leaks are counted in all pairs, whatever the rules say of them: the report tells how much of a set a corpus
        # contains. What is rejected is merged at the end: `judged` describes the pairs that the rules drop, in order,
        # and `own` marks the others among all rejected pairs.
        matches = self._segments.index.search(judged.text)
        leaked = matches.closest >= 0
        sets = np.where(leaked, self._segments.sets[matches.closest], -1)
        lost = judged.kept & leaked
        self._found[matches.found] = True
        for number in np.unique(sets[leaked]).tolist():
            places = np.flatnonzero(sets == number)
            before = self._leaks.get(number, SetLeaks())
            dropped = int(lost[places].sum()) if self._drop else 0
            shown = places[: EXAMPLES - len(before.examples)].tolist()
            examples = tuple(self._example(judged, place, int(rows[place]), matches) for place in shown)
            self._leaks[number] = before + SetLeaks(len(places), dropped, examples=examples)
        if not (self._drop and lost.any()):
            return Verdict(judged.kept, *_by_rules(judged))
        kept = judged.kept & ~leaked
        own = lost[~kept]  # true for dropped pairs that are leaks
        reasons = np.where(lost, len(judged.names) + sets, judged.reasons)[~kept]
        values, thresholds = np.full((2, len(own)), np.nan)
        values[~own], thresholds[~own] = judged.values, judged.thresholds
        values[own], thresholds[own] = matches.shares[lost], self._coverage
        names = pa.array([*judged.names, *(each.reason for each in self._sets)]).take(pa.array(reasons))
        columns = judged.columns.take(pa.array(np.cumsum(~own) - 1, mask=own))
        return Verdict(kept, names, columns, values, thresholds, self._pointers(matches, sets, ~kept, own))

    def _pointers(self, matches: Matches, sets: Places, dropped: Mask, own: Mask) -> Instead:
        """Returns set and row of the segment for each dropped pair; null for pairs that a rule drops."""
        names = pa.array([each.name for each in self._sets]).take(pa.array(sets[dropped], mask=~own))
        return names, pa.array(self._segments.rows[matches.closest[dropped]], mask=~own)

    def _example(self, judged: Judged, place: int, row: int, matches: Matches) -> LeakExample:
        number = int(matches.closest[place])
        sides = {side: lines[place].as_py() for side, lines in judged.text.items()}
        return LeakExample(
            row,
            sides.get("source", ""),
            sides.get("target", ""),
            int(self._segments.rows[number]),
            self._segments.first[number].as_py(),
            self._segments.second[number].as_py(),
            KINDS[int(matches.kinds[place])],
            float(matches.shares[place]),
        )


def _by_rules(judged: Judged) -> tuple[pa.Array, pa.Array, Values, Values]:
    dropped = judged.reasons[~judged.kept]
    return pa.array(judged.names).take(pa.array(dropped)), judged.columns, judged.values, judged.thresholds


def gathered(
    sources: Iterable[tuple[str, str, Iterable[PairBatch]]], sets: list[EvaluationSet]
) -> Iterator[pa.RecordBatch]:
    """Yields the segments of evaluation sets with their numbers, and adds the sets to a list."""
    for name, entry, pairs in sources:
        size = 0
        for batch in numbered_segments(pairs, len(sets)):
            yield batch
            size += len(batch)
        if not size:
            raise CorpusError(f"clean.decontaminate.against: the evaluation set {name} has no segments")
        sets.append(EvaluationSet(name, entry, size))


def verdict_of(finder: LeakFinder | None, judged: Judged, rows: Places) -> Verdict:
    """Returns which pairs of a batch are dropped; by the rules only, if there are no evaluation sets."""
    return Verdict(judged.kept, *_by_rules(judged)) if finder is None else finder.judge(judged, rows)
