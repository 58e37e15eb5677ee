"""The text of HTML pages, hostile ones among them."""

from __future__ import annotations

import tracemalloc

import pytest

from nmt_prep.base.errors import CorpusError
from nmt_prep.cleaning.sentences.document_texts import lines_of_html, sentences_of


@pytest.mark.parametrize(
    ("page", "lines"),
    [
        (
            "<html><head><title>T</title></head><h1>A</h1><p>b <b>c</b><script>x</script></p><ul><li>d<li>e</ul>",
            ["A", "b c", "d", "e"],
        ),
        ("<p>a\n b<br>c &amp;&nbsp;<q>d</q><!-- no --></p>e", ["a b", 'c &\xa0"d"', "e"]),
        (
            "<pre>a\n  b\n\nc</pre><div>d<div hidden>no<br>no</div><i style='Display : none'>no<b>no</b></i>e</div>",
            [*"abc", "de"],
        ),
        ("<table><tr><th>a<td>b c<tr><td>d<table><td>e</table>f</table>g", ["a", "b c", "d", "e", "f", "g"]),
        ("<?xml version='1.0' encoding='iso-8859-1'?><html><meta charset='latin-1'><p>é中\0x", ["é中\ufffdx"]),
        ("a < b", ["a < b"]),
        (" \n", []),
    ],
)
def test_each_block_is_a_line(page: str, lines: list[str]) -> None:
    assert sentences_of(lines_of_html(page), "lines", "en").to_pylist() == lines


def test_lines_of_a_block_are_running_text() -> None:
    assert sentences_of(lines_of_html("<p>It<br>is. So</p><div>it is.</div>"), "wrapped", "en").to_pylist() == [
        "It is.",
        "So",
        "it is.",
    ]


@pytest.mark.parametrize(
    "page",
    [
        "<table>" + "<tr><td>a<td>b" * 12_000 + "<tr><td>" + "c" * 250_000 + "</table>",
        "<table>" + "<tr><td colspan=1000000 rowspan=1000000>a" * 5000 + "</table>",
        "<div>" * 5000 + "a" + "</div>" * 5000,
        "<p " + "a" * 1_000_000 + "='" + "b" * 1_000_000 + "'>c",
        "&euro;" * 200_000,
        "<p>a" * 50_000,
    ],
)
def test_memory_is_bounded_by_the_size_of_a_page(page: str) -> None:
    lines_of_html("")  # loads the parser
    tracemalloc.start()
    text = lines_of_html(f"{page}<p>The end.")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert text.endswith("The end.\n\n")
    assert peak < 20 * len(page) + 1_000_000


@pytest.mark.parametrize(
    ("page", "deepest"),
    [("<div>" * 10_001, "10,000"), ("<b>" * 6_250 + "</i>" * 80_000, "6,250"), ("<table><td>" * 9000, "10,000")],
)
def test_elements_nested_too_deeply_are_an_error(page: str, deepest: str) -> None:
    with pytest.raises(CorpusError, match=f"its elements are nested more than {deepest} deep; remove the page"):
        lines_of_html(page)
