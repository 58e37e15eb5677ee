"""Batches with the settings of the section ``input`` of the config, and with others."""

from __future__ import annotations

from collections.abc import Iterator

from nmt_prep.reporting.markup import Content, el
from nmt_prep.reporting.summary import Json, main_split
from nmt_prep.reporting.tables import setting_table

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
    yield setting_table(summary, split).markup()
