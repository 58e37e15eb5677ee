"""The presets, as data, and the fixes and rules of one corpus that follow from them and from the config."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from nmt_prep.base.sides import Side
from nmt_prep.cleaning.corpus_rules import CORPUS_RULES
from nmt_prep.config import CleanSettings, CorpusCleaning, DecontaminateSettings, DedupSettings, Languages
from nmt_prep.config.clean import Fixes
from nmt_prep.config.limits import TOKENS

PairDedup: TypeAlias = Literal["off", "exact", "normalized"]
Preset: TypeAlias = Literal["none", "light", "standard", "strict"]
RuleSpecs: TypeAlias = Mapping[str, Any]
"""Rules by name, in order. Each value is true, the rule's options, or ``off`` (false)."""

PRESETS: Mapping[Preset, RuleSpecs] = MappingProxyType(
    {
        "none": {},
        "light": {
            "length": {"unit": "word", "min": 1, "max": 250},
            "only_symbols": {"min": 0.2},
            "url_only": {"max": 0.8},
            "longest_word": {"unit": "word", "max": 100},
            "script": {"min": 0.1},
            "copy": {"measure": "letters", "min_letters": 15},
            "length_ratio": {"unit": "char", "factors": "auto", "max": 5, "min_length": 30},
        },
        "standard": {
            "length": {"unit": "word", "min": 1, "max": 150},
            "only_symbols": {"min": 0.3},
            "only_digits": {"max": 0.6},
            "url_only": {"max": 0.6},
            "longest_word": {"unit": "word", "max": 60},
            "script": {"min": 0.2},
            "language": {"model": "lid.176", "margin": 0.3, "min_letters": 20, "unknown": "keep"},
            "html": {"tags": "known", "entities": True},
            "noise": {},
            "repetition": {"times": 3, "min": 4},
            "copy": {"measure": "letters", "min_letters": 15},
            "length_ratio": {"unit": "char", "factors": "auto", "max": 3, "min_length": 30},
            "truncated": {"max": 1.8},
            "translation": {},
        },
        "strict": {
            "length": {"unit": "word", "min": 1, "max": 120},
            "too_short": {"unit": "letter", "min": 2},
            "only_symbols": {"min": 0.4},
            "only_digits": {"max": 0.5},
            "url_only": {"max": 0.5},
            "longest_word": {"unit": "word", "max": 50},
            "script": {"min": 0.4},
            "language": {"model": "lid.176", "margin": 0.2, "min_letters": 20, "unknown": "keep"},
            "html": {"tags": "known", "entities": True},
            "noise": {},
            "repetition": {"times": 2, "min": 6},
            "copy": {"measure": "letters"},
            "length_ratio": {"unit": "char", "factors": "auto", "max": 2.5, "min_length": 30},
            "truncated": {"max": 1.6},
            "numbers": {"min": 0.6, "small": 100},
            "urls": {"min": 1},
            "currency": {"min": 0.5},
            "brackets": {"max": 2},
            "translation": {},
            "adequacy": {},
        },
    }
)


PRESET_FIXES: Mapping[Preset, tuple[str, ...]] = MappingProxyType(
    {
        "none": (),
        "light": ("control", "nfc", "whitespace"),
        "standard": ("mojibake", "control", "nfc", "whitespace"),
        "strict": ("mojibake", "control", "nfc", "whitespace"),
    }
)
"""Each preset's fixes."""


PRESET_DEDUP: Mapping[Preset, PairDedup] = MappingProxyType(
    {"none": "off", "light": "exact", "standard": "normalized", "strict": "normalized"}
)
"""Which duplicate pairs each preset drops."""


def effective_dedup(settings: CleanSettings) -> DedupSettings:
    """Returns the settings for duplicates: the config's settings, completed by the preset."""
    dedup = settings.dedup
    return dedup if dedup.pair else dedup.model_copy(update={"pair": PRESET_DEDUP[settings.preset]})


