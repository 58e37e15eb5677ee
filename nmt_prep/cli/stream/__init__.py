"""The `stream` command: a run's pairs as lines, epoch after epoch, for any trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from nmt_prep.cli import delayed_imports
from nmt_prep.cli.shared_options import SetOption, load_config

with delayed_imports():
    from nmt_prep.cli.stream import feeding, opening

_SOURCE = "The YAML file, or the directory of a run, whose pairs are then read without stages and modifiers."
_COMMAND = "-- and a trainer with its arguments, which reads the lines from its standard input."
_FORM = "Text lines, or lines with the pieces of the vocabularies."
_COLUMNS = "Columns per line, such as source,target,links; also corpus, document, weight and scores."
_STATE = "Continue from the row in this file, and update the row while streaming."
_PART = "This reader's part of a stream that N readers share, such as 0/4."
_OPUSTRAINER = "Stages and modifiers of OpusTrainer's YAML; its datasets are TSV files, or corpora of the config."


def stream(
    source: Annotated[Path | None, typer.Argument(metavar="CONFIG|RUN", help=_SOURCE, show_default=False)] = None,
    command: Annotated[list[str] | None, typer.Argument(metavar="[-- COMMAND ...]", help=_COMMAND)] = None,
    overrides: SetOption = None,
    split: Annotated[str, typer.Option(metavar="SPLIT", help="The split.")] = "train",
    form: Annotated[Literal["text", "pieces"], typer.Option("--as", help=_FORM)] = "text",
    columns: Annotated[str, typer.Option(metavar="NAMES", help=_COLUMNS)] = "source,target",
    start: Annotated[
        int | None, typer.Option("--from", min=0, max=1 << 60, metavar="ROW", help="The first row, from 0.")
    ] = None,
    state: Annotated[Path | None, typer.Option(metavar="FILE", dir_okay=False, help=_STATE)] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="End after this number of epochs over all pairs.")] = None,
    part: Annotated[str, typer.Option(metavar="I/N", help=_PART)] = "0/1",
    opustrainer: Annotated[Path | None, typer.Option(metavar="FILE", dir_okay=False, help=_OPUSTRAINER)] = None,
) -> None:
    """Write a run's pairs as lines with tabs between columns, epoch after epoch or stage after stage.

    The lines go to a trainer that the command starts, or to standard output. Needs records of layout text. The line of
    a row depends on the config alone, so any row can be the first one.
    """
    if start is not None and state is not None:
        raise typer.BadParameter("--from and --state both say where to begin; give one of them")
    number, slash, count = part.partition("/")
    if not slash or not number.isdecimal() or not count.isdecimal() or int(number) >= int(count):
        raise typer.BadParameter(f"--part {part}: expected I/N with I from 0 to N - 1, such as 0/4")
    trainer = list(command or ())
    if source is not None and opustrainer is not None and not opening.is_source(source):
        source, trainer = None, [str(source), *trainer]
    if source is None and opustrainer is None:
        raise typer.BadParameter("give a CONFIG or a RUN")
    if source is not None and not source.exists():
        raise typer.BadParameter(f"{source}: there is no such file or directory")
    config = None if source is None or source.is_dir() else load_config(source, overrides)
    run = source if config is None else config.run_dir
    opened = opening.open_stream(config, run, split, opustrainer, form)
    reader = feeding.Reader(opened, tuple(columns.split(",")), int(number), int(count), epochs)
    raise typer.Exit(feeding.feed(reader, trainer or opened.trainer, start or 0, state))
