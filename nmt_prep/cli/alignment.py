"""Defines the command align; :mod:`nmt_prep.cli.align_stream` does the work."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nmt_prep.cli.common import QuietOption, interruptible, listeners_for
from nmt_prep.cli.terminal import SafeConsole
from nmt_prep.cli.text import ThreadsOption
from nmt_prep.progress import Progress


class Joined(StrEnum):
    """How links of both directions are joined."""

    INTERSECTION = "intersection"
    UNION = "union"
    GROW_DIAG = "grow-diag"
    GROW_DIAG_FINAL = "grow-diag-final"
    GROW_DIAG_FINAL_AND = "grow-diag-final-and"
    FORWARD = "forward"
    BACKWARD = "backward"


def align(
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            metavar="FILE",
            help="Use this model, which --save wrote, instead of learning from the input.",
            show_default=False,
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    prior: Annotated[
        Path | None,
        typer.Option(
            "--prior",
            metavar="FILE",
            help="Learn from the input, and start from what this model knows.",
            show_default=False,
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save", metavar="FILE", help="Write the model that was learned.", show_default=False, dir_okay=False
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            "--scores",
            metavar="FILE",
            help="Write a line for each pair: how well its sides translate each other; higher is better.",
            show_default=False,
            dir_okay=False,
        ),
    ] = None,
    symmetrize: Annotated[
        Joined, typer.Option("--symmetrize", help="How the links of both directions are joined.")
    ] = Joined.GROW_DIAG_FINAL_AND,
    pretokenized: Annotated[
        bool, typer.Option("--pretokenized", help="Words are what spaces separate, as in tokenized text.")
    ] = False,
    stem: Annotated[
        int, typer.Option("--stem", min=0, metavar="N", help="Learn words by their first N characters; 0: whole words.")
    ] = 4,
    table: Annotated[
        int,
        typer.Option(
            "--table", min=1000, metavar="N", help="Most pairs of words to learn; each takes about 40 bytes of memory."
        ),
    ] = 1 << 23,
    threads: ThreadsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Link the words of pairs from standard input; write links such as 0-0 1-2 to standard output, a line a pair.

    A line of the input is source, tab, target, or source ||| target. Words count from 0. A pair with an empty side
    has an empty line.

    Without --model, it learns from the input, which it keeps in a temporary file. Pairs learned from are scored without
    the counts that they and their copies brought.
    """
    from nmt_prep.cli.align_stream import StreamOptions, align_stream  # noqa: PLC0415  (loads pyarrow)

    if model is not None and (prior is not None or save is not None):
        raise typer.BadParameter("--model goes with neither --prior nor --save: nothing is learned from the input")
    options = StreamOptions(model, prior, save, scores, symmetrize.value, pretokenized, stem, table, threads)
    console = SafeConsole(stderr=True, quiet=quiet)
    with interruptible("interrupted"), Progress(*listeners_for(console, quiet=quiet)) as progress:
        align_stream(options, console, progress)
