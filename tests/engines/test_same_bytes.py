"""Whatever runs the tasks of a real corpus, and whatever befalls it: every artefact is the same to the byte."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

import nmt_prep
from nmt_prep.config import Config
from nmt_prep.config_file import check_config
from nmt_prep.task_share import Share
from tests.corpus import tree

pytestmark = pytest.mark.slow

COPIES = 4
DASK = {"kind": "dask", "cluster": {"kind": "local", "workers": 3}}
ROUNDS = {"extract": "download", "compile": "extract", "sample": "compile", "encode": "vocab", "shuffle": "vocab"}


def wmt22(corpora: Path, output: Path, **changes: Any) -> dict[str, Any]:
    """A config over the corpus, with each of its parts several times so that there is something to share out."""
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
        "sample": {"bytes_per_corpus": 1_000_000},
        "vocab": {"size": 4096},
        "records": {"shards": {"train": 20}},
        **changes,
    }


def checked(data: dict[str, Any]) -> Config:
    return check_config(data, "wmt22")


@pytest.fixture(scope="module")
def corpora(shared: Path) -> Path:
    return shared / "corpora"


@pytest.fixture(scope="module")
def expected(corpora: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The digests that one local thread gives."""
    output = tmp_path_factory.mktemp("one") / "run"
    nmt_prep.run(checked(wmt22(corpora, output)), workers=1)
    return tree(output)


@contextmanager
def harm(number: signal.Signals, seconds: float, times: int) -> Iterator[list[int]]:
    """Sends a signal to one worker process after the other, every so many seconds, once each has had time to start."""
    psutil = pytest.importorskip("psutil")
    over = threading.Event()
    harmed: list[int] = []

    def workers() -> list[int]:
        children = psutil.Process().children()
        started = [child for child in children if time.time() - child.create_time() > 2 * seconds]
        return [child.pid for child in started if "spawn_main" in " ".join(child.cmdline())]

    def keep_harming() -> None:
        draw = random.Random(1)
        while len(harmed) < times and not over.wait(seconds):
            if found := workers():
                harmed.append(draw.choice(found))
                os.kill(harmed[-1], number)

    thread = threading.Thread(target=keep_harming)
    thread.start()
    try:
        yield harmed
    finally:
        over.set()
        thread.join()


def test_two_threads(corpora: Path, expected: dict[str, str], tmp_path: Path) -> None:
    nmt_prep.run(checked(wmt22(corpora, tmp_path / "run")), workers=2)
    assert tree(tmp_path / "run") == expected


def test_three_processes_of_dask(corpora: Path, expected: dict[str, str], tmp_path: Path) -> None:
    nmt_prep.run(checked(wmt22(corpora, tmp_path / "run", engine=DASK)))
    assert tree(tmp_path / "run") == expected


def test_a_worker_of_dask_is_killed_every_few_seconds(corpora: Path, expected: dict[str, str], tmp_path: Path) -> None:
    with harm(signal.SIGKILL, 2.0, 1000) as harmed:
        nmt_prep.run(checked(wmt22(corpora, tmp_path / "run", engine=DASK)))
    assert len(harmed) >= 2
    assert tree(tmp_path / "run") == expected


def test_a_worker_of_dask_is_frozen(corpora: Path, expected: dict[str, str], tmp_path: Path) -> None:
    with harm(signal.SIGSTOP, 2.0, 1) as harmed:
        nmt_prep.run(checked(wmt22(corpora, tmp_path / "run", engine={**DASK, "frozen_seconds": 10})))
    assert len(harmed) == 1
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
        return start("--stage", share.round, "--task-id", str(share.number), "--num-tasks", str(share.of))

    draw = random.Random(1)
    for name, above in ROUNDS.items():
        assert start("--until", above, "--no-preview").wait() == 0
        killed = draw.sample(range(7), 2)
        for number in draw.sample(range(7), 7):
            process = member(name, number)
            if number in killed:
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(draw.uniform(0.1, 1.0))
                process.kill()
                assert process.wait() == -signal.SIGKILL
            else:
                assert process.wait() == 0
        assert [member(name, number).wait() for number in killed] == [0, 0]
    assert start("--no-preview").wait() == 0
    assert tree(output) == expected
