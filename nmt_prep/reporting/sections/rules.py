"""Cleaning rules: the histogram of the values of each rule with its threshold, and which rules fail the same pairs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from nmt_prep.cleaning.rule import YES_OR_NO
from nmt_prep.reporting.combined import summed
from nmt_prep.reporting.flow import Json
from nmt_prep.reporting.markup import Content, Markup, corpus_text, el, heat_cell, number, percent, table, table_row
from nmt_prep.reporting.sections.figure import corpora, figure, grid, legend
from nmt_prep.reporting.svg import Series, Tick, bars, count_ticks, plot

TITLE = "Cleaning rules"

_EXAMPLES = 5


def section(summary: Json) -> Iterator[Content]:
    """Yields the content of the section; empty if nothing is cleaned."""
    rules = _rules(summary)
    if not rules:
        return
    yield el(
        "p",
        "Every rule judges every pair, also those that another rule drops. The scale of the pairs is logarithmic.",
        class_="how",
    )
    yield grid(_histogram(summary, rule, column) for rule, columns in rules.items() for column in columns)
    yield _agreement(summary, list(rules))
    yield _translation(summary)
    yield _nearest(summary, list(rules))


def _rules(summary: Json) -> dict[str, list[str]]:
    """Returns the columns of each rule that has a histogram with any values."""
    rules: dict[str, dict[str, None]] = {}
    for _, _, counts in corpora(summary.get("clean", {})):
        for rule, columns in counts["histograms"].items():
            for column, histogram in columns.items():
                if any(histogram["kept"]) or any(histogram["dropped"]):
                    rules.setdefault(rule, {})[column] = None
    return {rule: list(columns) for rule, columns in rules.items()}


def histograms(summary: Json, rule: str, column: str) -> dict[str, Json]:
    """Returns the histograms of a rule by corpus (``train/news``), those with the most common edges."""
    found = {
        f"{split}/{corpus}": counts["histograms"][rule][column]
        for split, corpus, counts in corpora(summary["clean"])
        if column in counts["histograms"].get(rule, {})
    }
    edges = [tuple(each["edges"]) for each in found.values()]
    common = max(edges, key=edges.count)
    return {corpus: each for corpus, each in found.items() if tuple(each["edges"]) == common}


def _bounds(summary: Json, rule: str, column: str) -> list[Json]:
    """Returns the different bounds of a rule in all corpora."""
    found: list[Json] = []
    for _, _, rules in corpora(summary["rules"]):
        bounds = rules.get(rule, {"columns": {}})["columns"].get(column)
        if bounds is not None and bounds not in found:
            found.append(bounds)
    return found


def _histogram(summary: Json, rule: str, column: str) -> Markup:
    own = histograms(summary, rule, column)
    edges = next(iter(own.values()))["edges"]
    kept, dropped = (summed(each[kind] for each in own.values()) for kind in ("kept", "dropped"))
    both = [a + b for a, b in zip(kept, dropped, strict=True)]
    texts = _bin_texts(edges)
    bounds = _bounds(summary, rule, column)
    ticks = _axis(edges, bounds)
    title = rule if column == "pair" else f"{rule}: {column}"
    drawn = bars([Series("rules", "dropped or kept", both), Series("kept", "kept", kept)], texts, log=True)
    drawing = plot(drawn, f"Values of the rule {title}", x=ticks, y=count_ticks(max(both), log=True), height=110)
    total = int(sum(both))
    low, high = _pass_side(bounds)
    data = table(
        ["value", "kept", "dropped", *(["kept if min"] if low else []), *(["kept if max"] if high else [])],
        list(_threshold_rows(texts, kept, both, low=low, high=high)),
        caption=f"Values of the rule {title}; what this rule alone would keep with another threshold",
        sort=False,
    )
    failed = sum(counts["failed"].get(rule, {}).get(rule, 0) for _, _, counts in corpora(summary["clean"]))
    how = f"{failed:,} of {total:,} pairs fail it ({percent(failed, total)}). {_would_keep(edges, both, bounds)}"
    explorer = json.dumps(
        {
            "rule": rule,
            "column": column,
            "edges": edges,
            "low": low,
            "high": high,
            "limits": {end: [each[end] for each in bounds if each[end] is not None] for end in ("low", "high")},
            "option": _option(summary, rule, column),
            "corpora": {corpus: [each["kept"], each["dropped"]] for corpus, each in own.items()},
        },
        ensure_ascii=True,
        separators=(",", ":"),
    )
    shown = figure(title, how, [drawing, legend(("kept", "kept"), ("rules", "dropped, by any rule"))], data)
    return el("div", shown, class_="rule", data_rule=explorer)


def _bin_texts(edges: Sequence[float]) -> list[str]:
    if tuple(edges) == YES_OR_NO:
        return ["not found", "found"]
    return [f"{number(low)} to {number(high)}" for low, high in pairwise(edges)]


def _axis(edges: Sequence[float], bounds: Sequence[Json]) -> list[Tick]:
    """Returns labels for the values, and lines at the thresholds."""
    if tuple(edges) == YES_OR_NO:
        return [Tick(0.25, "not found"), Tick(0.75, "found")]
    limits = dict.fromkeys(limit for each in bounds for limit in (each["low"], each["high"]) if limit is not None)
    return [
        *(Tick(place / (len(edges) - 1), number(edges[place])) for place in _labelled(len(edges))),
        *(Tick(_place(limit, edges), number(limit), strong=True) for limit in limits if edges[0] <= limit <= edges[-1]),
    ]


def _labelled(count: int) -> list[int]:
    """Returns the edges that get a label."""
    step = max((count - 1) // 5, 1)
    return list(range(0, count, step))


def _place(value: float, edges: Sequence[float]) -> float:
    """Returns the place of a value on the axis from 0 to 1; all bins have the same width on it."""
    for place, (low, high) in enumerate(pairwise(edges)):
        if value <= high:
            return (place + (value - low) / (high - low)) / (len(edges) - 1)
    return 1.0


def _pass_side(bounds: Sequence[Json]) -> tuple[bool, bool]:
    """Returns whether a lower and an upper limit make sense for a rule."""
    low, high = (any(each[side] is not None for each in bounds) for side in ("low", "high"))
    return low, high


def _threshold_rows(
    texts: Sequence[str], kept: Sequence[float], both: Sequence[float], *, low: bool, high: bool
) -> Iterator[list[Content]]:
    total = sum(both)
    above, below = total, 0.0
    for text, stays, all_ in zip(texts, kept, both, strict=True):
        below += all_
        row: list[Content] = [text, int(stays), int(all_ - stays)]
        row += [percent(above, total)] if low else []
        row += [percent(below, total)] if high else []
        above -= all_
        yield row


def _would_keep(edges: Sequence[float], both: Sequence[float], bounds: Sequence[Json]) -> str:
    """Returns a sentence on another threshold: the next edge that would keep fewer pairs, or more."""
    total = sum(both)
    low, high = _pass_side(bounds)
    if len(edges) <= 3 or not total or low == high:
        return ""
    limits = [each["low" if low else "high"] for each in bounds]
    limit = next(each for each in limits if each is not None)
    inner = [edge for edge in edges[1:-1] if abs(edge - limit) > 1e-9]
    stricter = [edge for edge in inner if (edge > limit if low else edge < limit)]
    if not stricter:
        return ""
    edge = min(stricter) if low else max(stricter)
    place = list(edges).index(edge)
    share = sum(both[place:]) if low else sum(both[:place])
    return f"At {number(edge)} it would keep {percent(share, total)}."


def _option(summary: Json, rule: str, column: str) -> dict[str, Any]:
    """Returns the options of a rule that set its limits: ``low`` and ``high``, each a list of keys, if known."""
    for _, _, rules in corpora(summary["rules"]):
        if rule in rules and column in rules[rule]["columns"]:
            bounds, options = rules[rule]["columns"][column], rules[rule]["options"]
            found = {}
            for end in ("low", "high"):
                if bounds[end] is not None and (path := _path_to(bounds[end], options, column)):
                    found[end] = path
            return found
    return {}


def _path_to(limit: float, options: Json, column: str) -> list[str]:
    """Returns the keys of the option that has the value of a limit; none if that is not clear."""
    paths = [[key] for key, value in options.items() if _is(value, limit)]
    nested = [(key, value) for key, value in options.items() if isinstance(value, dict)]
    paths += [[key, column] for key, value in nested if _is(value.get(column), limit)]
    for _, value in nested:
        inner = value.get(column)
        if isinstance(inner, dict):
            paths += [[column, key] for key, each in inner.items() if _is(each, limit)]
    return paths[0] if len(paths) == 1 else []


def _is(value: Any, limit: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == limit


def _agreement(summary: Json, rules: Sequence[str]) -> Markup:
    """Returns the table of the pairs that fail two rules."""
    failed: dict[str, dict[str, int]] = {}
    for _, _, counts in corpora(summary["clean"]):
        for rule, row in counts["failed"].items():
            for other, pairs in row.items():
                own = failed.setdefault(rule, {})
                own[other] = own.get(other, 0) + pairs
    shown = [rule for rule in rules if failed.get(rule, {}).get(rule)]
    if len(shown) < 2:
        return Markup()
    rows = []
    for rule in shown:
        whole = failed[rule][rule]
        cells: list[Content] = [rule, whole]
        for other in shown:
            both = failed[rule].get(other, 0)
            text = "·" if other == rule else percent(both, whole, digits=0)
            share = 0.0 if other == rule else both / whole
            cells.append(heat_cell(text, share, f"{both:,} of {whole:,} pairs that fail {rule} also fail {other}"))
        rows.append(table_row(cells))
    how = (
        "Of the pairs that fail the rule of a row, the share that also fails that of a column. 100 % means that the "
        "rule of the row drops no pair that the other would keep."
    )
    return el(
        "div",
        el("h3", "Which rules agree"),
        el("p", how, class_="how"),
        table(["rule", "pairs", *shown], rows, caption="Share of pairs that fail two rules"),
    )


def _translation(summary: Json) -> Iterator[Content]:
    """Yields how the rule ``translation`` was applied, with the scores of real pairs and of exchanged ones."""
    facts = list(corpora(summary.get("translation", {})))
    if not facts:
        return
    yield el("h3", "Misaligned pairs (rule translation)")
    rows = (
        table_row(
            [
                f"{split}/{corpus}",
                each["left_out"] or "",
                "" if each["threshold"] is None else f"{each['threshold']:.2f}",
                each["learned_from"],
                *("" if each[name] is None else f"{100 * each[name]:.2f} %" for name in ("noise", "found", "lost")),
            ],
            left=2,
            corpus=f"{split}/{corpus}",
        )
        for split, corpus, each in facts
    )
    head = [
        "corpus",
        "left out because",
        "threshold",
        "pairs of the model",
        "misaligned",
        "of them found",
        "others lost",
    ]
    yield table(head, rows, caption="The rule translation; the shares are estimates", left=2)
    yield grid(_compared(f"{split}/{corpus}", each) for split, corpus, each in facts if each["compared"])


def _compared(corpus: str, facts: Json) -> Markup:
    edges, series = facts["compared"]["edges"], facts["compared"]["series"]
    kinds = dict(zip(series, ("source", "target", "duplicates", "test-sets"), strict=False))
    texts = _bin_texts(edges)
    drawn = bars([Series(kinds[name], name, series[name]) for name in kinds], texts)
    limit = facts["threshold"]
    ticks = _axis(edges, [] if limit is None else [{"low": limit, "high": None}])
    most = max(max(values, default=0) for values in series.values())
    rows: list[list[Content]] = [
        [text, *(int(series[name][place]) for name in kinds)] for place, text in enumerate(texts)
    ]
    return figure(
        corpus,
        f"Scores of pairs: {' and '.join(kinds)}; the less the hills overlap, the better the rule tells them apart.",
        [
            plot(drawn, f"Scores of the rule translation, {corpus}", x=ticks, y=count_ticks(most)),
            legend(*((kind, name) for name, kind in kinds.items())),
        ],
        table(["score", *kinds], rows, caption=f"Scores of the rule translation, {corpus}", sort=False),
        corpus=corpus,
    )


def _nearest(summary: Json, rules: Sequence[str]) -> Iterator[Content]:
    """Returns the rejected pairs nearest to the threshold of each reason."""
    found: dict[str, list[tuple[str, Json]]] = {}
    for split, corpus, reasons in corpora(summary.get("rejects", {})):
        for reason, pairs in reasons.items():
            found.setdefault(reason, []).extend((f"{split}/{corpus}", pair) for pair in pairs)
    if not found:
        return
    yield el("h3", "Dropped pairs nearest to each threshold")
    yield el("p", "If these are good pairs, the threshold is too strict. Long texts are cut.", class_="how")
    languages = summary["languages"]
    for reason in [*(rule for rule in rules if rule in found), *(each for each in found if each not in rules)]:
        near = sorted(
            found[reason], key=lambda entry: (entry[1]["distance"] is None, entry[1]["distance"] or 0, entry[0])
        )
        rows = (
            table_row(
                [
                    where,
                    pair["row"],
                    "" if pair["value"] is None else number(pair["value"]),
                    "" if pair["threshold"] is None else number(pair["threshold"]),
                    corpus_text(pair["source"], languages["source"]),
                    corpus_text(pair["target"], languages["target"]),
                ],
                corpus=where,
            )
            for where, pair in near[:_EXAMPLES]
        )
        head = ["corpus", "row", "value", "limit", "source", "target"]
        yield el(
            "details",
            el("summary", f"{reason} ({len(near[:_EXAMPLES])})"),
            table(head, rows, caption=f"Pairs dropped by {reason}, nearest to the threshold", sort=False),
            class_="texts",
        )
