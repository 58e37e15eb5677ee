"""Blocks of pairs for tests of modifiers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from nmt_prep.training.modifiers.block import Block, Line, Units


def block_of(lines: Sequence[tuple[str, str, str | None]], units: Units = "spaced", first_key: int = 0) -> Block:
    """Returns a block of pairs; the key of each is ``first_key`` and its number."""
    source, target, links = (list(column) for column in zip(*lines, strict=True))
    text = pa.large_string()
    keys = np.arange(len(lines), dtype=np.uint64) + np.uint64(first_key)
    linked = None if links[0] is None else pa.array(links, text)
    return Block(pa.array(source, text), pa.array(target, text), linked, keys, np.arange(len(lines)), units)


def lines_of(block: Block) -> list[Line]:
    """Returns the pairs of a block."""
    return block.lines(np.arange(len(block)))
