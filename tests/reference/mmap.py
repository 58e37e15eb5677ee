"""Readers of the ``.bin`` and ``.idx`` files of fairseq and Megatron, written from the description of their formats."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

TYPES: dict[int, Any] = {1: np.uint8, 4: np.int32, 8: np.uint16, 9: np.uint32}


def read_fairseq(prefix: Path) -> tuple[list[list[int]], Any]:
    """Returns the sequences of ``<prefix>.bin``, and the type of their IDs."""
    index = prefix.with_name(prefix.name + ".idx").read_bytes()
    assert index[:9] == b"MMIDIDX\0\0"
    version, code, count = struct.unpack_from("<QBQ", index, 9)
    assert version == 1
    sizes = np.frombuffer(index, "<i4", count, 26)
    offsets = np.frombuffer(index, "<i8", count, 26 + 4 * count)
    assert len(index) == 26 + 12 * count
    return _sequences(prefix, TYPES[code], sizes, offsets), TYPES[code]


def read_megatron(prefix: Path) -> tuple[list[list[int]], list[int], Any]:
    """Returns the sequences of ``<prefix>.bin``, the bounds of documents, and the type of their IDs."""
    index = prefix.with_name(prefix.name + ".idx").read_bytes()
    assert index[:9] == b"MMIDIDX\0\0"
    version, code, count, documents = struct.unpack_from("<QBQQ", index, 9)
    assert version == 1
    sizes = np.frombuffer(index, "<i4", count, 34)
    offsets = np.frombuffer(index, "<i8", count, 34 + 4 * count)
    bounds = np.frombuffer(index, "<i8", documents, 34 + 12 * count)
    assert len(index) == 34 + 12 * count + 8 * documents
    return _sequences(prefix, TYPES[code], sizes, offsets), bounds.tolist(), TYPES[code]


def _sequences(prefix: Path, kind: Any, sizes: Any, offsets: Any) -> list[list[int]]:
    data = prefix.with_name(prefix.name + ".bin").read_bytes()
    width = np.dtype(kind).itemsize
    assert len(data) == width * int(sizes.sum())
    return [np.frombuffer(data, kind, int(size), int(at)).tolist() for size, at in zip(sizes, offsets, strict=True)]
