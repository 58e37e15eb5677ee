"""Duplicates and leaks: sizes of clusters, the overlap of corpora, segments of test sets in the corpora."""

from __future__ import annotations

from collections.abc import Iterator

from nmt_prep.reporting.flow import Json
from nmt_prep.reporting.markup import Content, Markup, corpus_text, el, heat_cell, percent, table, table_row
from nmt_prep.reporting.sections.figure import figure, grid
from nmt_prep.reporting.svg import Series, Tick, bars, count_ticks, plot

TITLE = "Duplicates and leaks"

_BINNED = 9
"""Sizes of groups from here on are the smallest of a bin, which reaches to twice the size less 2."""


def section(summary: Json) -> Iterator[Content]:
    """Yields the content of the section; empty if pairs were not compared."""
    clusters = [
        _clusters(split, kind, sizes)
        for split, found in summary.get("duplicates", {}).items()
        for kind, sizes in found["clusters"].items()
        if sizes
    ]
    if clusters:
        yield grid(clusters)
    for split, found in summary.get("duplicates", {}).items():
        if found["near"] is not None:
            yield from _near(split, found["near"])
    for split, overlap in summary.get("overlap", {}).items():
        yield _overlap(summary, split, overlap)
    for split, leaks in summary.get("leaks", {}).items():
        yield _leaks(summary, split, leaks)


def _clusters(split: str, kind: str, sizes: list[list[int]]) -> Markup:
    title = f"Sizes of clusters, {split}, {kind}"
    texts = [f"{size:,}" if size < _BINNED else f"{size:,} to {2 * size - 2:,}" for size, _ in sizes]
    drawn = bars([Series("duplicates", "clusters", [count for _, count in sizes])], texts, log=True)
    step = max(len(sizes) // 6, 1)
    ticks = [Tick((place + 0.5) / len(sizes), text) for place, text in list(enumerate(texts))[::step]]
    most = max(count for _, count in sizes)
    how = f"How many groups of duplicates ({kind}) have each size, on a logarithmic scale; one pair of each stays."
    rows = [(text, count) for text, (_, count) in zip(texts, sizes, strict=True)]
    data = table(["pairs in the group", "groups"], rows, caption=title, sort=False)
    return figure(title, how, plot(drawn, title, x=ticks, y=count_ticks(most, log=True)), data)


def _near(split: str, near: Json) -> Iterator[Content]:
    yield el("h3", f"Near duplicates, {split}")
    how = "Number of pairs of the corpus of a row that were dropped because a pair of that of a column is similar."
    yield el("p", how, class_="how")
    if near["full_buckets"]:
        yield el(
            "p",
            f"Not all pairs were compared: in {near['full_buckets']:,} groups of candidates, which are too large, "
            "each was only compared with the best pairs of its group.",
        )
    names = [*near["matches"]]
    most = max((count for row in near["matches"].values() for count in row.values()), default=0)
    rows = [
        table_row([name, *(heat_cell(f"{row[other]:,}", row[other] / max(most, 1)) for other in names)])
        for name, row in near["matches"].items()
    ]
    yield table(["corpus", *names], rows, caption=f"Near duplicates in the corpora of {split}")


def _overlap(summary: Json, split: str, overlap: Json) -> Iterator[Content]:
    names = [name for name in summary["flow"][split] if name in overlap]
    if not names:
        return
    yield el("h3", f"Overlap of corpora, {split}")
    yield el(
        "p",
        "Share of the pairs of the corpus of a row that are also in that of a column, before duplicates are dropped.",
        class_="how",
    )
    rows = []
    for name in names:
        row = overlap[name]
        whole = row.get(name, 0)
        cells: list[Content] = [name, whole]
        for other in names:
            both = row.get(other, 0)
            cells.append(heat_cell(percent(both, whole), both / whole if whole else 0, f"{both:,} pairs"))
        rows.append(table_row(cells, corpus=f"{split}/{name}"))
    yield table(["corpus", "pairs", *names], rows, caption=f"Overlap of the corpora of {split}")


def _leaks(summary: Json, split: str, leaks: list[Json]) -> Iterator[Content]:
    if not leaks:
        return
    yield el("h3", f"Test sets in {split}")
    yield el(
        "p",
        "How many segments of each test set are in each corpus; training on them makes scores meaningless.",
        class_="how",
    )
    sets = list(dict.fromkeys(leak["set"] for leak in leaks))
    names = list(dict.fromkeys(leak["corpus"] for leak in leaks))
    found = {(leak["set"], leak["corpus"]): leak for leak in leaks}
    rows = []
    for name in sets:
        cells: list[Content] = [name, next(leak["size"] for leak in leaks if leak["set"] == name)]
        for corpus in names:
            leak = found.get((name, corpus), {"segments": 0, "size": 0, "pairs": 0})
            share = leak["segments"] / leak["size"] if leak["size"] else 0.0
            text = f"{leak['segments']:,} ({percent(leak['segments'], leak['size'])})" if leak["segments"] else "0"
            cells.append(heat_cell(text, share, f"{leak['pairs']:,} pairs"))
        rows.append(table_row(cells))
    yield table(["test set", "segments", *names], rows, caption=f"Segments of test sets in the corpora of {split}")
    yield _leak_examples(summary, split, leaks)


def _leak_examples(summary: Json, split: str, leaks: list[Json]) -> Iterator[Content]:
    languages = summary["languages"]
    rows = [
        table_row(
            [
                f"{split}/{leak['corpus']}",
                leak["set"],
                corpus_text(example.get("source", ""), languages["source"]),
                corpus_text(example.get("target", ""), languages["target"]),
            ],
            left=2,
            corpus=f"{split}/{leak['corpus']}",
        )
        for leak in leaks
        for example in leak.get("examples", ())[:5]
    ]
    if rows:
        head = ["corpus", "test set", "source", "target"]
        shown = table(head, rows, caption=f"Pairs of {split} that are in test sets", left=4, sort=False)
        yield el("details", el("summary", "Pairs that are in test sets"), shown, class_="texts")
