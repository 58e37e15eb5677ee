"""Cleaning rules: a value histogram with the threshold for each rule, and which rules fail the same pairs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.corpus_rules import CORPUS_RULES
from nmt_prep.cleaning.rule import YES_OR_NO
from nmt_prep.reporting import Json, corpora, main_split
from nmt_prep.reporting.markup import (
    Content,
    Markup,
    behind,
    corpus_text,
    el,
    explanation,
    grid,
    heat_cell,
    number,
    percent,
    table,
    table_row,
)
from nmt_prep.reporting.profile import summed
from nmt_prep.reporting.report_tables import LEARNED_RULES, learned_rule_table
from nmt_prep.reporting.svg import Series, Tick, bar_figure

_EXAMPLES = 5

_MOST_EXAMPLES = 300
"""Maximum number of dropped pairs on the page; if more pairs were dropped, the pairs nearest to a threshold are
shown."""

Matrix: TypeAlias = "list[list[int | None]]"
"""Counts of pairs that fail both of two rules, or None if one rule does not score the pairs that the other drops."""


def section(summary: Json) -> Iterator[Content]:
    """Yields the section's content; empty if nothing is cleaned."""
    split = _split(summary)
    rules = _rules(summary, split)
    if not rules:
        return
    failed = _failed(summary, split, list(rules))
    later = [rule for rule in CORPUS_RULES if rule in rules]
    exception = f"; {' and '.join(later)} only pairs that the rules before keep" if later else ""
    yield explanation(
        f"Each rule scores all pairs of {split}, also those that another rule drops{exception}. The scale of the "
        "counts is logarithmic."
    )
    yield grid(_histogram(summary, split, rule, column) for rule, columns in rules.items() for column in columns)
    yield _agreement(list(rules), failed)
    for rule in LEARNED_RULES:
        yield _learned_rule(summary, rule)
    yield _nearest(summary, list(rules))


def _split(summary: Json) -> str:
    """Returns the split that the figures show: the main split if it is cleaned, or else the first cleaned one."""
    split, cleaned = main_split(summary), summary.get("clean", {})
    return split if split in cleaned else next(iter(cleaned), split)


def _rules(summary: Json, split: str) -> dict[str, list[str]]:
    """Returns each rule's columns that have scored any pairs in a split."""
    rules: dict[str, dict[str, None]] = {}
    for counts in summary.get("clean", {}).get(split, {}).values():
        for rule, columns in counts["histograms"].items():
            for column, histogram in columns.items():
                if any(histogram["kept"]) or any(histogram["dropped"]):
                    rules.setdefault(rule, {})[column] = None
    return {rule: list(columns) for rule, columns in rules.items()}


def histograms(summary: Json, split: str, rule: str, column: str) -> dict[str, Json]:
    """Returns a rule's histograms by corpus (``train/news``), without corpora whose edges differ from most."""
    by_corpus = {
        f"{place}/{corpus}": counts["histograms"][rule][column]
        for place, corpus, counts in corpora(summary["clean"])
        if column in counts["histograms"].get(rule, {})
    }
    edges = [tuple(shown["edges"]) for corpus, shown in by_corpus.items() if corpus.startswith(f"{split}/")]
    common = max(edges, key=edges.count)
    return {corpus: shown for corpus, shown in by_corpus.items() if tuple(shown["edges"]) == common}


def _bounds(summary: Json, split: str, rule: str, column: str) -> list[Json]:
    different: list[Json] = []
    for rules in summary["rules"][split].values():
        bounds = rules.get(rule, {"columns": {}})["columns"].get(column)
        if bounds is not None and bounds not in different:
            different.append(bounds)
    return different


