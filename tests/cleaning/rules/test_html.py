"""Rule ``html``: tags in the text, compared with the tags that Python's html.parser finds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.conftest import examples
from tests.guard import must_end
from tests.reference import cleaning as reference

PARTS = [
    *("<", ">", "</", "/>", "<!", "<![", "]]>", "]>", "<!--", "-->", "--", "<?", "?>", "<!doctype", "&", "&#", ";"),
    *("<b>", "</b>", "<br/>", "<script>", "</script>", "<a href=", "'", '"', "=", "/", "if", "cdata[", "x", " ", "\0"),
    *("&#65;", "&#x4a", "&amp;", "<p", "<p ", "a=", "\xa0", "\x0c", "\x1f", "ä", "<ſ>", "<!x>", "<style>", "!"),
]


@pytest.mark.parametrize(
    ("line", "any_tag", "known"),
    [
        ("plain", False, False),
        ("1 < 2 > 0", False, False),
        ("x <y z> w", True, False),
        ("List<String> a", True, False),
        ("<b>x", True, True),
        ("x</p>", False, True),
        ("x</foo>", False, False),
        ("<br/>", True, True),
        ("<a href='x>y'>z", True, True),
        ("<a href='x>y", False, False),
        ("<p class", False, False),
        ("<!-- <b> -->", False, False),
        ("<!doctype html>", False, False),
        ("<![foo]> <b>", False, False),
        ("<b> <![foo]>", False, False),
        ("a & b <i>", True, True),
        ("&#; &#; <i>", False, False),
        ("<script><b></script><![x]", False, False),
        ("<H1>", True, True),
        ('<p à`"x>', True, True),
        ("<p à", False, False),
    ],
)
def test_tags(line: str, any_tag: bool, known: bool) -> None:
    assert values(rule_of("html", {"tags": "any"}), (line, "")) == [[any_tag, 0]]
    assert values(rule_of("html"), ("", line)) == [[0, known]]


def test_a_side_with_a_tag_does_not_pass() -> None:
    assert decisions("html", True, ("a", "<p>b</p>"), ("a", "b")) == [False, True]


PARSER_HAS_CHANGED = [bool(reference.html_tags(text)) for text in ("<b><![foo]>", "<!--><b>")] != [False, True]


REPEATED = st.lists(st.sampled_from(PARTS), min_size=2, max_size=8).flatmap(
    lambda parts: st.lists(st.sampled_from(parts), min_size=20, max_size=200).map("".join)
)
MIXED = st.one_of(lines(PARTS, 20), st.lists(st.sampled_from(PARTS), max_size=20).map("".join))


@pytest.mark.skipif(PARSER_HAS_CHANGED, reason="newer releases of Python parse comments and the like in other ways")
@settings(max_examples=examples(700))
@given(st.one_of(st.lists(MIXED, max_size=4), REPEATED.map(lambda line: [line])))
def test_values_are_those_of_the_twin(batch: list[str]) -> None:
    expected = [[float(bool(reference.html_tags(line)))] * 2 for line in batch]
    assert values(rule_of("html", {"tags": "any"}), *[(line, line) for line in batch]) == expected


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("<b>" + "<" * 2_000_000 + "<![", True),  # a marked section without an end is text
        ("<b>" + "<a" * 2_000_000 + "<![", True),
        ("<b>" + "<?" * 2_000_000 + "<![", True),
        ("<b>" + "<a " * 500_000 + " " * 2_000_000 + "<![", True),
        ("<!--a>" * 1_000_000, False),
        ("<a b='>' " * 1_000_000 + "'", False),
        ("<![if ]" * 2_000_000 + ">", False),
    ],
)
def test_long_lines_take_no_quadratic_time(line: str, found: bool) -> None:
    """They take minutes if the rest of the line is searched again for each tag."""
    with must_end(60):
        assert values(rule_of("html", {"tags": "any"}), (line, "")) == [[found, 0]]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("a&nbsp;b", True),
        ("&#160;", True),
        ("x &#xA0; y", True),
        ("AT&T;", False),
        ("R&D; &nothing; &amp", False),
        ("&nothing; &amp;", True),
        ("&#; &#x; &; & ;", False),
        ("a & b", False),
    ],
)
def test_entities_count_where_asked(line: str, found: bool) -> None:
    assert values(rule_of("html", {"entities": True}), (line, "<b>")) == [[found, 1]]
    assert values(rule_of("html"), ("", line)) == [[0, 0]]
