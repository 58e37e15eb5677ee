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


def fill_rows(
    sequences: list[list[int]], bounds: list[list[int]], sizes: list[int], width: int, padding: int
) -> tuple[list[list[int]], list[list[int]], list[list[int]], list[int]]:
    """Returns IDs, labels, and positions or mask of rows of sequences, and where the sequences of packed rows begin."""
    matrices: tuple[list[list[int]], ...] = ([], [], [])
    begins, cell, sides = list[int](), 0, iter(zip(sequences, bounds, strict=True))
    for size in sizes or [1] * len(sequences):
        row: tuple[list[int], ...] = ([], [], [])
        for ids, spans in (next(sides) for _ in range(size)):
            counted = {place for a, b in zip(spans[::2], spans[1::2], strict=True) for place in range(a, b)}
            counted -= {0} if sizes else set()
            begins += [cell + len(row[0])] if ids else []
            row[0].extend(ids)
            row[1].extend(one if place in counted else -100 for place, one in enumerate(ids))
            row[2].extend(range(len(ids)) if sizes else [1] * len(ids))
        left = width - len(row[0])
        begins += [cell + len(row[0])] if left else []
        for matrix, values, more in zip(
            matrices, row, ([padding] * left, [-100] * left, range(left) if sizes else [0] * left), strict=True
        ):
            matrix.append([*values, *more])
        cell += width
    return *matrices, [*begins, cell] if sizes else []
