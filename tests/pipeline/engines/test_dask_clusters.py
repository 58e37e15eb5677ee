"""The section ``engine`` for Dask, and workers that a run starts."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from nmt_prep.base.errors import ConfigError
from nmt_prep.config import ClusterSettings, DaskSettings
from nmt_prep.pipeline.engines.dask import open_cluster
from nmt_prep.runs.checks import check_config

pytest.importorskip("distributed")


@pytest.mark.filterwarnings("ignore")  # of Dask, about the cluster that it did not start
def test_unknown_options_are_refused() -> None:
    options = {"wall_time": "1h", "processes": False}
    settings = DaskSettings(kind="dask", cluster=ClusterSettings(workers=1, options=options))
    refused = pytest.raises(ConfigError, match=r"engine\.cluster: LocalCluster refuses its options: .*'wall_time'")
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
                "a scheduler that is already running"
            ),
        ),
        (
            {"kind": "dask", "cluster": {"kind": "slurm", "workers": 1}},
            (
                "engine.cluster.kind: found the text 'slurm'; allowed: local: processes on this machine; start any "
                "other cluster yourself, and give its address as engine.scheduler"
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
