"""``summary.txt``: the numbers of a run as tables of text, at most about 100 columns wide."""

from __future__ import annotations

from collections.abc import Iterator

from nmt_prep.reporting.markup import visible
from nmt_prep.reporting.summary import Json, about
from nmt_prep.reporting.tables import TABLES, Table


def render_text(summary: Json) -> str:
    """Returns the report as text.

    Args:
        summary: the content of ``summary.json``.
    """
    languages = summary["languages"]
    blocks = [[f"{summary['name']}: {languages['source']} → {languages['target']}", summary["signature"]]]
    blocks += [list(_warnings(summary)), *(list(_lines(made(summary))) for made in TABLES)]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def _warnings(summary: Json) -> Iterator[str]:
    for label, warnings in (("warning", summary["warnings"]), ("before cleaning", summary.get("mended", ()))):
        for warning in warnings:
            where = about(warning)
            yield f"{label}: {where}{': ' * bool(where)}{visible(warning['text'])}"
    for split, duplicates in summary.get("duplicates", {}).items():
        near = duplicates["near"]
        if near is not None and near["full_buckets"]:
            groups = f"{near['full_buckets']:,} groups of candidates"
            yield f"near duplicates in {split}: {groups} are too large to compare all pairs"


def _lines(table: Table) -> Iterator[str]:
    """Yields the lines of a table, whose title takes the place of its first heading; none for a table without rows.

    A corpus is named in the first of its rows only.
    """
    if not table.rows:
        return
    cells = [[table.title.lower(), *table.head[1:]]]
    cells += [[f"{cell:,}" if isinstance(cell, int) else visible(cell) for cell in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    before = ""
    for row in cells:
        first, before = "" if row[0] == before else row[0], row[0]
        texts = (
            text.ljust(width) if column in table.left else text.rjust(width)
            for column, (text, width) in enumerate(zip([first, *row[1:]], widths, strict=True))
        )
        yield "  ".join(texts).rstrip()
