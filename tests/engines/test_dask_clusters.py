"""The clusters that Dask builds from a config, without contacting a batch system or Kubernetes."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from nmt_prep.checks import check_config
from nmt_prep.config import ClusterSettings, DaskSettings
from nmt_prep.engines.dask import cluster_class, cluster_options, open_cluster
from nmt_prep.errors import ConfigError

pytest.importorskip("distributed")

VARIABLES = [
    {"name": "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", "value": "30s"},
    {"name": "MALLOC_TRIM_THRESHOLD_", "value": "67108864"},
    {"name": "MALLOC_MMAP_THRESHOLD_", "value": "33554432"},
]


def settings(kind: str, workers: int = 4, **options: Any) -> DaskSettings:
    cluster = ClusterSettings.model_validate({"kind": kind, "workers": workers, "options": options})
    return DaskSettings(kind="dask", cluster=cluster, memory=8_000_000_000)


def job_script(kind: str, **options: Any) -> str:
    pytest.importorskip("dask_jobqueue")
    given = settings(kind, **options)
    assert given.cluster is not None
    with cluster_class(given.cluster)(**cluster_options(given)) as cluster:
        return str(cluster.job_script())


def test_slurm() -> None:
    script = job_script(
        "slurm",
        queue="long",
        account="mt",
        walltime="02:00:00",
        job_extra_directives=("--exclusive",),
        python="python3",
        job_script_prologue=("module load python",),
    )
    lines = script.splitlines()
    assert [line for line in lines if line.startswith("#SBATCH")] == [
        "#SBATCH -J dask-worker",
        "#SBATCH -p long",
        "#SBATCH -A mt",
        "#SBATCH -n 1",
        "#SBATCH --cpus-per-task=1",
        "#SBATCH --mem=3G",
        "#SBATCH -t 02:00:00",
        "#SBATCH --exclusive",
    ]
    assert "export MALLOC_TRIM_THRESHOLD_=67108864" in lines
    assert lines.index("module load python") > lines.index("export MALLOC_MMAP_THRESHOLD_=33554432")
    assert lines[-1].startswith("python3 -m distributed.cli.dask_worker tcp://")


def test_a_job_of_several_processes_requests_memory_for_each() -> None:
    script = job_script("slurm", cores=4, processes=4)
    assert "#SBATCH --cpus-per-task=4\n" in script
    assert "#SBATCH --mem=8G\n" in script
    assert "--nthreads 1 --memory-limit 1.98GiB --nworkers 4" in script


@pytest.mark.parametrize(
    ("kind", "options", "lines"),
    [
        (
            "pbs",
            {"queue": "long", "account": "mt", "resource_spec": "select=1:ncpus=1"},
            ["#PBS -q long", "#PBS -A mt", "#PBS -l select=1:ncpus=1"],
        ),
        (
            "lsf",
            {"queue": "long", "project": "mt", "walltime": "2:00", "use_stdin": True},
            ["#BSUB -q long", '#BSUB -P "mt"', "#BSUB -W 2:00", "#BSUB -n 1"],
        ),
        (
            "sge",
            {"queue": "long", "project": "mt", "resource_spec": "h_vmem=3G"},
            ["#$ -q long", "#$ -P mt", "#$ -l h_vmem=3G"],
        ),
    ],
)
def test_other_batch_systems(kind: str, options: dict[str, Any], lines: list[str]) -> None:
    assert set(lines) <= {*job_script(kind, **options).splitlines()}


def test_kubernetes() -> None:
    kubecluster = pytest.importorskip("dask_kubernetes.operator.kubecluster.kubecluster")
    given = settings(
        "kubernetes", name="mt", image="registry/mt:1", resources={"limits": {"memory": "3G"}}, env={"A": "b"}
    )
    options = cluster_options(given)
    assert options.pop("quiet") is True
    spec = kubecluster.make_cluster_spec(**options)["spec"]
    worker = spec["worker"]["spec"]["containers"][0]
    assert spec["worker"]["replicas"] == 4
    assert worker["image"] == "registry/mt:1"
    assert worker["resources"] == {"limits": {"memory": "3G"}}
    variables = [*VARIABLES, {"name": "A", "value": "b"}]
    assert worker["env"] == variables
    assert spec["scheduler"]["spec"]["containers"][0]["env"] == variables


def test_kubernetes_accepts_variables_as_a_list() -> None:
    own = ({"name": "A", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}},)
    assert cluster_options(settings("kubernetes", env=own))["env"] == [
        *VARIABLES,
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}},
    ]


@pytest.mark.filterwarnings("ignore")  # of Dask, about the cluster that it did not start
def test_unknown_options_are_refused() -> None:
    pytest.importorskip("dask_jobqueue")
    refused = pytest.raises(ConfigError, match=r"engine\.cluster: SLURMCluster refuses its options: .*'wall_time'")
    with refused, open_cluster(settings("slurm", wall_time="1h")):
        pass
    del refused
    gc.collect()


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        (
            {"kind": "ray"},
            "engine.kind: found the text 'ray'; allowed: 'local', 'dask'",
        ),
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
            {"kind": "dask", "cluster": {"kind": "sun", "workers": 1}},
            (
                "engine.cluster.kind: found the text 'sun'; allowed: local, slurm, pbs, lsf, sge or kubernetes: the "
                "kind of cluster"
            ),
        ),
        (
            {"kind": "dask", "cluster": {"kind": "local"}},
            "engine.cluster.workers: this key is required: an integer >= 1: worker processes",
        ),
        (
            {"kind": "dask", "cluster": {"kind": "local", "workers": 1}, "workers": 3},
            (
                "engine.workers: unknown key; did you mean 'worker_seconds'? (allowed here: cluster, connect_seconds, "
                "frozen_seconds, kind, memory, scheduler, worker_seconds)"
            ),
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
