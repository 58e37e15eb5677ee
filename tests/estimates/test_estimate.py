from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.config import Config
from nmt_prep.estimates.advice import advice
from nmt_prep.estimates.calibration import Training
from nmt_prep.estimates.estimate import estimate, makespan
from nmt_prep.estimates.outcome import Estimate, Machines
from nmt_prep.estimates.workload import CorpusSize, given_corpora
from nmt_prep.stages import STAGES
from tests.corpus import corpus_config
from tests.estimates.fixed import ROUND, ROUNDS, fixed_calibration


def config(**changes: Any) -> Config:
    return corpus_config(Path("run"), **{"records": {"shards": {"train": 4}}, **changes})


def predicted(
    pairs: int = 10_000_000, workers: int = 4, cores: int = 4, changes: dict[str, Any] | None = None, **settings: Any
) -> Estimate:
    constants = fixed_calibration(**(changes or {}))
    checked = config(**settings)
    corpora = given_corpora(checked, constants, pairs, None)
    return estimate(checked, corpora, constants, Machines(workers, cores, checked.engine.memory))


def stages(found: Estimate) -> dict[str, tuple[float, float, int]]:
    return {stage.stage: (round(stage.seconds, 2), round(stage.alone, 2), stage.tasks) for stage in found.stages}


def test_a_gigabyte_on_four_cores() -> None:
    found = predicted()
    # 600 and 400 MB at 100 MB/s a core, on a disk that writes 1 GB/s; every stage takes a second besides.
    assert stages(found) == {
        "download": (1.0, 1.0, 0),
        "extract": (7.6, 1.0, 2),  # two files: the larger takes 6 s, and 0.6 s to write
        "compile": (7.14, 1.0, 14),  # 2.68 s for 256 MiB whose lines are counted; nine slices of at most 112 MB
        "sample": (5.35, 1.23, 2),  # 400 of 600 MB are read, and 400 of 400; 100 and 133 MB taken, and joined
        "vocab": (469.01, 467.67, 4),  # 2 s for each of the 233 MB, one after the other; counted in four slices
        "encode": (6.98, 1.0, 22),  # 18 parts; 4 shards of 250 MB, each in five buckets from 18 spill files
        "report": (1.0, 1.0, 0),
    }
    assert found.seconds == pytest.approx(498.08, abs=0.01)
    assert found.parts == {"train": 18}
    assert found.plans["train"].buckets_per_shard == 5


def test_memory_and_disk_of_a_gigabyte() -> None:
    found = predicted()
    memory = {stage.stage: stage.memory for stage in found.stages}
    assert memory["extract"] == 100_000_000 + 2 * 10_000_000  # no more tasks than files
    assert memory["compile"] == 100_000_000 + 4 * 10_000_000
    assert memory["encode"] == 100_000_000 + 4 * (10_000_000 + 2 * (32 << 20))  # two buffers each, more than a bucket
    assert memory["vocab"] == found.training_memory == 677_350_269  # 50 MB times the root of 133
    disk = {stage.stage: (round(stage.scratch / 1e6), round(stage.published / 1e6)) for stage in found.stages}
    assert disk["extract"] == (0, 1000)
    assert disk["compile"] == (0, 500)
    assert disk["sample"] == (233, 233)
    assert disk["encode"] == (1000, 750)
    assert round(found.peak_disk / 1e6) == 1000 + 500 + 233 + 1000 + 750


def test_one_process_takes_as_long_however_many_workers_there_are() -> None:
    few, many = predicted(workers=4), predicted(workers=512, records={"shards": {"train": 512}})
    assert [stage.alone for stage in few.stages] == [stage.alone for stage in many.stages]
    assert many.seconds < few.seconds
    assert Machines(512, 4, 2_000_000_000).machines == 128


def test_workers_wait_for_the_disk_and_for_each_other() -> None:
    slow = {"write_rate": 1e6, "read_rate": 1e9, "file_seconds": 0.0}
    found = {stage.stage: stage for stage in predicted(changes={"disk": slow}).stages}
    assert found["extract"].rounds["extract"] == 1000.0  # 1 GB at 1 MB/s, and not 600 s and 6 s
    crowded = {name: {**ROUND, "slowdown": 2.5} for name in ROUNDS}
    found = {stage.stage: stage for stage in predicted(changes={"rounds": crowded}).stages}
    # Two of four cores are at work: a third of the way from alone to all.
    assert found["extract"].rounds["extract"] == pytest.approx(6.0 * 1.5 + 0.6)


