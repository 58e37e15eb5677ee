"""Batches: what the config's section ``input`` gives, and what other settings would give."""

from __future__ import annotations

from collections.abc import Iterator

from nmt_prep.reporting.flow import Json
from nmt_prep.reporting.markup import Content, Markup, el, heat_cell, percent, table, table_row
from nmt_prep.reporting.sections.figure import main_split

TITLE = "Batches"


def section(summary: Json) -> Iterator[Content]:
    """Yields the content of the section."""
    split = main_split(summary)
    estimates = summary["batches"].get(split)
    if not estimates:
        return
    sampled, pairs = estimates[0]["sampled_pairs"], summary["splits"][split]["pairs"]
    given = summary["provenance"]["input"]
    basis = "all pairs" if sampled >= pairs else f"{sampled:,} shuffled pairs"
    yield el(
        "p",
        f"What make_dataset and read_records give for {split}, from the lengths of {basis}. The config says "
        f"batch_tokens {given['batch_tokens']:,} and max_length {given['max_length']:,}; each other row changes one "
        "setting.",
        class_="how",
    )
    head = ["setting", "batches an epoch", "pairs a batch", "ids a batch", "padding", "pairs left out", "of all"]
    rows = (_row(estimate, pairs) for estimate in estimates)
    yield table(head, rows, caption=f"Batches of {split} with different settings")


def _row(estimate: Json, pairs: int) -> Markup:
    batches = estimate["batches"]
    setting = ", ".join(f"{key}: {_value(value)}" for key, value in estimate["setting"].items())
    padding = estimate["cells"] - estimate["tokens"]
    share = padding / estimate["cells"] if estimate["cells"] else 0.0
    return table_row(
        [
            setting or el("strong", "as in the config"),
            estimate["batches_per_epoch"],
            f"{estimate['pairs'] / batches:,.1f}" if batches else "-",
            f"{estimate['tokens'] / batches:,.0f}" if batches else "-",
            heat_cell(percent(padding, estimate["cells"]), share),
            estimate["left_out"],
            percent(estimate["left_out"], pairs),
        ]
    )


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:,}" if isinstance(value, int) else str(value)