PRESET_AGAINST: Mapping[Preset, tuple[str, ...]] = MappingProxyType(
    {"none": (), "light": (), "standard": ("dev", "test"), "strict": ("dev", "test")}
)
"""The splits whose segments each preset removes from the other splits; splits that the config lacks are ignored."""


def effective_decontamination(settings: CleanSettings, splits: Collection[str]) -> DecontaminateSettings:
    """Returns the settings for evaluation sets: the config's settings, completed by the preset."""
    own = settings.decontaminate
    if own.against is not None:
        return own
    preset = tuple(split for split in PRESET_AGAINST[settings.preset] if split in splits)
    return own.model_copy(update={"against": preset})


def is_off(spec: object) -> bool:
    """Returns true if a rule's value in YAML removes the rule."""
    return spec is False or spec == "off"


def effective_rules(preset: Preset, *layers: RuleSpecs) -> dict[str, Any]:
    """Returns a preset's rules, changed by one mapping after the other.

    Each key in a mapping replaces the rule with that name, without moving it, or adds a rule at the end. The value
    ``off`` removes the rule.
    """
    rules = dict(PRESETS[preset])
    for layer in layers:
        rules.update(layer)
    return {name: spec for name, spec in rules.items() if not is_off(spec)}


@dataclass(frozen=True)
class Cleaning:
    """The fixes and rules of one corpus, as plain data."""

    fix: Fixes  # the fixes, as in the config
    # options by name of the rule, in the order in which the rules are tried
    rules: dict[str, Any] = field(default_factory=dict)
    # options by name of the rules that need the whole corpus
    corpus_rules: dict[str, Any] = field(default_factory=dict)
    # for each rule, the part of the config that it comes from, such as `clean.rules.`, for messages
    keys: dict[str, str] = field(default_factory=dict)


def cleaning_of(settings: CleanSettings, languages: Languages, corpus: str) -> Cleaning:
    """Returns the fixes and rules of one corpus.

    They come from the preset, the ``clean`` section, and the overrides for the language pair and for the corpus. Each
    of these takes precedence over the one before it.
    """
    layers = {f"clean.overrides.{key}": layer for key, layer in overrides_of(settings, languages, corpus)}
    rules = effective_rules(settings.preset, settings.rules, *(layer.rules for layer in layers.values()))
    chosen = [fix for fix in (settings.fix, *(layer.fix for layer in layers.values())) if fix is not None]
    keys = dict.fromkeys(rules, f"clean.preset {settings.preset}: ")
    for key, own in (("clean", settings.rules), *((key, layer.rules) for key, layer in layers.items())):
        keys.update(dict.fromkeys(own, f"{key}.rules."))
    keys.update(dict.fromkeys(keys.keys() & {TOKENS}, ""))  # the section limits has added it
    corpus_rules = {name: rules.pop(name) for name in CORPUS_RULES if name in rules}
    return Cleaning(chosen[-1] if chosen else PRESET_FIXES[settings.preset], rules, corpus_rules, keys)


def steps_of(fix: Fixes, side: Side) -> tuple[Any, ...]:
    """Returns a side's fixes."""
    return fix.get(side, ()) if isinstance(fix, Mapping) else fix


def plain_fixes(fix: Fixes) -> Any:
    """Returns fixes as in YAML."""
    return {side: [*steps] for side, steps in fix.items()} if isinstance(fix, Mapping) else [*fix]


def overrides_of(settings: CleanSettings, languages: Languages, corpus: str) -> Iterator[tuple[str, CorpusCleaning]]:
    """Yields the overrides that apply to a corpus, with their keys, in ascending precedence.

    The keys are the languages without variants (``pt-en``), the full tags (``pt-BR-en``), and the corpus name.
    """
    pairs = [
        f"{_language(languages.source)}-{_language(languages.target)}",
        f"{languages.source}-{languages.target}",
    ]
    for key in dict.fromkeys([*pairs, corpus]):
        if key in settings.overrides:
            yield key, settings.overrides[key]


def _language(tag: str) -> str:
    return re.split("[-_]", tag, maxsplit=1)[0]
