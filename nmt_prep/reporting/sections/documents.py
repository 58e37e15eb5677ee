"""Documents and weights: joined segments of loaders, results of sentence alignment, and documents to check."""

from __future__ import annotations

from collections.abc import Iterator

from nmt_prep.reporting.markup import Content, Markup, behind, el, figure, grid, percent, table, visible
from nmt_prep.reporting.report_tables import document_table, segment_table, weight_table
from nmt_prep.reporting.summary import Json, corpora
from nmt_prep.reporting.svg import Tick, curve, plot

_SHOWN = 12  # Number of documents whose paths are visible at first; the others are folded
_LISTED = 1000  # Maximum number of documents left out that the page lists


def section(summary: Json) -> Iterator[Content]:
    """Yields the content of the section; empty for a run without documents and weights."""
    for made in (segment_table, weight_table):
        if (shown := made(summary)).rows:
            yield shown.markup()
    if not summary.get("documents"):
        return
    yield document_table(summary).markup()
    for split, corpus, note in corpora(summary["documents"]):
        name = f"{split}/{corpus}"
        beads = sum(note["kinds"].values())
        rows: Iterator[list[Content]] = ([kind, count, percent(count, beads)] for kind, count in note["kinds"].items())
        yield el("h3", f"Beads of {name}")
        yield table(["source-target", "beads", "share"], rows, caption=f"Kinds of beads of {name}")
        if note["refused"]:
            refused = ([visible(document), reason] for document, reason in note["refused"][:_LISTED])
            yield table(["document", "left out"], refused, caption=f"Documents of {name} left out", left=(0, 1))
            if (more := len(note["refused"]) - _LISTED) > 0:
                yield el("p", f"summary.json names {more:,} more.")
        yield el("h3", f"Documents of {name} with the most sentences without counterpart")
        yield grid(_path(document, name) for document in note["worst"][:_SHOWN])
        if others := note["worst"][_SHOWN:]:
            plots = grid(_path(document, name, numbers=False) for document in others)
            yield behind(f"Paths of the next {len(others)} documents", plots)


def _path(document: Json, corpus: str, *, numbers: bool = True) -> Markup:
    """Returns the plot of the path of a document: a straight line from corner to corner if nothing is missing."""
    (source, target), name = document["sentences"], visible(document["name"])
    points = [(x / max(source, 1), y / max(target, 1)) for x, y in ((0, 0), *document["path"])]
    mean = f"{document['score'] / document['scored']:.2f}" if document["scored"] else "none"
    without = percent(document["alone"], source + target)
    how = f"{without} of the sentences have no counterpart; the mean score is {mean}."
    ticks = [Tick(0, "0"), Tick(1, f"{source:,}")], [Tick(1, f"{target:,}")]
    title = name if document["translated"] else f"{name} (left out)"
    rows: Iterator[list[Content]] = ([x, y] for x, y in document["path"])
    data = table(["source", "target"], rows, caption=f"Path of {name}", sort=False) if numbers else None
    drawing = plot([curve(points, "source")], f"path of {name}", x=ticks[0], y=ticks[1])
    return figure(title, how, drawing, data, corpus=corpus)
