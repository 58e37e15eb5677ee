"""Cleans the pairs of one corpus: fixes their text, applies the rules, and counts the results.

Every rule judges every pair that has text, even if another rule has failed already, so that the counts show which rules
agree. A pair is dropped for the first rule that it fails, in the config's order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.base.errors import CleaningError, NmtPrepError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.dedup.records import KeyKind, Keys, line_keys_of
from nmt_prep.cleaning.known_lines import KnownLines
from nmt_prep.cleaning.presets import Cleaning, steps_of
from nmt_prep.cleaning.rejects import EMPTY, CleanCounts, RepairedLine, counts_of, judge
from nmt_prep.cleaning.rule import Context, PairError, Pairs, Rule, SideRule, Values
from nmt_prep.cleaning.rules import make_rules
from nmt_prep.text.chain import Chain, Changed
from nmt_prep.text.step import EXAMPLES, StepContext

Mask: TypeAlias = "npt.NDArray[np.bool_]"


@dataclass(frozen=True)
class Judged:
    """A batch after cleaning."""

    # the fixed lines on each side of the corpus: `large_string` arrays for all pairs, dropped ones included
    text: Mapping[Side, pa.Array]
    # the reason for which each pair is dropped, as an index into `names`, or -1 for pairs that are kept: int16, shape
    # `[pairs]`
    reasons: npt.NDArray[np.int16]
    names: tuple[str, ...]  # the reasons: `empty`, then the rules in order
    # for each dropped pair the column of the refused value, a name in `columns`; for `empty`, the fix that left no text
    columns: pa.Array
    values: Values  # for each dropped pair the value that the rule refuses: float64, shape `[dropped]`; NaN for `empty`
    thresholds: Values  # the limits that these values violate: float64, shape `[dropped]`; NaN for `empty`
    judged: Pairs  # the pairs with text

    @cached_property
    def kept(self) -> Mask:
        """True for each pair that is kept: bool, shape ``[pairs]``."""
        return self.reasons < 0

    def words(self) -> dict[Side, pa.Array]:
        """Returns the words that ``limits.tokens`` counted, null for pairs without text."""
        filled = self.reasons != 0
        places = pa.array(np.cumsum(filled) - 1, mask=~filled)
        return {side: lines if filled.all() else lines.take(places) for side, lines in self.judged.words.items()}

    def line_keys(self, kind: KeyKind, kept: Mask) -> dict[Side, Keys] | None:
        """Returns line keys for some pairs, which are computed once for equal lines.

        Call this for all batches of a cleaner, or for none.

        Args:
            kept: true for each of these pairs, all of which have text: bool, shape ``[pairs]``.

        Returns:
            For each side: uint64, shape ``[kept, 2]``; None if equal lines are not known, because there are no rules,
            or a side is missing.
        """
        if len(self.names) == 1 or len(self.text) < len(SIDES):
            return None
        among = kept[self.reasons != 0]

        def keys(pairs: Pairs, side: Side) -> Keys:
            return line_keys_of(pairs.side(side), kind)

        return {side: self.judged.line_values(("keys", kind), side, keys)[among] for side in SIDES}


class Cleaner:
    """Cleans one corpus, a batch at a time, and counts the results.

    It is not thread-safe: use one cleaner per thread, and add up their counts.
    """

    def __init__(
        self,
        cleaning: Cleaning,
        context: Context,
        corpus: str,
        more: Sequence[Rule[Any]] = (),
        cleaned: Side | None = None,
    ) -> None:
        """Makes the fixes and rules of a corpus.

        Args:
            more: rules that follow them.
            cleaned: a side whose lines have passed the fixes and the rules for lines before.
        """
        self._cleaning, self._sides, self._corpus = cleaning, context.sides, corpus
        try:
            self.rules: tuple[Rule[Any], ...] = (*make_rules(cleaning.rules, context), *more)
        except ValueError as error:
            problems = (f"{_located(cleaning, line)}, for the corpus {corpus}" for line in str(error).splitlines())
            raise CleaningError("\n".join(problems)) from error
        for rule in self.rules:
            if isinstance(rule, SideRule) and cleaned is not None:
                rule.leave_out(cleaned)
        self.rules = tuple(rule for rule in self.rules if rule.columns)
        try:
            chains = chains_of(cleaning, context)
            self._chains = {side: chain for side, chain in chains.items() if side != cleaned}
        except ValueError as error:
            problems = (f"clean.fix: {line}, for the corpus {corpus}" for line in str(error).splitlines())
            raise CleaningError("\n".join(problems)) from error
        self._labels = labels_of(cleaning, self._chains)
        self.repaired: dict[str, list[RepairedLine]] = {}  # the first lines that each fix altered
        self._known: Mapping[Side, KnownLines] = {side: KnownLines() for side in context.sides}
        self._order = sorted(range(len(self.rules)), key=lambda number: bool(self.rules[number].computed))
        self._names = (EMPTY, *(rule.key for rule in self.rules))
        self.counts = CleanCounts()  # the counts of all batches so far

    def clean(
        self,
        text: Mapping[Side, pa.Array],
        scores: Mapping[str, Values] | None = None,
        place: Callable[[int], str] = "pair {} of the batch".format,
        words: Mapping[Side, pa.Array] = MappingProxyType({}),
    ) -> Judged:
        """Cleans a batch of pairs, or of lines on one side.

        Args:
            text: the lines of each side: Arrow ``string`` or ``large_string`` arrays without nulls. A side that the
                corpus does not have is ignored.
            scores: score columns by name, float64, shape ``[pairs]``.
            words: the words of each side, if ``limits.tokens`` counted them before.
        """
        altered: Counter[str] = Counter()
        fixed = {side: self._fixed(side, text[side], altered) for side in self._sides}
        filled = filled_pairs(fixed)
        reasons = np.zeros(len(filled), np.int16)
        pairs = _pairs(fixed, scores or {}, filled, self._known)
        pairs.words = {side: lines.filter(pa.array(filled)) for side, lines in words.items()}
        chosen = np.flatnonzero(filled)
        values, failed = self._judged(pairs, lambda pair: place(int(chosen[pair])))
        reasons[filled] = _first_reasons(failed)
        self.counts += counts_of(self.rules, altered, reasons, values, failed)
        columns, found, thresholds = self._violations(values, reasons, filled)
        if not filled.all():
            columns = pc.replace_with_mask(
                columns, pa.array(reasons[reasons >= 0] == 0), self._emptied_by(text, filled)
            )
        return Judged(fixed, reasons, self._names, columns, found, thresholds, pairs)

    @property
    def files(self) -> dict[str, Path]:
        """The files that the rules and fixes read, by their names for messages."""
        chains = ((side, step) for side, chain in self._chains.items() for step in chain.steps)
        return {name: file for rule in self.rules for name, file in rule.files.items()} | {
            f"{step.label} {name} of the {side}": file for side, step in chains for name, file in step.files.items()
        }

    def _fixed(self, side: Side, lines: pa.Array, altered: Counter[str]) -> pa.Array:
        if side not in self._chains:
            return lines.cast(pa.large_string())
        try:
            changed = self._chains[side].apply(lines)
            for label, count in zip(self._labels[side], changed.altered, strict=True):
                altered[label] += count
            if any(changed.altered):
                self._note(side, lines, changed)
        except CleaningError:
            raise
        except NmtPrepError as error:
            raise CleaningError(f"clean.fix, for the corpus {self._corpus}: {error}") from error
        return changed.lines

    def _note(self, side: Side, lines: pa.Array, changed: Changed) -> None:
        """Adds lines to the examples of the fixes that altered them, as far as there is room."""
        wanted = [len(self.repaired.get(label, ())) < EXAMPLES for label in self._labels[side]]
        places = sorted({place for more, own in zip(wanted, changed.first, strict=True) if more for place in own})
        if not places:
            return
        texts = [*self._chains[side].trace(lines.take(pa.array(places)))]
        for number, (label, own) in enumerate(zip(self._labels[side], changed.first, strict=True)):
            for place in own[: EXAMPLES - len(self.repaired.get(label, ()))]:
                before, after = (each[places.index(place)].as_py() for each in texts[number : number + 2])
                self.repaired.setdefault(label, []).append(RepairedLine.of(side, before, after))

    def _emptied_by(self, text: Mapping[Side, pa.Array], filled: Mask) -> pa.Array:
        """Returns for each pair without text the fix that removed the text, such as ``wiki.source``, or null."""
        pairs = pa.array(np.flatnonzero(~filled))
        fixes = np.full(len(pairs), "", object)
        for side, chain in self._chains.items():
            full = [filled_pairs({side: lines}) for lines in chain.trace(text[side].take(pairs))]
            for label, before, after in zip(chain.labels, full, full[1:], strict=False):
                fixes[before & ~after & (fixes == "")] = f"{label}.{side}"
        return pa.array([fix or None for fix in fixes], pa.string())

    def _judged(self, pairs: Pairs, place: Callable[[int], str]) -> tuple[list[Values], Mask]:
        """Returns each rule's values, and which pairs fail it: bool, shape ``[rules, pairs]``."""
        values = [np.full((len(rule.columns), len(pairs)), np.nan) for rule in self.rules]
        failed = np.zeros((len(self.rules), len(pairs)), np.bool_)
        for number in self._order:
            rule, left = self.rules[number], pairs
            places = np.arange(len(pairs))
            if rule.computed:  # such values take long: only of pairs that no rule has dropped
                places = np.flatnonzero(~failed.any(axis=0))
                left = pairs.taken(places)
            own = self._values(rule, left, lambda pair: place(int(places[pair])))  # noqa: B023
            if left is pairs:
                values[number] = own
            else:
                values[number][:, places] = own
            failed[number, places] = ~judge(own, rule.bounds)
        return values, failed

    def _values(self, rule: Rule[Any], pairs: Pairs, place: Callable[[int], str]) -> Values:
        try:
            return rule.values(pairs)
        except CleaningError as error:
            where = f"{_located(self._cleaning, rule.key)}, for the corpus {self._corpus}"
            if isinstance(error, PairError):
                where += f", {place(error.pair)}"
            raise CleaningError(f"{where}: {error}") from error

    def _violations(
        self, values: list[Values], reasons: npt.NDArray[np.int16], filled: Mask
    ) -> tuple[pa.Array, Values, Values]:
        """Returns for each dropped pair the first value that its rule refuses: its column, the value, and the limit."""
        found, thresholds = (np.full(len(reasons), np.nan) for _ in range(2))
        columns = np.zeros(len(reasons), np.int32)
        names: list[str | None] = [None]
        places = np.cumsum(filled) - 1  # index of each pair in the values
        for number, (rule, each) in enumerate(zip(self.rules, values, strict=True), 1):
            pairs = np.flatnonzero(reasons == number)
            for name, column, bounds in reversed([*zip(rule.columns, each, rule.bounds, strict=True)]):
                names.append(name)
                own = column[places[pairs]]
                refused = ~judge(own[np.newaxis], [bounds])
                columns[pairs[refused]] = len(names) - 1
                found[pairs[refused]] = own[refused]
                thresholds[pairs[refused]] = [bounds.threshold(value) for value in own[refused].tolist()]
        dropped = reasons >= 0
        return pa.array(names, pa.string()).take(pa.array(columns[dropped])), found[dropped], thresholds[dropped]


