"""What a run will take: ``nmt-prep plan --estimate``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from nmt_prep.config import Config, DaskSettings
from nmt_prep.engines.local import available_cores
from nmt_prep.lockfile import LockFile, lock_path

if TYPE_CHECKING:
    from rich.console import Console

    from nmt_prep.estimates.estimate import Machines

EstimateOption = Annotated[
    bool, typer.Option("--estimate", help="Predict time, memory and disk of a whole run instead.")
]
PairsOption = Annotated[
    int | None,
    typer.Option("--pairs", min=1, max=2**40, help="With --estimate: for so many training pairs.", show_default=False),
]
BytesPerPairOption = Annotated[
    float | None,
    typer.Option(
        "--bytes-per-pair", min=2, help="With --estimate: of both sides, with the ends of lines.", show_default=False
    ),
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="With --estimate: tasks at once.", show_default=False)
]
CoresOption = Annotated[
    int | None,
    typer.Option(
        "--cores",
        min=1,
        help="With --estimate: cores of each machine; more workers than that are on several.",
        show_default=False,
    ),
]
DiskOption = Annotated[
    float | None,
    typer.Option(
        "--disk-rate",
        metavar="MB/S",
        min=1,
        help="With --estimate: what the disk writes and reads, for all machines together.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class EstimateOptions:
    """The options of ``nmt-prep plan`` that go with ``--estimate``."""

    pairs: int | None
    bytes_per_pair: float | None
    workers: int | None
    cores: int | None
    disk_rate: float | None

    def check_unused(self) -> None:
        """Refuses options that make no sense without ``--estimate``.

        Raises:
            BadParameter: one is given.
        """
        for name, value in vars(self).items():
            if value is not None:
                raise typer.BadParameter(f"--{name.replace('_', '-')} goes with --estimate")

    def machines(self, config: Config) -> Machines:
        """What the run is to be done on; what is not given is as in the config, or as on this machine."""
        from nmt_prep.estimates.estimate import Machines  # noqa: PLC0415

        cores = self.cores or available_cores()
        engine = config.engine
        if isinstance(engine, DaskSettings):
            workers = self.workers or (engine.cluster.workers if engine.cluster is not None else None)
            if workers is None:
                raise typer.BadParameter("say how many workers engine.scheduler has: --workers")
        else:
            workers = self.workers or (cores if engine.workers == "auto" else min(engine.workers, cores))
        rate = None if self.disk_rate is None else self.disk_rate * 1e6
        return Machines(workers, cores, engine.memory, dask=isinstance(engine, DaskSettings), disk_rate=rate)


def print_estimate(console: Console, path: Path, config: Config, options: EstimateOptions) -> None:
    """Prints what a run of a config will take."""
    from nmt_prep.estimates.advice import advice, gigabytes  # noqa: PLC0415
    from nmt_prep.estimates.estimate import estimate  # noqa: PLC0415
    from nmt_prep.estimates.workload import (  # noqa: PLC0415
        BYTES_PER_PAIR,
        configured_corpora,
        given_corpora,
        total,
    )

    machines, length = options.machines(config), options.bytes_per_pair or BYTES_PER_PAIR
    if options.pairs is None:
        corpora = configured_corpora(config, path.parent, LockFile(lock_path(path)))
    else:
        corpora = given_corpora(config, options.pairs, length)
    found = estimate(config, corpora, machines)
    several = f"{machines.count:,} machines of {machines.cores} cores" if machines.count > 1 else "one machine"
    console.print(
        f"about {total(corpora) / length:,.0f} pairs, {gigabytes(total(corpora))} of text; {machines.workers:,} "
        f"workers on {several}",
        soft_wrap=True,
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("stage", "time", "memory of a machine", "scratch", "output", "rate"):
        table.add_column(name, overflow="fold", justify="left" if name in ("stage", "rate") else "right")
    for stage in found.stages:
        disk = [gigabytes(size) if size else "" for size in (stage.scratch, stage.output)]
        table.add_row(stage.stage, _duration(stage.seconds), gigabytes(stage.memory), *disk, stage.origin)
    seconds, memory = sum(stage.seconds for stage in found.stages), max(stage.memory for stage in found.stages)
    disk = ["", f"{gigabytes(found.peak_disk)} at once"]
    table.add_row("in all", _duration(seconds), gigabytes(memory), *disk, "")
    console.print(table)
    for line in advice(config, found, machines):
        console.print(f"- {line}", soft_wrap=True)


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:,.1f} s"
    if seconds < 2 * 3600:
        return f"{seconds / 60:,.0f} min"
    return f"{seconds / 3600:,.1f} h"
