"""Prints the pairs of ``nmt-prep view`` as a table of 80 columns or as JSON lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

from rich.cells import cell_len, set_cell_size
from rich.table import Table

from nmt_prep.checks import load_config
from nmt_prep.cli.terminal import SafeConsole, json_line, open_console, print_remark, printable
from nmt_prep.cli.view_pairs import Row, Wanted, check_current, chosen_records, chosen_texts, outputs_of, require
from nmt_prep.sides import SIDES
from nmt_prep.stages import Clean, Compile, Encode, Extract, Vocabulary
from nmt_prep.stages.lineage import Lineage
from nmt_prep.stages.vocab import built_vocabularies

_WIDTH = 80
_CUT = 400
"""Cells of a text in a table; JSON has all of it."""


def print_pairs(
    path: Path, overrides: Iterable[str], stage: str | None, wanted: Wanted, *, as_json: bool, own_seed: bool
) -> None:
    """Prints chosen pairs.

    Args:
        path: the config.
        overrides: of its keys.
        stage: compile, clean or encode; None for the last one that has text.
        wanted: the pairs to choose.
        as_json: true for JSON lines.
        own_seed: true to choose by the seed of the config.

    Raises:
        ArgumentError: there is no such split, corpus or row, or the row was dropped.
        OutputError: the stage has not run yet.
    """
    config = load_config(path, overrides)
    outputs = outputs_of(config)
    if wanted.seed is not None and own_seed:
        wanted = replace(wanted, seed=config.seed)
    if stage == "encode":
        rows = chosen_records(outputs, wanted)
    else:
        cleaned = stage == "clean" or (stage is None and config.cleans(wanted.split))
        rows = chosen_texts(outputs, Clean if cleaned else Compile, wanted)
    console = table_console()
    held = list(rows) if not as_json else []
    if held:
        console.print(_table(held))
    some = bool(held)
    for row in rows if as_json else ():
        console.print(json_line({"split": wanted.split, **row}), soft_wrap=True)
        some = True
    if not some:
        print_remark("no pair fits")


def print_trace(path: Path, overrides: Iterable[str], split: str, where: str, *, pieces: bool, as_json: bool) -> None:
    """Prints where a record comes from.

    Raises:
        ArgumentError: there is no such record or row, or the row was dropped.
        OutputError: the records have not been made yet, or the config has changed since.
    """
    config = load_config(path, overrides)
    outputs = outputs_of(config)
    require(outputs, Extract, Compile, Vocabulary, Encode)
    check_current(config, path, Encode, "the records")
    lineage = Lineage(outputs, split)
    traced = lineage.trace(lineage.record(where))
    found = asdict(traced)
    if pieces:
        tokenizers = {side: built.load() for side, built in built_vocabularies(outputs).items()}
        for side in SIDES:
            tokenizer = tokenizers[side]
            found[f"{side}_pieces"] = [tokenizer.pieces[number] for number in tokenizer.encode(found[side])]
    console = table_console()
    if as_json:
        console.print(json_line(found), soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("record", f"{traced.record:,} of {lineage.pairs:,} in {split}")
    table.add_row("shard", f"records/{traced.shard}, position {traced.position:,}")
    table.add_row("corpus", f"{traced.corpus}, row {traced.row:,}")
    for place in traced.files:
        table.add_row("file", f"{shown(place.file)}, {place.unit} {place.number:,}")
    for name in (*SIDES, *(name for name in found if name.endswith("_pieces"))):
        table.add_row(name.replace("_", " "), shown(_joined(found[name])))
    console.print(table)


def shown(text: str, most: int = _CUT) -> str:
    """Returns a text for a cell of a table, cut if it takes more than ``most`` cells.

    Control characters, tabs and line ends are escaped.
    """
    safe = printable(text).replace("\t", "\\t").replace("\n", "\\n")
    safe = safe.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return safe if cell_len(safe) <= most else f"{set_cell_size(safe, most - 1).rstrip()}…"


def _table(rows: list[Row]) -> Table:
    """Returns rows as a table: numbers, then the sides next to each other, with their pieces below."""
    numbers = [name for name in rows[0] if name in ("record", "packed", "corpus", "row", "pair")]
    if len({row["corpus"] for row in rows}) == 1 and len(rows) > 1:
        numbers.remove("corpus")
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in numbers:
        table.add_column(
            name, no_wrap=name != "corpus", overflow="fold", justify="left" if name == "corpus" else "right"
        )
    for side in SIDES:
        table.add_column(side, ratio=1, overflow="fold")
    for row in rows:
        table.add_row(*(str(row[name]) for name in numbers), *(shown(row[side]) for side in SIDES))
        if "source_pieces" in row:
            table.add_row(
                *("" for _ in numbers), *(shown(_joined(row[f"{side}_pieces"])) for side in SIDES), style="dim"
            )
    return table


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else " ".join(text)


def table_console() -> SafeConsole:
    """Returns a console on standard output, with 80 columns if that is not a terminal."""
    console = open_console()
    if not console.is_terminal:
        console.width = _WIDTH
    return console
