"""The presets, and how a config changes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.cleaning.corpus_rules import CORPUS_RULES
from nmt_prep.cleaning.presets import PRESETS, Preset, effective_dedup, effective_rules
from nmt_prep.cleaning.rule import Context
from nmt_prep.cleaning.rules import make_rules
from nmt_prep.config import CleanSettings, DedupSettings, Languages


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("languages", [("en", "de"), ("zh", "en"), ("ja", "th")])
def test_rules_of_all_presets_can_be_built(preset: Preset, languages: tuple[str, str]) -> None:
    specs = {name: spec for name, spec in PRESETS[preset].items() if name not in ("language", *CORPUS_RULES)}
    context = Context(Languages(source=languages[0], target=languages[1]), ("source", "target"), Path())
    assert [rule.key for rule in make_rules(specs, context)] == list(specs)


def test_presets_may_learn_and_layers_replace_add_and_remove() -> None:
    assert [preset for preset, rules in PRESETS.items() if "translation" in rules] == ["standard", "strict"]
    assert [preset for preset, rules in PRESETS.items() if "adequacy" in rules] == ["strict"]
    rules = effective_rules("light", {"length": {"max": 9}, "urls": True}, {"url_only": False, "copy": "off"})
    assert rules["length"] == {"max": 9}
    assert next(iter(rules)) == "length"
    assert list(rules)[-1] == "urls"
    assert not {"url_only", "copy"} & set(rules)
    assert effective_rules("none") == {}


def test_presets_drop_duplicates_unless_the_config_says_otherwise() -> None:
    pairs = {preset: effective_dedup(CleanSettings(preset=preset)).pair for preset in PRESETS}
    assert pairs == {"none": "off", "light": "exact", "standard": "normalized", "strict": "normalized"}
    changed = CleanSettings(preset="strict", dedup=DedupSettings(pair="off", max_targets_per_source=3))
    assert effective_dedup(changed) == changed.dedup
    limited = effective_dedup(CleanSettings(preset="light", dedup=DedupSettings(max_targets_per_source=3)))
    assert (limited.pair, limited.max_targets_per_source, limited.active) == ("exact", 3, True)
    assert not effective_dedup(CleanSettings(preset="none")).active


def test_settings_of_near_duplicates_are_written_out_where_they_apply() -> None:
    near = CleanSettings(dedup=DedupSettings(pair="near")).dedup
    assert (near.active, near.keys, near.in_full()["near"]) == (True, "normalized", {"similarity": 0.75})
    assert "near" not in DedupSettings(pair="normalized").in_full()
    assert DedupSettings(pair="exact", near={"similarity": 0.75}).keys == "exact"  # the default may be written out
