"""Second half of the shuffle on disk: a shard's buckets, gathered from all spill files, in order of position."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import Bucket

from nmt_prep.artefacts import published
from nmt_prep.errors import RecordsError
from nmt_prep.records.dataset_json import ShardInfo
from nmt_prep.records.plan import ShardPlan
from nmt_prep.records.spill import SpillReader

_CHUNK_BYTES = 4 << 20


def write_shard(path: str | Path, plan: ShardPlan, shard: int, spills: Sequence[str | Path]) -> ShardInfo:
    """Writes one shard: the pairs at its positions, in order of position, each a framed ``tf.train.Example``.

    The bytes depend on the pairs, the shuffle and the number of shards alone. Memory is that of one bucket and a chunk
    of 4 MiB. The file appears under its name only when it is complete and on the disk.

    Args:
        path: the shard's final name, see :func:`~nmt_prep.records.plan.shard_name`.
        plan: as the spill files were written with.
        shard: number of the shard.
        spills: the spill files of all tasks of the split, in any order.

    Returns:
        The shard's entry for ``dataset.json``.

    Raises:
        RecordsError: a spill file is missing or damaged, or together they lack or repeat a pair.
        OutputError: the shard cannot be written.
    """
    path = Path(path)
    readers = [SpillReader(spill, plan, shard) for spill in spills]
    buckets = range(shard * plan.buckets_per_shard, (shard + 1) * plan.buckets_per_shard)
    space = np.empty(max(sum(reader.bucket_bytes(number) for reader in readers) for number in buckets), np.uint8)
    chunk = np.empty(_CHUNK_BYTES, np.uint8)
    digest = hashlib.sha256()
    size = source_tokens = target_tokens = 0
    with published(path) as beside, beside.open("wb") as file:
        for number in buckets:
            bucket = _gather(path, plan, number, readers, space)
            if len(chunk) < bucket.largest:
                chunk = np.empty(bucket.largest, np.uint8)
            while copied := bucket.copy(chunk):
                digest.update(chunk[:copied].data)
                file.write(chunk[:copied].data)
                size += copied
            source_tokens += bucket.source_tokens
            target_tokens += bucket.target_tokens
    pairs = len(plan.shard_range(shard))
    return ShardInfo(
        file=path.name,
        records=pairs,
        pairs=pairs,
        source_tokens=source_tokens,
        target_tokens=target_tokens,
        bytes=size,
        sha256=digest.hexdigest(),
    )


def _gather(
    path: Path, plan: ShardPlan, number: int, readers: Sequence[SpillReader], space: npt.NDArray[np.uint8]
) -> Bucket:
    """One bucket's records from all spill files, in ``space``, which is reused for the next."""
    end = 0
    for reader in readers:
        start, end = end, end + reader.bucket_bytes(number)
        reader.read_bucket(number, space[start:end].data)
    positions = plan.bucket_range(number)
    try:
        return Bucket(space[:end], positions.start, positions.stop)
    except RuntimeError as error:
        raise RecordsError(
            f"{path}: the spill files do not make up positions {positions.start} to {positions.stop}: {error}; "
            "give every task's spill file once, or delete them and run the encode stage again"
        ) from error
