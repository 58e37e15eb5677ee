"""Windows, context and weights in make_dataset: the same as those of read_records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.training.batches import IdBatch, read_records
from nmt_prep.training.tensorflow import make_dataset
from tests.stages.encode.test_encode_documents import config, corpora

__all__ = ["corpora"]  # a fixture that writes the corpora of each test

pytestmark = pytest.mark.tensorflow

COLUMNS = ("corpora", "weights", "segments", "context")


def fields_of(batch: IdBatch) -> dict[str, Any]:
    """Returns the rows and columns of a batch."""
    columns = {name: getattr(batch, name) for name in COLUMNS if getattr(batch, name) is not None}
    ignored = {} if batch.ignored is None else {"ignored": batch.ignored.to_lists()}
    lists = {name: column.tolist() for name, column in columns.items()}
    return {"source": batch.source.to_lists(), "target": batch.target.to_lists(), **lists, **ignored}


def fields_of_tensors(batch: Any) -> dict[str, Any]:
    """Returns the same of a batch of tensors."""
    sides = {"source": batch.source, "target": batch.target_output}
    lengths = {"source": batch.source_sequence_length, "target": batch.target_sequence_length}
    rows = {
        side: [row[:length].tolist() for row, length in zip(ids.numpy(), lengths[side].numpy(), strict=True)]
        for side, ids in sides.items()
    }
    columns = {name: getattr(batch, name) for name in COLUMNS if getattr(batch, name) is not None}
    ignored = {}
    if batch.ignored is not None:
        pairs = (row.reshape(-1, 2) for row in batch.ignored.numpy())
        ignored = {"ignored": [row[row[:, 1] > 0].ravel().tolist() for row in pairs]}
    return {**rows, **{name: column.numpy().tolist() for name, column in columns.items()}, **ignored}


def both(run: Path, **options: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    expected = read_records(run, "train", corpus_ids=True, **options)
    for batch, tensors in zip(expected, make_dataset(run, "train", corpus_ids=True, **options), strict=True):
        yield fields_of(batch), fields_of_tensors(tensors)


def test_windows_and_context_are_those_of_read_records(tmp_path: Path) -> None:
    lines = [line.split("\t") for line in (tmp_path / "a.tsv").read_text().splitlines()]
    lines = [["a thank you", "b thank you", line[2]] if place % 9 == 4 else line for place, line in enumerate(lines)]
    weighted = ("\t".join([*line, str(place % 7 / 4)]) for place, line in enumerate(lines))
    (tmp_path / "a.tsv").write_text("\n".join(weighted) + "\n")
    train = [{"name": "a", "url": "a.tsv", "document": 2, "scores": {"w": 3}}, {"name": "b", "url": "b.tsv"}]
    more: dict[str, Any] = {"splits": {"train": train}, "weight": {"from": "score:w"}}
    more["clean"] = {"preset": "none", "dedup": {"pair": "exact"}}
    run = tmp_path / "run"
    windows = {"separator": "<sep>", "max_tokens": 100, "max_segments": 6, "share": 0.8}
    context = {"separator": "<sep>", "max_tokens": 100, "context": {"target": 1}}
    for documents, known in (
        (windows, {"weights", "segments", "ignored"}),
        (context, {"weights", "segments", "context"}),
    ):
        nmt_prep.run(config(tmp_path, documents=documents, **more))
        for options in ({"batch_tokens": 400}, {"batch_size": 16, "rank": 1, "world_size": 2, "skip_batches": 3}):
            for expected, found in both(run, **options):
                assert found == expected
                assert set(found) == {"source", "target", "corpora", *known}
    for expected, found in both(run, batch_size=16, documents=False):  # weights are read in the graph
        assert found == expected
        assert set(found) == {"source", "target", "corpora", "weights"}
