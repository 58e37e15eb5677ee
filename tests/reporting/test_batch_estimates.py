from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep import read_records
from nmt_prep.reporting import batch_estimates as batching
from nmt_prep.reporting.batch_estimates import estimate_batches
from nmt_prep.training.records.dataset_json import load_dataset_info
from tests.reporting.runs import run_toy


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    changes = {"records.layout": "packed", "records.row_length": 40, "input.batch_tokens": 200}
    return run_toy(tmp_path_factory.mktemp("packed") / "run", "toy", **changes)


def test_packed_records(packed: Path) -> None:
    info = load_dataset_info(packed / "records")
    own, *others = estimate_batches(packed / "records", info, "train")
    batches = list(read_records(packed, "train", shuffle=False))
    pairs = sum(len(batch.source) for batch in batches)
    rows = sum(len(batch.row_pairs) for batch in batches if batch.row_pairs is not None)
    assert own.setting == {}
    assert (own.batches, own.pairs, own.cells) == (len(batches), pairs, 2 * 40 * rows)
    assert own.tokens == sum(int(side.lengths.sum()) for batch in batches for side in batch)
    assert own.left_out == 4000 - pairs > 0
    assert {"packed": True} not in [each.setting for each in others]


def test_a_sample_is_scaled(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = load_dataset_info(packed / "records")
    whole = estimate_batches(packed / "records", info, "train")
    monkeypatch.setattr(batching, "SAMPLE_PAIRS", 800)
    for all_pairs, sample in zip(whole[1:], estimate_batches(packed / "records", info, "train")[1:], strict=True):
        assert sample.setting == all_pairs.setting
        assert 500 < sample.sampled_pairs < 2500
        pairs = sample.sampled_pairs
        assert sample.batches_per_epoch == -(-sample.batches * 4000 // pairs)
        if (
            "bucketing" not in sample.setting
        ):  # each bucket ends with an incomplete batch, of which there are few in all
            assert sample.batches_per_epoch == pytest.approx(all_pairs.batches, rel=0.25)
        assert sample.left_out == all_pairs.left_out
        shares = [1 - each.tokens / each.cells for each in (sample, all_pairs)]
        assert shares[0] == pytest.approx(shares[1], abs=0.12)  # smaller windows have more padding


def test_an_empty_split_has_no_batches(packed: Path) -> None:
    info = load_dataset_info(packed / "records")
    empty = info.splits["dev"].model_copy(update={"shards": ()})
    info = info.model_copy(update={"splits": {**info.splits, "dev": empty}})
    assert estimate_batches(packed / "records", info, "dev") == []
