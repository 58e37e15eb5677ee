"""Keys of pairs: pairs with the same key are duplicates.

A key is a hash of 128 bits, so different texts practically never have the same key. There are two kinds:

- ``exact``: hash of the bytes of the text.
- ``normalized``: hash of the letters, marks and numbers of the text, after compatibility decomposition (NFKD) and full
  case folding, with every decimal digit replaced by 0. Case, punctuation, digits, spaces and width do not matter. A
  line in which nothing but digits is left, such as ``2019`` or ``...``, has its exact key. Chinese characters are
  letters, so 世界冠军 and 时节冠军 have different keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import line_keys, pair_keys

from nmt_prep.columns import TextColumn
from nmt_prep.sides import SIDES

KeyKind: TypeAlias = Literal["exact", "normalized"]
Compared: TypeAlias = Literal["pair", "source", "target"]
"""The text that is hashed: both sides together, or one side."""

Keys: TypeAlias = "npt.NDArray[np.uint64]"


def keys_of(pairs: pa.RecordBatch, compared: Sequence[Compared], kind: KeyKind) -> dict[Compared, Keys]:
    """Returns the keys of pairs, and of the lines on each side of them.

    Args:
        pairs: a batch with the columns ``source`` and ``target``.
        compared: the texts to hash.
        kind: the kind of the keys.

    Returns:
        For each text, the upper and lower half of each key: uint64, shape ``[pairs, 2]``.

    Raises:
        InvalidTextError: a line is not UTF-8.
    """
    columns = {side: TextColumn.from_arrow(pairs.column(side)) for side in SIDES if {side, "pair"} & {*compared}}
    sides = {side: _line_keys(lines, kind) for side, lines in columns.items()}
    return {what: pair_keys(*sides.values()) if what == "pair" else sides[what] for what in compared}


def keys_of_pairs(source: TextColumn, target: TextColumn, kind: KeyKind) -> Keys:
    """Returns the keys of pairs by the text of both sides; see :func:`keys_of`."""
    return pair_keys(_line_keys(source, kind), _line_keys(target, kind))


def _line_keys(lines: TextColumn, kind: KeyKind) -> Keys:
    return line_keys(lines.data, lines.offsets, kind == "normalized")
