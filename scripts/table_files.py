"""Writes the C++ tables of the ``make_*_tables.py`` scripts, or checks that they are current."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path


def rows(items: Iterable[str], per_row: int) -> str:
    """Returns the items of an array as indented lines with a fixed number of items."""
    items = list(items)
    return "\n".join("    " + ", ".join(items[row : row + per_row]) + "," for row in range(0, len(items), per_row))


def write_or_check(target: Path, source: Callable[[], str], description: str | None) -> int:
    """Writes a file or, with ``--check``, compares it; returns the exit status.

    The first line names the version of Unicode. Files of another version than that at hand are not compared.

    Args:
        target: the file.
        source: returns its text.
        description: text of ``--help``.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="fail if the file is not up to date; write nothing")
    if not parser.parse_args().check:
        target.write_text(source(), encoding="utf-8")
        return 0
    current = target.read_text(encoding="utf-8")
    try:
        wanted = source()
    except ModuleNotFoundError as error:
        print(f"{target.name} was not compared: {error}", file=sys.stderr)
        return 0
    if wanted.partition("\n")[0] != current.partition("\n")[0]:
        print(f"{target.name} was not compared: it is of another version of Unicode", file=sys.stderr)
        return 0
    if wanted != current:
        print(f"{target} is out of date; run the script without --check", file=sys.stderr)
        return 1
    return 0
