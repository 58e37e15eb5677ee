"""Records of pairs, from which duplicates are found.

A record is a row of uint64: the two halves of the pair's key, its scores, and its place. Of all pairs with the same
key, the one with the smallest record is the best, so scores are mapped to numbers in the opposite order. A place is the
number of a part, times ``2**ROW_BITS``, plus the row of the pair in its corpus. Parts are numbered in the order of the
corpora, so places have the order of corpora and rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import ROW_BITS

from nmt_prep.cleaning.corpus_rules.top import sortable
from nmt_prep.cleaning.dedup.keys import Compared, KeyKind, keys_of
from nmt_prep.cleaning.rule import Values
from nmt_prep.config import DedupSettings
from nmt_prep.corpora.parts import scores_of

Records: TypeAlias = "npt.NDArray[np.uint64]"


@dataclass(frozen=True)
class Comparison:
    """One comparison of pairs: their keys, how pairs with the same key are ranked, and how many of them are kept.

    Attributes:
        compared: both sides, or one.
        kind: kind of the keys.
        scores: names of the scores that rank the pairs, the most important first; a higher score is better.
        kept: number of pairs to keep for each key.
    """

    compared: Compared
    kind: KeyKind
    scores: tuple[str, ...]
    kept: int

    @property
    def width(self) -> int:
        """Number of columns of a record."""
        return 3 + len(self.scores)

    @property
    def record_bytes(self) -> int:
        """Bytes of a record."""
        return 8 * self.width


def comparisons_of(settings: DedupSettings) -> tuple[Comparison, ...]:
    """Returns the comparisons of some settings, in order. Comparisons of one side apply to corpora with two sides."""
    kept: dict[Compared, int | None] = {
        "pair": None if settings.pair == "off" else 1,
        "source": settings.max_targets_per_source,
        "target": settings.max_sources_per_target,
    }
    return tuple(
        Comparison(what, settings.keys, settings.keep[:-1], number)
        for what, number in kept.items()
        if number is not None
    )


@dataclass(frozen=True)
class Group:
    """The pairs that the pairs of a corpus are compared with.

    Attributes:
        salt: number that keys are mixed with; pairs with different ones are never equal.
        exchanged: true if the sides are exchanged before keys are computed.
        behind: true if the pairs of the corpus come behind those of other corpora of the group, whatever their scores,
            false if they come before them, None if only scores and places count.
    """

    salt: int = 0
    exchanged: bool = False
    behind: bool | None = None

    def sides(self, pairs: pa.RecordBatch) -> pa.RecordBatch:
        """Returns pairs with the sides that are compared."""
        names = {"source": "target", "target": "source"} if self.exchanged else {}
        return pairs.rename_columns([names.get(name, name) for name in pairs.schema.names])

    def ranks(self, pairs: pa.RecordBatch, scores: Sequence[str]) -> list[Records]:
        """Returns a column for each score, with smaller numbers for better pairs: uint64, shape ``[pairs]``."""
        given = scores_of(pairs) if scores else {}
        ranks = [descending(given[name]) for name in scores]
        if ranks and self.behind is not None:
            ranks[0] = ranks[0] >> np.uint64(1) | np.uint64(self.behind << 63)
        return ranks


ALL = Group()
"""The group of all pairs of a split, in a config with one pair of languages."""


def records_of(
    pairs: pa.RecordBatch, part: int, comparisons: Sequence[Comparison], group: Group = ALL
) -> list[Records]:
    """Returns the records of the pairs of a batch of a part.

    Args:
        pairs: the batch.
        part: number of the part.
        comparisons: the contents of the records; all with the same kind of keys and the same scores.
        group: the pairs that they are compared with.

    Returns:
        For each comparison: uint64, shape ``[pairs, width]``.

    Raises:
        InvalidTextError: a line is not UTF-8.
    """
    if not comparisons:
        return []
    keys = keys_of(group.sides(pairs), [each.compared for each in comparisons], comparisons[0].kind)
    ranks, places, salt = group.ranks(pairs, comparisons[0].scores), places_of(pairs, part), np.uint64(group.salt)
    return [np.column_stack([keys[each.compared] ^ salt, *ranks, places]) for each in comparisons]


def places_of(pairs: pa.RecordBatch, part: int) -> Records:
    """Returns the places of the pairs of a batch; uint64, ascending."""
    rows = np.asarray(pairs.column("row").to_numpy(zero_copy_only=False), np.uint64)
    return rows | np.uint64(part << ROW_BITS)


def parts_of(places: Records) -> npt.NDArray[np.int64]:
    """Returns the part of each place."""
    return (places >> np.uint64(ROW_BITS)).astype(np.int64)


def rows_of(places: Records) -> npt.NDArray[np.int64]:
    """Returns the row of each place in its corpus."""
    return (places & np.uint64((1 << ROW_BITS) - 1)).astype(np.int64)


def descending(scores: Values) -> Records:
    """Returns numbers in the opposite order of scores: uint64; NaN comes last."""
    return ~sortable(np.where(np.isnan(scores), -np.inf, scores))
