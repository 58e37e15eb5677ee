"""Defines the commands align and shortlist.

:mod:`nmt_prep.cli.align_stream` and :mod:`nmt_prep.cli.align_run` do the work.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nmt_prep.align.settings import MOST, Settings
from nmt_prep.cli.common import QuietOption, SetOption, interruptible, listeners_for
from nmt_prep.cli.overwriting import STANDARD_INPUT, STANDARD_OUTPUT, check_outputs
from nmt_prep.cli.terminal import SafeConsole
from nmt_prep.cli.text import ThreadsOption
from nmt_prep.progress import Progress

DEFAULTS = Settings()


class Joined(StrEnum):
    """Ways to join the links of both directions."""

    INTERSECTION = "intersection"
    UNION = "union"
    GROW_DIAG = "grow-diag"
    GROW_DIAG_FINAL = "grow-diag-final"
    GROW_DIAG_FINAL_AND = "grow-diag-final-and"
    FORWARD = "forward"
    BACKWARD = "backward"


ConfigArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="CONFIG",
        help="Instead, write the links of the run of this config, which has a section align.",
        show_default=False,
        exists=True,
        dir_okay=False,
    ),
]
LinksOption = Annotated[
    Path | None,
    typer.Option(
        "--links",
        metavar="FILE",
        help="With CONFIG: the file for the links; standard output by default.",
        show_default=False,
        dir_okay=False,
    ),
]
SplitOption = Annotated[
    str | None,
    typer.Option("--split", metavar="SPLIT", help="With CONFIG: the split; train by default.", show_default=False),
]
ModelOption = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="FILE",
        help="Use this model, which --save wrote, instead of learning from the input.",
        show_default=False,
        exists=True,
        dir_okay=False,
    ),
]
PriorOption = Annotated[
    Path | None,
    typer.Option(
        "--prior",
        metavar="FILE",
        help="Learn from the input, and start from what this model knows.",
        show_default=False,
        exists=True,
        dir_okay=False,
    ),
]
SaveOption = Annotated[
    Path | None,
    typer.Option(
        "--save", metavar="FILE", help="Write the model that was learned.", show_default=False, dir_okay=False
    ),
]
ScoresOption = Annotated[
    Path | None,
    typer.Option(
        "--scores",
        metavar="FILE",
        help="Write a line for each pair: how well its sides translate each other; higher is better.",
        show_default=False,
        dir_okay=False,
    ),
]
SymmetrizeOption = Annotated[Joined, typer.Option("--symmetrize", help="How the links of both directions are joined.")]
PretokenizedOption = Annotated[
    bool, typer.Option("--pretokenized", help="Words are what spaces separate, as in tokenized text.")
]
StemOption = Annotated[
    int | None,
    typer.Option(
        "--stem",
        min=0,
        max=MOST,
        metavar="N",
        help="Learn words by their first N characters; 0: whole words.",
        show_default=str(DEFAULTS.stem),
    ),
]
TableOption = Annotated[
    int | None,
    typer.Option(
        "--table",
        min=1000,
        max=MOST,
        metavar="N",
        help="Most pairs of words to learn; each takes about 140 bytes of memory.",
        show_default=str(DEFAULTS.table),
    ),
]


def align(
    config: ConfigArgument = None,
    links: LinksOption = None,
    split: SplitOption = None,
    overrides: SetOption = None,
    model: ModelOption = None,
    prior: PriorOption = None,
    save: SaveOption = None,
    scores: ScoresOption = None,
    symmetrize: SymmetrizeOption = Joined.GROW_DIAG_FINAL_AND,
    pretokenized: PretokenizedOption = False,
    stem: StemOption = None,
    table: TableOption = None,
    threads: ThreadsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Link the words of pairs from standard input; write links such as 0-0 1-2 to standard output, a line a pair.

    A line of the input is source, tab, target, or source ||| target. Words count from 0. A pair with an empty side
    has an empty line.

    With CONFIG, the links of the pairs of a split are written, in the order of its parts; nothing is read.

    Without --model, it learns from the input, which it keeps in a temporary file. Pairs learned from are scored without
    the counts that they and their copies brought.
    """
    if config is not None:
        if any((model, prior, save, scores, pretokenized, stem is not None, table is not None)):
            raise typer.BadParameter(
                f"{config}: the links of a run exist already; options of learning do not go with it"
            )
        from nmt_prep.cli.align_run import write_links  # noqa: PLC0415  (loads pyarrow)

        with interruptible("interrupted"):
            write_links(config, overrides or (), split or "train", links)
        return
    if links is not None or split is not None or overrides:
        raise typer.BadParameter("--links, --split and --set are for the links of a run: name its config first")
    from nmt_prep.cli.align_stream import StreamOptions, align_stream  # noqa: PLC0415  (loads pyarrow)

    if model is not None and (prior is not None or save is not None):
        raise typer.BadParameter("--model goes with neither --prior nor --save: nothing is learned from the input")
    if model is not None and (stem is not None or table is not None):
        raise typer.BadParameter("--model goes with neither --stem nor --table, which it was learned with")
    check_outputs(
        {**STANDARD_OUTPUT, "--save": save, "--scores": scores},
        {**STANDARD_INPUT, "--model": model, "--prior": prior},
    )
    settings = Settings(
        pretokenized, DEFAULTS.stem if stem is None else stem, DEFAULTS.table if table is None else table
    )
    options = StreamOptions(model, prior, save, scores, symmetrize.value, settings, threads)
    console = SafeConsole(stderr=True, quiet=quiet)
    with interruptible("interrupted"), Progress(*listeners_for(console, quiet=quiet)) as progress:
        align_stream(options, console, progress)


def shortlist(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="Directory of a run whose config has a section align.", exists=True, file_okay=False
        ),
    ],
    split: Annotated[
        str, typer.Option("--split", metavar="SPLIT", help="The split whose links are counted.")
    ] = "train",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="DIRECTORY",
            help="Where to write the two files; RUN/shortlist by default.",
            show_default=False,
            file_okay=False,
        ),
    ] = None,
    best: Annotated[
        int | None,
        typer.Option(
            "--best", min=1, metavar="N", help="Keep the N most frequent pieces for each.", show_default=False
        ),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Write lex.s2t and lex.t2s: which pieces of the vocabularies are linked, and how probably.

    Marian and Bergamot read these files as lexical shortlists. The links of words become links of the pieces that they
    consist of.
    """
    from nmt_prep.cli.align_run import write_shortlists  # noqa: PLC0415  (loads pyarrow)

    console = SafeConsole(stderr=True, quiet=quiet)
    with interruptible("interrupted"), Progress(*listeners_for(console, quiet=quiet)) as progress:
        write_shortlists(run, split, output, best, console, progress)
