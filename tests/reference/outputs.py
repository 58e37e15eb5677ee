"""Readable twins of the native functions of outputs (``core/outputs``)."""

from __future__ import annotations

from collections.abc import Sequence


def without_last(row: Sequence[int], last: int) -> list[int]:
    return list(row[:-1]) if row and row[-1] == last else list(row)


def piece_lines(rows: Sequence[Sequence[int]], pieces: Sequence[str], last: int) -> list[str]:
    return [" ".join(pieces[number] for number in without_last(row, last)) for row in rows]


def join_pairs(
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    parts: Sequence[int],
    source_last: int,
    target_last: int,
) -> list[list[int]]:
    joined = []
    for source, target in zip(sources, targets, strict=True):
        sides = {-1: without_last(source, source_last), -2: without_last(target, target_last)}
        joined.append([number for part in parts for number in sides.get(part, [part])])
    return joined
