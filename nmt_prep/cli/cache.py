"""The command cache: the stored values of programs and functions."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import filesize

from nmt_prep.base.artefacts import writing
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.shared_options import JsonOption, SetOption, load_config
from nmt_prep.cli.terminal import open_console, plain_table

with delayed_imports():
    from nmt_prep.text.computed import cache as stored
    from nmt_prep.text.computed import column

if TYPE_CHECKING:
    from nmt_prep.text.computed.cache import CacheFacts

_CONFIG = "A config, for values that it keeps in other directories; without one, those of the cache directory."
_REMOVE = "Remove the values with this id, or with an id that begins so; repeatable."
_UNUSED = "Remove the values that no run has used for this number of days."
_ID = 8  # Digits of an id that are shown
_DAY = 86_400


def cache(
    config: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG]", help=_CONFIG, exists=True, dir_okay=False)
    ] = None,
    overrides: SetOption = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", metavar="ID", help=_REMOVE)] = None,
    unused: Annotated[float | None, typer.Option("--unused", metavar="DAYS", min=0, help=_UNUSED)] = None,
    as_json: JsonOption = False,
) -> None:
    """List the stored values of programs and functions, or remove some.

    A run that needs removed values computes them again. Do not remove values that a run is using.
    """
    roots = {column.caches_of(None, Path())}
    if config is not None:
        checked = load_config(config, overrides)
        roots |= {column.caches_of(value, checked.base_dir) for value in checked.computed.values()}
    found = [facts for root in sorted(roots) for facts in stored.caches_below(root)]
    for wanted in remove or ():
        if not any(facts.directory.name.startswith(wanted) for facts in found):
            raise typer.BadParameter(f"--remove {wanted}: there are no values with this id")
    chosen = [
        facts
        for facts in found
        if any(facts.directory.name.startswith(wanted) for wanted in remove or () if wanted)
        or (unused is not None and time.time() - facts.used >= unused * _DAY)
    ]
    for facts in chosen:
        with writing(facts.directory):
            shutil.rmtree(facts.directory)
    removing = bool(remove) or unused is not None
    _print(chosen if removing else found, as_json=as_json, removed=removing)


def _print(found: list[CacheFacts], *, as_json: bool, removed: bool) -> None:
    console = open_console()
    if as_json:
        for facts in found:
            numbers = {"values": facts.values, "bytes": facts.bytes, "unreadable_bytes": facts.unreadable}
            place = {"id": facts.directory.name, "directory": str(facts.directory), "used": round(facts.used)}
            console.print(json.dumps({**place, **numbers, **facts.about}, ensure_ascii=False), soft_wrap=True)
        return
    table = plain_table("id", "name", "languages", "program", "version", ">values", ">size", "last use")
    for facts in found:
        about = facts.about
        program = about.get("python") or " ".join(map(str, about.get("program") or ()))
        damaged = f" ({filesize.decimal(facts.unreadable)} damaged)" if facts.unreadable else ""
        named = (str(about.get(key, "")) for key in ("name", "languages"))
        table.add_row(
            *(facts.directory.name[:_ID], *named, program, str(about.get("version", ""))),
            *(f"{facts.values:,}", filesize.decimal(facts.bytes) + damaged),
            time.strftime("%Y-%m-%d", time.localtime(facts.used)),
        )
    console.print(table)
    if removed:
        console.print(f"removed the values of {len(found)} kinds")
