"""Lengths: in IDs, words and characters; source by target; ratios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.lengths import expansion
from nmt_prep.reporting import Json, main_split, side_name
from nmt_prep.reporting.markup import Content, Markup, explanation, figure, grid, number, percent, table
from nmt_prep.reporting.profile import LENGTH_EDGES, RATIO_EDGES
from nmt_prep.reporting.svg import Series, Tick, bar_figure, curve, heat, plot

_UNIT_NAMES = {"word": "words", "char": "characters"}

_RULE = "length_ratio"


def section(summary: Json, most: int = 40, known: dict[str, Markup] | None = None) -> Iterator[Content]:
    """Yields the section's content."""
    known = {} if known is None else known
    split = main_split(summary)
    lengths, corpora = summary["lengths"][split], summary["text"].get(split, {})
    if not lengths["pairs"]:
        return
    sampled, pairs = lengths["sampled"], lengths["pairs"]
    basis = f"a random sample of {sampled:,} of {pairs:,} pairs, drawn from each corpus and scaled to all"
    if sampled == pairs:
        yield explanation(f"Lengths of all pairs of {split}.")
    else:
        yield explanation(f"Lengths of {split}: lengths in IDs are counted for all pairs, other lengths for {basis}.")
    yield grid(_tokens(summary, split), *(_lengths(summary, lengths, unit) for unit in ("word", "char")))
    unit, bounds = _ratio_rule(summary, split)
    shown = list(corpora.items())[: most if len(corpora) > 1 else 0]
    for name, corpus in shown:
        if name not in known:
            known[name] = _ratios(f"Length ratio, {split}/{name}", corpus, unit, bounds, f"{split}/{name}")
    yield grid(
        _joint(summary, lengths, unit, bounds),
        _ratios(f"Length ratio, {split}", lengths, unit, bounds),
        *(known[name] for name, _ in shown),
    )


def _tokens(summary: Json, split: str) -> Markup:
    limit = summary["provenance"]["input"]["max_length"]
    left_out = sum(count for length, count in summary["splits"][split]["max_lengths"] if length > limit)
    how = (
        f"How many pairs have each length in IDs, end of sentence included. {left_out:,} pairs are longer than "
        f"{limit:,} (input.max_length) on a side, and are skipped in batches."
    )
    values = summary["lengths"][split]["tokens_by_length"]
    return _two_sides(summary, "Length in IDs", how, values, [(limit, f"max_length {limit:,}")])


def _lengths(summary: Json, lengths: Json, unit: str) -> Markup:
    name = _UNIT_NAMES[unit]
    means = " and ".join(f"{lengths['means'][side][unit]:.1f} in the {side}" for side in SIDES)
    values = {side: lengths["lengths"][side][unit] for side in SIDES}
    how = f"How many pairs have each length in {name}; {means} on average."
    return _two_sides(summary, f"Length in {name}", how, values)


def _two_sides(
    summary: Json, title: str, how: str, values: Mapping[Side, Sequence[float]], marks: Sequence[tuple[int, str]] = ()
) -> Markup:
    size = max(map(len, values.values()))
    padded = {side: [*counts, *([0] * (size - len(counts)))] for side, counts in values.items()}
    texts = _bin_texts(size)
    places = ((_length_place(at, size), text) for at, text in marks)
    ticks = [*_length_ticks(size), *(Tick(place, text, strong=True) for place, text in places if 0 <= place <= 1)]
    series = [Series(side, side_name(summary, side), padded[side]) for side in SIDES]
    return bar_figure(title, how, series, texts, x=ticks, places="length")


def _joint(summary: Json, lengths: Json, unit: str, bounds: Sequence[float]) -> Markup:
    cells = lengths["joint"][unit]
    columns, rows = (max((cell[side] for cell in cells), default=0) + 1 for side in (0, 1))
    texts = _bin_texts(columns), _bin_texts(rows)
    drawn = heat([(source, target, count) for source, target, count in cells], columns, rows, texts)
    drawn += [curve(list(_ratio_line(ratio, columns, rows)), "bound") for ratio in bounds]
    y = [Tick(tick.place, tick.text) for tick in _length_ticks(rows)]
    title = f"Source by target, in {_UNIT_NAMES[unit]}"
    limits = f", and the lines are the thresholds of the rule {_RULE}" if bounds else ""
    how = (
        "Each cell stands for the pairs with a certain length of source (left to right) and target (upwards); a "
        f"stronger color means more pairs{limits}."
    )
    common = sorted(cells, key=lambda cell: (-cell[2], cell))[:40]
    total = sum(cell[2] for cell in cells)
    data = table(
        ["source", "target", "pairs", "share"],
        [(texts[0][source], texts[1][target], count, percent(count, total)) for source, target, count in common],
        caption="Most frequent lengths of source and target",
        left=(0, 1),
    )
    return figure(title, how, plot(drawn, title, x=_length_ticks(columns), y=y, height=260), data)


