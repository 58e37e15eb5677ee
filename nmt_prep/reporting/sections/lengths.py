"""Lengths: in ids, words and characters; source by target; ratios."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from nmt_prep.cleaning.expansion import expansion
from nmt_prep.reporting.bins import LENGTH_EDGES, RATIO_EDGES
from nmt_prep.reporting.flow import Json
from nmt_prep.reporting.markup import Content, Markup, el, number, percent, table
from nmt_prep.reporting.sections.figure import (
    SIDES,
    UNIT_NAMES,
    bin_texts,
    figure,
    grid,
    legend,
    length_place,
    length_ticks,
    main_split,
    side_name,
)
from nmt_prep.reporting.svg import Series, Tick, bars, count_ticks, curve, heat, plot

TITLE = "Lengths"

_RULE = "length_ratio"


def section(summary: Json, most: int = 40) -> Iterator[Content]:
    """Yields the content of the section, with figures of up to ``most`` corpora."""
    split = main_split(summary)
    lengths, corpora = summary["lengths"][split], summary["text"].get(split, {})
    if not lengths["pairs"]:
        return
    sampled, pairs = lengths["sampled"], lengths["pairs"]
    basis = f"a random sample of {sampled:,} of {pairs:,} pairs, up to 20,000 of each corpus, scaled to all"
    if sampled == pairs:
        yield el("p", f"Lengths of all pairs of {split}.", class_="how")
    else:
        yield el("p", f"Lengths of {split}: those in ids are of all pairs, the others of {basis}.", class_="how")
    yield grid(_tokens(summary, split), *(_lengths(summary, lengths, unit) for unit in ("word", "char")))
    unit, bounds = _ratio_rule(summary, split)
    shown = list(corpora.items())[:most]
    yield grid(
        _joint(summary, lengths, unit, bounds),
        _ratios(f"Ratio of lengths, {split}", lengths, unit, bounds),
        *(
            _ratios(f"Ratio of lengths, {split}/{name}", corpus, unit, bounds, f"{split}/{name}")
            for name, corpus in (shown if len(corpora) > 1 else ())
        ),
    )


def _tokens(summary: Json, split: str) -> Markup:
    limit = summary["provenance"]["input"]["max_length"]
    left_out = sum(count for length, count in summary["splits"][split]["max_lengths"] if length > limit)
    how = (
        f"How many pairs have each length in ids, end of sentence included. {left_out:,} pairs are longer than "
        f"{limit:,} (input.max_length) on a side, and are left out of batches."
    )
    values = summary["lengths"][split]["tokens_by_length"]
    return _two_sides(summary, "Length in ids", how, values, [(limit, f"max_length {limit:,}")])


def _lengths(summary: Json, lengths: Json, unit: str) -> Markup:
    name = UNIT_NAMES[unit]
    means = " and ".join(f"{lengths['means'][side][unit]:.1f} in the {side}" for side in SIDES)
    values = {side: lengths["lengths"][side][unit] for side in SIDES}
    how = f"How many pairs have each length in {name}; {means} on average."
    return _two_sides(summary, f"Length in {name}", how, values)


def _two_sides(
    summary: Json, title: str, how: str, values: dict[str, Sequence[float]], marks: Sequence[tuple[int, str]] = ()
) -> Markup:
    size = max(map(len, values.values()))
    padded = {side: [*each, *([0] * (size - len(each)))] for side, each in values.items()}
    texts = bin_texts(size)
    most = max(max(each, default=0) for each in padded.values())
    places = ((length_place(at, size), text) for at, text in marks)
    ticks = [*length_ticks(size), *(Tick(place, text, strong=True) for place, text in places if 0 <= place <= 1)]
    drawn = bars([Series(side, side_name(summary, side), padded[side]) for side in SIDES], texts)
    drawing = plot(drawn, title, x=ticks, y=count_ticks(most))
    rows: list[list[Content]] = [
        [text, *(int(padded[side][place]) for side in SIDES)] for place, text in enumerate(texts)
    ]
    data = table(["length", *(side_name(summary, side) for side in SIDES)], rows, caption=f"{title}: pairs", sort=False)
    return figure(title, how, [drawing, legend(*((side, side_name(summary, side)) for side in SIDES))], data)


def _joint(summary: Json, lengths: Json, unit: str, bounds: Sequence[float]) -> Markup:
    cells = lengths["joint"][unit]
    columns, rows = (max((cell[side] for cell in cells), default=0) + 1 for side in (0, 1))
    texts = bin_texts(columns), bin_texts(rows)
    drawn = heat([(source, target, count) for source, target, count in cells], columns, rows, texts)
    drawn += [curve(list(_ratio_line(ratio, columns, rows)), "bound") for ratio in bounds]
    y = [Tick(tick.place, tick.text) for tick in length_ticks(rows)]
    title = f"Source by target, in {UNIT_NAMES[unit]}"
    limits = f", and the lines are the bounds of the rule {_RULE}" if bounds else ""
    how = (
        "Each cell is the pairs with a source (left to right) and a target (bottom to top) of some lengths; a stronger "
        f"colour means more pairs{limits}."
    )
    common = sorted(cells, key=lambda cell: (-cell[2], cell))[:40]
    total = sum(cell[2] for cell in cells)
    data = table(
        ["source", "target", "pairs", "share"],
        [(texts[0][source], texts[1][target], count, percent(count, total)) for source, target, count in common],
        caption="The most frequent lengths of source and target",
        left=2,
    )
    return figure(title, how, plot(drawn, title, x=length_ticks(columns), y=y, height=260), data)


def _ratio_line(ratio: float, columns: int, rows: int) -> Iterator[tuple[float, float]]:
    """Yields the points where target = ratio × source, within the plot."""
    for place in range(columns * 4 + 1):
        column = min(place / 4, len(LENGTH_EDGES) - 1.001)
        low, high = LENGTH_EDGES[int(column)], LENGTH_EDGES[int(column) + 1]
        target = ratio * (low + (high - low) * (column % 1))
        y = length_place(target, rows)
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
    drawn = bars([Series("kept", "pairs", values[begin:end])], texts[begin:end])
    drawing = plot(drawn, title, x=ticks, y=count_ticks(max(values, default=0)))
    how = f"Target length / source length in {UNIT_NAMES[unit]}; in a clean corpus the hill is narrow."
    rows = [(text, int(value)) for text, value in zip(texts[begin:end], values[begin:end], strict=True)]
    return figure(title, how, drawing, table(["ratio", "pairs"], rows, caption=title, sort=False), corpus=corpus)


_OCTAVES = ((-1, "1/8"), (0, "1/4"), (1, "1/2"), (2, "1"), (3, "2"), (4, "4"), (5, "8"))


def _ratio_place(ratio: float) -> float:
    """Returns the place of a ratio among the bins, which are a quarter of an octave wide."""
    place = 0.0
    for low, high in pairwise(RATIO_EDGES):
        place += min(max((ratio - low) / (high - low), 0.0), 1.0)
    return place + 1


def _ratio_rule(summary: Json, split: str) -> tuple[str, list[float]]:
    """Returns the unit of the rule length_ratio in a split, and the ratios target / source that it allows.

    Without the rule, or if it counts something else, the unit is words, and there are no limits.
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
