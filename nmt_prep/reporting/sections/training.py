"""Training stages: their mixtures, their corpora's epochs, and examples of modified pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from nmt_prep.base.errors import ConfigError
from nmt_prep.base.sides import SIDES
from nmt_prep.config import Config
from nmt_prep.reporting import Json
from nmt_prep.reporting.markup import Content, behind, el, explanation
from nmt_prep.reporting.report_tables import stages_table
from nmt_prep.training.curriculum import plan_stages
from nmt_prep.training.modifiers import Block, read_modifiers
from nmt_prep.training.modifiers.draws import mixed

_EXAMPLES = 2


def training_facts(config: Config, sizes: Mapping[str, int], text: Json) -> Json:
    """Returns the training stages and examples of their modifiers, or an empty mapping if the config has neither."""
    training = config.training
    if not (training.stages or training.modifiers):
        return {}
    try:
        stages = plan_stages(training, sizes, config.seed, config.base_dir).described()
    except ConfigError as error:
        return {"problem": str(error)}
    pairs = [pair["text"] for facts in text.values() for pair in facts["examples"][:_EXAMPLES]]
    entries = [*training.modifiers, *(entry for stage in training.stages for entry in stage.modifiers or ())]
    distinct = {str(entry): entry for entry in entries}
    return {"stages": stages, "examples": [_example(entry, pairs, config) for entry in distinct.values()]}


def _example(entry: Mapping[str, Any], pairs: list[dict[str, str]], config: Config) -> Json:
    """Returns the first pairs that a modifier changes, before and after."""
    name, *options = entry
    modifiers = read_modifiers(
        [{name: 1, **{key: entry[key] for key in options}}], "training.modifiers", config.base_dir
    )
    changed: list[Json] = []
    for number, pair in enumerate([] if modifiers.needing_links else pairs):
        columns = [pa.array([pair[side]], pa.large_string()) for side in SIDES]
        keys = mixed(np.array([number], np.uint64), config.seed % (1 << 40))
        made = modifiers(Block(columns[0], columns[1], None, keys, np.array([number])))
        after = {"source": str(made.source[0]), "target": str(made.target[0])}
        if after != pair and len(changed) < _EXAMPLES:
            changed.append({"before": pair, "after": after})
    return {"modifier": name, "pairs": changed}


def section(summary: Json) -> Iterator[Content]:
    """Yields the section's content; empty if the config has neither stages nor modifiers."""
    training = summary.get("training", {})
    if "problem" in training:
        yield explanation(training["problem"])
    if not training.get("stages"):
        return
    yield explanation("For the config at the time of the report; nmt-prep plan shows the stages of the current config.")
    yield stages_table(summary).markup(sort=False)
    for example in training["examples"]:
        if example["pairs"]:
            texts = (
                [text[side] for text in (pair["before"], pair["after"]) for side in SIDES] for pair in example["pairs"]
            )
            shown = (el("li", (el("p", text, dir="auto") for text in sides)) for sides in texts)
            yield behind(f"What {example['modifier']} makes", el("ol", shown, class_="examples"), class_="texts")
