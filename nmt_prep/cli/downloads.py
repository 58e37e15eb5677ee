"""The commands that only download: ``nmt-prep download``, ``nmt-prep lock`` and ``nmt-prep fetch``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import filesize

from nmt_prep.cli.common import ConfigArgument, QuietOption, SetOption, assignments, interruptible, listeners_for
from nmt_prep.cli.terminal import SafeConsole, open_console
from nmt_prep.config import Config
from nmt_prep.errors import DownloadError, NmtPrepError
from nmt_prep.progress import Progress
from nmt_prep.sources.lockfile import lock_of

if TYPE_CHECKING:
    from nmt_prep.stages.hub_sources import HubSource

_ENDPOINT = "endpoint_url=http://localhost:9000"


def download(
    configs: Annotated[list[Path], typer.Argument(metavar="CONFIG...", help="YAML files.", show_default=False)],
    overrides: SetOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="If the files of one config cannot be fetched, continue with the others.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Fetch the files that each CONFIG names, and run no other stage.

    Fetched files are also kept in the cache directory for other runs, and recorded in the lock file beside CONFIG.
    """
    faults = []
    with interruptible(), Progress(*listeners_for(open_console(quiet=quiet), quiet=quiet)) as progress:
        for path in configs:
            try:
                _run_download(path, overrides, progress)
            except NmtPrepError as error:
                if not everything:
                    raise
                faults.append(f"{path}: {str(error).removeprefix(f'{path}: ')}")
    if faults:
        raise DownloadError("\n".join([f"{len(faults)} of {len(configs)} configs could not be fetched:", *faults]))


def lock(
    config: ConfigArgument,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="With --update: only the files of these corpora.", show_default=False),
    ] = None,
    overrides: SetOption = None,
    update: Annotated[
        bool,
        typer.Option("--update", help="Fetch again, and replace the recorded digests."),
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Record the digest of each download in the lock file beside CONFIG, or check downloads against it.

    If files have changed on their server, nmt-prep lock CONFIG --update NAME accepts the new files of the corpus NAME;
    without NAME, those of all corpora.
    """
    if names and not update:
        raise typer.BadParameter(f"{' '.join(names)}: names of corpora go with --update")
    with interruptible(), Progress(*listeners_for(open_console(quiet=quiet), quiet=quiet)) as progress:
        _run_download(config, overrides, progress, renew=(names or True) if update else False)


def _run_download(
    path: Path, overrides: list[str] | None, progress: Progress, *, renew: bool | list[str] = False
) -> None:
    from nmt_prep.checks import load_config  # noqa: PLC0415  (loads pyarrow)
    from nmt_prep.runner import run as run_stages  # noqa: PLC0415  (loads pyarrow)

    run_stages(
        load_config(path, overrides or ()),
        until="download",
        force=("download",) if renew else (),
        progress=progress,
        renew_lock=renew,
    )


def print_hub_sources(console: SafeConsole, config: Config) -> None:
    """Prints what the repositories on the Hugging Face Hub stand for that a config names."""
    from nmt_prep.stages.hub_sources import hub_sources  # noqa: PLC0415  (loads pyarrow)

    for source in hub_sources(config, lock_of(config)):
        console.print(f"{source.key}: {source.address} {_known(source)}", soft_wrap=True)


def _known(source: HubSource) -> str:
    if source.commit is None:
        return "(its commit is looked up when it is downloaded)"
    if not source.files:
        return f"at commit {source.commit}"
    names = [file.name for file in source.files]
    shown = f"{names[0]} to {names[-1]}, {len(names)} files" if len(names) > 1 else names[0]
    licence = "" if source.licence is None else f", licence {source.licence} (as its card says)"
    size = filesize.decimal(sum(file.size for file in source.files))
    return f"at commit {source.commit}: {shown}, {size}{licence}"


def fetch(
    url: Annotated[str, typer.Argument(metavar="URL", help="URL that a run published to.", show_default=False)],
    directory: Annotated[
        Path, typer.Argument(metavar="DIRECTORY", help="Directory to copy the files to.", show_default=False)
    ],
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="KEY=VALUE",
            help=f"An option of fsspec's file system, such as {_ENDPOINT}.",
            show_default=False,
            callback=assignments(_ENDPOINT),
        ),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Copy the files that a run published at URL to DIRECTORY, and verify them. An interrupted copy resumes."""
    from nmt_prep.publishing.mirror import fetch_run  # noqa: PLC0415  (loads pyarrow)

    console = open_console(quiet=quiet)
    given = {key: value for key, _, value in (option.partition("=") for option in options or ())}
    with interruptible(), Progress(*listeners_for(console, quiet=quiet)) as progress:
        console.print(f"published files: {fetch_run(url, directory, options=given, progress=progress)}", soft_wrap=True)
