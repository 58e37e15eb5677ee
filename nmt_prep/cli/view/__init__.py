"""The `view` command: pairs as a stage left them, and a pair's steps from its file to its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table

from nmt_prep.base.sides import SIDES
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.shared_options import ConfigArgument, CorpusOption, JsonOption, SetOption, load_config
from nmt_prep.cli.terminal import cell, json_line, open_console, print_remark

if TYPE_CHECKING:
    from nmt_prep.config import Config

with delayed_imports():
    from nmt_prep.runs import viewing as pairs

_CUT = 400  # Maximum width of a text in a table, in columns; JSON has the whole text

_STAGE = "Show the pairs after this stage; by default, the text that goes into the records."
_WHERE = "Show where a record comes from: its index, SHARD:POSITION, or the CORPUS:ROW that it was made from."
_REGEX = "Only pairs with a side that matches (RE2; (?i) ignores case)."


def view(
    config: ConfigArgument,
    overrides: SetOption = None,
    stage: Annotated[
        Literal["compile", "clean", "divide", "limits", "encode"] | None, typer.Option(help=_STAGE)
    ] = None,
    split: Annotated[str, typer.Option(metavar="SPLIT", help="The split.")] = "train",
    corpus: CorpusOption = None,
    row: Annotated[int | None, typer.Option(min=0, help="The row of the corpus, counted from 0.")] = None,
    pattern: Annotated[str | None, typer.Option("--grep", metavar="REGEX", help=_REGEX)] = None,
    number: Annotated[
        int | None, typer.Option("-n", min=1, help="The number of pairs to show; by default, 10.")
    ] = None,
    choice: Annotated[
        int | None, typer.Option("--random", min=1, metavar="N", help="Show N pairs at random instead.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed for --random; by default, the config's seed.")
    ] = None,
    pieces: Annotated[bool, typer.Option("--pieces", help="Also show the pieces of the vocabularies.")] = False,
    trace: Annotated[str | None, typer.Option(metavar="WHERE", help=_WHERE)] = None,
    as_json: JsonOption = False,
) -> None:
    """Show pairs after a stage, or trace a pair from its file to its record. All positions count from 0.

    Long texts are cut in the table, and whole in JSON. With --stage encode, the records are decoded.
    """
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
    if seed is not None and choice is None:
        raise typer.BadParameter("--seed needs --random")
    if row is not None and (pattern is not None or choice is not None):
        raise typer.BadParameter("--row cannot be combined with --grep and --random")
    checked = load_config(config, overrides)
    if trace is not None:
        _print_trace(checked, split, trace, pieces=pieces, as_json=as_json)
        return
    drawn = None if choice is None else checked.seed if seed is None else seed
    wanted = pairs.Wanted(split, corpus, row, pattern, choice or number or 10, drawn, pieces)
    rows = pairs.chosen(checked, stage, wanted)
    console = open_console(log_width=80)
    first = next(rows, None)
    if first is None:
        print_remark("no pair matches")
    elif as_json:
        for pair in chain([first], rows):
            console.print(json_line({"split": split, **pair}), soft_wrap=True)
    else:
        console.print(_table([first, *rows]))


def _check_trace(given: Mapping[str, object]) -> None:
    """Checks that no option for choosing pairs is given; an option that is not given is None."""
    for option, value in given.items():
        if value is not None:
            instead = "; give --trace CORPUS:ROW" if option == "--row" else ", which shows one pair"
            raise typer.BadParameter(f"{option} cannot be combined with --trace{instead}")


def _print_trace(config: Config, split: str, where: str, *, pieces: bool, as_json: bool) -> None:
    """Prints where a record comes from; raises the same errors as :func:`nmt_prep.runs.viewing.trace`."""
    traced, total = pairs.trace(config, split, where, pieces=pieces)
    console = open_console(log_width=80)
    if as_json:
        console.print(json_line(traced), soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("record", f"{traced['record']:,} of {total:,} in {split}")
    table.add_row("shard", f"records/{traced['shard']}, position {traced['position']:,}")
    table.add_row("corpus", f"{traced['corpus']}, row {traced['row']:,}")
    for place in traced["files"]:
        table.add_row("file", f"{cell(place['file'], _CUT)}, {place['unit']} {place['number']:,}")
    if made := traced.get("made"):
        more = "".join(f", {name} {cell(made[name], _CUT)}" for name in ("version", "keep") if name in made)
        table.add_row(
            "made", f"the {made['side']}, by {cell(made['value'], _CUT)}: {cell(made['program'], _CUT)}{more}"
        )
    if tag := traced.get("tag"):
        table.add_row("tag", ", ".join(f"{piece} before the {side}" for side, piece in tag.items()))
    for fix in traced.get("fixes", ()):
        table.add_row("fix", f"{fix['fix']}, {fix['side']}: “{_text(fix['before'])}” to “{_text(fix['after'])}”")
    for name in (*SIDES, *(name for name in traced if name.endswith("_pieces"))):
        table.add_row(name.replace("_", " "), _text(traced[name]))
    console.print(table)


_NUMBERS = ("record", "packed", "corpus", "row", "pair", "document", "continues", "weight")
"""The columns before the sides, and scores. ``continues`` is 1 for a pair that follows the one before it in its
document."""

_SCORE = "score:"  # Prefix of score names


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Returns rows as a table: numbers, then the sides next to each other, with their pieces below."""
    names = dict.fromkeys(name for row in rows for name in row)
    numbers = [name for name in names if name in _NUMBERS or name.startswith(_SCORE)]
    if len({row["corpus"] for row in rows}) == 1 and len(rows) > 1:
        numbers.remove("corpus")
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in numbers:
        named = name in ("corpus", "document")
        table.add_column(
            name.removeprefix(_SCORE), no_wrap=not named, overflow="fold", justify="left" if named else "right"
        )
    for side in SIDES:
        table.add_column(side, ratio=1, overflow="fold")
    for row in rows:
        table.add_row(*(_number(row.get(name)) for name in numbers), *(_text(row[side]) for side in SIDES))
        if "source_pieces" in row:
            texts = (_text(row[f"{side}_pieces"]) for side in SIDES)
            table.add_row(*("" for _ in numbers), *texts, style="dim")
    return table


def _number(value: object) -> str:
    """Returns a count or name for a table cell, or an empty text for None."""
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)


def _text(text: str | list[str]) -> str:
    return cell(text if isinstance(text, str) else " ".join(text), _CUT)
