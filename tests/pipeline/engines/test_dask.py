from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import BaseContext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import ConfigError, CorpusError, EngineError
from nmt_prep.base.progress import Fields, Listener, Progress
from nmt_prep.config import ClusterSettings, Config, DaskSettings
from nmt_prep.pipeline.engines.dask import open_cluster, run_checked
from nmt_prep.runs.checks import check_config
from tests.corpus import corpus_config, tree, write_corpus
from tests.pipeline.engines.numbers import bad_data, dies, dies_once, numbers, pid, square
from tests.pipeline.engines.test_executor import Events

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module", autouse=True)
def forked_workers(forking: BaseContext) -> Iterator[None]:
    """Forks the processes of workers."""
    import dask

    with dask.config.set({"distributed.worker.multiprocessing-method": forking.get_start_method()}):
        yield


@contextmanager
def two_processes() -> Iterator[Any]:
    """Starts two worker processes behind an external scheduler, which gives up a task after one dead worker."""
    import dask

    quiet = {"dashboard_address": ":0", "memory_limit": None, "silence_logs": logging.CRITICAL}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of two processes for all tests that leave its workers alive."""
    with two_processes() as cluster:
        yield cluster


@pytest.fixture
def frail_cluster() -> Iterator[Any]:
    """A cluster of two processes for one test; Dask does not always replace workers that are killed under load."""
    with two_processes() as cluster:
        yield cluster
        # Dask cannot close a cluster while it starts the process of another worker.
        deadline = time.monotonic() + 10
        while len(cluster.scheduler.workers) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)


class Joining(Listener):
    """Adds a worker when a vocabulary is about to be built, and waits until it has joined."""

    def __init__(self, cluster: Any, told: Listener) -> None:
        self._cluster = cluster
        self._told = told

    def event(self, name: str, fields: Fields) -> None:
        self._told.event(name, fields)
        if name == "stage_started" and fields["stage"] == "vocab":
            self._cluster.scale(2)
            self._cluster.wait_for_workers(2)
            time.sleep(1)


def settings(**changes: Any) -> DaskSettings:
    return DaskSettings(kind="dask", **changes)


def engine(tmp_path: Path, *listeners: Any, **changes: Any) -> Any:
    from nmt_prep.pipeline.engines.dask import DaskEngine

    return DaskEngine(settings(**changes), tmp_path, Progress(*listeners))


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_a_cluster_from_the_config_gives_the_bytes_of_threads_and_is_closed(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    events = Events()
    nmt_prep.run(corpus_config(tmp_path / "threads"), workers=2)
    config = corpus_config(tmp_path / "dask", engine={"kind": "dask", "cluster": {"kind": "local", "workers": 2}})
    nmt_prep.run(config, progress=Progress(events))
    assert tree(tmp_path / "dask") == tree(tmp_path / "threads")
    workers = {str(fields["worker"]) for name, fields in events.events if name == "task_finished"}
    processes = {worker.split(":")[1].split("/")[0] for worker in workers if ":" in worker}
    assert processes
    for process in processes:
        assert not Path(f"/proc/{process}").exists()


def test_an_up_to_date_run_starts_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_corpus(tmp_path)
    config = corpus_config(tmp_path / "run", engine={"kind": "dask", "cluster": {"kind": "local", "workers": 2}})
    nmt_prep.run(corpus_config(tmp_path / "run"))
    monkeypatch.setattr("nmt_prep.pipeline.engines.dask.open_cluster", None)
    assert not any(outcome.ran for outcome in nmt_prep.run(config))


def test_an_external_scheduler_is_used_and_left_running(cluster: Any, tmp_path: Path) -> None:
    events = Events()
    with engine(tmp_path, events, scheduler=cluster.scheduler_address) as dask:
        done = list(dask.map(square, numbers(20), lambda amount: None))
        assert dask.workers == 2
        assert dask.worker_memory(2_000_000_000) == 800_000_000
    assert sorted(each.result["square"] for each in done) == [number**2 for number in range(20)]
    assert not list((tmp_path / ".nmt_prep").iterdir())
    assert events.events[0][0] == "workers_changed"
    assert (events.events[0][1]["workers"], events.events[0][1]["threads"]) == (2, 2)
    assert len(cluster.scheduler.workers) == 2
    assert not cluster.scheduler.clients.keys() - {"fire-and-forget"}


def test_tasks_of_a_killed_worker_are_tried_again(frail_cluster: Any, tmp_path: Path) -> None:
    with engine(tmp_path, scheduler=frail_cluster.scheduler_address) as dask:
        done = list(dask.map(dies_once, numbers(6, tmp_path), lambda amount: None))
    assert sorted(each.result["square"] for each in done) == [0, 1, 4, 9, 16, 25]


def test_a_task_that_kills_its_workers_ends_the_run_with_an_error(frail_cluster: Any, tmp_path: Path) -> None:
    expected = r"task number-2 failed 3 times, the last time on worker tcp://.*: KilledWorker: .*died while running it"
    with (
        engine(tmp_path, scheduler=frail_cluster.scheduler_address) as dask,
        pytest.raises(EngineError, match=expected),
    ):
        list(dask.map(dies, numbers(3)[2:], lambda amount: None))


def test_bad_data_gives_the_same_error_as_with_threads(cluster: Any, tmp_path: Path) -> None:
    with (
        engine(tmp_path, scheduler=cluster.scheduler_address) as dask,
        pytest.raises(CorpusError, match=r"^line 7 is not text$"),
    ):
        list(dask.map(bad_data, numbers(5, tmp_path), lambda amount: None))


def test_a_scheduler_that_does_not_answer_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"tcp://127.0.0.1:{free_port()}"
    expected = f"no Dask scheduler answers at {address} within 0.3 s"
    monkeypatch.setattr("nmt_prep.pipeline.engines.dask._CONNECT_SECONDS", 0.3)
    with pytest.raises(EngineError, match=expected), engine(tmp_path, scheduler=address):
        pass


def test_a_cluster_without_workers_is_an_error_after_a_timeout(tmp_path: Path) -> None:
    with (
        distributed.LocalCluster(n_workers=0, processes=False, protocol="tcp", dashboard_address=":0") as cluster,
        engine(tmp_path, scheduler=cluster.scheduler_address, worker_seconds=0.3) as dask,
        pytest.raises(EngineError, match=r"the Dask cluster has had no worker for 0\.3 s; start some"),
    ):
        dask.map(square, numbers(1), lambda amount: None)


def test_losing_all_workers_is_an_error_after_a_timeout(tmp_path: Path) -> None:
    with (
        distributed.LocalCluster(n_workers=1, processes=False, protocol="tcp", dashboard_address=":0") as cluster,
        engine(tmp_path, scheduler=cluster.scheduler_address, worker_seconds=0.3) as dask,
    ):
        results = dask.map(square, numbers(100), lambda amount: None)
        next(results)
        cluster.scale(0)
        while cluster.scheduler.workers:
            time.sleep(0.01)
        with pytest.raises(EngineError, match=r"the Dask cluster has had no worker for 0\.3 s"):
            list(results)


def test_losing_the_scheduler_is_an_error(tmp_path: Path) -> None:
    with distributed.LocalCluster(n_workers=1, processes=False, protocol="tcp", dashboard_address=":0") as cluster:
        dask = engine(tmp_path, scheduler=cluster.scheduler_address)
        with dask:
            results = dask.map(square, numbers(1000), lambda amount: None)
            next(results)
            cluster.close()
            with pytest.raises(EngineError, match=r"run the same command again"):
                list(results)


def test_a_worker_that_sees_other_files_is_named(tmp_path: Path) -> None:
    expected = f"the worker .* does not see {tmp_path}; set output_dir to a directory that all workers share"
    with pytest.raises(EngineError, match=expected):
        run_checked(tmp_path / ".nmt_prep" / "sign", nmt_prep.__version__, square, numbers(1)[0], lambda _: None)


def test_tasks_are_checked(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.pipeline.engines.dask.__version__", "0.0.1")
    with (
        engine(tmp_path, scheduler=cluster.scheduler_address) as dask,
        pytest.raises(
            EngineError, match=r"the worker .* has nmt_prep .*, and this is 0\.0\.1; install the same version there"
        ),
    ):
        list(dask.map(square, numbers(1), lambda _: None))


def test_memory_is_divided_among_all_expected_workers(cluster: Any, tmp_path: Path) -> None:
    with engine(tmp_path, scheduler=cluster.scheduler_address) as dask:
        dask._expected = 8
        assert dask.worker_memory(4_000_000_000) == 300_000_000
        assert dask.workers == 2


def test_missing_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        ConfigError, match=r"engine\.kind dask needs distributed: pip install '\.\[dask\]' in a checkout"
    ):
        engine(tmp_path, scheduler="tcp://127.0.0.1:1")


def test_workers_of_an_external_scheduler_cannot_be_set(tmp_path: Path) -> None:
    config = corpus_config(tmp_path, engine={"kind": "dask", "scheduler": "tcp://127.0.0.1:1"})
    with pytest.raises(ConfigError, match=r"engine\.scheduler sets the number of workers"):
        nmt_prep.run(config, workers=3)


@pytest.mark.slow
def test_a_frozen_worker_does_not_block_the_end_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.pipeline.engines.dask._FROZEN_SECONDS", 10)
    with engine(tmp_path, cluster={"kind": "local", "workers": 2}) as dask:
        found = {each.result["pid"] for each in dask.map(pid, numbers(20), lambda amount: None)}
        assert len(found) == 2
        frozen = found.pop()
        os.kill(frozen, signal.SIGSTOP)
        done = list(dask.map(square, numbers(20), lambda amount: None))
    assert sorted(each.result["square"] for each in done) == [number**2 for number in range(20)]
    assert not Path(f"/proc/{frozen}").exists()


@pytest.mark.slow
def test_a_heartbeat_under_way_at_the_end_of_a_run_prints_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def late(**_: Any) -> None:
        began.set()
        await asyncio.sleep(60)

    import dask

    began = threading.Event()
    spawning = {"distributed.worker.multiprocessing-method": "spawn"}  # a forked worker prints elsewhere
    with dask.config.set(spawning), engine(tmp_path, cluster={"kind": "local", "workers": 1}) as running:
        list(running.map(square, numbers(1), lambda amount: None))
        running._cluster.scheduler.handlers["heartbeat_worker"] = late
        assert began.wait(60)
    assert capfd.readouterr().err == ""


def test_section_is_accepted_in_a_whole_config(tmp_path: Path) -> None:
    config: Config = corpus_config(tmp_path, engine={"kind": "dask", "scheduler": "tls://[::1]:8786", "memory": "1TB"})
    assert isinstance(config.engine, DaskSettings)
    assert config.engine.memory == 10**12


def test_workers_that_join_during_a_run_are_checked(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    events = Events()
    with distributed.LocalCluster(n_workers=1, processes=False, protocol="tcp", dashboard_address=":0") as cluster:
        joining = Joining(cluster, events)
        config = corpus_config(tmp_path / "run", engine={"kind": "dask", "scheduler": cluster.scheduler_address})
        nmt_prep.run(config, progress=Progress(joining))
    changes = [fields["workers"] for name, fields in events.events if name == "workers_changed"]
    assert changes[0] == 1
    assert changes[-1] == 2


def test_lost_workers_are_requested_again(cluster: Any, tmp_path: Path) -> None:
    orders: list[int] = []
    with engine(tmp_path, scheduler=cluster.scheduler_address) as dask:
        dask._expected, dask._cluster = 3, SimpleNamespace(scale=orders.append)
        list(dask.map(square, numbers(1), lambda _: None))
    assert orders == [3]


@pytest.mark.filterwarnings("ignore")  # of Dask, about the cluster that it did not start
def test_unknown_options_are_refused() -> None:
    options = {"wall_time": "1h", "processes": False}
    settings = DaskSettings(kind="dask", cluster=ClusterSettings(workers=1, options=options))
    refused = pytest.raises(ConfigError, match=r"engine\.cluster: LocalCluster rejects its options: .*'wall_time'")
    with refused, open_cluster(settings):
        pass
    del refused
    gc.collect()


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ({"kind": "ray"}, "engine.kind: found the text 'ray'; allowed: 'local', 'dask'"),
        (
            {"kind": "dask"},
            "engine: give either scheduler (the address of a running one) or cluster (one to start), not both",
        ),
        (
            {"kind": "dask", "scheduler": "tcp://a:1", "cluster": {"kind": "local", "workers": 1}},
            "engine: give either scheduler (the address of a running one) or cluster (one to start), not both",
        ),
        (
            {"kind": "dask", "scheduler": "a:1"},
            (
                "engine.scheduler: found the text 'a:1'; allowed: an address such as tcp://host:8786, or null: "
                "a running scheduler"
            ),
        ),
        (
            {"kind": "dask", "cluster": {"kind": "slurm", "workers": 1}},
            (
                "engine.cluster.kind: found the text 'slurm'; allowed: local: processes on this machine; for any other "
                "cluster, give its address as scheduler"
            ),
        ),
        (
            {"kind": "dask", "cluster": {"kind": "local"}},
            "engine.cluster.workers: this key is required: an integer >= 1: worker processes",
        ),
        (
            {"kind": "dask", "cluster": {"kind": "local", "workers": 1}, "workers": 3},
            (
                "engine.workers: unknown key; did you mean 'worker_seconds'? (allowed here: cluster, kind, memory, "
                "scheduler, worker_seconds)"
            ),
        ),
        (
            {"kind": "dask", "scheduler": "tcp://a:1", "connect_seconds": 60},
            "engine.connect_seconds: this key no longer exists: the scheduler has 30 s to answer; remove it",
        ),
        (
            {"kind": "local", "scheduler": "tcp://a:1"},
            "engine.scheduler: unknown key (allowed here: kind, memory, workers)",
        ),
    ],
)
def test_invalid_sections_are_refused(engine: dict[str, Any], message: str) -> None:
    base = {"name": "t", "languages": {"source": "en", "target": "zh"}, "output_dir": "run", "seed": 1}
    with pytest.raises(ConfigError) as caught:
        check_config({**base, "splits": {"train": [{"name": "z", "url": "z.tsv"}]}, "engine": engine}, "t")
    assert str(caught.value) == f"t: 1 problem\n  {message}"
