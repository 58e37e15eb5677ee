"""Prints time, memory and disk space that a run will need: ``nmt-prep plan --estimate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from nmt_prep.cli.console import plain_table
from nmt_prep.config import Config, DaskSettings
from nmt_prep.runtime import available_cores
from nmt_prep.sources.lockfile import lock_of

if TYPE_CHECKING:
    from rich.console import Console

EstimateOption = Annotated[
    bool, typer.Option("--estimate", help="Instead, predict time, memory and disk space of a whole run.")
]
PairsOption = Annotated[
    int | None,
    typer.Option("--pairs", min=1, max=2**40, help="With --estimate: number of training pairs.", show_default=False),
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="With --estimate: number of parallel tasks.", show_default=False)
]
_CORES = "With --estimate: cores of each machine; if there are more workers, several machines are assumed."
CoresOption = Annotated[int | None, typer.Option("--cores", min=1, help=_CORES, show_default=False)]


def print_estimate(console: Console, config: Config, pairs: int | None, workers: int | None, cores: int | None) -> None:
    """Prints the estimate for a config; values that are not given come from the config or from this machine."""
    from nmt_prep import estimates  # noqa: PLC0415  (loads pyarrow)

    gigabytes = estimates.gigabytes
    cores, engine = cores or available_cores(), config.engine
    if isinstance(engine, DaskSettings):
        workers = workers or (engine.cluster.workers if engine.cluster is not None else None)
        if workers is None:
            raise typer.BadParameter("give the number of workers of engine.scheduler: --workers")
    else:
        workers = workers or (cores if engine.workers == "auto" else min(engine.workers, cores))
    machines = estimates.Machines(workers, cores, engine.memory, dask=isinstance(engine, DaskSettings))
    if pairs is None:
        corpora = estimates.configured_corpora(config, lock_of(config))
    else:
        corpora = estimates.given_corpora(config, pairs)
    stages, text = estimates.estimate(config, corpora, machines), estimates.total(corpora)
    several = f"{machines.count:,} machines of {cores} cores" if machines.count > 1 else "one machine"
    pairs = round(text / estimates.BYTES_PER_PAIR)
    console.print(f"about {pairs:,} pairs, {gigabytes(text)} of text; {workers:,} workers on {several}", soft_wrap=True)
    table = plain_table("stage", "time", "memory of a machine", "scratch", "output", "rate")
    for column in table.columns[1:5]:
        column.justify = "right"
    for stage in stages:
        disk = [gigabytes(size) if size else "" for size in (stage.scratch, stage.output)]
        table.add_row(stage.stage, _duration(stage.seconds), gigabytes(stage.memory), *disk, stage.origin)
    seconds, memory = sum(stage.seconds for stage in stages), max(stage.memory for stage in stages)
    peak = f"{gigabytes(estimates.peak_disk(stages))} at once"
    table.add_row("total", _duration(seconds), gigabytes(memory), "", peak, "")
    console.print(table)
    for line in estimates.advice(config, stages, machines):
        console.print(f"- {line}", soft_wrap=True)


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:,.1f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 2 * 3600 else f"{seconds / 3600:,.1f} h"
