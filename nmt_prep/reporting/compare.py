"""Differences between the reports of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nmt_prep.reporting.summary import Json, about, corpora, pieces_per
from nmt_prep.sides import SIDES


@dataclass(frozen=True)
class Difference:
    """A value that differs between two runs; None stands for a value that one run does not have.

    Attributes:
        what: name of the value, such as ``train/news: pairs out``.
        one: its value in the first run.
        other: its value in the other run.
    """

    what: str
    one: object
    other: object

    @property
    def change(self) -> str:
        """The change from the second run to the first in percent; empty if one of the values is not a number."""
        one, other = self.one, self.other
        if not (isinstance(one, int | float) and isinstance(other, int | float)) or isinstance(one, bool) or not other:
            return ""
        return f"{100 * (one - other) / other:+.1f}%"


@dataclass(frozen=True)
class Comparison:
    """The differences between two runs, by section. Sections without differences are left out.

    Attributes:
        same_data: true if both runs have the same signature.
        sections: differences by title of the section.
    """

    same_data: bool
    sections: dict[str, list[Difference]]


def compare(one: Json, other: Json) -> Comparison:
    """Returns the differences between the contents of two files ``summary.json``."""
    parts = {
        "signature": _signature,
        "config": _config,
        "corpora": _corpora,
        "dropped pairs": _drops,
        "vocabularies": _vocabularies,
        "records and batches": _batches,
        "warnings": _warnings,
    }
    sections = {}
    for title, values in parts.items():
        first, second = dict(values(one)), dict(values(other))
        keys = dict.fromkeys([*first, *second])
        different = [key for key in keys if first.get(key) != second.get(key)]
        if different:
            sections[title] = [Difference(key, first.get(key), second.get(key)) for key in different]
    return Comparison(one["signature"] == other["signature"], sections)


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


def _corpora(summary: Json) -> Iterator[tuple[str, object]]:
    for split, corpus, flow in corpora(summary["flow"]):
        yield f"{split}/{corpus}: pairs in", flow["read"]["pairs"]
        for name in ("pairs", "source_tokens", "target_tokens"):
            if flow["encoded"]:
                yield f"{split}/{corpus}: {name.replace('_', ' ')} out", flow["encoded"][name]


def _drops(summary: Json) -> Iterator[tuple[str, object]]:
    for split, corpus, flow in corpora(summary["flow"]):
        for drop in flow["drops"]:
            yield f"{split}/{corpus}: {drop['reason']}", drop["pairs"]


def _vocabularies(summary: Json) -> Iterator[tuple[str, object]]:
    for side in SIDES:
        facts, use = summary["vocab"][side], summary["pieces"][side]
        yield f"{side}: kind", facts["kind"]
        yield f"{side}: pieces", facts["size"]
        yield f"{side}: unused pieces", use["unused"]
        yield f"{side}: unknown ids", use["unknown"]
        for unit, name in (("word", "word"), ("char", "character")):
            yield f"{side}: pieces per {name}", pieces_per(summary, side, unit)


def _batches(summary: Json) -> Iterator[tuple[str, object]]:
    for split, counts in summary["splits"].items():
        for name in ("pairs", "source_tokens", "target_tokens", "shards", "longest_source", "longest_target"):
            yield f"{split}: {name.replace('_', ' ')}", counts[name]
    for split, estimates in summary["batches"].items():
        if estimates and estimates[0]["cells"]:
            configured = estimates[0]
            yield f"{split}: batches an epoch", configured["batches_per_epoch"]
            yield f"{split}: padding in percent", round(100 - 100 * configured["tokens"] / configured["cells"], 1)
            yield f"{split}: pairs too long", configured["left_out"]


def _warnings(summary: Json) -> Iterator[tuple[str, object]]:
    for warning in summary["warnings"]:
        where = "/".join(filter(None, [about(warning), warning["side"]]))
        yield f"{where}: {warning['code']}" if where else warning["code"], warning["text"]
