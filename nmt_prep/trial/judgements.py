"""The judgements that the page exports: a table of pairs that are good or bad."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_prep.errors import ArgumentError

_HEAD = ("corpus", "row", "key", "judgement")


@dataclass(frozen=True)
class Judgement:
    """A judged pair.

    Attributes:
        where: file and line, for messages.
        key: the key of its text, of :func:`~nmt_prep.trial.data.text_key`.
        good: true if the pair should be kept.
    """

    where: str
    key: str
    good: bool


Judgements = Mapping[str, Mapping[int, Judgement]]
"""Judgements by split and name of the corpus, and by the row."""


def read_judgements(path: Path) -> Judgements:
    """Reads the table that the page exports.

    Raises:
        ArgumentError: it cannot be read, or is not such a table.
    """
    try:
        head, *lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"cannot read {path}: {error}") from error
    if tuple(head.split("\t")) != _HEAD:
        raise ArgumentError(f"{path}, line 1: expected the columns {', '.join(_HEAD)}, separated by tabs, as exported")
    judgements: dict[str, dict[int, Judgement]] = {}
    for number, line in enumerate(lines, 2):
        match line.split("\t"):
            case [""]:
                continue
            case [corpus, row, key, "good" | "bad" as judgement] if row.isascii() and row.isdigit():
                where = f"{path}, line {number}"
                judgements.setdefault(corpus, {})[int(row)] = Judgement(where, key, judgement == "good")
            case _:
                raise ArgumentError(f"{path}, line {number}: expected a corpus, a row, a key, and good or bad")
    return judgements


def judged_pairs(judgements: Judgements, data: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Returns the numbers of judged pairs in the data of the page, with ``good`` or ``bad``.

    Raises:
        ArgumentError: a judgement is about another pair than the one that the corpus has at this row.
    """
    pairs, names = data["pairs"], [corpus["name"] for corpus in data["corpora"]]
    left = {(name, row): judgement for name, rows in judgements.items() for row, judgement in rows.items()}
    judged = []
    for number, (corpus, row, key) in enumerate(zip(pairs["corpus"], pairs["row"], pairs["key"], strict=True)):
        judgement = left.get((names[corpus], row))
        if judgement is not None and judgement.key == key:
            del left[names[corpus], row]
            judged.append((number, "good" if judgement.good else "bad"))
    for (name, row), judgement in left.items():
        known = "" if name in names else f" (the corpora are {', '.join(names)})"
        raise ArgumentError(
            f"{judgement.where}: row {row:,} of {name} is not the pair that was judged{known}; the judgements are of "
            "another corpus, or it has changed since"
        )
    return judged