def chains_of(cleaning: Cleaning, context: Context) -> dict[Side, Chain]:
    """Returns each side's fixes."""
    return {
        side: Chain.of(steps_of(cleaning.fix, side), StepContext(context.language(side), context.base_dir))
        for side in context.sides
    }


def labels_of(cleaning: Cleaning, chains: Mapping[Side, Chain]) -> dict[Side, list[str]]:
    """Returns what counts and reports call each side's fixes."""
    several = isinstance(cleaning.fix, Mapping)
    return {side: [f"{label}.{side}" if several else label for label in chain.labels] for side, chain in chains.items()}


def _first_reasons(failed: Mask) -> npt.NDArray[np.int16]:
    """Returns the first rule that each pair fails, counted from 1, or -1; ``failed`` has shape ``[rules, pairs]``."""
    reasons = np.full(failed.shape[1], -1, np.int16)
    dropped = np.flatnonzero(failed.any(axis=0))
    if len(dropped):
        reasons[dropped] = 1 + failed[:, dropped].argmax(axis=0)
    return reasons


def filled_pairs(text: Mapping[Side, pa.Array]) -> Mask:
    """Returns true for each pair that has more than white space on all sides."""
    filled = np.ones(len(next(iter(text.values()))), np.bool_)
    for lines in text.values():
        blank = pc.or_(pc.utf8_is_space(lines), pc.equal(pc.binary_length(lines), 0))
        filled &= ~blank.to_numpy(zero_copy_only=False)
    return filled


def _pairs(
    text: Mapping[Side, pa.Array], scores: Mapping[str, Values], chosen: Mask, known: Mapping[Side, KnownLines]
) -> Pairs:
    if chosen.all():
        return Pairs(text, scores, known)
    mask = pa.array(chosen)
    filtered = {side: lines.filter(mask) for side, lines in text.items()}
    return Pairs(filtered, {name: values[chosen] for name, values in scores.items()}, known)


def _located(cleaning: Cleaning, problem: str) -> str:
    """Returns a problem with its key in the config in front. The problem begins with a rule's name."""
    name = problem.partition(":")[0].partition(".")[0]
    return cleaning.keys.get(name, "") + problem
