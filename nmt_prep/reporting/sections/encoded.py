"""The encoded pairs: how they use the vocabularies, their batches, and examples with their pieces."""

from __future__ import annotations

import math
from collections.abc import Iterator

from nmt_prep.base.sides import SIDES
from nmt_prep.reporting import Json, corpora, main_split, side_name
from nmt_prep.reporting.markup import (
    Content,
    Markup,
    behind,
    el,
    explanation,
    figure,
    grid,
    percent,
    short_number,
    table,
    visible,
)
from nmt_prep.reporting.report_tables import (
    comparison_table,
    cut_word_table,
    document_table,
    language_table,
    origin_notes,
    packing_table,
    row_table,
    segment_table,
    setting_table,
    vocabulary_table,
    weight_table,
)
from nmt_prep.reporting.svg import Tick, curve, plot


def vocabularies(summary: Json) -> Iterator[Content]:
    """Yields the content of the vocabularies section."""
    split = summary["pieces"]["source"]["split"]
    yield explanation(f"How {split} uses the vocabularies. The end of sentence and tags do not count.")
    yield vocabulary_table(summary).markup(sort=False)
    if summary.get("languages_of_sides"):
        yield el("h3", "Languages")
        yield language_table(summary).markup()
    if summary.get("comparison"):
        yield el("h3", "Compared with other vocabularies")
        yield comparison_table(summary).markup()
        yield cut_word_table(summary).markup()
    yield grid(*(_frequencies(summary, side) for side in SIDES))
    yield grid(*(_pieces(summary, side) for side in SIDES), wide=True)


