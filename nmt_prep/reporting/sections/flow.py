"""From input to training: pairs that are read, dropped and encoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from nmt_prep.reporting.flow import GROUPS, Json
from nmt_prep.reporting.markup import Content, Markup, el, heat_cell, percent, size, table, table_row
from nmt_prep.reporting.sections.figure import corpora, figure, grid, legend, main_split

TITLE = "From input to training"

_ROW, _BAR, _MOST = 40, 14, 40

_GROUP_NAMES = {
    "reading": "cannot be used",
    "rules": "rules",
    "duplicates": "duplicates",
    "test sets": "in test sets",
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
    yield _corpus_table(summary)
    drops = _reasons(summary)
    if drops:
        yield el("h3", "Why pairs were dropped")
        yield el("p", "Share of the pairs of each corpus; a darker cell is a larger share.", class_="how")
        yield _reason_table(summary, drops)
    fixed = [
        (f"{split}/{corpus}", fix, lines)
        for split, corpus, flow in corpora(summary["flow"])
        for fix, lines in flow["fixed"].items()
    ]
    if fixed:
        yield el("h3", "Repaired text")
        rows = (table_row([where, fix, lines], left=2, corpus=where) for where, fix, lines in fixed)
        yield table(["corpus", "fix", "lines"], rows, caption="Number of lines that each fix altered", left=2)


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
    most = max(steps[0][2], 1)
    drawn: list[Markup] = []
    before = steps[0][2]
    for place, (name, kind, left) in enumerate(steps):
        y = place * _ROW
        lost = f" (− {before - left:,})" if left != before else ""
        drawn.append(el("text", f"{name}", x="0", y=y + 14, class_="label"))
        drawn.append(el("text", f"{left:,}{lost}", x="100%", y=y + 14, class_="label n", text_anchor="end"))
        drawn.append(_bar(0, before / most, y + 20, f"{kind} faded"))
        drawn.append(_bar(0, left / most, y + 20, "kept", f"{name}: {left:,} pairs, {percent(left, steps[0][2])}"))
        before = left
    return _drawing(drawn, len(steps), "Pairs left after each step")


def _stacked(flows: Json) -> Markup:
    """Returns a bar for each corpus of a split, the largest corpus first."""
    drawn: list[Markup] = []
    encoded = ((name, flow) for name, flow in flows.items() if flow["encoded"])
    shown = sorted(encoded, key=lambda entry: -entry[1]["read"]["pairs"])[:_MOST]
    for place, (name, flow) in enumerate(shown):
        y, read = place * _ROW, max(flow["read"]["pairs"], 1)
        kept = flow["encoded"]["pairs"]
        drawn.append(el("text", name if len(name) < 29 else f"{name[:27]}…", x="0", y=y + 14, class_="label"))
        drawn.append(
            el("text", f"{kept:,} ({percent(kept, read)})", x="100%", y=y + 14, class_="label n", text_anchor="end")
        )
        drawn.append(_bar(0, kept / read, y + 20, "kept", f"{name}: {kept:,} pairs kept"))
        at = kept / read
        for group in GROUPS:
            lost = sum(drop["pairs"] for drop in flow["drops"] if drop["group"] == group) / read
            if lost:
                drawn.append(
                    _bar(at, lost, y + 20, _css(group), f"{name}: {percent(lost, 1)} dropped: {_GROUP_NAMES[group]}")
                )
            at += lost
    return _drawing(drawn, len(shown), "Share of the pairs of each corpus that are kept")


def _bar(begin: float, share: float, y: int, kind: str, title: str | None = None) -> Markup:
    hover = el("title", title) if title else None
    return el("rect", hover, x=f"{100 * begin:.2f}%", y=y, width=f"{100 * share:.2f}%", height=_BAR, class_=kind)


def _drawing(drawn: list[Markup], rows: int, title: str) -> Markup:
    return el("svg", drawn, class_="plot", role="img", aria_label=title, width="100%", height=max(rows, 1) * _ROW)


def _step_table(steps: list[tuple[str, str, int]], flows: list[Json]) -> Markup:
    read = steps[0][2]
    rows = [(name, left, percent(left, read)) for name, _, left in steps]
    text = sum(flow["read"]["bytes"] for flow in flows), sum(flow["left"]["bytes"] for flow in flows)
    rows.append(("text read, in bytes", text[0], "100.0 %" if text[0] else "-"))
    rows.append(("text left, in bytes", text[1], percent(text[1], text[0])))
    return table(["step", "pairs", "share"], rows, caption="Pairs left after each step", sort=False)


def _corpus_table(summary: Json) -> Markup:
    def rows() -> Iterator[Markup]:
        for split, corpus, flow in corpora(summary["flow"]):
            facts, encoded = summary["corpora"][split][corpus], flow["encoded"]
            tags = ", ".join(f"{side} {piece}" for side, piece in facts.get("tag", {}).items())
            cells = [
                f"{split}/{corpus}",
                "; ".join(filter(None, [facts.get("role"), tags, facts.get("licence")])),
                flow["read"]["pairs"],
                encoded["pairs"] if encoded else 0,
                percent(encoded["pairs"] if encoded else 0, flow["read"]["pairs"]),
                size(flow["read"]["bytes"]),
                size(flow["left"]["bytes"]),
                encoded["source_tokens"] if encoded else 0,
                encoded["target_tokens"] if encoded else 0,
            ]
            yield table_row(cells, left=2, corpus=f"{split}/{corpus}")

    head = ["corpus", "notes", "pairs in", "pairs out", "kept", "text in", "text out", "source ids", "target ids"]
    return table(head, rows(), caption="Pairs, text and ids of each corpus; ids include the end of sentence", left=2)


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
