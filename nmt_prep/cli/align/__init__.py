"""The commands align and shortlist: links between the words of pairs, read from standard input or made by a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nmt_prep.cleaning.align.links import Symmetrization
from nmt_prep.cleaning.align.settings import Settings
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.interrupts import interruptible
from nmt_prep.cli.shared_options import (
    STANDARD_INPUT,
    STANDARD_OUTPUT,
    QuietOption,
    SetOption,
    ThreadsOption,
    check_outputs,
)
from nmt_prep.cli.terminal import SafeConsole, progress_on

with delayed_imports():
    from nmt_prep.cli.align import links as run_links
    from nmt_prep.cli.align import stream

_CONFIG = "Write the links of this config's run, instead of reading pairs; it needs a section align."
_LINKS = "With CONFIG: the file for the links; standard output by default."
_MODEL = "Use this model, which --save wrote, instead of learning from the input."
_PRIOR = "Learn from the input, and start from this model's counts."
_SCORES = "Write one line per pair: how well its sides translate each other; higher is better."
_ADEQUACY = (
    "Write one line per pair: whether a side lacks something that the other has; 1 % of good pairs have values below 0."
)


def align(
    config: Annotated[Path | None, typer.Argument(metavar="CONFIG", help=_CONFIG, exists=True, dir_okay=False)] = None,
    links: Annotated[Path | None, typer.Option(metavar="FILE", help=_LINKS, dir_okay=False)] = None,
    split: Annotated[
        str | None, typer.Option(metavar="SPLIT", help="With CONFIG: the split; train by default.")
    ] = None,
    overrides: SetOption = None,
    model: Annotated[Path | None, typer.Option(metavar="FILE", help=_MODEL, exists=True, dir_okay=False)] = None,
    prior: Annotated[Path | None, typer.Option(metavar="FILE", help=_PRIOR, exists=True, dir_okay=False)] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the model that was learned.", dir_okay=False)
    ] = None,
    scores: Annotated[Path | None, typer.Option(metavar="FILE", help=_SCORES, dir_okay=False)] = None,
    adequacy: Annotated[Path | None, typer.Option(metavar="FILE", help=_ADEQUACY, dir_okay=False)] = None,
    symmetrize: Annotated[
        Symmetrization, typer.Option(help="How the links of both directions are joined.")
    ] = "grow-diag-final-and",
    pretokenized: Annotated[
        bool, typer.Option("--pretokenized", help="Words are separated by spaces, as in tokenized text.")
    ] = False,
    threads: ThreadsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Link the words of pairs from standard input; write links such as 0-0 1-2 to standard output, one line per pair.

    A line of the input is source, tab, target, or source ||| target. Words count from 0. A pair with an empty side
    gives an empty line.

    With CONFIG, write the links of a split's pairs, in the order of its parts. Standard input is not read.

    Without --model, a model is learned from the input, which is kept in a temporary file. Each input pair is then
    scored leave-one-out: the pair and its copies are excluded from the counts.
    """
    if config is not None:
        if any((model, prior, save, scores, adequacy, pretokenized)):
            raise typer.BadParameter(
                f"{config}: the links of a run exist already; learning options cannot be combined with CONFIG"
            )
        with interruptible("interrupted"):
            run_links.write_links(config, overrides or (), split or "train", links)
        return
    if links is not None or split is not None or overrides:
        raise typer.BadParameter("--links, --split and --set are for the links of a run: name its config first")
    if model is not None and (prior is not None or save is not None):
        raise typer.BadParameter("--model cannot be combined with --prior or --save: nothing is learned from the input")
    check_outputs(
        {**STANDARD_OUTPUT, "--save": save, "--scores": scores, "--adequacy": adequacy},
        {**STANDARD_INPUT, "--model": model, "--prior": prior},
    )
    settings = Settings(pretokenized)
    console = SafeConsole(stderr=True, quiet=quiet)
    with interruptible("interrupted"), progress_on(console) as progress:
        options = stream.StreamOptions(model, prior, save, scores, adequacy, symmetrize, settings, threads)
        stream.align_stream(options, console, progress)


def shortlist(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="Directory of a run whose config has a section align.", exists=True, file_okay=False
        ),
    ],
    split: Annotated[str, typer.Option(metavar="SPLIT", help="The split whose links are counted.")] = "train",
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIRECTORY", help="Where to write the two files; RUN/shortlist by default.", file_okay=False
        ),
    ] = None,
    best: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Keep the N most frequent pieces per piece on the other side."),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Write lex.s2t and lex.t2s: which pieces of the vocabularies are linked, and how probably.

    Marian and Bergamot read these files as lexical shortlists. Word links become links between the words' pieces.
    """
    console = SafeConsole(stderr=True, quiet=quiet)
    with interruptible("interrupted"), progress_on(console) as progress:
        run_links.write_shortlists(run, split, output, best, console, progress)
