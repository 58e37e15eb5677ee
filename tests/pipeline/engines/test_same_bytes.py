"""Every artefact of a real corpus has the same bytes with every engine, even if workers are killed or frozen."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

import nmt_prep
from nmt_prep.base.progress import Fields, Listener, Progress
from nmt_prep.config import Config
from nmt_prep.pipeline.drivers import Share
from nmt_prep.runs.checks import check_config
from tests.corpus import tree

pytestmark = pytest.mark.slow

COPIES = 4
DASK = {"kind": "dask", "cluster": {"kind": "local", "workers": 3}}
CLEAN = (
    *("clean-first", "clean-pairs", "clean-pairs-dropped"),
    *("clean-near-bands", "clean-near-buckets", "clean-near-texts", "clean-near"),
    *("clean-near-clusters", "clean-near-dropped"),
    *("clean-sources", "clean-dedup", "clean-rejects"),
)
"""Rounds of the stage clean."""
ROUNDS = {
    "extract": "download",
    "compile": "extract",
    **dict.fromkeys(CLEAN, "compile"),
    "sample": "clean",
    "encode": "align",
    "shuffle": "align",
    "spill-text": "encode",
    "outputs": "encode",
}


def wmt22(corpora: Path, output: Path, **changes: Any) -> dict[str, Any]:
    """Returns a config over the corpus, with each of its parts repeated so that there is work to share."""
    folder = corpora / "wmt22-enzh"
    named = {"general-v22": "training/general-v22.zh-en", "reverse-v22": "reverse/reverse-v22.zh-en"}
    suffix = {"general-v22": "", "reverse-v22": ".gz"}
    train = [
        {
            "name": f"{name}-{copy}",
            "url": str(folder / f"training-parallel-{name}.tgz"),
            "source": f"{stem}.en{suffix[name]}",
            "target": f"{stem}.zh{suffix[name]}",
        }
        for copy in range(COPIES)
        for name, stem in named.items()
    ]
    dev = {"name": "dev", "url": str(folder / "dev.tgz")}
    dev |= {side: f"dev/generaltest2022-enzh-{file}.sgm" for side, file in (("source", "src.en"), ("target", "ref.zh"))}
    return {
        "name": "wmt22",
        "languages": {"source": "en", "target": "zh"},
        "output_dir": str(output),
        "seed": 1,
        "splits": {"train": train, "dev": [dev]},
        "clean": {"preset": "none", "dedup": {"pair": "near", "max_targets_per_source": 2}},
        "sample": {"bytes_per_corpus": 1_000_000},
        "vocab": {"size": 4096},
        "records": {"shards": {"train": 20}},
        "align": {"pairs": 2000},
        "outputs": [
            {"kind": "marian", "alignments": True},
            {"kind": "text", "pieces": False, "vocab": []},
            {"kind": "huggingface"},
            {"kind": "huggingface", "name": "ids", "rows": "ids", "shards": {"train": 7}},
            {"kind": "fairseq"},
        ],
        **changes,
    }


def checked(data: dict[str, Any]) -> Config:
    return check_config(data, "wmt22")


@pytest.fixture(scope="module")
def corpora(shared: Path) -> Path:
    return shared / "corpora"


@pytest.fixture(scope="module")
def expected(corpora: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Returns the digests that one local thread produces."""
    output = tmp_path_factory.mktemp("one") / "run"
    nmt_prep.run(checked(wmt22(corpora, output)), workers=1)
    return tree(output)


class Harm(Listener):
    """Sends a signal to the worker process every few tasks."""

    def __init__(self, number: signal.Signals, every: int, times: int) -> None:
        self.harmed: list[int] = []
        self._number = number
        self._every = every
        self._times = times
        self._tasks = 0

    def event(self, name: str, fields: Fields) -> None:
        _, found, worker = str(fields.get("worker")).partition(":")
        if name != "task_finished" or not found:  # it ran in this process
            return
        self._tasks += 1
        if self._tasks % self._every == 0 and len(self.harmed) < self._times:
            process = int(worker.split("/")[0])
            with suppress(ProcessLookupError):  # it was already killed for another task
                os.kill(process, self._number)
                self.harmed.append(process)


def test_two_threads(corpora: Path, expected: dict[str, str], tmp_path: Path) -> None:
    nmt_prep.run(checked(wmt22(corpora, tmp_path / "run")), workers=2)
    assert tree(tmp_path / "run") == expected


def test_three_dask_processes(corpora: Path, expected: dict[str, str], tmp_path: Path) -> None:
    nmt_prep.run(checked(wmt22(corpora, tmp_path / "run", engine=DASK)))
    assert tree(tmp_path / "run") == expected


def test_rules_that_learn_in_dask_processes(corpora: Path, tmp_path: Path) -> None:
    clean = {"preset": "none", "rules": {"translation": {"pairs": 4000}, "adequacy": {"pairs": 4000}}}
    one, three = tmp_path / "one", tmp_path / "three"
    nmt_prep.run(checked(wmt22(corpora, one, clean=clean)), until="clean", workers=1)
    nmt_prep.run(checked(wmt22(corpora, three, clean=clean, engine=DASK)), until="clean")
    assert tree(three) == tree(one)


def test_dask_workers_are_killed_repeatedly(corpora: Path, expected: dict[str, str], tmp_path: Path) -> None:
    harm = Harm(signal.SIGKILL, every=8, times=1000)
    nmt_prep.run(checked(wmt22(corpora, tmp_path / "run", engine=DASK)), progress=Progress(harm))
    assert len(harm.harmed) >= 5
    assert tree(tmp_path / "run") == expected


def test_a_dask_worker_is_frozen(corpora: Path, expected: dict[str, str], tmp_path: Path) -> None:
    harm = Harm(signal.SIGSTOP, every=8, times=1)
    config = checked(wmt22(corpora, tmp_path / "run", engine=DASK))
    nmt_prep.run(config, progress=Progress(harm))
    assert len(harm.harmed) == 1
    assert tree(tmp_path / "run") == expected


def test_a_job_array_in_any_order_with_members_killed(corpora: Path, expected: dict[str, str], tmp_path: Path) -> None:
    config, output = tmp_path / "wmt22.yaml", tmp_path / "run"
    config.write_text(yaml.safe_dump(wmt22(corpora, output), sort_keys=False), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    def start(*options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "nmt_prep", "run", str(config), "--quiet", *options]
        return subprocess.Popen(command, env=environment)

    def member(name: str, number: int) -> subprocess.Popen[bytes]:
        share = Share(name, number, 7)
        return start("--round", share.round, "--task-id", str(share.number), "--num-tasks", str(share.of))

    draw = random.Random(1)
    endings: list[int] = []
    for name, above in ROUNDS.items():
        assert start("--until", above).wait() == 0
        killed = draw.sample(range(7), 2)
        for number in draw.sample(range(7), 7):
            process = member(name, number)
            if number in killed:
                time.sleep(draw.uniform(0.1, 0.8))
                process.kill()
                endings.append(process.wait())
            else:
                assert process.wait() == 0
        assert [member(name, number).wait() for number in killed] == [0, 0]
    assert start().wait() == 0
    assert endings.count(-signal.SIGKILL) >= len(endings) // 2  # the others were finished earlier
    assert tree(output) == expected
