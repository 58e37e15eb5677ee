"""Resolves the settings of the config to the fixes and rules of one corpus."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from nmt_prep.cleaning.corpus_rules import CORPUS_RULES
from nmt_prep.cleaning.fixes import FixSpec
from nmt_prep.cleaning.presets import PRESET_FIXES, effective_rules
from nmt_prep.config import CleanSettings, CorpusCleaning, Languages


@dataclass(frozen=True)
class Cleaning:
    """The fixes and rules of one corpus, as plain data.

    Attributes:
        fix: the fixes, as in the config.
        rules: options by name of the rule, in the order in which the rules are tried.
        corpus_rules: options by name of the rules that need the whole corpus.
        keys: for each rule, the part of the config that it comes from, such as ``clean.rules.``, for messages.
    """

    fix: tuple[FixSpec, ...]
    rules: dict[str, Any] = field(default_factory=dict)
    corpus_rules: dict[str, Any] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)


def cleaning_of(settings: CleanSettings, languages: Languages, corpus: str) -> Cleaning:
    """Returns the fixes and rules of one corpus.

    They come from the preset, the section ``clean``, and the overrides for the language pair and for the corpus. Each
    of these takes precedence over the one before it.
    """
    layers = {f"clean.overrides.{key}": layer for key, layer in overrides_of(settings, languages, corpus)}
    rules = effective_rules(settings.preset, settings.rules, *(layer.rules for layer in layers.values()))
    chosen = [fix for fix in (settings.fix, *(layer.fix for layer in layers.values())) if fix is not None]
    keys = dict.fromkeys(rules, f"clean.preset {settings.preset}: ")
    for key, own in (("clean", settings.rules), *((key, layer.rules) for key, layer in layers.items())):
        keys.update(dict.fromkeys(own, f"{key}.rules."))
    corpus_rules = {name: rules.pop(name) for name in CORPUS_RULES if name in rules}
    return Cleaning(tuple(chosen[-1] if chosen else PRESET_FIXES[settings.preset]), rules, corpus_rules, keys)


def overrides_of(settings: CleanSettings, languages: Languages, corpus: str) -> Iterator[tuple[str, CorpusCleaning]]:
    """Yields the overrides that apply to a corpus, with their keys, in ascending precedence.

    The keys are the languages without variants (``pt-en``), the full tags (``pt-BR-en``), and the name of the corpus.
    """
    pairs = [
        f"{_language(languages.source)}-{_language(languages.target)}",
        f"{languages.source}-{languages.target}",
    ]
    for key in dict.fromkeys([*pairs, corpus]):
        if key in settings.overrides:
            yield key, settings.overrides[key]


def language_pairs(key: str) -> Sequence[tuple[str, str]]:
    """Returns all ways to split a key such as ``en-de`` or ``pt-BR-en`` at a hyphen into two language tags."""
    return [(key[: dash.start()], key[dash.end() :]) for dash in re.finditer("-", key)]


def _language(tag: str) -> str:
    return re.split("[-_]", tag, maxsplit=1)[0]
