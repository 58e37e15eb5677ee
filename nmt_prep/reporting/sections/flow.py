"""From input to training: how many pairs and bytes of each corpus are read, dropped and encoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from nmt_prep.reporting import Json, corpora, main_split
from nmt_prep.reporting.markup import Content, Markup, el, explanation, heat_cell, percent, table, table_row
from nmt_prep.reporting.report_tables import Table, corpora_table, fix_table, pair_table, translation_table
from nmt_prep.reporting.svg import Series, Tick, bar_figure

_GROUP_NAMES = {
    "reading": ("unusable", "valid"),
    "rules": ("rejects", "rules"),
    "duplicates": ("duplicates", "dedup"),
    "test sets": ("test sets", "tests"),
    "division": ("pairs held out or skipped", "split"),
    "limits": ("pairs beyond limits", "limit"),
}
"""Groups of reasons to drop a pair, in the figure's order, with the name of their dropped pairs, and the label of
the bar for the pairs left: at most 5 characters, so that the labels of all 8 bars have room."""

_OF_DUPLICATES = {"duplicate_pair", "duplicate_line", "near_duplicate", "too_many_targets", "too_many_sources"}


def group_of(reason: str) -> str:
    """Returns the group of a drop reason, such as a rule's name."""
    if reason.startswith("in_test_set:"):
        return "test sets"
    if reason == "limit":  # lines that are not translated
        return "division"
    return "duplicates" if reason in _OF_DUPLICATES else "rules"


def corpus_flow(
    compiled: Json,
    compiled_bytes: int,
    cleaned: Json | None,
    rejected: Mapping[str, int],
    divided: Json | None,
    encoded: Json | None,
) -> Json:
    """Returns the pair and byte counts of a corpus after each step.

    Args:
        compiled_bytes: UTF-8 bytes of the compiled pairs, both sides together.
        cleaned: the corpus's counts in `clean`, or None if it is not cleaned.
        rejected: bytes of the pairs that cleaning dropped, by reason.
        divided: counts of the pairs that hold-outs and limits drop, by group, and bytes of the others; None if there
            are none.
        encoded: the corpus's profile, or None if it is not encoded.

    Returns:
        ``read``, ``compiled`` and ``left`` with ``pairs`` and ``bytes`` of both sides without line ends; ``drops``, a
        list of ``group``, ``reason``, ``pairs`` and ``bytes`` (null except for reasons of clean); ``fixed``, the number
        of lines that each fix altered, 0 for a fix of clean that altered none; ``encoded`` with ``pairs`` and the
        numbers of IDs.
    """
    read_bytes = compiled["source_bytes"] + compiled["target_bytes"] - 2 * compiled["pairs_in"]
    drops = [
        {"group": "reading", "reason": reason, "pairs": pairs, "bytes": None}
        for reason, pairs in compiled["dropped"].items()
        if pairs
    ]
    drops += [
        {"group": group_of(reason), "reason": reason, "pairs": pairs, "bytes": rejected.get(reason, 0)}
        for reason, pairs in (cleaned["dropped"].items() if cleaned else ())
        if pairs
    ]
    later = [
        {"group": group, "reason": reason, "pairs": pairs, "bytes": None}
        for group, dropped in (divided["dropped"].items() if divided else ())
        for reason, pairs in dropped.items()
        if pairs
    ]
    fixed = {**compiled["altered"], **(cleaned["altered"] if cleaned else {})}
    left = {"pairs": compiled["pairs_out"], "bytes": compiled_bytes}
    if cleaned:
        left = {"pairs": cleaned["pairs_out"], "bytes": cleaned["bytes"]}
    if divided:
        left = {"pairs": left["pairs"] - sum(drop["pairs"] for drop in later), "bytes": divided["bytes"]}
    return {
        "read": {"pairs": compiled["pairs_in"], "bytes": read_bytes},
        "compiled": {"pairs": compiled["pairs_out"], "bytes": compiled_bytes},
        "drops": drops + later,
        "fixed": {name: lines for name, lines in fixed.items() if lines or name not in compiled["altered"]},
        "left": left,
        "encoded": None
        if encoded is None
        else {
            "pairs": encoded["pairs"],
            "source_tokens": encoded["tokens"]["source"],
            "target_tokens": encoded["tokens"]["target"],
        },
    }


