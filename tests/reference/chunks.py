"""Readable twin of the native chunks and of best-fit packing (``chunk.cpp``, ``packing.cpp`` of ``core/records/``)."""

from __future__ import annotations

import struct
from itertools import groupby

Pair = tuple[list[int], list[int]]


def pack_best_fit(pairs: list[tuple[int, int]], length: int) -> list[int]:
    """Returns the row of each pair, from the lengths of its sides."""
    rows: list[list[int]] = []
    row_of = [0] * len(pairs)
    for pair in sorted(range(len(pairs)), key=lambda i: (-max(pairs[i]), -min(pairs[i]))):
        source, target = pairs[pair]
        fits = [
            (sorted([room[0] - source, room[1] - target]), room[0], row)
            for row, room in enumerate(rows)
            if room[0] >= source and room[1] >= target
        ]
        row = min(fits)[2] if fits else len(rows)
        if not fits:
            rows.append([length, length] if max(source, target) <= length else [source, target])
        rows[row] = [rows[row][0] - source, rows[row][1] - target]
        if max(source, target) > length:
            rows[row] = [-1, -1]
        row_of[pair] = row
    return row_of


def chunk(pairs: list[Pair], corpora: list[int], row_pairs: list[int]) -> bytes:
    sides = [[side for side, _ in pairs], [side for _, side in pairs]]
    values = [0x43544D4E, 1, len(pairs), len(row_pairs), *map(len, sides[0]), *map(len, sides[1]), *corpora, *row_pairs]
    values += [value for side in sides for ids in side for value in ids]
    return struct.pack(f"<{len(values)}i", *values)


def chunks(pairs: list[Pair], corpora: list[int], row_length: int | None) -> list[bytes]:
    """Returns the records of a shard whose pairs are in order of position."""
    together = 256 if row_length is None else 16_384
    records = []
    for start in range(0, len(pairs), together):
        window, numbers = pairs[start : start + together], corpora[start : start + together]
        if row_length is None:
            records.append(chunk(window, numbers, []))
            continue
        row_of = pack_best_fit([(len(source), len(target)) for source, target in window], row_length)
        order = sorted(range(len(window)), key=row_of.__getitem__)
        rows = [list(row) for _, row in groupby(order, key=row_of.__getitem__)]
        while rows:
            taken = [rows.pop(0)]
            while rows and sum(map(len, taken)) < 256:
                taken.append(rows.pop(0))
            members = [pair for row in taken for pair in row]
            records.append(chunk([window[i] for i in members], [numbers[i] for i in members], list(map(len, taken))))
    return records
