"""Examples: random pairs of each corpus with their pieces, and the longest pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nmt_prep.reporting.flow import Json
from nmt_prep.reporting.markup import Content, Markup, el
from nmt_prep.reporting.sections.figure import SIDES, corpora

TITLE = "Examples"


def section(summary: Json, most: int = 10) -> Iterator[Content]:
    """Returns the section, with up to ``most`` random pairs of each corpus."""
    yield el(
        "p",
        "Random pairs as training sees them, and the longest ones. Below each text are its pieces; long texts are cut.",
        class_="how",
    )
    for split, corpus, text in corpora(summary["text"]):
        if not text["examples"]:
            continue
        where = f"{split}/{corpus}"
        yield el(
            "details",
            el("summary", f"{where}: {min(len(text['examples']), most)} random pairs"),
            _pairs(summary, text["examples"][:most]),
            class_="texts",
            data_corpus=where,
        )
        yield el(
            "details",
            el("summary", f"{where}: the longest pairs, up to {max(text['longest'][0]['length'].values()):,} pieces"),
            _pairs(summary, text["longest"][: max(most // 3, 1)]),
            class_="texts",
            data_corpus=where,
        )


def _pairs(summary: Json, pairs: Iterable[Json]) -> Markup:
    return el("ol", (el("li", (_side(summary, pair, side) for side in SIDES)) for pair in pairs), class_="examples")


def _side(summary: Json, pair: Json, side: str) -> Markup:
    language, pieces = summary["languages"][side], pair["pieces"][side]
    cut = len(pieces) < pair["length"][side]
    return el(
        "div",
        el("p", pair["text"][side], el("span", " …", class_="cut") if cut else None, lang=language, dir="auto"),
        el(
            "p",
            " ".join(pieces),
            " … " if cut else " ",
            el("small", f"{pair['length'][side]:,} pieces"),
            class_="pieces",
            lang=language,
            dir="auto",
        ),
    )
