"""Commands by name. A module that defines commands is imported when one of them is needed, so others start fast."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

import typer
from typer.core import TyperGroup

_MODULES = {
    "init": "init",
    "check": "check",
    "download": "downloads",
    "lock": "downloads",
    "fetch": "downloads",
    "tasks": "tasks",
    "clean": "cleaning",
    "rejects": "cleaning",
    "overlap": "overlap",
    "report": "report",
    "align": "alignment",
    "shortlist": "alignment",
    "view": "view",
    "encode": "text",
    "decode": "text",
    "vocab": "text",
    "run": "runs",
    "plan": "runs",
    "schema": "runs",
}
"""The module of :mod:`nmt_prep.cli` that defines each command, as a function of the command's name."""


class Commands(Mapping[str, Any]):
    """The commands by name, in the order of the help text."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            module = importlib.import_module(f"nmt_prep.cli.{_MODULES[name]}")
            alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
            alone.command(name)(getattr(module, name))
            self._made[name] = typer.main.get_command(alone)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


class CommandGroup(TyperGroup):
    """The group of all commands."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands: Any = Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        """Returns the names of the commands."""
        del ctx
        return list(self.commands)
