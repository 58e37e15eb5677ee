"""Duplicates in documents, which stay beside the next pair."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from nmt_prep.cleaning.dedup import drops as repeated
from nmt_prep.cleaning.dedup.drops import with_repeated


def batch_of(documents: list[str | None], rows: list[int]) -> pa.RecordBatch:
    names = pa.array(documents).dictionary_encode()
    sources, targets = ([f"{side}{row}" for row in rows] for side in "st")
    return pa.record_batch(
        [pa.array(sources), pa.array(targets), pa.array(rows), names], ["source", "target", "row", "document"]
    )


def before(batch: pa.RecordBatch, kept: str) -> dict[int, list[str]]:
    """Returns the rows of repeated segments before each kept row, given ``+`` and ``-`` for each row."""
    passing = np.array([letter == "+" for letter in kept])
    found = with_repeated(batch, passing).filter(pa.array(passing))
    assert found.schema.names[:4] == batch.schema.names[:4]
    sources, targets = (found.column(name).to_pylist() for name in ("before:source", "before:target"))
    assert [[text.replace("s", "t") for text in each] for each in sources] == targets
    return dict(zip(found.column("row").to_pylist(), sources, strict=True))


def test_duplicates_go_to_the_next_pair_of_their_document() -> None:
    batch = batch_of(["a", "a", "a", "a", "b", "b", "b"], [0, 1, 2, 3, 4, 5, 6])
    assert before(batch, "-+--+-+") == {1: ["s0"], 4: [], 6: ["s5"]}
    assert before(batch, "---+++-") == {3: ["s0", "s1", "s2"], 4: [], 5: []}


def test_a_missing_row_or_no_document_divides() -> None:
    assert before(batch_of(["a"] * 5, [0, 2, 3, 5, 6]), "--+-+") == {3: ["s2"], 6: ["s5"]}
    assert before(batch_of(["a"] * 3, [0, 1, 3]), "--+") == {3: []}
    assert before(batch_of([None] * 3, [0, 1, 2]), "--+") == {2: []}
    assert before(batch_of(["a"] * 2, [0, 1]), "--") == {}


def test_a_second_comparison_adds_to_the_segments_of_the_first() -> None:
    batch = batch_of(["a"] * 7, [0, 1, 2, 3, 4, 5, 6])
    passing = np.array([letter == "+" for letter in "+-+-++-"])
    first = with_repeated(batch, passing).filter(pa.array(passing))
    assert before(first, "+-++") == {0: [], 4: ["s1", "s2", "s3"], 5: []}
    assert before(first, "-+-+") == {2: ["s0", "s1"], 5: ["s3", "s4"]}


def test_the_last_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated, "MOST", 2)
    assert before(batch_of(["a"] * 5, [0, 1, 2, 3, 4]), "+---+") == {0: [], 4: ["s2", "s3"]}
