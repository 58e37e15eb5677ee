"""The commands that only copy files from elsewhere: download, lock and fetch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nmt_prep.base.errors import DownloadError, NmtPrepError
from nmt_prep.base.progress import Progress
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.interrupts import interruptible
from nmt_prep.cli.shared_options import ConfigArgument, QuietOption, SetOption, assignments, load_config
from nmt_prep.cli.terminal import open_console, progress_on

with delayed_imports():
    from nmt_prep.runs import runner
    from nmt_prep.stages.publish import publication as mirror

_ENDPOINT = "endpoint_url=http://localhost:9000"


def download(
    configs: Annotated[list[Path], typer.Argument(metavar="CONFIG...", help="YAML files.")],
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
    with interruptible(), progress_on(open_console(quiet=quiet)) as progress:
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
        typer.Argument(metavar="[NAME]...", help="With --update: only the files of these corpora."),
    ] = None,
    overrides: SetOption = None,
    update: Annotated[bool, typer.Option("--update", help="Fetch again, and replace the recorded digests.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Record each download's digest in the lock file beside CONFIG, or check downloads against it.

    If files have changed on their server, nmt-prep lock CONFIG --update NAME accepts the new files of the corpus NAME;
    without NAME, the new files of all corpora.
    """
    if names and not update:
        raise typer.BadParameter(f"{' '.join(names)}: names of corpora need --update")
    with interruptible(), progress_on(open_console(quiet=quiet)) as progress:
        _run_download(config, overrides, progress, renew=(names or True) if update else False)


def _run_download(
    path: Path, overrides: list[str] | None, progress: Progress, *, renew: bool | list[str] = False
) -> None:
    runner.run(
        load_config(path, overrides),
        until="download",
        force=("download",) if renew else (),
        progress=progress,
        renew_lock=renew,
    )


def fetch(
    url: Annotated[str, typer.Argument(metavar="URL", help="URL that a run published to.")],
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Directory to copy the files to.")],
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="KEY=VALUE",
            help=f"An option of fsspec's file system, such as {_ENDPOINT}.",
            callback=assignments(_ENDPOINT),
        ),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Copy the files that a run published at URL to DIRECTORY, and verify them. An interrupted copy resumes."""
    console = open_console(quiet=quiet)
    given = {key: value for key, _, value in (option.partition("=") for option in options or ())}
    with interruptible(), progress_on(console) as progress:
        copy = mirror.fetch_run(url, directory, options=given, progress=progress)
        console.print(f"published files: {copy}", soft_wrap=True)
