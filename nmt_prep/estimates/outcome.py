"""What a run is done on, and what it will take there."""

from __future__ import annotations

from dataclasses import dataclass, field

from nmt_prep.engines.engine import BASE_MEMORY
from nmt_prep.engines.local import LocalEngine
from nmt_prep.records import ShardPlan


@dataclass(frozen=True)
class Machines:
    """What a run is done on: machines of so many cores, with a worker a core at most.

    Attributes:
        workers: tasks at once, on all machines together.
        cores: of each machine.
        memory: ``engine.memory``: of all workers together where they are Dask's, else of each machine.
        dask: whether the workers are Dask's, each a process of its own.
        disk_rate: bytes a second that the disk of all machines writes, and reads; None is as calibrated.
    """

    workers: int
    cores: int
    memory: int
    dask: bool = False
    disk_rate: float | None = None

    @property
    def machines(self) -> int:
        """How many machines there are."""
        return -(-self.workers // self.cores)

    @property
    def each(self) -> int:
        """Workers of a machine."""
        return -(-self.workers // self.machines)

    @property
    def share(self) -> int:
        """Bytes that a task may use."""
        if self.dask:
            return max(self.memory // self.workers - BASE_MEMORY, 0)
        return LocalEngine(self.each).worker_memory(self.memory)


@dataclass
class StageEstimate:
    """What a stage will take.

    Attributes:
        stage: its name.
        seconds: from its beginning to its end.
        alone: seconds of these in which one process works and the workers have nothing to do.
        tasks: of all its rounds.
        memory: bytes that the processes of a machine hold at most.
        scratch: bytes of files that are gone when the stage is published.
        published: bytes of files that stay.
        rounds: seconds by round.
    """

    stage: str
    seconds: float = 0.0
    alone: float = 0.0
    tasks: int = 0
    memory: int = 0
    scratch: float = 0.0
    published: float = 0.0
    rounds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Estimate:
    """What a run will take, stage by stage.

    Attributes:
        training_memory: bytes that building the largest vocabulary takes, with what the process holds anyway.
        plans: by split, how its shards are cut.
        parts: by split, how many compiled parts it has.
        groups: bytes of a group of a spill file, about: what is read at once when a shard is put in order.
    """

    stages: list[StageEstimate]
    training_memory: int
    plans: dict[str, ShardPlan]
    parts: dict[str, int]
    groups: float

    @property
    def seconds(self) -> float:
        """Of the whole run."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def peak_disk(self) -> float:
        """Bytes below ``output_dir`` when there are most."""
        before = peak = 0.0
        for stage in self.stages:
            before += stage.published
            peak = max(peak, before + stage.scratch)
        return peak

    @property
    def peak_memory(self) -> int:
        """Bytes that the processes of a machine hold at most."""
        return max(stage.memory for stage in self.stages)
