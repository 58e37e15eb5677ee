"""Rejected pairs: the columns of their files, samples of them, and notes about them for the report.

Samples and notes do not depend on the order of work. Notes have the number of bytes of the pairs of each reason, and
the pairs nearest to the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.digests import seed_of
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.counts import merged
from nmt_prep.cleaning.rule import Values
from nmt_prep.training.modifiers.draws import scrambled

SAMPLE = 1000  # Maximum number of rejected pairs in a sample, for each rule and corpus

_FULL = 4 * SAMPLE


Instead: TypeAlias = "tuple[pa.Array, pa.Array]"
"""For each rejected pair, the corpus (text) and the row (int64) of the pair that was kept in its place."""


def reject_schema() -> pa.Schema:
    """Returns the columns of rejected pairs.

    ``source`` and ``target`` are the text after the fixes, which is the text that the rules judged. ``row`` is the
    position of the pair in its corpus before any pair was dropped. ``rule`` is the reason. ``column`` is what the rule
    refused: a side, ``pair``, or another name in :attr:`Rule.columns`. ``value`` is the value that the rule computed,
    and ``threshold`` the limit that it violates. All three are null if the reason is not a rule. ``kept_corpus`` and
    ``kept_row`` say which pair was kept instead, if the reason is a comparison with other pairs. ``unanswered`` has the
    words of the side ``column`` without counterpart on the other side, if the reason is the rule ``adequacy``.
    """
    return pa.schema(
        [
            pa.field("source", pa.string(), nullable=False),
            pa.field("target", pa.string(), nullable=False),
            pa.field("corpus", pa.dictionary(pa.int32(), pa.string()), nullable=False),
            pa.field("row", pa.int64(), nullable=False),
            pa.field("rule", pa.string(), nullable=False),
            pa.field("column", pa.string()),
            pa.field("value", pa.float64()),
            pa.field("threshold", pa.float64()),
            pa.field("kept_corpus", pa.dictionary(pa.int32(), pa.string())),
            pa.field("kept_row", pa.int64()),
            pa.field("unanswered", pa.string()),
        ]
    )


@dataclass(frozen=True)
class Verdict:
    """The pairs of a batch that are kept, and why the others are rejected."""

    kept: npt.NDArray[np.bool_]  # true for each pair that is kept: bool, shape `[pairs]`
    reasons: pa.Array  # the reason of each rejected pair, an array of strings
    columns: pa.Array  # the column of each refused value, an array of strings; null without a value
    values: Values  # the refused value of each rejected pair: float64, shape `[rejected]`; NaN for none
    thresholds: Values  # the limit that each value violates: float64, shape `[rejected]`; NaN for none
    instead: Instead | None = None  # the pairs that were kept in their place; None if there are none
    # the words of each rejected pair without counterpart on the other side, an array of strings; None if the rule does
    # not look for such words
    unanswered: pa.Array | None = None

    def rejected(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns the rejected pairs of a batch of a part, with the columns of :func:`reject_schema`."""
        pairs = batch.filter(pa.array(~self.kept))
        columns = [pairs.column(name) for name in ("source", "target", "corpus", "row")]
        numbers = (pa.array(each, from_pandas=True) for each in (self.values, self.thresholds))  # NaN becomes null
        corpora, rows = self.instead or (pa.nulls(len(pairs), pa.string()), pa.nulls(len(pairs), pa.int64()))
        unanswered = pa.nulls(len(pairs), pa.string()) if self.unanswered is None else self.unanswered
        others = [self.reasons, self.columns, *numbers, corpora.dictionary_encode(), rows, unanswered]
        return pa.record_batch([*columns, *others], schema=reject_schema())


def distances(rejected: pa.RecordBatch | pa.Table) -> npt.NDArray[np.float64]:
    """Returns the distances of values from their thresholds, divided by the thresholds: float64, shape ``[pairs]``.

    The distance is infinite for a pair without a value.
    """
    values, thresholds = (
        np.asarray(rejected.column(name).to_numpy(zero_copy_only=False), np.float64) for name in ("value", "threshold")
    )
    far = np.abs(values - thresholds) / np.maximum(np.abs(thresholds), 1e-9)
    return np.where(np.isnan(far), np.inf, far)


def sample_keys(rows: npt.NDArray[np.int64], seed: int, corpus: str) -> npt.NDArray[np.uint64]:
    """Returns pseudorandom keys of pairs: a bijection of their rows, which depends on seed and corpus."""
    return scrambled(rows.astype(np.uint64) ^ np.uint64(seed_of(f"{seed}/{corpus}")))


