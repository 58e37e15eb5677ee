"""The section of the report on aligned documents."""

from __future__ import annotations

from typing import Any

from nmt_prep.reporting.markup import join
from nmt_prep.reporting.sections.encoded import section


def document(number: int) -> dict[str, Any]:
    path = [[1, 2], [3, 4]]
    note = {"name": f"{number}.txt", "sentences": [3, 4], "alone": 1, "score": 3.0, "scored": 2, "translated": True}
    return {**note, "path": path}


def test_paths_of_more_documents_are_folded() -> None:
    worst = [document(number) for number in range(14)]
    note = {"documents": 14, "sentences": [42, 56], "kinds": {"1-1": 28}, "alone": 14, "pairs": 28, "weak": 0}
    summary = {"documents": {"train": {"books": {**note, "refused": [], "worst": worst}}}}
    page = str(join(section(summary)))
    assert page.count("path of ") == 14
    before, _, folded = page.partition("<summary>Paths of the next 2 documents</summary>")
    assert before.count("path of ") == 12
    assert "path of 12.txt" in folded
    assert "<table" not in folded


def test_the_page_lists_a_thousand_documents_left_out() -> None:
    refused = [[f"{number}.txt", "empty"] for number in range(1002)]
    note = {"documents": 1, "sentences": [3, 4], "kinds": {"1-1": 2}, "alone": 1, "pairs": 2, "weak": 0}
    summary = {"documents": {"train": {"books": {**note, "refused": refused, "worst": [document(0)]}}}}
    page = str(join(section(summary)))
    assert page.count(">empty<") == 1000
    assert "999.txt" in page
    assert "1000.txt" not in page
    assert "summary.json names 2 more." in page