def section(summary: Json) -> Iterator[Content]:
    """Yields the section's content."""
    split = main_split(summary)
    flows = [flow for flow in summary["flow"][split].values() if flow["encoded"] or flow["left"]["pairs"]]
    steps = _steps(flows)
    yield bar_figure(
        f"All pairs of {split}",
        "How many pairs are left after each step; the table names the steps in full.",
        [Series("kept", "pairs", [left for _, _, left in steps])],
        [name for name, _, _ in steps],
        x=[Tick((place + 0.5) / len(steps), label) for place, (_, label, _) in enumerate(steps)],
        places="step",
    )
    yield el("h3", "Corpora")
    yield corpora_table(summary).markup()
    if summary.get("untranslated"):
        yield el("h3", "Translations")
        yield explanation(
            "Lines dropped before translation, bad translations, and the pairs left after cleaning. A copy is equal to "
            "its line. A wrong count is an answer with more or fewer texts than candidates."
        )
        yield translation_table(summary).markup()
    if summary.get("pairs"):
        yield el("h3", "Language pairs")
        yield explanation("Pairs in the records: sources in rows, targets in columns; darker for more.")
        yield _matrix(summary["pairs"])
        yield pair_table(summary).markup()
    if drops := _reasons(summary):
        yield el("h3", "Why pairs were dropped")
        yield explanation("Share of the pairs of each corpus; a darker cell is a larger share.")
        yield _reason_table(summary, drops)
    fixes = fix_table(summary)
    if fixes.rows:
        yield el("h3", fixes.title)
        yield fixes.markup()
    examples = [
        [f"{split}/{corpus}", fix, line["side"], _visible(line["before"]), _visible(line["after"])]
        for split, corpus, repaired in corpora(summary.get("repaired", {}))
        for fix, lines in repaired.items()
        for line in lines
    ]
    if examples:
        head = ["corpus", "fix", "side", "before", "after"]
        yield Table("First repaired lines", head, examples, range(5)).markup(sort=False)


def _visible(text: str) -> str:
    return "“" + "".join(each if each.isprintable() else f"\\u{{{ord(each):x}}}" for each in text) + "”"


def _matrix(pairs: Json) -> Markup:
    sides = [(facts["source"], facts["target"]) for facts in pairs.values()]
    sources, targets = (list(dict.fromkeys(side[number] for side in sides)) for number in (0, 1))
    kept = {(facts["source"], facts["target"]): facts["kept"] for facts in pairs.values()}
    most = max(kept.values(), default=0) or 1
    rows = (
        table_row(
            [
                source,
                *(
                    heat_cell(f"{kept[source, target]:,}", kept[source, target] / most, f"{source}-{target}")
                    if (source, target) in kept
                    else ""
                    for target in targets
                ),
            ]
        )
        for source in sources
    )
    return table(["source", *targets], rows, caption="Language pairs")


def _steps(flows: list[Json]) -> list[tuple[str, str, int]]:
    """Returns each step's name and label, and how many pairs of several corpora are left after it."""
    left = sum(flow["read"]["pairs"] for flow in flows)
    steps = [("read", "read", left)]
    for group, (name, label) in _GROUP_NAMES.items():
        lost = sum(drop["pairs"] for flow in flows for drop in flow["drops"] if drop["group"] == group)
        if lost:
            left -= lost
            steps.append((f"without {name}", label, left))
    return [*steps, ("encoded", "IDs", sum(flow["encoded"]["pairs"] for flow in flows if flow["encoded"]))]


def _reasons(summary: Json) -> list[str]:
    """Returns the reasons for which pairs are dropped, the most frequent first."""
    dropped: Counter[str] = Counter()
    for _, _, flow in corpora(summary["flow"]):
        dropped.update({drop["reason"]: drop["pairs"] for drop in flow["drops"]})
    return [reason for reason, _ in dropped.most_common()]


def _reason_table(summary: Json, reasons: list[str]) -> Markup:
    def rows() -> Iterator[Markup]:
        for split, corpus, flow in corpora(summary["flow"]):
            lost = {drop["reason"]: drop["pairs"] for drop in flow["drops"]}
            read = flow["read"]["pairs"]
            cells: list[Content] = [f"{split}/{corpus}", percent(sum(lost.values()), read)]
            for reason in reasons:
                pairs = lost.get(reason, 0)
                cells.append(heat_cell(percent(pairs, read), pairs / read if read else 0, f"{pairs:,} pairs: {reason}"))
            yield table_row(cells, corpus=f"{split}/{corpus}")

    return table(["corpus", "all", *reasons], rows(), caption="Share of pairs dropped, by corpus and reason")
