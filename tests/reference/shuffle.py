"""Readable twin of the global shuffle and of the layout of shards (``core/records/``: ``shuffle``, ``spill``)."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from math import isqrt

from tests.reference.records import frame, serialize_example

MASK = (1 << 64) - 1


def round_keys(seed: int, split: str) -> list[int]:
    material = b"".join(
        hashlib.sha256(f"nmt_prep global shuffle 1\n{seed}\n{split}\n{block}".encode()).digest() for block in range(3)
    )
    return [int.from_bytes(material[8 * i : 8 * i + 8], "little") for i in range(12)]


def _mix(z: int) -> int:
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def _round(value: int, key: int, bound: int) -> int:
    return _mix(_mix((value + key) & MASK) ^ key) * bound >> 64


def position(row: int, rows: int, keys: list[int]) -> int:
    height = isqrt(rows - 1) + 1 if rows > 1 else 1
    height += height % 2
    width = -(-rows // height)
    cell = row
    while True:
        y, x = divmod(cell, width)
        for even, odd in zip(keys[0::2], keys[1::2], strict=True):
            y = (y + _round(x, even, height)) % height
            x = (x + _round(y, odd, width)) % width
        cell = y * width + x
        if cell < rows:
            return cell


def shard_contents(pairs: list[tuple[list[int], list[int]]], shards: int, seed: int, split: str) -> list[bytes]:
    """Returns the bytes of every shard, from all pairs in order of row."""
    keys = round_keys(seed, split)
    ordered: list[bytes] = [b""] * len(pairs)
    for row, (inputs, targets) in enumerate(pairs):
        ordered[position(row, len(pairs), keys)] = frame(serialize_example(inputs, targets))
    cuts = [shard * len(pairs) // shards for shard in range(shards + 1)]
    return [b"".join(ordered[first:last]) for first, last in pairwise(cuts)]
