"""Selecting and padding rows, pair by pair."""

from __future__ import annotations

Rows = list[list[int]]


def select_rows(rows: Rows, numbers: list[int], longest: int) -> Rows:
    return [rows[number][:longest] for number in numbers]


def pad_rows(pairs: Rows, row_pairs: list[int], cells: str, padding: int, first: int, width: int) -> Rows:
    left = iter(pairs)
    matrix = []
    for count in row_pairs:
        row: list[int] = []
        for number in range(1, count + 1):
            ids = next(left)
            row += {
                "IDS": ids,
                "SHIFTED": [first, *ids[:-1]] if ids else [],
                "SEGMENTS": [number] * len(ids),
                "POSITIONS": list(range(len(ids))),
            }[cells]
        matrix.append(row + [padding] * (width - len(row)))
    return matrix
