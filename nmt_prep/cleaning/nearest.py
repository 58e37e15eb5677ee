"""Notes about rejected pairs for the report: for each reason their bytes, and the pairs nearest to the threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.cleaning.rejects import distances, places_by_rule
from nmt_prep.lines.blocks import text_bytes

NEAREST = 5
"""Number of pairs that are kept for each reason."""

_CHARACTERS = 300


@dataclass(frozen=True)
class NearReject:
    """A rejected pair near a threshold.

    Attributes:
        row: position of the pair in its corpus, before any pair was dropped.
        source: its first characters.
        target: the same for the target.
        value: value that the rule refused; None if the reason is no rule.
        threshold: limit that the value violates.
        distance: distance of the value from the limit, divided by the limit; None without a value.
        characters: number of characters of both sides together.
    """

    row: int
    source: str
    target: str
    value: float | None
    threshold: float | None
    distance: float | None
    characters: int


@dataclass(frozen=True)
class RejectNotes:
    """Notes about the rejected pairs of a corpus, or of a part of one.

    Attributes:
        bytes: for each reason, the UTF-8 bytes of both sides.
        nearest: for each reason, the nearest pairs, nearest first; of equally near ones, those with smaller rows.
    """

    bytes: dict[str, int] = field(default_factory=dict)
    nearest: dict[str, list[NearReject]] = field(default_factory=dict)

    def __add__(self, other: RejectNotes) -> RejectNotes:
        return RejectNotes(
            {rule: self.bytes.get(rule, 0) + other.bytes.get(rule, 0) for rule in {**self.bytes, **other.bytes}},
            {
                rule: _nearest([*self.nearest.get(rule, ()), *other.nearest.get(rule, ())])
                for rule in {**self.nearest, **other.nearest}
            },
        )


class RejectNoting:
    """Collects notes about rejected pairs; their text only if ``text`` is true."""

    def __init__(self, *, text: bool) -> None:
        self._text = text
        self._bytes: dict[str, int] = {}
        self._nearest: dict[str, list[NearReject]] = {}

    def add(self, rejected: pa.RecordBatch) -> None:
        """Adds rejected pairs, with the columns of :func:`nmt_prep.cleaning.rejects.reject_schema`."""
        far = distances(rejected)
        for rule, places in places_by_rule(rejected).items():
            own = rejected.take(pa.array(places))
            self._bytes[rule] = self._bytes.get(rule, 0) + sum(text_bytes(own.column(side)) for side in _SIDES)
            if not self._text:
                continue
            held = self._nearest.setdefault(rule, [])
            near = _order(far[places])[:NEAREST]
            if len(held) == NEAREST:
                near = near[far[places][near] < _distance(held[-1])]
            for place in near.tolist():
                held.append(_pair(own, place, far[places][place]))
            self._nearest[rule] = _nearest(held)

    def notes(self) -> RejectNotes:
        """Returns the notes so far."""
        return RejectNotes(dict(self._bytes), dict(self._nearest))


_SIDES = ("source", "target")


def _order(far: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Returns the places of the nearest values, and of some more, nearest first."""
    if len(far) > 8 * NEAREST:
        limit = np.partition(far, NEAREST)[NEAREST]
        chosen = np.flatnonzero(far <= limit) if np.isfinite(limit) else np.arange(len(far))
        return chosen[np.argsort(far[chosen], kind="stable")]
    return np.argsort(far, kind="stable")


def _pair(batch: pa.RecordBatch, place: int, distance: float) -> NearReject:
    source, target = (batch.column(side)[place].as_py() for side in _SIDES)
    return NearReject(
        row=batch.column("row")[place].as_py(),
        source=source[:_CHARACTERS],
        target=target[:_CHARACTERS],
        value=batch.column("value")[place].as_py(),
        threshold=batch.column("threshold")[place].as_py(),
        distance=distance if math.isfinite(distance) else None,
        characters=len(source) + len(target),
    )


def _distance(pair: NearReject) -> float:
    return math.inf if pair.distance is None else pair.distance


def _nearest(pairs: list[NearReject]) -> list[NearReject]:
    return sorted(pairs, key=lambda pair: (_distance(pair), pair.row))[:NEAREST]
