"""Vocabularies: frequencies of pieces, fertility, pieces that are not used, and text that has no piece."""

from __future__ import annotations

import math
from collections.abc import Iterator

from nmt_prep.reporting.combined import pieces_per
from nmt_prep.reporting.flow import Json
from nmt_prep.reporting.markup import Content, Markup, el, percent, short_number, table
from nmt_prep.reporting.sections.figure import SIDES, figure, grid, side_name
from nmt_prep.reporting.svg import Tick, curve, plot

TITLE = "Vocabularies"


def section(summary: Json) -> Iterator[Content]:
    """Yields the content of the section."""
    split = summary["pieces"]["source"]["split"]
    yield el("p", f"How {split} uses the vocabularies. The end of sentence and tags do not count.", class_="how")
    rows = [(name, *(_facts(summary, side)[name] for side in SIDES)) for name in _facts(summary, "source")]
    yield table(
        ["fact", *(side_name(summary, side) for side in SIDES)],
        rows,
        caption="Facts about the vocabularies",
        sort=False,
    )
    yield grid(*(_frequencies(summary, side) for side in SIDES))
    yield grid(*(_pieces(summary, side) for side in SIDES), wide=True)


def _facts(summary: Json, side: str) -> dict[str, Content]:
    vocabulary, use = summary["vocab"][side], summary["pieces"][side]
    asked = summary["provenance"]["vocab_size"]
    return {
        "kind": vocabulary["kind"],
        "file": vocabulary["file"],
        **({} if asked is None else {"pieces asked for": asked}),
        "pieces": vocabulary["size"],
        "pieces that do not occur": f"{use['unused']:,} ({percent(use['unused'], use['pieces'])})",
        "pieces that occur once": use["singletons"],
        "ids": use["tokens"],
        "unknown ids": "no such id"
        if use["unknown"] is None
        else f"{use['unknown']:,} ({percent(use['unknown'], use['tokens'], 3)})",
        "pieces per word": f"{pieces_per(summary, side, 'word') or 0:.3f}",
        "pieces per character": f"{pieces_per(summary, side, 'char') or 0:.3f}",
        "characters without a piece, in the sample": f"{use['escaped_kinds']:,} ({use['escaped_count']:,} times)",
    }


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
