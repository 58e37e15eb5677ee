"""Keys of pairs: pairs with the same key are duplicates.

A key has 128 bits, so that different texts have different keys for all practical purposes. There are two kinds:

- ``exact``: of the bytes of the text.
- ``normalized``: of its letters, marks and numbers after compatibility decomposition (NFKD) and full case folding, with
  0 for each decimal digit. Case, punctuation, digits, spaces and width do not matter. A line in which nothing is left
  has its exact key. All Chinese characters are letters, so 世界冠军 and 时节冠军 have different keys.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import line_keys, pair_keys

from nmt_prep.columns import TextColumn
from nmt_prep.config import SIDES, Side

KeyKind: TypeAlias = Literal["exact", "normalized"]
Compared: TypeAlias = Literal["pair", "source", "target"]
"""What has a key: both sides together, or one side."""

Keys: TypeAlias = "npt.NDArray[np.uint64]"


def keys_of(pairs: pa.RecordBatch, compared: Compared, kind: KeyKind) -> Keys:
    """Returns the keys of pairs, or of the lines on one side of them.

    Args:
        pairs: a batch with the columns ``source`` and ``target``.
        compared: what to make the keys of.
        kind: of the keys.

    Returns:
        Upper and lower half of each key: uint64, shape ``[pairs, 2]``.

    Raises:
        InvalidTextError: a line is not UTF-8.
    """
    if compared == "pair":
        return pair_keys(*(_line_keys(pairs, side, kind) for side in SIDES))
    return _line_keys(pairs, compared, kind)


def _line_keys(pairs: pa.RecordBatch, side: Side, kind: KeyKind) -> Keys:
    column = TextColumn.from_arrow(pairs.column(side))
    return line_keys(column.data, column.offsets, kind == "normalized")
