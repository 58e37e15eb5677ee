"""Examples: random pairs of each corpus with their pieces, and the longest pairs."""

from __future__ import annotations

from collections.abc import Iterator

from nmt_prep.reporting.markup import Content, Markup, el
from nmt_prep.reporting.summary import Json, corpora
from nmt_prep.sides import SIDES

TITLE = "Examples"


def section(summary: Json, most: int = 10) -> Iterator[Content]:
    """Yields the content of the section, with up to ``most`` random pairs of each corpus."""
    yield el(
        "p",
        "Random pairs as training sees them, and the longest ones. Below each text are its pieces; long texts are cut.",
        class_="how",
    )
    for split, corpus, text in corpora(summary["text"]):
        if not text["examples"]:
            continue
        where = f"{split}/{corpus}"
        random, longest = text["examples"][:most], text["longest"][: max(most // 3, 1)]
        pieces = max(longest[0]["length"].values())
        lists = {f"{len(random)} random pairs": random, f"the longest pairs, up to {pieces:,} pieces": longest}
        for name, pairs in lists.items():
            shown = (el("li", (_side(summary, pair, side) for side in SIDES)) for pair in pairs)
            content = el("ol", shown, class_="examples")
            yield el("details", el("summary", f"{where}: {name}"), content, class_="texts", data_corpus=where)


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
