"""Readable twin of the native packing in rounds (``core/records/packing.cpp``), which is also how the graph packs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]


def pack_rounds(source: Int64s, target: Int64s, length: int) -> Int64s:
    """Returns the row of each pair, from the lengths of its sides; some rows may have no pair."""
    row_of = np.zeros(len(source), np.int64)
    tokens = np.column_stack([source, target]).astype(np.int64)
    filled = np.zeros((0, 2), np.int64)
    waiting = np.zeros(0, np.int64)
    put_off = np.argsort(-tokens.max(axis=1, initial=0), kind="stable")
    while len(waiting) or len(put_off):
        if not len(waiting):
            more = rows_to_open(int(tokens[put_off].sum(axis=0).max()), length)
            filled = np.concatenate([filled, np.zeros((more, 2), np.int64)])
            waiting, put_off = put_off, waiting
        rows = np.argsort(filled.max(axis=1), kind="stable")[: len(waiting)]
        pairs = waiting[: len(rows)]
        fits = (filled[rows] + tokens[pairs]).max(axis=1) <= length
        filled[rows[fits]] += tokens[pairs[fits]]
        row_of[pairs[fits]] = rows[fits]
        tried = np.maximum.accumulate(fits)
        put_off = np.concatenate([put_off, pairs[~tried]])
        waiting = np.concatenate([pairs[tried & ~fits], waiting[len(rows) :]])
    return row_of


def rows_to_open(tokens: int, length: int) -> int:
    """Returns the number of rows to open for the tokens of the larger side, slightly more than they fill."""
    return -(-tokens * 1003 // (1000 * length)) or 1


def pack_sequences(lengths: list[int], row_length: int) -> list[int]:
    """Returns the row of each sequence, by best fit decreasing."""
    row_of, rows, spaces = [0] * len(lengths), 0, dict[int, list[int]]()
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        fitting = [space for space, held in spaces.items() if held and space >= lengths[number]]
        space, row = row_length, rows
        if fitting:
            space = min(fitting)
            row = spaces[space].pop()
        rows = max(rows, row + 1)
        row_of[number] = row
        if space > lengths[number]:
            spaces.setdefault(space - lengths[number], []).append(row)
    return row_of
