"""``index.html``: one page that shows ``summary.json`` and loads nothing from outside of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.resources import files

from nmt_prep.base.sides import SIDES
from nmt_prep.reporting import Json, about, languages_in_words, main_split
from nmt_prep.reporting.markup import Content, Markup, behind, el, join, percent, short_number
from nmt_prep.reporting.sections import duplicates, encoded, flow, lengths, provenance, rules, training
from nmt_prep.reporting.sections import encoded as documents

SECTIONS: dict[str, tuple[str, Callable[[Json], Iterable[Content]]]] = {
    "flow": ("From input to training", flow.section),
    "documents": ("Documents and weights", documents.section),
    "rules": ("Cleaning rules", rules.section),
    "lengths": ("Lengths", lengths.section),
    "vocabularies": ("Vocabularies", encoded.vocabularies),
    "duplicates": ("Duplicates and leaks", duplicates.section),
    "rows": ("Language model rows", encoded.rows),
    "batches": ("Batches", encoded.batches),
    "training": ("Training stages", training.section),
    "examples": ("Examples", encoded.examples),
    "provenance": ("Provenance", provenance.section),
}
"""Title and content of each section by its anchor, in order."""

MOST_BYTES = 1_000_000
"""The size that a page does not exceed. Examples are left out first, then figures of single corpora."""

_BOUNDED = ("lengths", "examples")  # The sections that become smaller to keep the page small

_LEVELS = ((10, 40), (5, 40), (3, 20), (1, 10), (1, 0))
"""How many random pairs per corpus are shown, and how many corpora have figures; the first entry that makes the page
small enough is used."""


def render_page(summary: Json) -> str:
    """Returns the page."""
    page = ""
    contents = {anchor: join(section(summary)) for anchor, (_, section) in SECTIONS.items() if anchor not in _BOUNDED}
    known, drawn = dict[tuple[str, str, int], Markup](), dict[str, Markup]()
    for pairs, figures in _LEVELS:
        contents["examples"] = join(encoded.examples(summary, pairs, known))
        contents["lengths"] = join(lengths.section(summary, figures, drawn))
        page = _page(summary, contents)
        if len(page.encode()) <= MOST_BYTES:
            break
    return page


def _page(summary: Json, contents: Mapping[str, Markup]) -> str:
    languages = languages_in_words(summary)
    shown = [(anchor, title, contents[anchor]) for anchor, (title, _) in SECTIONS.items() if contents[anchor]]
    links = el("ul", (el("li", el("a", title, href=f"#{anchor}")) for anchor, title, _ in shown))
    body = [
        el("nav", links, aria_label="Sections"),
        el("main", (titled(*part) for part in shown), id="content"),
        el("footer", el("p", "Every number of this page is in summary.json, beside it.")),
    ]
    head = [_tiles(summary), _warnings(summary), _mended(summary)]
    kind = "Report of prepared parallel data"
    return document(kind, (summary["name"], languages), head, "content", body, _resource("page.js"))


def titled(anchor: str, title: str, content: Content = None) -> Markup:
    """Returns a section of a page, with its title."""
    return el("section", el("h2", title, id=f"{anchor}-title"), content, id=anchor, aria_labelledby=f"{anchor}-title")


def document(
    kind: str, title: tuple[str, str], header: Content, main: str, body: Content, script: str, style: str = ""
) -> str:
    """Returns a page in the report's style that loads nothing from outside the file."""
    name, languages = title
    heading = el("h1", name, " ", el("span", languages, class_="pair"))
    top = [
        el("a", f"Skip to the {main}", href=f"#{main}", class_="skip"),
        el("header", el("p", kind, class_="kind"), heading, header),
    ]
    head = [
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        el("title", f"{name}: {languages}"),
        el("style", Markup(_resource("page.css") + style)),
    ]
    whole = el("body", top, body, el("script", Markup(script)))
    return f"<!DOCTYPE html>\n{el('html', el('head', head), whole, lang='en')}\n"


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _tiles(summary: Json) -> Iterator[Content]:
    """Yields the most important figures of the main split."""
    split = main_split(summary)

    def tiles() -> Iterator[tuple[str, str, str]]:
        read = sum(flow["read"]["pairs"] for flow in summary["flow"][split].values())
        directions = summary.get("pairs", {}) if split == "train" else {}
        read = sum(facts["read"] for facts in directions.values()) or read
        prepared = summary["splits"][split]
        yield "pairs read", short_number(read), f"{read:,}{', once per direction' * bool(directions)}"
        yield (
            "pairs prepared",
            short_number(prepared["pairs"]),
            f"{prepared['pairs']:,}, {percent(prepared['pairs'], read)}",
        )
        for side in SIDES:
            yield f"{side} IDs", short_number(prepared[f"{side}_tokens"]), f"{prepared[f'{side}_tokens']:,}"
        sizes = dict.fromkeys(f"{summary['vocab'][side]['size']:,}" for side in SIDES)
        yield "pieces", " + ".join(sizes), summary["vocab"]["source"]["kind"]
        batches = summary["batches"][split]
        if batches and batches[0]["cells"]:
            padding = batches[0]["cells"] - batches[0]["tokens"]
            yield "padding", percent(padding, batches[0]["cells"]), "of the cells of batches"

    others = [f"{counts['pairs']:,} pairs of {name}" for name, counts in summary["splits"].items() if name != split]
    yield el("p", f"Figures of {split}{'; also prepared: ' * bool(others)}{', '.join(others)}", class_="kind")
    yield el(
        "dl",
        (el("div", el("dt", name), el("dd", el("strong", value), el("span", note))) for name, value, note in tiles()),
        class_="tiles",
    )


def _warnings(summary: Json) -> Content:
    warnings = summary["warnings"]
    if not warnings:
        return el("p", "No warnings about the data.", class_="healthy")
    count = "1 warning" if len(warnings) == 1 else f"{len(warnings)} warnings"
    return el(
        "section",
        el("h2", f"{count} about the data", id="warnings-title"),
        _listed(warnings),
        class_="warnings",
        aria_labelledby="warnings-title",
    )


def _mended(summary: Json) -> Content:
    """Returns the warnings about the data before cleaning that no longer hold, folded away."""
    mended = summary.get("mended")
    if not mended:
        return None
    return behind("Fixed by cleaning", _listed(mended))


def _listed(warnings: Iterable[Json]) -> Markup:
    return el("ul", (el("li", el("b", about(warning)), " ", warning["text"]) for warning in warnings))
