"""Plots as inline SVG: bars, curves and heat maps that are as wide as the page allows.

A plot's drawing is an inner ``svg``, which is stretched. Labels are outside of the drawing, positioned in percent,
so that their size stays the same. The labels of counts are in a gutter at the left. Colors come from the style sheet,
by class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from nmt_prep.reporting.markup import Content, Markup, el, figure, legend, short_number, table

WIDTH, HEIGHT = 1000, 100  # Size of the inner drawing, in its own units

_TOP, _BOTTOM, _GUTTER = 16, 22, 34

_LINE = 13  # Height of a label in pixels
_CHARACTER = 0.026  # Width of a label's character: 6.5 of the 250 pixels that the narrowest plot has


@dataclass(frozen=True)
class Tick:
    """A label of an axis at a position from 0 to 1. A strong label also has a line across the plot."""

    place: float
    text: str
    strong: bool = False


@dataclass(frozen=True)
class Series:
    """Bars of one kind: their class in the style sheet, their name, and their values."""

    kind: str
    name: str
    values: Sequence[float]


def plot(
    drawing: Iterable[Markup], title: str, *, x: Sequence[Tick] = (), y: Sequence[Tick] = (), height: int = 130
) -> Markup:
    """Returns a plot with axes."""
    lines, counts = [], []
    for tick in _apart(y, lambda one, other: abs(one.place - other.place) * height < _LINE):
        at = _TOP + (1 - tick.place) * height
        lines.append(el("line", x1="0", x2="100%", y1=at, y2=at, class_="grid"))
        counts.append(el("text", tick.text, x=_GUTTER - 6, y=at + 4, class_="tick", text_anchor="end"))
    marks = [
        el("line", x1=_at(tick), x2=_at(tick), y1=_TOP - 4, y2=_TOP + height, class_="mark")
        for tick in x
        if tick.strong
    ]
    marks += [_label(tick, _TOP - 6, "mark") for tick in _apart([tick for tick in x if tick.strong], _collide)]
    labels = [
        _label(tick, _TOP + height + 16, "tick") for tick in _apart([tick for tick in x if not tick.strong], _collide)
    ]
    inner = el(
        "svg", drawing, y=_TOP, width="100%", height=height, viewBox=f"0 0 {WIDTH} {HEIGHT}", preserveAspectRatio="none"
    )
    base = el("line", x1="0", x2="100%", y1=_TOP + height, y2=_TOP + height, class_="axis")
    return el(
        "svg",
        counts,
        el("svg", lines, inner, base, labels, marks, x=_GUTTER, width="90%", class_="area"),
        class_="plot",
        role="img",
        aria_label=title,
        width="100%",
        height=_TOP + height + _BOTTOM,
    )


def _at(tick: Tick) -> str:
    return f"{100 * tick.place:.2f}%"


def _label(tick: Tick, y: float, kind: str) -> Markup:
    begin, end = _extent(tick)
    anchor = "start" if begin == tick.place else "end" if end == tick.place else "middle"
    return el("text", tick.text, x=_at(tick), y=y, class_=kind, text_anchor=anchor)


# The page has any width, but labels have one size. So overlaps are computed for the narrowest plot, and in a wider one
# the labels are only farther apart. At an edge, a label grows inward.
def _extent(tick: Tick) -> tuple[float, float]:
    """Returns begin and end of a tick's label in a plot with the smallest width, from 0 to 1."""
    width = _CHARACTER * len(tick.text)
    if tick.place < width / 2:
        return tick.place, tick.place + width
    if tick.place > 1 - width / 2:
        return tick.place - width, tick.place
    return tick.place - width / 2, tick.place + width / 2


def _collide(one: Tick, other: Tick) -> bool:
    (begin, end), (first, last) = _extent(one), _extent(other)
    return begin < last + _CHARACTER and first < end + _CHARACTER


def _apart(ticks: Sequence[Tick], collide: Callable[[Tick, Tick], bool]) -> list[Tick]:
    """Returns the ticks whose labels do not overlap: the first, the last, then further ones in order."""
    shown: list[Tick] = []
    for tick in [*ticks[:1], *ticks[-1:], *ticks[1:-1]]:
        if not any(collide(tick, other) for other in shown):
            shown.append(tick)
    return shown


