"""Duplicates and leaks: cluster sizes, corpus overlap, and test-set segments in the corpora."""

from __future__ import annotations

from collections.abc import Iterator

from nmt_prep.reporting import Json
from nmt_prep.reporting.markup import (
    Content,
    Markup,
    behind,
    corpus_text,
    el,
    explanation,
    grid,
    heat_cell,
    percent,
    table,
    table_row,
)
from nmt_prep.reporting.report_tables import leak_table
from nmt_prep.reporting.svg import Series, Tick, bar_figure

_BINNED = 9  # Bins from this size on hold several sizes, such as 9 to 16


def section(summary: Json) -> Iterator[Content]:
    """Yields the section's content; empty if pairs were not compared."""
    clusters = [
        _clusters(split, kind, sizes)
        for split, duplicates in summary.get("duplicates", {}).items()
        for kind, sizes in duplicates["clusters"].items()
        if sizes
    ]
    if clusters:
        yield grid(clusters)
    for split, duplicates in summary.get("duplicates", {}).items():
        if duplicates["near"] is not None:
            yield from _near(split, duplicates["near"])
    for split, overlap in summary.get("overlap", {}).items():
        yield _overlap(summary, split, overlap)
    leaks = leak_table(summary)
    if leaks.rows:
        yield el("h3", leaks.title)
        yield explanation("If training contains segments of a test set, scores on this set are meaningless.")
        yield leaks.markup()
        yield _leak_examples(summary)


def _clusters(split: str, kind: str, sizes: list[list[int]]) -> Markup:
    title = f"Cluster sizes, {split}, {kind}"
    texts = [f"{size:,}" if size < _BINNED else f"{size:,} to {2 * size - 2:,}" for size, _ in sizes]
    step = max(len(sizes) // 6, 1)
    ticks = [Tick((place + 0.5) / len(sizes), text) for place, text in list(enumerate(texts))[::step]]
    how = f"Number of duplicate groups ({kind}) per size, on a logarithmic scale; one pair per group is kept."
    series = [Series("duplicates", "groups", [count for _, count in sizes])]
    return bar_figure(title, how, series, texts, x=ticks, places="pairs in the group", log=True)


def _near(split: str, near: Json) -> Iterator[Content]:
    yield el("h3", f"Near duplicates, {split}")
    yield explanation("Dropped pairs of the row's corpus that are similar to a kept pair of the column's corpus.")
    if near["full_buckets"]:
        yield el(
            "p",
            f"Not all pairs were compared: {near['full_buckets']:,} groups of candidates are too large, so their pairs "
            "were only compared with the best pairs of the group.",
        )
    most = max((count for row in near["matches"].values() for count in row.values()), default=0)
    cells = {
        name: [heat_cell(f"{row[other]:,}", row[other] / max(most, 1)) for other in near["matches"]]
        for name, row in near["matches"].items()
    }
    yield _matrix(split, cells, f"Near duplicates between the corpora of {split}")


def _overlap(summary: Json, split: str, overlap: Json) -> Iterator[Content]:
    names = [name for name in summary["flow"][split] if name in overlap]
    if not names:
        return
    yield el("h3", f"Corpus overlap, {split}")
    yield explanation("Share of the row corpus's pairs that are also in the column's corpus, duplicates included.")

    def cell(name: str, other: str) -> Markup:
        both, whole = overlap[name].get(other, 0), overlap[name].get(name, 0)
        return heat_cell(percent(both, whole), both / whole if whole else 0, f"{both:,} of {whole:,} pairs")

    cells = {name: [cell(name, other) for other in names] for name in names}
    yield _matrix(split, cells, f"Corpus overlap in {split}")


def _matrix(split: str, cells: dict[str, list[Markup]], caption: str) -> Markup:
    rows = (table_row([name, *row], corpus=f"{split}/{name}") for name, row in cells.items())
    return table(["corpus", *cells], rows, caption=caption)


def _leak_examples(summary: Json) -> Iterator[Content]:
    languages = summary["languages"]
    rows = [
        table_row(
            [
                f"{split}/{leak['corpus']}",
                leak["set"],
                corpus_text(example.get("source", ""), languages["source"]),
                corpus_text(example.get("target", ""), languages["target"]),
            ],
            left=(0, 1),
            corpus=f"{split}/{leak['corpus']}",
        )
        for split, leaks in summary["leaks"].items()
        for leak in leaks
        for example in leak.get("examples", ())[:5]
    ]
    if rows:
        head = ["corpus", "test set", "source", "target"]
        shown = table(head, rows, caption="Pairs found in test sets", left=range(4), sort=False)
        yield behind("Pairs found in test sets", shown, class_="texts")
