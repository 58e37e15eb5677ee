from __future__ import annotations

import pytest

from nmt_prep.cli.commands import Commands
from tests.cli.program import nmt_prep

NAMES = [
    *("init", "check", "download", "lock", "fetch", "tasks", "clean", "rejects", "overlap", "report"),
    *("align", "shortlist", "view", "encode", "decode", "vocab", "run", "plan", "schema"),
]


def test_all_commands_are_listed_in_order_in_the_help_text() -> None:
    assert list(Commands()) == NAMES
    lines = nmt_prep("--help").stdout.splitlines()
    assert [line.split()[0] for line in lines[lines.index("Commands:") + 1 :] if line[2:3].strip()] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_command_is_made_once_and_has_a_help_text(name: str) -> None:
    commands = Commands()
    assert commands[name] is commands[name]
    assert commands[name].name == name
    assert commands[name].help