def _histogram(summary: Json, split: str, rule: str, column: str) -> Markup:
    by_corpus = histograms(summary, split, rule, column)
    summands = [shown for corpus, shown in by_corpus.items() if corpus.startswith(f"{split}/")]
    edges = summands[0]["edges"]
    kept, dropped = (summed(shown[kind] for shown in summands) for kind in ("kept", "dropped"))
    both = [a + b for a, b in zip(kept, dropped, strict=True)]
    texts = _bin_texts(edges)
    bounds = _bounds(summary, split, rule, column)
    title = rule if column == "pair" else f"{rule}: {column}"
    low, high = (any(limits[end] is not None for limits in bounds) for end in ("low", "high"))
    data = table(
        ["value", "kept", "dropped", *(["kept if min"] if low else []), *(["kept if max"] if high else [])],
        list(_threshold_rows(texts, kept, both, low=low, high=high)),
        caption=f"Values of the rule {title}; what this rule alone would keep with other thresholds",
        sort=False,
    )
    failed, total = sum(shown["failed"] for shown in summands), int(sum(both))
    unit = f"{column} lines" if column in SIDES else "pairs"
    explorer = _json(
        {
            "rule": rule,
            "column": column,
            "unit": unit,
            "split": split,
            "edges": edges,
            "low": low,
            "high": high,
            "limits": {end: [limits[end] for limits in bounds if limits[end] is not None] for end in ("low", "high")},
            "option": _option(summary, split, rule, column),
            "corpora": {
                corpus: [shown["kept"], shown["dropped"], shown["failed"]] for corpus, shown in by_corpus.items()
            },
        }
    )
    how = f"{failed:,} of {total:,} {unit} fail it ({percent(failed, total)})."
    series = [Series("rules", "kept or dropped", both), Series("kept", "kept", kept)]
    shown = bar_figure(title, how, series, texts, x=_axis(edges, bounds), places="value", log=True, data=data)
    return el("div", shown, class_="rule", data_rule=explorer)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _bin_texts(edges: Sequence[float]) -> list[str]:
    if tuple(edges) == YES_OR_NO:
        return ["not found", "found"]
    return [f"{number(low)} to {number(high)}" for low, high in pairwise(edges)]


