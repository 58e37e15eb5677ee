"""Reads the pairs of shards, and verifies all checksums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import parse_chunks, parse_pairs

from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import RecordsError
from nmt_prep.training.records.shuffle_plan import Layout

_READ_BYTES = 4 << 20
_ALL = (1 << 63) - 1


@dataclass(frozen=True)
class PairColumns:
    """Consecutive pairs of a shard."""

    inputs: Ragged  # IDs of the sources, each row ending in EOS
    targets: Ragged  # IDs of the targets, likewise
    # int32, shape `[pairs]`: corpus index of each pair in `dataset.json`'s list for the split; None in layout
    # `example`, whose records do not have it
    corpora: npt.NDArray[np.int32] | None
    row_pairs: npt.NDArray[np.int32]  # int32, shape `[rows]`: pairs in each row, in layout `packed`; else empty
    # float32, shape `[pairs]`: weights of pairs from a stream; else None
    weights: npt.NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.inputs)

    @classmethod
    def joined(cls, parts: list[Self]) -> Self:
        if len(parts) == 1:
            return parts[0]
        corpora = [part.corpora for part in parts if part.corpora is not None]
        weights = [part.weights for part in parts if part.weights is not None]
        return cls(
            Ragged.joined([part.inputs for part in parts]),
            Ragged.joined([part.targets for part in parts]),
            np.concatenate(corpora) if corpora else None,
            np.concatenate([part.row_pairs for part in parts]),
            np.concatenate(weights) if weights else None,
        )


def loss_mask(rows: PairColumns) -> npt.NDArray[np.bool_]:
    """Returns True for each ID in rows with layout ``causal`` that counts for the loss; bool, shape ``[ids]``."""
    bounds = (
        rows.targets.values.reshape(-1, 2) + np.repeat(rows.inputs.offsets[:-1], rows.targets.lengths // 2)[:, None]
    )
    changes = np.zeros(rows.inputs.offsets[-1] + 1, np.int32)
    np.add.at(changes, bounds[:, 0], 1)
    np.add.at(changes, bounds[:, 1], -1)
    return np.cumsum(changes[:-1]) > 0


def read_shard(path: str | Path, layout: Layout = "example") -> tuple[Ragged, Ragged]:
    """Returns all pairs in a shard: ``inputs`` rows and ``targets`` rows."""
    no_pairs = PairColumns(Ragged.from_lists([]), Ragged.from_lists([]), None, np.empty(0, np.int32))
    pairs = PairColumns.joined([no_pairs, *iter_shard(path, layout)])
    return pairs.inputs, pairs.targets


def iter_shard(path: str | Path, layout: Layout) -> Iterator[PairColumns]:
    """Yields a shard's pairs, a few MiB of records at a time.

    Reads any valid encoding of an Example's two int64 features: packed or not, in any order; ignores other features.
    """
    path = Path(path)
    data, start = np.empty(0, np.uint8), 0  # bytes that are not parsed yet, and their offset in the file
    try:
        with path.open("rb") as file:
            while more := file.read(max(_READ_BYTES, len(data))):
                data = np.concatenate([data, np.frombuffer(more, np.uint8)])
                pairs, consumed = _parse(path, start, data, layout)
                data, start = data[consumed:], start + consumed
                yield pairs
    except OSError as error:
        raise _unreadable(path, error) from error
    if len(data):
        raise _cut_off(path, start)


def read_span(path: str | Path, start: int, stop: int, layout: Layout) -> PairColumns:
    """Returns the pairs in the records between two offsets in a shard."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            file.seek(start)
            data = np.frombuffer(file.read(stop - start), np.uint8)
    except OSError as error:
        raise _unreadable(path, error) from error
    pairs, consumed = _parse(path, start, data, layout)
    if consumed < stop - start:
        raise _cut_off(path, start + consumed)
    return pairs


def _parse(path: Path, start: int, data: npt.NDArray[np.uint8], layout: Layout) -> tuple[PairColumns, int]:
    """Parses the complete records in data at offset ``start`` of a file; returns their pairs and byte count."""
    corpora, row_pairs = None, np.empty(0, np.int32)
    if layout == "example":
        values, bounds, others, other_bounds, consumed, error = parse_pairs(data, _ALL)
    else:
        values, bounds, others, other_bounds, corpora, row_pairs, _, consumed, error = parse_chunks(data, _ALL)
    if error:
        raise RecordsError(f"{path}: record at byte {start + consumed}: {error}; restore the file or encode again")
    return PairColumns(Ragged(values, bounds), Ragged(others, other_bounds), corpora, row_pairs), consumed


def _cut_off(path: Path, at: int) -> RecordsError:
    return RecordsError(f"{path}: record at byte {at}: the file ends within it; restore the file or encode again")


def _unreadable(path: Path, error: OSError) -> RecordsError:
    return RecordsError(f"{path}: cannot be read: {error.strerror or error}; restore the file or encode again")
