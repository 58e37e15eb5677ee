"""Samples of distinct pairs to learn from.

A pair is in the sample if a random number that follows from its text and the seed is small enough. So the sample does
not depend on the division into parts. Of pairs with equal normalized text, either all are drawn or none, and the sample
has the first of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.dedup.records import keys_of
from nmt_prep.cleaning.rejects import sample_keys

KEY, ORDER = "key", "order"
"""Columns in a sample: a hash of the normalized pair, and the random number that follows from it and the seed."""

ALL = 1 << 64  # The limit below which all pairs are drawn

Keys: TypeAlias = "npt.NDArray[np.uint64]"
Read: TypeAlias = "Callable[[Sequence[str]], Iterable[pa.RecordBatch]]"
"""Yields drawn pairs in batches, with the given columns."""


def sample_limits(pairs: Mapping[str, int], most: int) -> dict[str, int]:
    """Returns, for each corpus, the random number below which pairs are in a sample of at most ``most`` pairs.

    Small corpora are in the sample as a whole; the others have equal numbers of pairs in it.
    """
    left, share = most, 0
    for number, size in enumerate(sorted(pairs.values())):
        share = left // (len(pairs) - number)
        if size > share:
            break
        left -= size
    else:
        return dict.fromkeys(pairs, ALL)
    return {name: ALL if size <= share else ALL * share // size for name, size in pairs.items()}


def drawn(pairs: pa.RecordBatch, limit: int, seed: int) -> pa.RecordBatch:
    """Returns the pairs with random numbers below a limit, with the columns :data:`KEY` and :data:`ORDER`."""
    keys = keys_of(pairs, ["pair"], "normalized")["pair"][:, 0]
    order = sample_keys(keys.view(np.int64), seed, KEY)
    batch = pa.record_batch([*map(pairs.column, SIDES), pa.array(keys), pa.array(order)], [*SIDES, KEY, ORDER])
    return below(batch, limit)


def below(pairs: pa.RecordBatch, limit: int) -> pa.RecordBatch:
    """Returns the drawn pairs with random numbers below a limit."""
    return pairs.filter(pa.array(column_of(pairs, ORDER) <= np.uint64(limit - 1))) if limit else pairs[:0]


def first_by(name: str, batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Returns the first pair of each key or random number, in ascending order."""
    large = pa.schema([(each, pa.large_string() if each in SIDES else kind) for each, kind in _kinds(batches)])
    pairs = pa.Table.from_batches([batch.cast(large) for batch in batches], large).combine_chunks()  # may exceed 2 GiB
    _, first = np.unique(np.asarray(pairs.column(name).to_numpy(), np.uint64), return_index=True)
    return pa.record_batch([column.combine_chunks() for column in pairs.take(pa.array(first)).columns], large)


def _kinds(batches: Sequence[pa.RecordBatch]) -> list[tuple[str, pa.DataType]]:
    if not batches:
        return [*((side, pa.large_string()) for side in SIDES), (KEY, pa.uint64()), (ORDER, pa.uint64())]
    return [(field.name, field.type) for field in batches[0].schema]


def column_of(batch: pa.RecordBatch, name: str) -> Keys:
    """Returns the column ``key`` or ``order`` for a batch in a sample."""
    return np.asarray(batch.column(name).to_numpy(zero_copy_only=False), np.uint64)


def lines_of(batch: pa.RecordBatch) -> tuple[TextColumn, TextColumn]:
    """Returns the source and target lines of a batch."""
    return TextColumn.from_arrow(batch.column("source")), TextColumn.from_arrow(batch.column("target"))


@dataclass(frozen=True)
class PairSample:
    """The distinct pairs among drawn ones, read batch by batch."""

    keys: Keys  # the keys of the pairs in ascending order: uint64
    first: npt.NDArray[np.bool_]  # true for each drawn pair that is the first with its key: bool
    read: Read  # yields the drawn pairs

    @classmethod
    def of(cls, read: Read) -> PairSample:
        """Finds the distinct pairs."""
        keys = np.concatenate([np.zeros(0, np.uint64), *(column_of(batch, KEY) for batch in read([KEY]))])
        distinct, rows = np.unique(keys, return_index=True)
        first = np.zeros(len(keys), np.bool_)
        first[rows] = True
        return cls(distinct, first, read)

    def batches(self, columns: Sequence[str] = SIDES) -> Iterator[pa.RecordBatch]:
        """Yields the distinct pairs."""
        begin = 0
        for batch in self.read(columns):
            yield batch.filter(pa.array(self.first[begin : begin + len(batch)]))
            begin += len(batch)

    def text(self) -> Iterator[tuple[TextColumn, TextColumn]]:
        """Yields the lines of the distinct pairs."""
        return map(lines_of, self.batches())