class RejectSample:
    """The rejected pairs of a corpus with the smallest keys, up to :data:`SAMPLE` of each rule.

    Sampling the samples of the parts of a corpus, in any order, gives the same as sampling the whole corpus.
    """

    def __init__(self, seed: int, corpus: str) -> None:
        self._seed, self._corpus = seed, corpus
        self._held: list[pa.RecordBatch] = []
        self._size = 0
        self._largest: dict[str, np.uint64] = {}  # largest key in the sample, for rules with a full sample

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds rejected pairs, with the columns of :func:`reject_schema`."""
        keys = self._keys(batch)
        wanted = np.ones(len(batch), np.bool_)
        for rule, places in places_by_rule(batch).items():
            if rule in self._largest:
                wanted[places] = keys[places] < self._largest[rule]
        if wanted.any():
            self._held.append(batch.filter(pa.array(wanted)))
            self._size += int(wanted.sum())
        if self._size > _FULL + 2 * SAMPLE * len(self._largest):
            self._prune()

    def sample(self) -> pa.RecordBatch:
        """Returns the sample, ordered by row."""
        self._prune()
        if not self._held:
            return pa.RecordBatch.from_pylist([], schema=reject_schema())
        (batch,) = self._held
        return batch.take(pa.array(np.argsort(_rows(batch), kind="stable")))

    def _prune(self) -> None:
        if not self._held:
            return
        batch = pa.Table.from_batches(self._held).combine_chunks().to_batches(max_chunksize=None)[0]
        keys = self._keys(batch)
        chosen = []
        for rule, places in places_by_rule(batch).items():
            if len(places) > SAMPLE:
                places = places[np.argpartition(keys[places], SAMPLE)[:SAMPLE]]  # noqa: PLW2901
            if len(places) == SAMPLE:
                self._largest[rule] = keys[places].max()
            chosen.append(places)
        self._held = [batch.take(pa.array(np.sort(np.concatenate(chosen))))]
        self._size = len(self._held[0])

    def _keys(self, batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
        return sample_keys(_rows(batch), self._seed, self._corpus)


def _rows(batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    return np.asarray(batch.column("row").to_numpy(zero_copy_only=False), np.int64)


def places_by_rule(batch: pa.RecordBatch) -> Mapping[str, npt.NDArray[np.int64]]:
    """Returns, for each rule, the indexes of its rejected pairs in the batch."""
    encoded = batch.column("rule").dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    return {rule: np.flatnonzero(codes == code) for code, rule in enumerate(encoded.dictionary.to_pylist())}


NEAREST = 5  # Number of nearest pairs in the notes, for each reason

_CHARACTERS = 300


@dataclass(frozen=True)
class NearReject:
    """A rejected pair near a threshold."""

    row: int  # position of the pair in its corpus, before any pair was dropped
    source: str  # first characters of the source
    target: str  # first characters of the target
    value: float | None  # value that the rule refused; None if the reason is no rule
    threshold: float | None  # limit that the value violates
    distance: float | None  # distance of the value from the limit, divided by the limit; None without a value
    characters: int  # number of characters of both sides together
    # the words without counterpart on the other side, as a sentence; empty if the rule does not tell
    unanswered: str = ""
    column: str | None = None  # the column of the value; None without a value


@dataclass(frozen=True)
class RejectNotes:
    """Notes about the rejected pairs of a corpus, or of a part of one."""

    bytes: dict[str, int] = field(default_factory=dict)  # for each reason, the UTF-8 bytes of both sides
    # for each reason, the nearest pairs, nearest first; of equally near pairs, the pairs with smaller rows
    nearest: dict[str, list[NearReject]] = field(default_factory=dict)

    def __add__(self, other: RejectNotes) -> RejectNotes:
        return RejectNotes(
            merged(self.bytes, other.bytes),
            {rule: _nearest(pairs) for rule, pairs in merged(self.nearest, other.nearest).items()},
        )


def notes_of(rejected: pa.RecordBatch, *, text: bool) -> RejectNotes:
    """Returns notes about a batch of rejected pairs; without their text unless ``text`` is true."""
    far = distances(rejected)
    source, target = (np.diff(TextColumn.from_arrow(rejected.column(side)).offsets) for side in SIDES)
    sizes = source + target
    notes = RejectNotes()
    for rule, places in places_by_rule(rejected).items():
        notes.bytes[rule] = int(sizes[places].sum())
        if text:
            near = places[np.argsort(far[places], kind="stable")[:NEAREST]]
            notes.nearest[rule] = [_pair(rejected, place, far[place]) for place in near.tolist()]
    return notes


def _pair(batch: pa.RecordBatch, place: int, distance: float) -> NearReject:
    source, target = (batch.column(side)[place].as_py() for side in SIDES)
    return NearReject(
        row=batch.column("row")[place].as_py(),
        source=source[:_CHARACTERS],
        target=target[:_CHARACTERS],
        value=batch.column("value")[place].as_py(),
        threshold=batch.column("threshold")[place].as_py(),
        distance=distance if math.isfinite(distance) else None,
        characters=len(source) + len(target),
        column=batch.column("column")[place].as_py(),
        unanswered=unanswered_text(batch.column("column")[place].as_py(), batch.column("unanswered")[place].as_py()),
    )


def unanswered_text(side: str | None, words: str | None) -> str:
    """Returns a sentence about words of a side without counterpart on the other side; empty without such words."""
    if words is None:
        return ""
    (other,) = {*SIDES} - {side}
    return f"no counterpart on the {other} side for “{words[:_CHARACTERS]}”"


def _distance(pair: NearReject) -> float:
    return math.inf if pair.distance is None else pair.distance


def _nearest(pairs: list[NearReject]) -> list[NearReject]:
    return sorted(pairs, key=lambda pair: (_distance(pair), pair.row))[:NEAREST]
