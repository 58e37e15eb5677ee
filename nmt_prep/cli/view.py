"""Defines the command view.

:mod:`nmt_prep.cli.view_pairs` chooses the pairs, :mod:`nmt_prep.cli.view_print` prints them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import typer

from nmt_prep.cli.common import ConfigArgument, SetOption


class ViewedStage(StrEnum):
    """A stage whose pairs can be viewed."""

    COMPILE = "compile"
    CLEAN = "clean"
    ENCODE = "encode"


def view(
    config: ConfigArgument,
    overrides: SetOption = None,
    stage: Annotated[
        ViewedStage | None,
        typer.Option(
            "--stage",
            help="The pairs as this stage left them; by default, as text that goes into the records.",
            show_default=False,
        ),
    ] = None,
    split: Annotated[str, typer.Option("--split", metavar="SPLIT", help="The split.")] = "train",
    corpus: Annotated[
        str | None, typer.Option("--corpus", metavar="NAME", help="Only pairs of this corpus.", show_default=False)
    ] = None,
    row: Annotated[
        int | None,
        typer.Option("--row", min=0, metavar="N", help="The row of the corpus, counted from 0.", show_default=False),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            "--grep",
            metavar="REGEX",
            help="Only pairs with a side that matches (RE2; (?i) ignores case).",
            show_default=False,
        ),
    ] = None,
    number: Annotated[
        int | None, typer.Option("-n", min=1, metavar="N", help="The number of pairs to show.", show_default="10")
    ] = None,
    choice: Annotated[
        int | None,
        typer.Option("--random", min=1, metavar="N", help="Show N pairs at random instead.", show_default=False),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", metavar="N", help="Seed of --random; by default, that of the config.", show_default=False
        ),
    ] = None,
    pieces: Annotated[bool, typer.Option("--pieces", help="Also show the pieces of the vocabularies.")] = False,
    trace: Annotated[
        str | None,
        typer.Option(
            "--trace",
            metavar="WHERE",
            help="Show where a record comes from: its number, SHARD:POSITION, or the CORPUS:ROW that it was made from.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines instead of a table.")] = False,
) -> None:
    """Show pairs as a stage left them, or follow one from its file to its record. All numbers count from 0.

    Long texts are cut in the table, and whole in JSON. With --stage encode, the records are decoded.
    """
    from nmt_prep.cli.view_pairs import Wanted  # noqa: PLC0415  (loads pyarrow)
    from nmt_prep.cli.view_print import print_pairs, print_trace  # noqa: PLC0415  (loads pyarrow)

    if trace is not None:
        _check_trace(
            {
                "--stage": stage,
                "--corpus": corpus,
                "--row": row,
                "--grep": pattern,
                "-n": number,
                "--random": choice,
                "--seed": seed,
            }
        )
        print_trace(config, overrides or (), split, trace, pieces=pieces, as_json=as_json)
        return
    if seed is not None and choice is None:
        raise typer.BadParameter("--seed goes with --random")
    if row is not None and (pattern is not None or choice is not None):
        raise typer.BadParameter("--row does not go with --grep and --random")
    wanted = Wanted(split, corpus, row, pattern, choice or number or 10, (seed or 0) if choice else None, pieces)
    print_pairs(
        config, overrides or (), None if stage is None else stage.value, wanted, as_json=as_json, own_seed=seed is None
    )


def _check_trace(given: Mapping[str, object]) -> None:
    """Checks that no option is given that chooses pairs; a value is None for those that are not.

    Raises:
        BadParameter: one is.
    """
    for option, value in given.items():
        if value is None:
            continue
        instead = "; give --trace CORPUS:ROW" if option == "--row" else ", which shows one pair"
        raise typer.BadParameter(f"{option} does not go with --trace{instead}")
