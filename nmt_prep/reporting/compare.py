"""Differences between the reports of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nmt_prep.reporting.report_tables import TABLES, Table
from nmt_prep.reporting.summary import Json, about


@dataclass(frozen=True)
class Difference:
    """A value that differs between two runs; None stands for a value that one run does not have."""

    what: str  # name of the value, such as `train/news: pairs out`
    one: object  # its value in the first run
    other: object  # its value in the other run

    @property
    def change(self) -> str:
        """The change from the second run to the first in percent; empty if one of the values is not a number."""
        one, other = self.one, self.other
        if not (isinstance(one, int | float) and isinstance(other, int | float)) or isinstance(one, bool) or not other:
            return ""
        return f"{100 * (one - other) / other:+.1f}%"


@dataclass(frozen=True)
class Comparison:
    """The differences between two runs, by section. Sections without differences are left out."""

    same_data: bool  # true if both runs have the same signature
    sections: dict[str, list[Difference]]  # differences by title of the section


def compare(one: Json, other: Json) -> Comparison:
    """Returns the differences between the contents of two files ``summary.json``."""
    values = {"signature": (_signature(one), _signature(other)), "config": (_config(one), _config(other))}
    for made in TABLES:
        first, second = made(one), made(other)
        values[first.title.lower()] = (_cells(first), _cells(second))
    values["warnings"] = (_warnings(one), _warnings(other))
    sections = {title: list(_differences(dict(first), dict(second))) for title, (first, second) in values.items()}
    sections = {title: differences for title, differences in sections.items() if differences}
    return Comparison(one["signature"] == other["signature"], sections)


def _differences(one: Mapping[str, object], other: Mapping[str, object]) -> Iterator[Difference]:
    for key in dict.fromkeys([*one, *other]):
        if one.get(key) != other.get(key):
            yield Difference(key, one.get(key), other.get(key))


def _signature(summary: Json) -> Iterator[tuple[str, object]]:
    for field in summary["signature"].split("|"):
        name, _, value = field.partition(":")
        yield name, value


def _config(summary: Json) -> Iterator[tuple[str, object]]:
    yield from _flat("", summary["provenance"]["config"])


def _flat(key: str, value: Any) -> Iterator[tuple[str, object]]:
    """Yields the single values of a config by dotted key; corpora are named by their names."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(f"{key}.{name}" if key else str(name), inner)
    elif isinstance(value, list) and value and all(isinstance(item, Mapping) and "name" in item for item in value):
        for item in value:
            yield from _flat(f"{key}.{item['name']}", {name: inner for name, inner in item.items() if name != "name"})
    else:
        yield key, str(value) if isinstance(value, list) else value


def _cells(table: Table) -> Iterator[tuple[str, object]]:
    """Yields the cells of a table by row and heading, such as ``train/news: pairs in``."""
    for row in table.rows:
        for heading, cell in zip(table.head[table.keys :], row[table.keys :], strict=True):
            yield ": ".join([*map(str, row[: table.keys]), heading]), cell


def _warnings(summary: Json) -> Iterator[tuple[str, object]]:
    for warning in summary["warnings"]:
        where = "/".join(filter(None, [about(warning), warning["side"]]))
        yield f"{where}: {warning['code']}" if where else warning["code"], warning["text"]
