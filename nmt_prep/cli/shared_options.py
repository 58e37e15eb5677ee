"""Arguments and options that several commands take, and their checks."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_prep.base.errors import ArgumentError, NmtPrepError
from nmt_prep.cli import delayed_imports

with delayed_imports():
    from nmt_prep import stages
    from nmt_prep.runs import checks


if TYPE_CHECKING:
    from nmt_prep.config import Config

ConfigArgument = Annotated[
    Path, typer.Argument(metavar="CONFIG", help="The YAML file.", exists=True, dir_okay=False, readable=False)
]
"""A file that does not exist is wrong usage; a file that cannot be read is an error."""


@contextmanager
def names_as_usage() -> Iterator[None]:
    """Makes an unknown name of a stage or round a usage error, with exit status 2."""
    try:
        yield
    except ArgumentError as error:
        raise typer.BadParameter(str(error)) from error


def assignments(example: str) -> Callable[[list[str] | None], list[str] | None]:
    """Returns a callback that checks that all values of an option are assignments such as the example."""

    def check(values: list[str] | None) -> list[str] | None:
        for value in values or ():
            if not all(value.partition("=")[0].strip().split(".")) or "=" not in value:
                raise typer.BadParameter(f"{value!r}: expected KEY=VALUE, such as {example}")
        return values

    return check


SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override a key of the config, such as vocab.size=4096.",
        callback=assignments("vocab.size=4096"),
    ),
]
CorpusOption = Annotated[str | None, typer.Option("--corpus", metavar="NAME", help="Only pairs of this corpus.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object per line instead of tables.")]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", min=1, help="Number of threads; by default, one per core.")
]

STANDARD_INPUT = {"standard input": 0}
STANDARD_OUTPUT = {"standard output": 1}


def check_outputs(outputs: Mapping[str, Path | int | None], inputs: Mapping[str, Path | int | None]) -> None:
    """Checks that a command writes no file that it reads, and no file twice.

    Args:
        outputs: files to write, by names for messages: a path, the number of a standard stream, or None for nothing.
            ``/dev/null`` may be named repeatedly.
    """
    read = {_identity(file): what for what, file in inputs.items() if file is not None and _is_regular(file)}
    written: dict[object, str] = {}
    for what, file in outputs.items():
        identity = None if file is None else _identity(file)
        if identity is None:
            continue
        name = what if isinstance(file, int) else f"{what}: {file}"
        if identity in read:
            raise typer.BadParameter(f"{name} is also read, as {read[identity]}; name another file")
        if identity in written:
            raise typer.BadParameter(f"{name} is also written, as {written[identity]}; name another file")
        written[identity] = what


def _status(file: Path | int) -> os.stat_result | None:
    with suppress(OSError):
        return os.fstat(file) if isinstance(file, int) else file.stat()
    return None


def _identity(file: Path | int) -> object:
    """Returns a value that is equal for all names of a file; None for /dev/null and closed streams."""
    status = _status(file)
    if status is None:
        return None if isinstance(file, int) else file.resolve()
    null = _status(Path(os.devnull))
    return None if null is not None and os.path.samestat(status, null) else (status.st_dev, status.st_ino)


def _is_regular(file: Path | int) -> bool:
    status = _status(file)
    return status is not None and stat.S_ISREG(status.st_mode)


def files_of_run(config: Config) -> dict[str, Path]:
    """Returns the local files that a run of a config reads, the config included, by names for messages."""
    files = {} if config.file is None else {"the config": config.file}
    for stage in stages.STAGES:
        if stage.applies(config):
            files |= stage.local_files(config)
    return files


def load_config(file: Path, overrides: Iterable[str] | None) -> Config:
    """Returns a checked config for a command that reads files of its run and prints."""
    config = checks.load_config(file, overrides or ())
    output = _status(STANDARD_OUTPUT["standard output"])
    if output is not None and stat.S_ISREG(output.st_mode) and output.st_size:
        with suppress(NmtPrepError):  # missing files are for the command to report
            check_outputs(STANDARD_OUTPUT, files_of_run(config))
    return config