def _axis(edges: Sequence[float], bounds: Sequence[Json]) -> list[Tick]:
    """Returns labels for the values, and lines at the thresholds."""
    if tuple(edges) == YES_OR_NO:
        return [Tick(0.25, "not found"), Tick(0.75, "found")]
    limits = dict.fromkeys(limit for both in bounds for limit in (both["low"], both["high"]) if limit is not None)
    step = max((len(edges) - 1) // 5, 1)
    return [
        *(Tick(place / (len(edges) - 1), number(edges[place])) for place in range(0, len(edges), step)),
        *(Tick(_place(limit, edges), number(limit), strong=True) for limit in limits if edges[0] <= limit <= edges[-1]),
    ]


def _place(value: float, edges: Sequence[float]) -> float:
    """Returns a value's position on the axis, from 0 to 1; all bins have the same width."""
    return float(np.interp(value, edges, np.linspace(0, 1, len(edges))))


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


def _option(summary: Json, split: str, rule: str, column: str) -> dict[str, Any]:
    """Returns the keys of the options that set a rule's limits ``low`` and ``high``, where they are known."""
    for rules in summary["rules"][split].values():
        if rule in rules and column in rules[rule]["columns"]:
            bounds, options = rules[rule]["columns"][column], rules[rule]["options"]
            paths = {}
            for end, key in (("low", "min"), ("high", "max")):
                path = [key] if options.get(key) == "auto" else _path_to(bounds[end], options, column)
                if bounds[end] is not None and path:
                    paths[end] = path
            return paths
    return {}


def _path_to(limit: float | None, options: Json, column: str) -> list[str]:
    """Returns the keys of the only option with a limit's value, or an empty list for no or several options."""
    paths = [[key] for key, value in options.items() if _is(value, limit)]
    nested = [(key, value) for key, value in options.items() if isinstance(value, dict)]
    paths += [[key, column] for key, value in nested if _is(value.get(column), limit)]
    for _, value in nested:
        inner = value.get(column)
        if isinstance(inner, dict):
            paths += [[column, key] for key, option in inner.items() if _is(option, limit)]
    return paths[0] if len(paths) == 1 else []


def _is(value: Any, limit: float | None) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == limit


def _failed(summary: Json, split: str, rules: Sequence[str]) -> dict[str, Matrix]:
    """Returns how many pairs fail two rules, by corpus (``train/news``), in the order of the rules."""
    return {
        f"{split}/{corpus}": [[counts["failed"].get(rule, {}).get(other) for other in rules] for rule in rules]
        for corpus, counts in summary["clean"][split].items()
    }


def _added(matrices: Iterable[Matrix]) -> Matrix:

    def added(numbers: Iterable[int | None]) -> int | None:
        known = [count for count in numbers if count is not None]
        return sum(known) if known else None

    return [[added(cells) for cells in zip(*rows, strict=True)] for rows in zip(*matrices, strict=True)]


def _agreement(rules: Sequence[str], failed: dict[str, Matrix]) -> Markup:
    """Returns the table of pairs that fail two rules, ordered by the number of failing pairs."""
    counts = _added(failed.values())
    order = sorted(
        (place for place in range(len(rules)) if counts[place][place]), key=lambda place: -(counts[place][place] or 0)
    )
    if len(order) < 2:
        return Markup()
    rows = []
    for rule in order:
        whole = counts[rule][rule] or 0
        cells = [_agreeing(rules[rule], rules[other], counts[rule][other], whole) for other in order]
        rows.append(table_row([rules[rule], whole, *cells]))
    how = (
        "Of the pairs that fail the rule of a row, the share that also fails the rule of a column. At 100 %, the rule "
        "of the row drops no pair that the rule of the column would keep. An empty cell means that one rule does not "
        "score the pairs that the other drops."
    )
    ordered = {
        corpus: [[matrix[rule][other] for other in order] for rule in order] for corpus, matrix in failed.items()
    }
    return el(
        "div",
        el("h3", "Which rules agree"),
        explanation(how),
        table(["rule", "pairs", *(rules[rule] for rule in order)], rows, caption="Share of pairs that fail two rules"),
        class_="agreement",
        data_agreement=_json(ordered),
    )


def _agreeing(rule: str, other: str, both: int | None, whole: int) -> Markup:
    if rule == other or both is None:
        return heat_cell("·" if rule == other else "", 0)
    title = f"{both:,} of {whole:,} pairs that fail {rule} also fail {other}"
    return heat_cell(percent(both, whole, digits=0), both / whole, title)


def _learned_rule(summary: Json, rule: str) -> Iterator[Content]:
    """Yields the results of a rule learned from the corpora, with the scores of real and defective pairs."""
    shown = learned_rule_table(summary, rule)
    if shown.rows:
        yield el("h3", f"{LEARNED_RULES[rule]} (rule {rule})")
        yield shown.markup()
    facts = corpora(summary.get(rule, {}))
    yield grid(_compared(f"{split}/{corpus}", applied) for split, corpus, applied in facts if applied["compared"])


def _compared(corpus: str, facts: Json) -> Markup:
    edges, counts = facts["compared"]["edges"], facts["compared"]["series"]
    series = [Series(kind, name, values) for kind, (name, values) in zip(SIDES, counts.items(), strict=False)]
    limit = facts["threshold"]
    return bar_figure(
        f"Scores of {corpus}",
        f"Pair scores: {' and '.join(counts)}; the less the hills overlap, the better the rule separates them.",
        series,
        _bin_texts(edges),
        x=_axis(edges, [] if limit is None else [{"low": limit, "high": None}]),
        places="score",
        corpus=corpus,
    )


def _nearest(summary: Json, rules: Sequence[str]) -> Iterator[Content]:
    """Yields the rejected pairs nearest to each reason's threshold."""
    by_reason: dict[str, list[tuple[str, Json]]] = {}
    for split, corpus, reasons in corpora(summary.get("rejects", {})):
        for reason, pairs in reasons.items():
            by_reason.setdefault(reason, []).extend((f"{split}/{corpus}", pair) for pair in pairs)
    if not by_reason:
        return
    yield el("h3", "Dropped pairs nearest to each threshold")
    yield explanation(
        "If these are good pairs, the threshold is too strict. Long texts are cut. nmt-prep try shows kept pairs too."
    )
    languages = summary["languages"]
    dropped: Counter[str] = Counter()
    for _, _, counts in corpora(summary["clean"]):
        dropped.update(counts["dropped"])
    places = {reason: place for place, reason in enumerate([*rules, *by_reason])}
    few = sum(map(len, by_reason.values())) <= _MOST_EXAMPLES
    for reason in sorted(by_reason, key=lambda reason: (-dropped[reason], places[reason])):
        near = sorted(
            by_reason[reason], key=lambda entry: (entry[1]["distance"] is None, entry[1]["distance"] or 0, entry[0])
        )[: None if few else _EXAMPLES]
        told = any(pair["unanswered"] for _, pair in near)
        rows = (
            table_row(
                [
                    where,
                    pair["row"],
                    "" if pair["value"] is None else number(pair["value"]),
                    "" if pair["threshold"] is None else number(pair["threshold"]),
                    corpus_text(pair["source"], languages["source"]),
                    corpus_text(pair["target"], languages["target"]),
                    *([pair["unanswered"]] if told else []),
                ],
                corpus=where,
                data_value=_json([pair["value"], pair["threshold"], pair.get("column")]),
                data_more=place >= _EXAMPLES,  # shown when its corpus is selected
                hidden=place >= _EXAMPLES,
            )
            for place, (where, pair) in enumerate(near)
        )
        head = ["corpus", "row", "value", "limit", "source", "target", *(["unanswered"] if told else [])]
        yield behind(
            [reason, f" ({dropped[reason]:,})" if dropped[reason] else None],
            table(head, rows, caption=f"Pairs dropped by {reason}, nearest to the threshold", sort=False),
            class_="texts",
            data_reason=reason,
        )
