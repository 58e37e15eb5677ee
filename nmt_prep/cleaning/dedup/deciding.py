"""Decides which pairs to drop among those with the same key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import drops_among, rank_records, reduce_records

from nmt_prep.cleaning.dedup.drops import DropWriter
from nmt_prep.cleaning.dedup.records import Comparison, Records
from nmt_prep.cleaning.dedup.spill import SpilledRange


@dataclass(frozen=True)
class Corpora:
    """The corpora of the compared pairs: the number of the corpus of each part, and how many corpora there are."""

    of_parts: tuple[int, ...]
    count: int


def decide_range(
    found: SpilledRange, comparison: Comparison, corpora: Corpora, memory: int, output: DropWriter
) -> npt.NDArray[np.int64]:
    """Writes the pairs of a range of keys that are not among the best of their key.

    If the records take more than the given memory, which happens if many pairs have the same key, they are read twice:
    first to find the best of each key, while no others are held, then to find those that are not among them.

    Args:
        found: the records.
        comparison: the contents of the records, and how many pairs to keep for each key.
        corpora: the corpora of the parts.
        memory: bytes of records to hold at a time.
        output: receives the pairs to drop.

    Returns:
        Matrix of corpora, row by row: how many pairs of one corpus have a key that is also in another.

    Raises:
        OutputError: a spill file cannot be read, or the pairs cannot be written.
    """
    most = max(memory // comparison.record_bytes, 4)
    records = found.read() if found.rows <= most else _reduced(found, comparison, corpora, most)
    drops, overlap = rank_records(records, comparison.kept, [*corpora.of_parts], corpora.count)
    output.add(drops)
    if found.rows > most:
        for batch in found.batches(most // 4):
            output.add(drops_among(batch, comparison.kept, records))
    return overlap


def _reduced(found: SpilledRange, comparison: Comparison, corpora: Corpora, most: int) -> Records:
    """Returns the best records of each key, and the counts of others (see ``ranking.h``)."""

    def reduce(held: Records) -> int:
        return reduce_records(held, comparison.kept, [*corpora.of_parts], corpora.count)

    held, rows = np.empty((most, comparison.width), np.uint64), 0
    for batch in found.batches(most // 4):
        if rows + len(batch) > len(held):
            rows = reduce(held[:rows])
            if rows > len(held) // 2:  # mostly different keys
                held = np.concatenate([held[:rows], np.empty_like(held)])
        held[rows : rows + len(batch)] = batch
        rows += len(batch)
    return held[: reduce(held[:rows])]
