"""Batches of pairs in temporary files, and how often each pair is among them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import OutputError
from nmt_prep.cleaning.align.word_vocabulary import Integers
from nmt_prep.cli import delayed_imports

with delayed_imports():  # only for --scores and --adequacy
    from nmt_prep.cleaning.dedup import records as pair_keys

Batch: TypeAlias = "tuple[npt.NDArray[Any], Integers, npt.NDArray[Any], Integers]"
"""The source side's lines, their offsets, and the same for the target side: text, or word IDs."""

_KEYS_AT_A_TIME = 1 << 22


@contextmanager
def _temporary(path: Path) -> Iterator[None]:
    """Converts an OSError raised in the block into an OutputError that names the directory of temporary files."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"cannot write the temporary file {path}: {error.strerror or error}; set TMPDIR to a directory with enough "
            "space, about twice the size of the input, and run again"
        ) from error


class Spool:
    """Batches of pairs in a temporary file."""

    def __init__(self, path: Path) -> None:
        """Opens a new file."""
        self.rows = 0  # number of pairs
        self.path = path
        with _temporary(path):
            self._file = path.open("wb", buffering=0)

    def write(self, batch: Batch) -> None:
        with _temporary(self.path):
            for array in batch:
                np.save(self._file, array)
        self.rows += len(batch[1]) - 1

    def batches(self) -> Iterator[Batch]:
        """Yields the batches in order."""
        with self.path.open("rb") as file:
            while file.peek(1):
                source, source_offsets, target, target_offsets = (np.load(file) for _ in range(4))
                yield source, source_offsets, target, target_offsets

    def remove(self) -> None:
        self._file.close()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def copies_of(text: Spool) -> Integers:
    """Returns the number of pairs with the same normalized text as each pair, itself included: int64, ``[rows]``.

    The numbers and the compared keys are in files beside the text's file.
    """
    keys_path = text.path.with_suffix(".keys")
    with _temporary(keys_path), keys_path.open("wb") as file:
        for batch in text.batches():
            file.write(pair_keys.keys_of_pairs(*text_columns(batch), "normalized").tobytes())
    if not text.rows:
        return np.empty(0, np.int64)
    keys = np.memmap(keys_path, np.uint64, "r", shape=(text.rows, 2))
    copies_path = text.path.with_suffix(".copies")
    with _temporary(copies_path), copies_path.open("wb") as file:
        for first in range(0, text.rows, _KEYS_AT_A_TIME):  # a full disk kills a process that writes to a mapping
            file.write(bytes(8 * min(_KEYS_AT_A_TIME, text.rows - first)))
    copies = np.memmap(copies_path, np.int64, "r+", shape=(text.rows,))
    shares = -(-text.rows // _KEYS_AT_A_TIME)
    for share in range(shares):
        mine = [
            first + np.flatnonzero(keys[first : first + _KEYS_AT_A_TIME, 0] % np.uint64(shares) == share)
            for first in range(0, text.rows, _KEYS_AT_A_TIME)
        ]
        rows = np.concatenate(mine)
        _, places, counts = np.unique(keys[rows, 1], return_inverse=True, return_counts=True)
        copies[rows] = counts[places]
    return copies


def text_columns(batch: Batch) -> tuple[TextColumn, TextColumn]:
    """Returns the two sides of a text batch."""
    return TextColumn(*batch[:2]), TextColumn(*batch[2:])
