"""A config's ``clean`` section written out: with all rules in its preset, and all options of all rules."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.presets import (
    PRESETS,
    Cleaning,
    cleaning_of,
    effective_decontamination,
    effective_dedup,
    overrides_of,
    plain_fixes,
)
from nmt_prep.cleaning.rules import rule_options
from nmt_prep.config import CleanSettings, Config


def section_in_full(config: Config, settings: CleanSettings) -> dict[str, Any]:
    """Returns a section that has the same effect as the given one, with all rules and options of its preset.

    Fixes and rules that apply to all corpora come first; ``overrides`` has the differences of single corpora.
    """
    common = cleaning_of(settings, config.languages, "")
    corpora = {corpus.name: corpus for split in settings.splits for corpus in config.own_splits.get(split, ())}
    own = {name: cleaning_of(settings, config.languages_of(corpus), name) for name, corpus in corpora.items()}
    differences = {name: _difference(common, each) for name, each in own.items()}
    overrides = {name: each for name, each in differences.items() if each}
    return {
        "preset": settings.preset,
        "fix": plain_fixes(common.fix),
        "rules": _in_place(rules_in_full(common), settings, config, {*chain(*(each.rules for each in own.values()))}),
        **({"overrides": overrides} if overrides else {}),
        "dedup": effective_dedup(settings).in_full(),
        "decontaminate": effective_decontamination(settings, config.own_splits).model_dump(mode="json"),
        "splits": [*settings.splits],
        "rejects": settings.rejects,
        "allow_empty": settings.allow_empty,
    }


def _in_place(rules: dict[str, Any], settings: CleanSettings, config: Config, used: set[str]) -> dict[str, Any]:
    """Adds ``off`` for other rules of the preset, and for those that only some corpora use, and keeps the order."""
    layers = [PRESETS[settings.preset], settings.rules]
    layers += [layer.rules for _, layer in overrides_of(settings, config.languages, "")]
    order = dict.fromkeys(name for layer in layers for name in layer)
    return {name: rules.get(name, "off") for name in order if name in {*rules, *used, *layers[0]}}


def rules_in_full(cleaning: Cleaning) -> dict[str, Any]:
    """Returns a corpus's rules with all their options, in order."""
    specs = {**cleaning.rules, **cleaning.corpus_rules}
    options = {name: rule_options(name, spec) for name, spec in specs.items()}
    return {
        name: _merged(given.model_dump(mode="json", by_alias=True))
        for name, given in options.items()
        if given is not None
    }


def _difference(common: Cleaning, own: Cleaning) -> dict[str, Any]:
    """Returns the override that a corpus needs, or an empty override if it needs no override."""
    difference: dict[str, Any] = {}
    if own.fix != common.fix:
        difference["fix"] = plain_fixes(own.fix)
    before, after = rules_in_full(common), rules_in_full(own)
    changed = {name: options for name, options in after.items() if before.get(name) != options}
    removed = {name: "off" for name in before if name not in after}
    if changed or removed:
        difference["rules"] = {**changed, **removed}
    return difference


def _merged(value: Any) -> Any:
    """Returns options with a single value for an option that is the same for both sides."""
    if isinstance(value, Mapping):
        if list(value) == [*SIDES] and value["source"] == value["target"]:
            return _merged(value["source"])
        return {key: _merged(each) for key, each in value.items()}
    return [_merged(each) for each in value] if isinstance(value, list | tuple) else value