def _ratio_line(ratio: float, columns: int, rows: int) -> Iterator[tuple[float, float]]:
    """Yields the points where target = ratio × source, within the plot."""
    for place in range(columns * 4 + 1):
        target = ratio * float(np.interp(place / 4, np.arange(len(LENGTH_EDGES)), LENGTH_EDGES))
        y = _length_place(target, rows)
        if 0 <= y <= 1 and target >= 1:
            yield place / 4 / columns, y


def _ratios(title: str, lengths: Json, unit: str, bounds: Sequence[float], corpus: str | None = None) -> Markup:
    values = lengths["ratios"][unit]
    edges = [f"{edge:.2g}" for edge in RATIO_EDGES]
    texts = [f"below {edges[0]}", *(f"{low} to {high}" for low, high in pairwise(edges)), f"{edges[-1]} or more"]
    used = [place for place, value in enumerate(values) if value]
    used += [int(_ratio_place(ratio)) for ratio in bounds]
    begin, end = min(used, default=12), max(used, default=20) + 1
    begin, end = max(min(begin - 1, 12), 0), min(max(end + 1, 21), len(texts))
    ticks = [
        Tick((place - begin) / (end - begin), text)
        for place, text in ((4 * octave + 8, name) for octave, name in _OCTAVES)
        if begin < place < end
    ]
    for ratio in bounds:
        at = (_ratio_place(ratio) - begin) / (end - begin)
        if 0 < at < 1:
            ticks.append(Tick(at, number(round(ratio, 2)), strong=True))
    how = f"Target length / source length in {_UNIT_NAMES[unit]}; in a clean corpus the hill is narrow."
    series = [Series("kept", "pairs", values[begin:end])]
    return bar_figure(title, how, series, texts[begin:end], x=ticks, places="ratio", corpus=corpus)


_OCTAVES = ((-1, "1/8"), (0, "1/4"), (1, "1/2"), (2, "1"), (3, "2"), (4, "4"), (5, "8"))


def _ratio_place(ratio: float) -> float:
    """Returns a ratio's position among the bins, which are a quarter of an octave wide."""
    return float(np.interp(ratio, RATIO_EDGES, np.arange(1, len(RATIO_EDGES) + 1)))


def _ratio_rule(summary: Json, split: str) -> tuple[str, list[float]]:
    """Returns the unit of a split's `length_ratio` rule, and the target / source ratios that the rule allows.

    The unit is words, without limits, if there is no such rule or if it counts another unit.
    """
    for corpus in summary.get("rules", {}).get(split, {}).values():
        for rule in (rule for name, rule in corpus.items() if name.partition("/")[0] == _RULE):
            options = rule["options"]
            unit = options["unit"]["source"]
            if options["formula"] == "linear" and unit in ("word", "char"):
                factors = options["factors"]
                if factors == "auto":
                    factors = {side: expansion(summary["languages"][side], unit) for side in SIDES}
                middle = 1.0 if factors == "off" else factors["target"] / factors["source"]
                return unit, sorted({middle / options["max"], middle * options["max"]})
    return "word", []


def _bin_texts(bins: int) -> list[str]:
    """Returns names for the first length bins, such as ``8 to 9``."""
    pairs = zip(LENGTH_EDGES, [*LENGTH_EDGES[1:], 0], strict=True)
    return [_bin_text(low, high) for low, high in pairs][:bins]


def _bin_text(low: int, high: int) -> str:
    if not high:
        return f"{low:,} or more"
    return f"{low:,}" if high == low + 1 else f"{low:,} to {high - 1:,}"


def _length_ticks(bins: int) -> list[Tick]:
    """Returns axis labels for length bins: powers of two."""
    powers = [(place, edge) for place, edge in enumerate(LENGTH_EDGES[:bins]) if edge & (edge - 1) == 0]
    step = max(len(powers) // 7, 1)
    return [Tick((place + 0.5) / bins, f"{edge:,}") for place, edge in powers[::step]]


def _length_place(length: float, bins: int) -> float:
    """Returns a length's position on an axis of length bins, from 0 to 1; other values are outside of the axis."""
    return float(np.interp(length, LENGTH_EDGES, np.arange(len(LENGTH_EDGES)) / bins, left=-1, right=2))
