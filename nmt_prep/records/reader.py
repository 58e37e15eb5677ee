"""Shards back to ids, every checksum checked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from _nmt_prep_core import parse_pairs

from nmt_prep.columns import Ragged
from nmt_prep.errors import RecordsError

_READ_BYTES = 4 << 20
_ALL = (1 << 63) - 1


def read_shard(path: str | Path) -> tuple[Ragged, Ragged]:
    """All pairs of a shard: rows of ``inputs`` and rows of ``targets``.

    Any valid encoding of the two int64 features is read: packed or not, in any order, other features ignored.

    Raises:
        RecordsError: the file cannot be read, or a record is damaged or not such an Example; names file and byte.
    """
    return _concatenate(list(_parsed(Path(path), None)))


def iter_records(path: str | Path, batch: int = 65_536) -> Iterator[tuple[Ragged, Ragged]]:
    """Pairs of a shard, ``batch`` at a time (fewer at the end), as :func:`read_shard` reads them.

    Memory is that of a batch and a few MiB.

    Raises:
        RecordsError: as :func:`read_shard`; batches before the damage are yielded first.
        ValueError: ``batch`` is not positive.
    """
    if batch < 1:
        raise ValueError(f"a batch has at least one pair, got {batch}")
    parts: list[tuple[Ragged, Ragged]] = []
    missing = batch
    for part in _parsed(Path(path), batch):
        parts.append(part)
        missing -= len(part[0])
        if not missing:
            yield _concatenate(parts)
            parts, missing = [], batch
    if parts:
        yield _concatenate(parts)


def _parsed(path: Path, batch: int | None) -> Iterator[tuple[Ragged, Ragged]]:
    """Pairs as they come out of the file; with a batch size, none crosses a multiple of it."""
    try:
        with path.open("rb") as file:
            yield from _parsed_from(path, file, batch)
    except OSError as error:
        raise RecordsError(
            f"{path}: cannot be read: {error.strerror or error}; restore the file or encode again"
        ) from error


def _parsed_from(path: Path, file: BinaryIO, batch: int | None) -> Iterator[tuple[Ragged, Ragged]]:
    data = np.empty(0, np.uint8)
    start = 0  # of data in the file
    missing = batch or _ALL
    while True:
        more = file.read(max(_READ_BYTES, len(data)))
        data = np.concatenate([data, np.frombuffer(more, np.uint8)])
        while True:
            values, bounds, others, other_bounds, consumed, error = parse_pairs(data, missing)
            if error:
                raise RecordsError(
                    f"{path}: record at byte {start + consumed}: {error}; restore the file or encode again"
                )
            data = data[consumed:]
            start += consumed
            if not consumed:
                break
            inputs, targets = Ragged(values, bounds), Ragged(others, other_bounds)
            missing = missing - len(inputs) or batch or _ALL
            yield inputs, targets
        if not more:
            break
    if len(data):
        raise RecordsError(f"{path}: record at byte {start}: the file ends within it; restore the file or encode again")


def _concatenate(parts: list[tuple[Ragged, Ragged]]) -> tuple[Ragged, Ragged]:
    return _joined([inputs for inputs, _ in parts]), _joined([targets for _, targets in parts])


def _joined(parts: list[Ragged]) -> Ragged:
    if len(parts) == 1:
        return parts[0]
    offsets = np.zeros(sum(map(len, parts)) + 1, np.int64)
    np.cumsum(np.concatenate([np.empty(0, np.int64), *(part.lengths for part in parts)]), out=offsets[1:])
    return Ragged(np.concatenate([np.empty(0, np.int32), *(part.values for part in parts)]), offsets)
