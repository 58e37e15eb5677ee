"""Counts of distinct texts, from dictionaries and as dictionaries."""

from __future__ import annotations

import numpy as np

from nmt_prep.base.columns import TextColumn
from nmt_prep.subwords.dialect import CountColumns
from nmt_prep.subwords.t2t.training import TokenCounts


def columns_of(counts: dict[str, int]) -> CountColumns:
    return CountColumns(TextColumn.from_strings(list(counts)), np.array(list(counts.values()), np.int64))


def as_dict(columns: CountColumns) -> dict[str, int]:
    return dict(zip((text.decode() for text in columns.texts.to_bytes()), columns.counts.tolist(), strict=True))


def token_counts(counts: dict[str, int]) -> TokenCounts:
    tokens = TokenCounts()
    tokens.add_counted(columns_of(counts))
    return tokens
