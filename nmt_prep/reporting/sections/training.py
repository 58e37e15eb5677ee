"""Stages of training: their mixtures, the epochs of their corpora, and examples of what modifiers make."""

from __future__ import annotations

from collections.abc import Iterator

from nmt_prep.reporting.markup import Content, el
from nmt_prep.reporting.summary import Json
from nmt_prep.reporting.tables import stages_table
from nmt_prep.sides import SIDES


def section(summary: Json) -> Iterator[Content]:
    """Yields the content of the section; empty if the config has neither stages nor modifiers."""
    training = summary.get("training", {})
    if "problem" in training:
        yield el("p", training["problem"], class_="how")
    if not training.get("stages"):
        return
    yield el(
        "p",
        "As the config was when the report was made; nmt-prep plan shows the stages of the present one.",
        class_="how",
    )
    yield stages_table(summary).markup(sort=False)
    for example in training["examples"]:
        if example["pairs"]:
            shown = (
                el(
                    "li",
                    (el("p", text[side], dir="auto") for text in (pair["before"], pair["after"]) for side in SIDES),
                )
                for pair in example["pairs"]
            )
            yield el(
                "details",
                el("summary", f"What {example['modifier']} makes"),
                el("ol", shown, class_="examples"),
                class_="texts",
            )
