"""Parts that sections share: figures with their sentence and their table, names, axes of lengths."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from nmt_prep.reporting.bins import LENGTH_EDGES
from nmt_prep.reporting.flow import Json
from nmt_prep.reporting.markup import Content, Markup, behind, el, join
from nmt_prep.reporting.svg import Tick

SIDES = ("source", "target")

UNIT_NAMES = {"token": "ids", "piece": "pieces", "word": "words", "char": "characters"}


def figure(title: str, how: str, drawing: Content, data: Content = None, *, corpus: str | None = None) -> Markup:
    """Returns a figure.

    Args:
        title: heading of the figure.
        how: one sentence on how to read it.
        drawing: the plot.
        data: the table with its numbers, which is folded away.
        corpus: the corpus that it is about, so that the script can filter it.
    """
    caption = el("figcaption", el("h3", title), el("p", how, class_="how"))
    return el("figure", caption, drawing, behind("Table", data) if data else None, data_corpus=corpus)


def grid(*figures: Content, wide: bool = False) -> Markup:
    """Returns figures side by side, as many as there is room for."""
    return el("div", figures, class_="grid wide" if wide else "grid")


def legend(*entries: tuple[str, str]) -> Markup:
    """Returns the legend of a plot: class and name of each kind."""
    return el("p", (join([el("span", class_=f"key {kind}"), f"{name} "]) for kind, name in entries), class_="legend")


def side_name(summary: Json, side: str) -> str:
    """Returns a side with its language, such as ``source (en)``."""
    return f"{side} ({summary['languages'][side]})"


def main_split(summary: Json) -> str:
    """Returns the split that the figures show: train, or else the first."""
    return "train" if "train" in summary["splits"] else next(iter(summary["splits"]))


def corpora(section: Json) -> Iterator[tuple[str, str, Any]]:
    """Yields split, corpus and value of a section that is ordered by split and corpus."""
    for split, values in section.items():
        for corpus, value in values.items():
            yield split, corpus, value


def bin_texts(bins: int) -> list[str]:
    """Returns names of the first bins of lengths, such as ``8 to 9``."""
    pairs = zip(LENGTH_EDGES, [*LENGTH_EDGES[1:], 0], strict=True)
    return [_bin_text(low, high) for low, high in pairs][:bins]


def _bin_text(low: int, high: int) -> str:
    if not high:
        return f"{low:,} or more"
    return f"{low:,}" if high == low + 1 else f"{low:,} to {high - 1:,}"


def length_ticks(bins: int) -> list[Tick]:
    """Returns labels for an axis of bins of lengths: powers of two."""
    powers = [(place, edge) for place, edge in enumerate(LENGTH_EDGES[:bins]) if edge & (edge - 1) == 0]
    step = max(len(powers) // 7, 1)
    return [Tick((place + 0.5) / bins, f"{edge:,}") for place, edge in powers[::step]]


def length_place(length: float, bins: int) -> float:
    """Returns the place of a length on an axis of bins of lengths, from 0 to 1; 1 or more is outside."""
    place = bisect_right(LENGTH_EDGES, length) - 1
    if not 0 <= place < len(LENGTH_EDGES) - 1:
        return -1.0 if place < 0 else 2.0
    low, high = LENGTH_EDGES[place], LENGTH_EDGES[place + 1]
    return float((place + (length - low) / (high - low)) / bins)