# Each place also gets an invisible bar over the full height, which holds the hover text of all series: a bar of height
# 0 could not be pointed at.
def bars(series: Sequence[Series], texts: Sequence[str], *, log: bool = False) -> list[Markup]:
    """Returns bars, later series in front of earlier ones, so a series of sums must come first."""
    count = len(texts)
    most = max((value for kind in series for value in kind.values), default=0)
    width = WIDTH / max(count, 1)
    drawn = []
    for kind in series:
        for place, value in enumerate(kind.values):
            if value > 0:
                tall = HEIGHT * scaled(value, most, log=log)
                drawn.append(
                    el(
                        "rect",
                        x=place * width + width * 0.04,
                        y=HEIGHT - tall,
                        width=width * 0.92,
                        height=tall,
                        class_=kind.kind,
                        data_bin=place if len(series) > 1 else None,
                    )
                )
    for place, text in enumerate(texts):
        values = ", ".join(f"{kind.name} {kind.values[place]:,.0f}" for kind in series if place < len(kind.values))
        hover = el("title", f"{text}: {values}")
        drawn.append(el("rect", hover, x=place * width, y=0, width=width, height=HEIGHT, class_="hit"))
    return drawn


def bar_figure(
    title: str,
    how: str,
    series: Sequence[Series],
    texts: Sequence[str],
    *,
    x: Sequence[Tick],
    places: str,
    log: bool = False,
    corpus: str | None = None,
    data: Content = None,
) -> Markup:
    """Returns a bar figure with its legend and the folded table of its numbers."""
    most = max((value for kind in series for value in kind.values), default=0)
    drawing = plot(bars(series, texts, log=log), title, x=x, y=count_ticks(most, log=log))
    if data is None:
        rows: Iterator[list[Content]] = (
            [text, *(int(kind.values[place]) for kind in series)] for place, text in enumerate(texts)
        )
        data = table([places, *(kind.name for kind in series)], rows, caption=title, sort=False)
    key = legend(*((kind.kind, kind.name) for kind in series)) if len(series) > 1 else None
    return figure(title, how, [drawing, key], data, corpus=corpus)


def scaled(value: float, most: float, *, log: bool = False) -> float:
    """Returns a bar's height from 0 to 1; on a logarithmic scale, 1 is still visible."""
    if most <= 0:
        return 0.0
    return math.log1p(value) / math.log1p(most) if log else value / most


def count_ticks(most: float, *, log: bool = False) -> list[Tick]:
    """Returns labels for an axis of counts."""
    if most <= 0:
        return []
    if log:
        tens = [10**power for power in range(16) if 10**power <= most]
        chosen: list[float] = [*tens[:: max(len(tens) // 3, 1)]]
    else:
        power = 10 ** math.floor(math.log10(most))
        step = next(part * power for part in (0.2, 0.5, 1, 2) if most <= 5 * part * power)
        chosen = [step * times for times in range(1, int(most / step) + 1)]
    return [Tick(scaled(value, most, log=log), short_number(value)) for value in chosen]


def curve(points: Sequence[tuple[float, float]], kind: str) -> Markup:
    """Returns a curve through points whose coordinates are from 0 to 1, with the origin at the bottom left."""
    steps = " ".join(f"{x * WIDTH:.1f},{(1 - y) * HEIGHT:.2f}" for x, y in points)
    return el("path", d=f"M{steps}", class_=f"curve {kind}", vector_effect="non-scaling-stroke")


def heat(
    cells: Iterable[tuple[int, int, float]], columns: int, rows: int, texts: Sequence[Sequence[str]]
) -> list[Markup]:
    """Returns a heat map: cells from the bottom left, shaded by the logarithm of their values."""
    filled = [cell for cell in cells if cell[2] > 0]
    most = max((value for _, _, value in filled), default=0)
    width, tall = WIDTH / max(columns, 1), HEIGHT / max(rows, 1)
    drawn = []
    for column, row, value in filled:
        shade = 1 + round(8 * scaled(value, most, log=True))
        title = el("title", f"{texts[0][column]} × {texts[1][row]}: {value:,.0f}")
        place = {"x": column * width, "y": HEIGHT - (row + 1) * tall}
        drawn.append(el("rect", title, **place, width=width, height=tall, class_=f"h{shade}"))
    return drawn
