"""From input to training: how many pairs and bytes of each corpus are read, dropped and encoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from nmt_prep.reporting.markup import Content, Markup, el, figure, grid, heat_cell, legend, percent, table, table_row
from nmt_prep.reporting.summary import Json, corpora, main_split
from nmt_prep.reporting.tables import corpora_table, fix_table

Group: TypeAlias = Literal["reading", "rules", "duplicates", "test sets"]

GROUPS: tuple[Group, ...] = ("reading", "rules", "duplicates", "test sets")
"""The steps that drop pairs, in order."""

_OF_DUPLICATES = {"duplicate_pair", "near_duplicate", "too_many_targets", "too_many_sources"}

TITLE = "From input to training"

_ROW, _BAR, _MOST = 40, 14, 40

_Row: TypeAlias = "tuple[str, str, list[Markup]]"
"""Name, value and bars of a row of a drawing."""

_GROUP_NAMES = {
    "reading": "cannot be used",
    "rules": "rules",
    "duplicates": "duplicates",
    "test sets": "in test sets",
}


def group_of(reason: str) -> Group:
    """Returns the group of a reason of cleaning, such as the name of a rule."""
    if reason.startswith("in_test_set:"):
        return "test sets"
    return "duplicates" if reason in _OF_DUPLICATES else "rules"


def corpus_flow(
    compiled: Json, compiled_bytes: int, cleaned: Json | None, rejected: Mapping[str, int], encoded: Json | None
) -> Json:
    """Returns the numbers of pairs and bytes of a corpus after each step.

    Args:
        compiled: counts of the corpus in compile.
        compiled_bytes: UTF-8 bytes of both sides of the compiled pairs.
        cleaned: counts of the corpus in clean; None if it is not cleaned.
        rejected: bytes of the pairs that cleaning dropped, by reason.
        encoded: profile of the corpus; None if it is not encoded.

    Returns:
        ``read``, ``compiled`` and ``left`` with ``pairs`` and ``bytes`` of both sides without line ends; ``drops``, a
        list of ``group``, ``reason``, ``pairs`` and ``bytes`` (null for reasons of compile); ``fixed``, the number of
        lines that each fix altered; ``encoded`` with ``pairs`` and the numbers of ids.
    """
    read_bytes = compiled["source_bytes"] + compiled["target_bytes"] - 2 * compiled["pairs_in"]
    drops = [
        {"group": "reading", "reason": reason, "pairs": pairs, "bytes": None}
        for reason, pairs in compiled["dropped"].items()
        if pairs
    ]
    drops += [
        {"group": group_of(reason), "reason": reason, "pairs": pairs, "bytes": rejected.get(reason, 0)}
        for reason, pairs in (cleaned["dropped"].items() if cleaned else ())
        if pairs
    ]
    fixed = {**compiled["altered"], **(cleaned["altered"] if cleaned else {})}
    left = {"pairs": compiled["pairs_out"], "bytes": compiled_bytes}
    if cleaned:
        left = {"pairs": cleaned["pairs_out"], "bytes": cleaned["bytes"]}
    return {
        "read": {"pairs": compiled["pairs_in"], "bytes": read_bytes},
        "compiled": {"pairs": compiled["pairs_out"], "bytes": compiled_bytes},
        "drops": drops,
        "fixed": {name: lines for name, lines in fixed.items() if lines},
        "left": left,
        "encoded": None
        if encoded is None
        else {
            "pairs": encoded["pairs"],
            "source_tokens": encoded["tokens"]["source"],
            "target_tokens": encoded["tokens"]["target"],
        },
    }


def section(summary: Json) -> Iterator[Content]:
    """Yields the content of the section."""
    split = main_split(summary)
    corpora_of_split = summary["flow"][split]
    flows = [flow for flow in corpora_of_split.values() if flow["encoded"] or flow["left"]["pairs"]]
    yield grid(
        figure(
            f"All pairs of {split}",
            "Each bar is what is left after a step; the part that fades is what the step took away.",
            _funnel(_steps(flows)),
            _step_table(_steps(flows), flows),
        ),
        figure(
            f"Each corpus of {split}",
            "The whole bar is what was read; its blue part is what training gets.",
            [
                _stacked(corpora_of_split),
                legend(("kept", "kept"), *((_css(group), _GROUP_NAMES[group]) for group in GROUPS)),
            ],
            None,
        ),
    )
    yield el("h3", "Corpora")
    yield corpora_table(summary).markup()
    if drops := _reasons(summary):
        yield el("h3", "Why pairs were dropped")
        yield el("p", "Share of the pairs of each corpus; a darker cell is a larger share.", class_="how")
        yield _reason_table(summary, drops)
    fixes = fix_table(summary)
    if fixes.rows:
        yield el("h3", fixes.title)
        yield fixes.markup()


def _steps(flows: list[Json]) -> list[tuple[str, str, int]]:
    """Returns name, class and pairs left after each step of several corpora."""
    left = sum(flow["read"]["pairs"] for flow in flows)
    steps = [("read", "kept", left)]
    for group in GROUPS:
        lost = sum(drop["pairs"] for flow in flows for drop in flow["drops"] if drop["group"] == group)
        if lost:
            left -= lost
            steps.append((f"after: {_GROUP_NAMES[group]}", _css(group), left))
    return [*steps, ("encoded", "kept", sum(flow["encoded"]["pairs"] for flow in flows if flow["encoded"]))]


def _css(group: str) -> str:
    return group.replace(" ", "-")


def _funnel(steps: list[tuple[str, str, int]]) -> Markup:
    """Returns a bar for each step; what the step took away fades."""
    rows: list[_Row] = []
    first = before = steps[0][2]
    most = max(first, 1)
    for name, kind, left in steps:
        lost = f" (− {before - left:,})" if left != before else ""
        title = f"{name}: {left:,} pairs, {percent(left, first)}"
        parts = [_bar(0, before / most, f"{kind} faded"), _bar(0, left / most, "kept", title)]
        rows.append((name, f"{left:,}{lost}", parts))
        before = left
    return _drawing(rows, "Pairs left after each step")


def _stacked(flows: Json) -> Markup:
    """Returns a bar for each corpus of a split, the largest corpus first."""
    rows: list[_Row] = []
    encoded = ((name, flow) for name, flow in flows.items() if flow["encoded"])
    for name, flow in sorted(encoded, key=lambda entry: -entry[1]["read"]["pairs"])[:_MOST]:
        read, kept = max(flow["read"]["pairs"], 1), flow["encoded"]["pairs"]
        parts = [_bar(0, kept / read, "kept", f"{name}: {kept:,} pairs kept")]
        at = kept / read
        for group in GROUPS:
            lost = sum(drop["pairs"] for drop in flow["drops"] if drop["group"] == group) / read
            title = f"{name}: {percent(lost, 1)} dropped: {_GROUP_NAMES[group]}"
            parts += [_bar(at, lost, _css(group), title)] if lost else []
            at += lost
        label = name if len(name) < 29 else f"{name[:27]}…"
        rows.append((label, f"{kept:,} ({percent(kept, read)})", parts))
    return _drawing(rows, "Share of the pairs of each corpus that are kept")


def _bar(begin: float, share: float, kind: str, title: str | None = None) -> Markup:
    hover = el("title", title) if title else None
    return el("rect", hover, x=f"{100 * begin:.2f}%", y=20, width=f"{100 * share:.2f}%", height=_BAR, class_=kind)


def _drawing(rows: Sequence[_Row], title: str) -> Markup:
    drawn = [
        el(
            "svg",
            el("text", name, x="0", y=14, class_="label"),
            el("text", value, x="100%", y=14, class_="label n", text_anchor="end"),
            parts,
            y=place * _ROW,
            height=_ROW,
        )
        for place, (name, value, parts) in enumerate(rows)
    ]
    return el("svg", drawn, class_="plot", role="img", aria_label=title, width="100%", height=max(len(rows), 1) * _ROW)


def _step_table(steps: list[tuple[str, str, int]], flows: list[Json]) -> Markup:
    read = steps[0][2]
    rows = [(name, left, percent(left, read)) for name, _, left in steps]
    text = sum(flow["read"]["bytes"] for flow in flows), sum(flow["left"]["bytes"] for flow in flows)
    rows.append(("text read, in bytes", text[0], "100.0 %" if text[0] else "-"))
    rows.append(("text left, in bytes", text[1], percent(text[1], text[0])))
    return table(["step", "pairs", "share"], rows, caption="Pairs left after each step", sort=False)


def _reasons(summary: Json) -> list[str]:
    """Returns the reasons for which pairs are dropped, the most frequent first."""
    dropped: Counter[str] = Counter()
    for _, _, flow in corpora(summary["flow"]):
        dropped.update({drop["reason"]: drop["pairs"] for drop in flow["drops"]})
    return [reason for reason, _ in dropped.most_common()]


def _reason_table(summary: Json, reasons: list[str]) -> Markup:
    def rows() -> Iterator[Markup]:
        for split, corpus, flow in corpora(summary["flow"]):
            lost = {drop["reason"]: drop["pairs"] for drop in flow["drops"]}
            read = flow["read"]["pairs"]
            cells: list[Content] = [f"{split}/{corpus}", percent(sum(lost.values()), read)]
            for reason in reasons:
                pairs = lost.get(reason, 0)
                cells.append(heat_cell(percent(pairs, read), pairs / read if read else 0, f"{pairs:,} pairs: {reason}"))
            yield table_row(cells, corpus=f"{split}/{corpus}")

    return table(["corpus", "all", *reasons], rows(), caption="Share of pairs dropped, by corpus and reason")
