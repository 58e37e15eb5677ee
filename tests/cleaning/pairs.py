"""Batches of pairs for tests."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from nmt_prep.cleaning.rule import Pairs


def pairs(source: Sequence[str], target: Sequence[str]) -> Pairs:
    return Pairs({"source": pa.array(source, pa.large_string()), "target": pa.array(target, pa.large_string())})
