"""A shard's index: the lengths of its pairs, and the offsets at which its records can be read.

With the index, training code can compute the batches of an epoch (to resume at one of them, or to give all workers
equally many) while reading a hundredth of the bytes. The file ``index/<shard>.index`` holds, little-endian:

- for each pair, in the order of the shard, three uint16: tokens of the source, tokens of the target, number of the
  corpus; 65,535 stands for itself and all larger values;
- for each block (a record of layout ``chunk`` or ``packed``, 256 records of layout ``example``) four int64: its offset
  in the shard, and its numbers of records, pairs and rows (0 if pairs are not packed); rows do not count pairs longer
  than a row;
- a trailer: ``nmtindx1``, then the numbers of pairs and of blocks, two int64.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
import numpy.typing as npt

from nmt_prep.base.digests import HashedFile
from nmt_prep.base.errors import RecordsError

INDEX_DIRECTORY = "index"
SATURATED = 0xFFFF  # Represents itself and all larger values
PAIR_BYTES = 6  # Size of the entry of a pair

_TRAILER = struct.Struct("<8s2q")
_MAGIC = b"nmtindx1"
_BLOCK_BYTES = 32


def index_path(shard: str | Path) -> Path:
    """Returns the path of a shard's index."""
    shard = Path(shard)
    return shard.parent / INDEX_DIRECTORY / f"{shard.name}.index"


@dataclass(frozen=True)
class ShardIndex:
    """The content of an index."""

    # uint16, shape `[pairs, 3]`: tokens of the source, tokens of the target, number of the corpus
    pairs: npt.NDArray[np.uint16]
    blocks: npt.NDArray[np.int64]  # int64, shape `[blocks, 4]`: offset, records, pairs, rows

    @classmethod
    def load(cls, shard: str | Path) -> Self:
        """Maps the index of a shard into memory."""
        path = index_path(shard)
        try:
            raw, size = np.memmap(path, np.uint8, "r"), Path(shard).stat().st_size
        except (OSError, ValueError) as error:
            raise RecordsError(f"{path}: cannot be read: {error}; restore it, or run the encode stage again") from error
        magic, pairs, blocks = _TRAILER.unpack(raw[-_TRAILER.size :].tobytes().rjust(_TRAILER.size, b"\0"))
        whole = magic == _MAGIC and min(pairs, blocks) >= 0
        if not whole or len(raw) != pairs * PAIR_BYTES + blocks * _BLOCK_BYTES + _TRAILER.size:
            raise RecordsError(f"{path}: not the index of a shard; restore it, or run the encode stage again")
        columns, bytes_of_table = np.split(raw[: -_TRAILER.size], [pairs * PAIR_BYTES])
        table = np.frombuffer(bytes_of_table.tobytes(), "<i8").reshape(-1, 4)
        starts, counts = table[:, 0], table[:, 1:]
        in_order = (np.diff(starts, prepend=0, append=size) >= 0).all() and ((counts >= 0) & (counts <= pairs)).all()
        if not in_order or counts[:, 1].sum() != pairs:
            raise RecordsError(f"{path}: does not fit its shard; restore both, or run the encode stage again")
        return cls(columns.view("<u2").reshape(-1, 3), table)


class IndexWriter:
    """Writes an index while its shard is written.

    Args:
        file: the output file.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = HashedFile(file)  # the output file with its digest
        self._pairs = 0
        self._blocks: list[npt.NDArray[np.int64]] = []

    def add_pairs(self, pairs: npt.NDArray[np.uint16]) -> None:
        """Adds pairs, an array with three values each."""
        self._pairs += len(pairs) // 3
        self.file.write(pairs.astype("<u2").tobytes())

    def add_blocks(self, blocks: npt.NDArray[np.int64]) -> None:
        """Adds blocks, int64, shape ``[blocks, 4]``."""
        self._blocks.append(blocks)

    def finish(self) -> None:
        """Completes the index."""
        blocks = np.concatenate([np.empty((0, 4), np.int64), *self._blocks])
        self.file.write(blocks.astype("<i8").tobytes())
        self.file.write(_TRAILER.pack(_MAGIC, self._pairs, len(blocks)))
