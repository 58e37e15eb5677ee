from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace

import pytest

from nmt_prep.base.errors import CorpusError, RecordsError
from nmt_prep.corpora.parts import row_groups
from nmt_prep.pipeline.engines.executor import is_unseen, look_again
from nmt_prep.training.records.shuffle_plan import GlobalShuffle, ShardPlan
from nmt_prep.training.records.writer import write_shards
from tests.pipeline.engines.numbers import Number, reads_a_file


def test_a_missing_part_is_unseen(tmp_path: Path) -> None:
    with pytest.raises(CorpusError) as raised:
        row_groups(tmp_path / "part")
    assert is_unseen(raised.value)


def test_a_missing_spill_file_is_unseen_and_a_damaged_one_is_not(tmp_path: Path) -> None:
    spill, plan = tmp_path / "spill", ShardPlan(GlobalShuffle(1, 1, "train"), 1)
    with pytest.raises(RecordsError) as raised:
        write_shards([tmp_path / "shard"], plan, 0, [spill])
    assert is_unseen(raised.value)
    spill.write_bytes(b"no spill")
    with pytest.raises(RecordsError) as raised:
        write_shards([tmp_path / "shard"], plan, 0, [spill])
    assert not is_unseen(raised.value)


def test_a_file_that_was_replaced_while_it_was_read_is_unseen() -> None:
    assert is_unseen(OSError(errno.ESTALE, "Stale file handle"))
    assert not is_unseen(OSError(errno.EIO, "Input/output error"))
    assert not is_unseen(ValueError("no number"))


def test_progress_of_a_failed_attempt_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks: list[int] = []
    clock = SimpleNamespace(sleep=lambda _: (tmp_path / "spill").touch())
    monkeypatch.setattr("nmt_prep.pipeline.engines.executor.time", clock)
    assert look_again(reads_a_file, Number(2, tmp_path), ticks.append) == {"square": 4}
    assert ticks == [2, -2, 2]
