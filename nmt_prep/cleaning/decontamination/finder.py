"""Finds the pairs of a corpus that contain evaluation segments, and drops them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.cleaning.cleaner import Judged
from nmt_prep.cleaning.counts import CleanCounts
from nmt_prep.cleaning.decontamination.leaks import EXAMPLES, Against, EvaluationSet, LeakExample, Leaks, SetLeaks
from nmt_prep.cleaning.decontamination.segments import KINDS, Matches, Segments, load_segments
from nmt_prep.cleaning.rejects import Instead
from nmt_prep.cleaning.rule import Values

Mask: TypeAlias = "npt.NDArray[np.bool_]"
Places: TypeAlias = "npt.NDArray[np.int64]"


@dataclass(frozen=True)
class Verdict:
    """The pairs of a batch that the rules and decontamination drop, as :meth:`PartOutput.write` takes them."""

    kept: Mask
    reasons: pa.Array
    columns: pa.Array
    values: Values
    thresholds: Values
    instead: Instead | None


class LeakFinder:
    """Finds the leaks in the batches of one part, in order. It is not thread-safe."""

    def __init__(self, segments: Segments, sets: Sequence[EvaluationSet], coverage: float, *, drop: bool) -> None:
        self._segments, self._sets, self._coverage, self._drop = segments, sets, coverage, drop
        self._first = np.searchsorted(segments.sets, np.arange(len(sets) + 1))
        self._found = np.zeros(len(segments.index), np.bool_)
        self._leaks: Leaks = {}

    @classmethod
    def of(cls, against: Against) -> LeakFinder:
        """Returns a finder for what a corpus is compared with.

        Raises:
            CorpusError: the file with the segments cannot be read.
        """
        return cls(
            load_segments(against.file, against.sha256, against.coverage),
            against.sets,
            against.coverage,
            drop=against.drop,
        )

    @property
    def leaks(self) -> Leaks:
        """The leaks that were found so far."""
        numbers = np.unique(self._segments.sets[self._found]).tolist()
        return {
            number: replace(self._leaks.get(number, SetLeaks()), found=self._found_of(number)) for number in numbers
        }

    def _found_of(self, number: int) -> tuple[int, ...]:
        first, last = self._first[number : number + 2]
        return tuple((first + np.flatnonzero(self._found[first:last])).tolist())

    @property
    def counts(self) -> CleanCounts:
        """The counts of dropped pairs so far, as an addition to those of the rules."""
        dropped = {each.reason: 0 for each in self._sets if self._drop}
        failed = dict(dropped)
        for number, leaks in self._leaks.items() if self._drop else ():
            dropped[self._sets[number].reason] += leaks.dropped
            failed[self._sets[number].reason] += leaks.pairs
        return CleanCounts(
            0, -sum(dropped.values()), dropped, {reason: {reason: count} for reason, count in failed.items()}
        )

    def judge(self, judged: Judged, rows: Places) -> Verdict:
        """Adds the leaks of a batch, and returns which of its pairs are dropped, by the rules or as leaks.

        Args:
            judged: the batch as the rules have judged it.
            rows: rows of the pairs in their corpus.
        """
        matches = self._segments.index.search(judged.text)
        leaked = matches.closest >= 0
        sets = np.where(leaked, self._segments.sets[matches.closest], -1)
        lost = judged.kept & leaked
        self._found[matches.found] = True
        self._count(sets, lost)
        self._note_examples(judged, rows, matches, sets)
        if not (self._drop and lost.any()):
            return Verdict(judged.kept, *_by_rules(judged), None)
        kept = judged.kept & ~leaked
        own = lost[~kept]  # of the dropped pairs, those that are dropped as leaks
        reasons = np.where(lost, len(judged.names) + sets, judged.reasons)[~kept]
        values, thresholds = np.full((2, len(own)), np.nan)
        values[~own], thresholds[~own] = judged.values, judged.thresholds
        values[own], thresholds[own] = matches.shares[lost], self._coverage
        names = pa.array([*judged.names, *(each.reason for each in self._sets)]).take(pa.array(reasons))
        columns = judged.columns.take(pa.array(np.cumsum(~own) - 1, mask=own))
        return Verdict(kept, names, columns, values, thresholds, self._pointers(matches, sets, ~kept, own))

    def _pointers(self, matches: Matches, sets: Places, dropped: Mask, own: Mask) -> Instead:
        """Returns the name of the set and the row of the segment for each dropped pair; null for those of rules."""
        names = pa.array([each.name for each in self._sets]).take(pa.array(sets[dropped], mask=~own))
        return names, pa.array(self._segments.rows[matches.closest[dropped]], mask=~own)

    def _count(self, sets: Places, lost: Mask) -> None:
        for number, pairs in enumerate(np.bincount(sets[sets >= 0], minlength=len(self._sets)).tolist()):
            if pairs:
                dropped = int((lost & (sets == number)).sum()) if self._drop else 0
                self._add(number, SetLeaks(pairs, dropped))

    def _note_examples(self, judged: Judged, rows: Places, matches: Matches, sets: Places) -> None:
        for number, leaks in list(self._leaks.items()):
            places = np.flatnonzero(sets == number)[: EXAMPLES - len(leaks.examples)]
            if len(places):
                examples = tuple(self._example(judged, place, int(rows[place]), matches) for place in places.tolist())
                self._add(number, SetLeaks(examples=examples))

    def _add(self, number: int, leaks: SetLeaks) -> None:
        self._leaks[number] = self._leaks.get(number, SetLeaks()) + leaks

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
    """Returns the reasons, columns, values and thresholds of the pairs that the rules drop."""
    dropped = judged.reasons[~judged.kept]
    return pa.array(judged.names).take(pa.array(dropped)), judged.columns, judged.values, judged.thresholds


def verdict_of(finder: LeakFinder | None, judged: Judged, rows: Places) -> Verdict:
    """Returns which pairs of a batch are dropped; by the rules only, if there are no evaluation sets."""
    return Verdict(judged.kept, *_by_rules(judged), None) if finder is None else finder.judge(judged, rows)
