"""Facts about the columns of records: documents and their windows, and weights."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from nmt_prep.reporting.batch_estimates import first_shards
from nmt_prep.reporting.summary import Json
from nmt_prep.training.batches.joined_segments import Joining
from nmt_prep.training.records.dataset_json import DatasetInfo
from nmt_prep.training.records.document_index import document_sizes

QUANTILES = (0, 0.1, 0.5, 0.9, 1)


def column_facts(records_dir: Path, info: DatasetInfo) -> Json:
    """Returns the sections on documents and on weights by split; none for records without them."""
    splits = [name for name, split in info.splits.items() if split.pairs]
    facts: Json = {}
    if info.documents is not None:
        facts["segments"] = {split: _segments(records_dir, info, split) for split in splits}
    if "weight" in info.columns:
        facts["weights"] = {split: _weights(records_dir, info, split) for split in splits}
    return facts


def _segments(records_dir: Path, info: DatasetInfo, split: str) -> Json:
    """Returns the sizes of the documents, and the rows that epoch 0 makes from a sample of the segments."""
    sizes: Counter[int] = Counter()
    for part in document_sizes(records_dir, split, info.splits[split].pairs):
        numbers, counts = np.unique(part, return_counts=True)
        sizes.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
    index = first_shards(records_dir, info, split)
    assert index is not None
    joining = Joining.of(info, split, 0)
    assert joining is not None
    segments, examples = joining.first_examples(index)
    repeated = 0 if segments.repeated is None else int(segments.repeated.sum())
    return {
        "documents": sum(sizes.values()),
        "longest": max(sizes, default=0),
        "sizes": sorted(sizes.items())[:_SIZES_SHOWN],
        "sampled": len(segments.entries) - repeated,
        "rows": len(examples),
        "joined": int(examples.targets[examples.end - examples.first["source"] > 1].sum()),
        "repeated": repeated,
    }


_SIZES_SHOWN = 100


def _weights(records_dir: Path, info: DatasetInfo, split: str) -> Json:
    """Returns quantiles and the mean of the weights of a sample of the pairs."""
    index = first_shards(records_dir, info, split)
    assert index is not None
    weights = index.column_of("weight", np.arange(len(index.runs.pairs)))
    quantiles = np.quantile(weights, QUANTILES, method="lower").tolist()
    mean = round(float(weights.mean(dtype=np.float64)), 6)
    return {"sampled": len(weights), "quantiles": quantiles, "mean": mean, "zero": int((weights == 0).sum())}
