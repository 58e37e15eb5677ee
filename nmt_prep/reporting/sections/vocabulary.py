"""Vocabularies: frequencies of pieces, pieces per word, unused pieces, and characters without a piece."""

from __future__ import annotations

import math
from collections.abc import Iterator

from nmt_prep.reporting.markup import Content, Markup, el, figure, grid, short_number, table
from nmt_prep.reporting.summary import Json, side_name
from nmt_prep.reporting.svg import Tick, curve, plot
from nmt_prep.reporting.tables import vocabulary_table
from nmt_prep.sides import SIDES

TITLE = "Vocabularies"


def section(summary: Json) -> Iterator[Content]:
    """Yields the content of the section."""
    split = summary["pieces"]["source"]["split"]
    yield el("p", f"How {split} uses the vocabularies. The end of sentence and tags do not count.", class_="how")
    yield vocabulary_table(summary).markup(sort=False)
    yield grid(*(_frequencies(summary, side) for side in SIDES))
    yield grid(*(_pieces(summary, side) for side in SIDES), wide=True)


def _frequencies(summary: Json, side: str) -> Markup:
    points = summary["pieces"][side]["curve"]
    title = f"Frequency of pieces, {side_name(summary, side)}"
    last, most = points[-1][0] if points else 1, points[0][1] if points else 1
    across, up = max(math.log(last), 1e-9), max(math.log(most), 1e-9)
    drawn = [curve([(math.log(rank) / across, math.log(count) / up) for rank, count in points], side)] if points else []
    x = [Tick(math.log(10**power) / across, short_number(10**power)) for power in range(9) if 10**power <= last]
    y = [Tick(math.log(10**power) / up, short_number(10**power)) for power in range(1, 16) if 10**power <= most]
    how = (
        "Rank (left to right) and frequency (upwards), both logarithmic. Natural text gives nearly a straight line; a "
        "steep end means pieces too rare to be learnt."
    )
    rows = [(str(rank), count) for rank, count in points[:: max(len(points) // 40, 1)]]
    return figure(
        title,
        how,
        plot(drawn, title, x=x, y=y[:: max(len(y) // 4, 1)]),
        table(["rank", "occurrences"], rows, caption=title, sort=False),
    )


def _pieces(summary: Json, side: str) -> Markup:
    use, language = summary["pieces"][side], summary["languages"][side]
    lists = [
        ("Most frequent pieces", [(text, f"{count:,}") for text, count in use["frequent"]]),
        ("Longest pieces", [(text, f"{count:,}") for text, count in use["longest"]]),
        ("Pieces that do not occur", [(text, "") for text in use["unused_pieces"]]),
        ("Characters without a piece", [(_named(text), f"{count:,}") for text, count in use["escaped"]]),
    ]
    parts = [
        el(
            "details",
            el("summary", f"{name} ({len(entries)} shown)"),
            el(
                "ul",
                (
                    el("li", el("bdi", text, lang=language), el("small", f" {count}") if count else None)
                    for text, count in entries
                ),
                class_="pieces",
            ),
            open=name == "Most frequent pieces",
        )
        for name, entries in lists
        if entries
    ]
    return el("div", el("h3", side_name(summary, side).capitalize()), parts)


def _named(character: str) -> str:
    return f"{character} U+{ord(character):04X}"
