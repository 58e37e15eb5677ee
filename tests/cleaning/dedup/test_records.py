from __future__ import annotations

import numpy as np
import pyarrow as pa

from nmt_prep.cleaning.dedup.keys import Comparison, comparisons_of, parts_of, records_of, rows_of
from nmt_prep.config import DedupSettings


def test_records_hold_key_descending_scores_and_place() -> None:
    pairs = pa.record_batch(
        {
            "source": ["a", "a", "a", "a"],
            "target": ["b", "b", "b", "c"],
            "row": [4, 5, 8, 9],
            "score:q": [0.5, None, 2.0, -0.0],
        }
    )
    comparisons = [Comparison("pair", "exact", ("q",), 1), Comparison("source", "exact", ("q",), 2)]
    records, by_source = records_of(pairs, 3, comparisons)
    assert (records[0, :2] == records[2, :2]).all()
    assert not (records[0, :2] == records[3, :2]).all()
    assert np.argsort(records[:, 2]).tolist() == [2, 0, 3, 1]
    assert (parts_of(records[:, 3]).tolist(), rows_of(records[:, 3]).tolist()) == ([3] * 4, [4, 5, 8, 9])
    assert (by_source[:, :2] == by_source[0, :2]).all()
    assert (by_source[:, 2:] == records[:, 2:]).all()


def test_settings_give_comparisons_in_order() -> None:
    assert comparisons_of(DedupSettings(pair="off")) == ()
    settings = DedupSettings(
        pair="normalized", max_targets_per_source=4, max_sources_per_target=8, keep=("q", "corpus")
    )
    assert comparisons_of(settings) == (
        Comparison("pair", "normalized", ("q",), 1),
        Comparison("source", "normalized", ("q",), 4),
        Comparison("target", "normalized", ("q",), 8),
    )
    assert comparisons_of(DedupSettings(pair="off", max_sources_per_target=8)) == (
        Comparison("target", "exact", (), 8),
    )