def _frequencies(summary: Json, side: str) -> Markup:
    points = summary["pieces"][side]["curve"]
    title = f"Piece frequency, {side_name(summary, side)}"
    last, most = points[-1][0] if points else 1, points[0][1] if points else 1
    across, up = max(math.log(last), 1e-9), max(math.log(most), 1e-9)
    drawn = [curve([(math.log(rank) / across, math.log(count) / up) for rank, count in points], side)] if points else []
    x = [Tick(math.log(10**power) / across, short_number(10**power)) for power in range(9) if 10**power <= last]
    y = [Tick(math.log(10**power) / up, short_number(10**power)) for power in range(1, 16) if 10**power <= most]
    how = (
        "Rank (left to right) and frequency (upwards), both logarithmic. Natural text gives nearly a straight line; a "
        "steep end means pieces too rare to be learned."
    )
    rows = [(str(rank), count) for rank, count in points[:: max(len(points) // 40, 1)]]
    return figure(
        title,
        how,
        plot(drawn, title, x=x, y=y[:: max(len(y) // 4, 1)]),
        table(["rank", "occurrences"], rows, caption=title, sort=False),
    )


def _pieces(summary: Json, side: str) -> Markup:
    use, language = summary["pieces"][side], summary["languages"][side]
    lists = [
        ("Most frequent pieces", [(text, f"{count:,}") for text, count in use["frequent"]]),
        ("Longest pieces", [(text, f"{count:,}") for text, count in use["longest"]]),
        ("Unused pieces", [(text, "") for text in use["unused_pieces"]]),
        ("Characters without a piece", [(_named(text), f"{count:,}") for text, count in use["escaped"]]),
    ]
    parts = [
        behind(
            f"{name} ({len(entries)} shown)",
            el(
                "ul",
                (
                    el("li", el("bdi", text, lang=language), el("small", f" {count}") if count else None)
                    for text, count in entries
                ),
                class_="pieces",
            ),
            open=name == "Most frequent pieces",
        )
        for name, entries in lists
        if entries
    ]
    return el("div", el("h3", side_name(summary, side).capitalize()), parts)


def _named(character: str) -> str:
    return f"{character} U+{ord(character):04X}"


def batches(summary: Json) -> Iterator[Content]:
    """Yields the content of the batches section."""
    split = main_split(summary)
    estimates = summary["batches"].get(split)
    if not estimates:
        return
    sampled, pairs = estimates[0]["sampled_pairs"], summary["splits"][split]["pairs"]
    given = summary["provenance"]["input"]
    basis = "all pairs" if sampled >= pairs else f"{sampled:,} shuffled pairs"
    yield explanation(
        f"The batches of make_dataset and read_records for {split}, from the lengths of {basis}, with the config's "
        f"batch_tokens {given['batch_tokens']:,} and max_length {given['max_length']:,}. Each other row changes one "
        "setting."
    )
    yield setting_table(summary, split).markup()


def rows(summary: Json) -> Iterator[Content]:
    """Yields the section's content on causal language model rows, or nothing for other records."""
    if not summary.get("rows"):
        return
    yield explanation(
        "Rows are a prompt and its translation, in tokens of the model. Only the translation counts for the loss."
    )
    yield row_table(summary).markup()
    yield explanation(
        "The share of padding if loaders pack sequences into rows of row_length tokens, or if each row contains one "
        "sequence. Loaders drop or cut longer sequences."
    )
    yield packing_table(summary).markup()
    shown = [row for facts in summary["rows"].values() for row in facts["examples"]]
    yield el("h3", "Examples")
    yield explanation("What counts for the loss is shaded.")
    texts = ([el("mark" if counts else "span", _on_lines(text)) for text, counts in row] for row in shown)
    yield el("ol", (el("li", el("bdi", text, class_="row")) for text in texts), class_="examples")


def _on_lines(text: str) -> Iterator[Content]:
    for number, line in enumerate(text.split("\n")):
        yield el("br") if number else None
        yield line


def examples(
    summary: Json, most: int = 10, known: dict[tuple[str, str, int], Markup] | None = None
) -> Iterator[Content]:
    """Yields the content of the examples section, with up to ``most`` random pairs per corpus."""
    known = {} if known is None else known
    yield explanation(
        "Random pairs, and the longest ones, with their pieces. Tags are in the headings; long texts are cut."
    )
    for split, corpus, text in corpora(summary["text"]):
        if not text["examples"]:
            continue
        where = f"{split}/{corpus}"
        notes = origin_notes(summary["corpora"].get(split, {}).get(corpus, {}))
        random, longest = text["examples"][:most], text["longest"][: max(most // 3, 1)]
        pieces = max(longest[0]["length"].values())
        lists = {f"{len(random)} random pairs": random, f"the longest pairs, up to {pieces:,} pieces": longest}
        for name, pairs in lists.items():
            keys = [(where, "random" if pairs is random else "longest", place) for place in range(len(pairs))]
            for key, pair in zip(keys, pairs, strict=True):
                if key not in known:
                    known[key] = el("li", (_example(summary, pair, side) for side in SIDES))
            shown = (known[key] for key in keys)
            label = "; ".join([f"{where}: {name}", *notes])
            yield behind(label, el("ol", shown, class_="examples"), class_="texts", data_corpus=where)


def _example(summary: Json, pair: Json, side: str) -> Markup:
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


_SHOWN = 12  # Number of documents whose paths are visible at first; the others are folded
_LISTED = 1000  # Maximum number of documents left out that the page lists


def section(summary: Json) -> Iterator[Content]:
    """Yields the section's content; empty for a run without documents and weights."""
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
        yield table(["source-target", "beads", "share"], rows, caption=f"Bead types of {name}")
        if note["refused"]:
            refused = ([visible(document), reason] for document, reason in note["refused"][:_LISTED])
            yield table(["document", "left out"], refused, caption=f"Skipped documents of {name}", left=(0, 1))
            if (more := len(note["refused"]) - _LISTED) > 0:
                yield el("p", f"summary.json names {more:,} more.")
        yield el("h3", f"Documents of {name} with the most sentences without counterpart")
        yield grid(_path(document, name) for document in note["worst"][:_SHOWN])
        if others := note["worst"][_SHOWN:]:
            plots = grid(_path(document, name, numbers=False) for document in others)
            yield behind(f"Paths of the next {len(others)} documents", plots)


def _path(document: Json, corpus: str, *, numbers: bool = True) -> Markup:
    """Returns the plot of a document's path: a straight line from corner to corner if nothing is missing."""
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
