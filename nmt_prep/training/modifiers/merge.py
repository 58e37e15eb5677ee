"""Merge: consecutive pairs as one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nmt_prep.base.columns import TextColumn
from nmt_prep.training.modifiers.block import Block, LineModifier, Rows, check_range, lines_of, numbers_of


class Merge(LineModifier):
    """Joins some consecutive pairs in a block, with a space between them; fewer at the end of the block."""

    by_pair = False

    def __init__(self, probability: float, min_lines: int = 2, max_lines: int = 4) -> None:
        super().__init__(probability)
        check_range(min_lines=min_lines, max_lines=max_lines)
        self.lengths = (min_lines, max_lines)

    def __call__(self, block: Block) -> Block:
        kept, starts, counts, end = np.ones(len(block), np.bool_), list[int](), list[int](), 0
        for place in block.drawn(self.probability).tolist():
            if place < end:
                continue  # already part of the previous merged pair
            end = min(place + block.draws(place).randint(*self.lengths), len(block))
            starts.append(place)
            counts.append(end - place)
            kept[place + 1 : end] = False
        if not starts:
            return block
        firsts = np.cumsum([0, *counts[:-1]], dtype=np.int64)  # among the joined pairs
        joined = block.taken(np.repeat(np.array(starts) - firsts, counts) + np.arange(sum(counts)))
        source, target = (_texts(side, firsts, counts) for side in (joined.source, joined.target))
        links = None if joined.links is None else _links(joined, firsts, counts)
        return block.with_columns(np.array(starts), source, target, links).taken(np.flatnonzero(kept))


def _texts(lines: pa.LargeStringArray, firsts: Rows, counts: list[int]) -> pa.Array:
    texts = TextColumn.from_arrow(lines).to_bytes()
    bounds = zip(firsts.tolist(), counts, strict=True)
    made = [b" ".join(b" ".join(texts[first : first + count]).split()) for first, count in bounds]
    return pa.array(made, pa.large_binary()).cast(pa.large_string())


def _links(joined: Block, firsts: Rows, counts: list[int]) -> pa.Array:
    words = joined.word_counts()
    numbers, offsets = numbers_of(joined.links)
    lines = np.repeat(np.arange(len(joined)), np.diff(offsets))
    good = (numbers[::2] < words[0][lines]) & (numbers[1::2] < words[1][lines])
    numbers, lines = numbers.reshape(-1, 2)[good], lines[good]
    groups = np.repeat(np.arange(len(counts)), counts)
    links = np.column_stack([groups[lines], numbers])
    for side, size in enumerate(words, 1):
        before = np.cumsum(size) - size
        links[:, side] += (before - before[firsts][groups])[lines]
    links = np.unique(links, axis=0)
    return lines_of(links[:, 1:].astype(np.int32).ravel(), np.searchsorted(links[:, 0], np.arange(len(counts) + 1)))