def test_compressed_files_take_longer() -> None:
    rounds = {**dict.fromkeys(ROUNDS, ROUND), "decompress": {**ROUND, "cpu_per_byte": 3e-8}}
    constants = fixed_calibration(rounds=rounds)
    corpora = [CorpusSize("train", True, 1e6, 5e7, 5e7, compressed=True)]
    found = estimate(config(), corpora, constants, Machines(1, 4, 2_000_000_000))
    assert found.stages[1].rounds == {"decompress": pytest.approx(3.1)}


@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(1, 64))
def test_more_text_takes_no_less(one: int, other: int, workers: int) -> None:
    less, more = (
        {stage.stage: stage for stage in predicted(pairs=pairs, workers=workers, cores=64).stages}
        for pairs in sorted((one, other))
    )
    # What is sampled shrinks where every second line is skipped from then on: that is upstream's rule.
    for name in ("download", "extract", "compile", "encode"):
        assert less[name].published <= more[name].published
        assert less[name].scratch <= more[name].scratch
        assert less[name].alone <= more[name].alone
    assert less["extract"].seconds <= more["extract"].seconds


@given(st.lists(st.floats(0, 100), max_size=50), st.integers(1, 20))
def test_makespan(tasks: list[float], workers: int) -> None:
    span = makespan(tasks, workers)
    assert max([0.0, sum(tasks) / workers, *tasks]) <= span + 1e-6
    assert makespan(tasks, workers + 1) <= span + 1e-6
    assert makespan(tasks, 1) == pytest.approx(sum(tasks))


def test_makespan_takes_tasks_in_order() -> None:
    assert makespan([3.0, 1.0, 1.0, 4.0], 2) == 6.0
    assert makespan([], 4) == 0.0


def test_lines_that_are_passed_over_are_quick() -> None:
    rounds = {**dict.fromkeys(ROUNDS, ROUND), "skip": {**ROUND, "cpu_per_byte": 1e-9}}
    found = {
        stage.stage: stage for stage in predicted(changes={"rounds": rounds}, sample={"bytes_per_corpus": 10**7}).stages
    }
    # Of 600 MB every 31st line until half is read, of 400 MB every 21st for as long as there are any.
    assert found["sample"].rounds == {"skip": pytest.approx(0.4 + 0.4 * (10 + 19.05) / 710, rel=1e-3)}


def test_training_grows_with_the_sample() -> None:
    training = Training(
        sample_bytes=100, seconds=1.0, seconds_exponent=1.5, memory=10, memory_exponent=0.5, memory_fixed=7
    )
    assert training.seconds_for(400) == 8.0
    assert training.memory_for(400) == 7 + 20


def test_every_round_that_is_shared_out_is_estimated_but_for_those_of_the_network() -> None:
    done = {name for stage in predicted().stages for name in stage.rounds} | {"publish"}
    assert {name for stage in STAGES for name in stage.rounds} <= done


def test_no_advice_where_all_is_well(tmp_path: Path) -> None:
    checked = corpus_config(tmp_path / "run", engine={"memory": "2GB"}, records={"shards": {"train": 4}})
    constants, machines = fixed_calibration(), Machines(4, 4, 2_000_000_000)
    found = estimate(checked, given_corpora(checked, constants, 100_000, None), constants, machines)
    assert advice(checked, found, machines, constants) == []


def test_advice(tmp_path: Path) -> None:
    checked = corpus_config(tmp_path / "run", engine={"memory": "300MB"}, records={"shards": {"train": 4}})
    constants, machines = fixed_calibration(), Machines(64, 32, 300_000_000)
    pairs = 10**12
    found = estimate(checked, given_corpora(checked, constants, pairs, None), constants, machines)
    text = "\n".join(advice(checked, found, machines, constants))
    assert "building a vocabulary takes about " in text
    assert "vocab stops with an error; raise engine.memory, or lower sample.bytes_per_corpus (now 100,000,000)" in text
    assert "more than engine.memory gives it; use fewer workers, or raise engine.memory" in text
    assert "engine.memory leaves each task 3 MB beside what its process holds" in text
    assert "raise engine.memory to about 2.2 GB" in text
    assert f"are needed below {tmp_path / 'run'}, where " in text
    assert "train: a shard is gathered from " in text
    assert "4 shards are 4 tasks for 64 workers; raise records.shards.train" in text
    assert "shards have 18.8 TB each; raise records.shards" in text
