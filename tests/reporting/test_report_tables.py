from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nmt_prep.reporting.page import render_page
from nmt_prep.reporting.report_tables import (
    TABLES,
    Table,
    batch_table,
    drop_table,
    render_text,
    stages_table,
    vocabulary_table,
)
from tests.reporting.runs import summary_of


def test_columns_without_content_are_left_out() -> None:
    table = Table("Corpora", ["corpus", "pairs", "notes"], [["train/a", 0, ""], ["train/b", 2, ""]], (0, 2))
    expected = Table("Corpora", ["corpus", "pairs"], [["train/a", 0], ["train/b", 2]], [0])
    assert table.without_empty_columns() == expected
    noted = Table("Corpora", ["corpus", "notes", "pairs"], [["train/a", "new", 1]], (0, 1))
    assert noted.without_empty_columns() == Table(
        "Corpora", ["corpus", "notes", "pairs"], [["train/a", "new", 1]], [0, 1]
    )


@pytest.fixture(scope="module")
def shown(toy: Path) -> tuple[dict[str, Any], str, str]:
    """Returns a summary with all tables, as it is, as text and as a page."""
    summary = summary_of(toy)
    summary["adequacy"] = summary["translation"]  # the run has no such rule, and one pair of languages
    drawn = {"source": "en", "target": "de", "read": 9, "kept": 8, "dropped": {"length": 1}, "drawn": {"1": 8}}
    summary["pairs"] = {"en-de": drawn}
    document = {"name": "a", "sentences": [5, 6], "path": [[5, 6]], "alone": 1, "score": 8.0, "scored": 4}
    note = {"documents": 2, "sentences": [5, 6], "kinds": {"1-1": 4}, "alone": 1, "pairs": 4, "weak": 3, "refused": []}
    summary["documents"] = {"train": {"toy": {**note, "worst": [{**document, "translated": True}]}}}
    facts = {"documents": 7, "longest": 9, "sizes": [[9, 7]], "sampled": 50, "rows": 30, "joined": 25, "repeated": 2}
    summary["segments"] = {"train": facts}
    summary["weights"] = {"train": {"sampled": 9, "quantiles": [0.0, 0.25, 0.5, 1.0, 2.5], "mean": 0.7, "zero": 1}}
    counts = {"pieces": 9, "words": 3, "characters": 12, "bytes": 13, "escaped": 1}
    summary["languages_of_sides"] = {"source": {"en": counts}}
    fit = {"lines": 1, "words": 3, "characters": 9, "pieces": 6, "unknown": 0, "partial": 2, "size": 8, "unused": 2}
    summary["comparison"] = {"of the run": {"source (en)": {**fit, "cut": [("words", 3)]}}}
    row = {"rows": 9, "ids": 900, "counted": 0.25, "longest": 250, "percentiles": {"50": 90, "90": 150, "99": 240}}
    packing = {"row_lengths": {"512": {"longer": 0, "fill": 0.99}}, "examples": [[["<b>To", False], ["zu", True]]]}
    summary["rows"] = {"train": {**row, **packing}}
    for split, name in [(split, name) for split, own in summary["clean"].items() for name in own][:1]:
        summary["untranslated"] = {split: {name: {"pairs_in": 9, "dropped": {"duplicate_line": 2}}}}
        by = {"side": "source", "value": "bt", "program": "a b", "version": "1"}
        summary["translations"] = {split: {name: {"texts": 7, "empty": 1, "copies": 0, "miscounted": 0, "by": by}}}
    stage = {"name": "start", "rows": 8000, "mix": {"toy": 1.0}, "epochs": {"toy": 2.0}, "modifiers": ["Typos"]}
    summary["training"] = {"stages": [stage], "examples": []}
    return summary, render_text(summary), render_page(summary)


@pytest.mark.parametrize("made", TABLES)
def test_the_page_and_the_text_show_the_same_rows(made, shown: tuple[dict[str, Any], str, str]) -> None:
    summary, lines, page = shown
    table = made(summary)
    assert table.rows
    text = [line.split("  ") for line in lines.splitlines()]
    for row in table.rows:
        cells = [f"{cell:,}" if isinstance(cell, int) else cell for cell in row[1:]]
        assert cells in [[cell.strip() for cell in line if cell.strip()][-len(cells) :] for line in text]
    if made not in (drop_table, batch_table):  # the page has their numbers in larger tables
        assert table.markup(sort=made not in (vocabulary_table, stages_table)) in page
