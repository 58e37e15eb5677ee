"""The `cache` command: the stored values of programs and functions."""

from __future__ import annotations

import math
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import filesize

from nmt_prep.base.artefacts import writing
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.shared_options import JsonOption
from nmt_prep.cli.terminal import json_line, open_console, plain_table

with delayed_imports():
    from nmt_prep.text.computed import cache as stored
    from nmt_prep.text.computed import column

if TYPE_CHECKING:
    from rich.table import Table

    from nmt_prep.text.computed.cache import CacheFacts

_DIRECTORY = "Directory given by the key cache of computed values; by default, the cache directory of nmt_prep."
_REMOVE = "Remove the values whose ID is this or begins with this; repeatable."
_UNUSED = "Remove the values that have been unused for this number of days."
_ID = 8  # Digits of an ID that are shown
_DAY = 86_400


def cache(
    directory: Annotated[Path | None, typer.Option(metavar="DIR", help=_DIRECTORY, file_okay=False)] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", metavar="ID", help=_REMOVE)] = None,
    unused: Annotated[float | None, typer.Option("--unused", metavar="DAYS", min=0, help=_UNUSED)] = None,
    as_json: JsonOption = False,
) -> None:
    """List the stored values of programs and functions, or remove some and list what was removed.

    A run that needs removed values computes them again. Do not remove values that a run is using.
    """
    found = [*stored.caches_below(directory or column.caches_of(None, Path()))]
    for wanted in remove or ():
        if not wanted or not any(facts.directory.name.startswith(wanted) for facts in found):
            raise typer.BadParameter(f"--remove {wanted}: there are no values with this ID")
    if remove or unused is not None:
        ids, oldest = tuple(remove or ()), -math.inf if unused is None else time.time() - unused * _DAY
        found = [facts for facts in found if facts.directory.name.startswith(ids) or facts.used <= oldest]
    console = open_console()
    for facts in found if as_json else ():
        line = {**facts.about, **vars(facts), "id": facts.directory.name, "directory": str(facts.directory)}
        console.print(json_line({key: value for key, value in line.items() if key != "about"}), soft_wrap=True)
    if not as_json:
        console.print(_table(found))
    for facts in found if remove or unused is not None else ():
        with writing(facts.directory):
            shutil.rmtree(facts.directory)


def _table(found: list[CacheFacts]) -> Table:
    table = plain_table("id", "name", "languages", "program", "version", ">values", ">size", "last use")
    for facts in found:
        about = facts.about
        program = about.get("python") or " ".join(map(str, about.get("program") or ()))
        damaged = f" ({filesize.decimal(facts.unreadable)} damaged)" if facts.unreadable else ""
        texts = (facts.directory.name[:_ID], about.get("name"), about.get("languages"), program, about.get("version"))
        used = time.strftime("%Y-%m-%d", time.localtime(facts.used))
        table.add_row(*map(str, texts), f"{facts.values:,}", filesize.decimal(facts.bytes) + damaged, used)
    return table
