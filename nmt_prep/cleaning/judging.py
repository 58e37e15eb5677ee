"""Decisions and histograms from the values of a rule."""

from __future__ import annotations

from collections.abc import Sequence

import _nmt_prep_core as core
import numpy as np
import numpy.typing as npt

from nmt_prep.cleaning.rule import Bounds, Values


def judge(values: Values, bounds: Sequence[Bounds]) -> npt.NDArray[np.bool_]:
    """Returns true for each pair whose values are all within their bounds: bool, shape ``[pairs]``.

    Args:
        values: float64, shape ``[columns, pairs]``.
        bounds: the bounds of each column.
    """
    limits = [(limit.low, limit.high, limit.above, limit.below) for limit in bounds]
    return core.judge(np.ascontiguousarray(values), limits).view(np.bool_)


def histogram(values: Values, edges: Sequence[float], kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Returns the numbers of values in each bin: int64, shape ``[columns, 2, len(edges) - 1]``.

    The second axis has dropped pairs first, then kept ones. Bin b holds values from ``edges[b]`` up to, but not
    including, ``edges[b + 1]``; the last bin includes its end. Values outside the edges are counted in the first or
    last bin. NaN is not counted.

    Args:
        values: float64, shape ``[columns, pairs]``.
        edges: edges of the bins: two or more, ascending.
        kept: true for each pair that is kept: bool, shape ``[pairs]``.
    """
    counts = core.value_histogram(np.ascontiguousarray(values), [float(edge) for edge in edges], kept)
    return counts.reshape(len(values), 2, len(edges) - 1)
