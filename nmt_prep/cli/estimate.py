"""What a run will take: ``nmt-prep calibrate`` and ``nmt-prep plan --estimate``."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_prep.cli.common import QuietOption, SetOption, interruptible
from nmt_prep.cli.terminal import open_console
from nmt_prep.config import Config, DaskSettings
from nmt_prep.config.file import load_config
from nmt_prep.engines.local import available_cores
from nmt_prep.lockfile import LockFile, lock_path

if TYPE_CHECKING:
    from rich.console import Console

    from nmt_prep.estimates.outcome import Machines

EstimateOption = Annotated[
    bool, typer.Option("--estimate", help="Predict time, memory and disk of a whole run instead.")
]
PairsOption = Annotated[
    int | None,
    typer.Option("--pairs", min=1, help="With --estimate: for so many training pairs.", show_default=False),
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
        from nmt_prep.estimates.outcome import Machines  # noqa: PLC0415

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
    from nmt_prep.estimates.calibration import choose_calibration  # noqa: PLC0415
    from nmt_prep.estimates.estimate import estimate  # noqa: PLC0415
    from nmt_prep.estimates.tables import estimate_table  # noqa: PLC0415
    from nmt_prep.estimates.workload import configured_corpora, given_corpora, total  # noqa: PLC0415

    machines = options.machines(config)
    chosen = choose_calibration(config)
    constants, length = chosen.calibration, options.bytes_per_pair
    if options.pairs is None:
        corpora = configured_corpora(config, path.parent, LockFile(lock_path(path)), constants, length)
    else:
        corpora = given_corpora(config, constants, options.pairs, length)
    found = estimate(config, corpora, constants, machines)
    pairs = sum(corpus.pairs for corpus in corpora)
    several = f"{machines.machines:,} machines of {machines.cores} cores" if machines.machines > 1 else "one machine"
    lines = [
        f"about {pairs:,.0f} pairs, {gigabytes(total(corpora))} of text; {machines.workers:,} workers on {several}",
        f"constants: {chosen.origin}",
    ]
    for line in lines:
        console.print(line, soft_wrap=True)
    console.print(estimate_table(found))
    for line in advice(config, found, machines, constants):
        console.print(f"- {line}", soft_wrap=True)


def calibrate(
    config: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG]", help="The YAML file.", show_default=False)
    ] = None,
    overrides: SetOption = None,
    megabytes: Annotated[float, typer.Option("--megabytes", min=1, help="Text to measure on.")] = 100,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Runs of each kind, of which the best counts.")] = 2,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--directory",
            help="Where to work, in a temporary directory: on the disk that runs will use.",
            show_default=False,
        ),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Measure how fast this machine does each kind of work, for nmt-prep plan --estimate.

    The text is the beginning of CONFIG's own training corpora, as nmt-prep run --until extract left them; without
    CONFIG it is generated, and has fewer different words than people's: vocabularies of real text take longer.
    """
    from nmt_prep.estimates.calibration import options_key, save_calibration  # noqa: PLC0415
    from nmt_prep.estimates.measure import measure  # noqa: PLC0415
    from nmt_prep.estimates.tables import calibration_lines, calibration_table  # noqa: PLC0415
    from nmt_prep.estimates.text import GENERATED, corpora_pairs, generated_pairs  # noqa: PLC0415

    console = open_console(quiet=quiet)
    size = int(megabytes * 1e6)
    if config is None:
        checked = load_config(GENERATED, overrides or ())
        pairs, origin = generated_pairs(), "generated text"
    else:
        checked = load_config(config, overrides or ())
        pairs, origin = corpora_pairs(checked, size), f"the corpora of {checked.name}"
    where = directory or (Path(tempfile.gettempdir()) if config is None else checked.run_dir.parent)
    with interruptible():
        constants = measure(
            checked,
            pairs,
            origin,
            size=size,
            directory=where,
            repeats=repeats,
            told=lambda what: console.print(f"measuring: {what}"),
        )
    path = save_calibration(options_key(checked), constants)
    console.print(calibration_table(constants))
    for line in [*calibration_lines(constants), f"kept for {options_key(checked)} in {path}"]:
        console.print(line, soft_wrap=True)
