"""A config's ``engine`` section: one model per engine kind, selected by ``kind``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, StringConstraints

from nmt_prep.config.section import Amount, Count, Section, default_kind

Address = Annotated[str, StringConstraints(pattern=r"^[a-z]+://[^\s/]+:[0-9]{1,5}$")]


class _EngineSettings(Section):
    """The keys that all engines share."""

    memory: Amount = Field(2_000_000_000, ge=256_000_000)
    """an amount of memory >= 256MB, such as 512MB or 2GB: the limit for all processes of the run together"""


class LocalSettings(_EngineSettings):
    """Threads of the process that runs the config."""

    kind: Literal["local"] = "local"
    """local or dask: threads of this process, or a Dask cluster"""
    workers: Literal["auto"] | Annotated[int, Field(ge=1)] = "auto"
    """an integer >= 1, or auto for one per core: the number of threads"""


class ClusterSettings(Section):
    """Dask's worker processes on this machine, which a run starts at its beginning and stops at its end."""

    kind: Literal["local"] = "local"
    """local: processes on this machine; for any other cluster, give its address as scheduler"""
    workers: Count = Field(ge=1)
    """an integer >= 1: worker processes"""
    options: dict[str, Any] = Field(default_factory=dict)
    """a mapping: arguments of distributed.LocalCluster"""


class DaskSettings(_EngineSettings):
    """Workers of a Dask cluster."""

    kind: Literal["dask"]
    """local or dask: threads of this process, or a Dask cluster"""
    scheduler: Address | None = None
    """an address such as tcp://host:8786, or null: a running scheduler"""
    cluster: ClusterSettings | None = None
    """{workers: …, options: …}, or null: worker processes that the run starts on this machine"""
    worker_seconds: float = Field(300.0, gt=0, strict=False)
    """a number of seconds > 0: the maximum wait for a worker"""

    def _problems(self) -> Iterator[str]:
        if (self.scheduler is None) == (self.cluster is None):
            yield "give either scheduler (the address of a running one) or cluster (one to start), not both"


EngineSettings: TypeAlias = Annotated[
    Annotated[LocalSettings | DaskSettings, Field(discriminator="kind")], default_kind("local")
]
