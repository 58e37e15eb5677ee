"""Observations of the stage clean for the report: the bounds of the rules, and notes about the rejected pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from nmt_prep.cleaning.cleaning import Cleaning
from nmt_prep.cleaning.nearest import RejectNotes
from nmt_prep.cleaning.rule import Rule
from nmt_prep.cleaning.top import TOP, top_options
from nmt_prep.cleaning.translation import TRANSLATION
from nmt_prep.cleaning.translation.options import translation_options
from nmt_prep.config import Section
from nmt_prep.health.warning import HealthWarning
from nmt_prep.stages.clean_duplicates import Duplicates
from nmt_prep.stages.clean_leaks import Leak
from nmt_prep.stages.clean_translation import TranslationFacts


@dataclass(frozen=True)
class RuleBounds:
    """The values that a rule lets pass in one column; None stands for no limit.

    Attributes:
        low: lower limit.
        high: upper limit.
        above: true if ``low`` itself does not pass.
        below: true if ``high`` itself does not pass.
    """

    low: float | None
    high: float | None
    above: bool = False
    below: bool = False


@dataclass(frozen=True)
class RuleFacts:
    """A rule as it was applied to a corpus.

    Attributes:
        columns: the values that pass, by column.
        options: all its options.
    """

    columns: dict[str, RuleBounds]
    options: dict[str, Any]


@dataclass(frozen=True)
class CleanObserved:
    """Facts that the report shows besides the counts; all but the warnings by split and name of the corpus.

    Attributes:
        warnings: rules that the config names and that were left out, corpora that lose most of their pairs or contain
            much of a test set, and what compile warned of and cleaning did not mend.
        translation: how the rule ``translation`` was applied.
        leaks: what the corpora contain of evaluation sets, by split.
        rejected: notes about the rejected pairs.
        rules: the rules by their keys.
        duplicates: the duplicates by split, where pairs are compared.
        mended: what compile warned of and cleaning mended.
    """

    warnings: tuple[HealthWarning, ...] = ()
    translation: dict[str, dict[str, TranslationFacts]] = field(default_factory=dict)
    leaks: dict[str, tuple[Leak, ...]] = field(default_factory=dict)
    rejected: dict[str, dict[str, RejectNotes]] = field(default_factory=dict)
    rules: dict[str, dict[str, dict[str, RuleFacts]]] = field(default_factory=dict)
    duplicates: dict[str, Duplicates] = field(default_factory=dict)
    mended: tuple[HealthWarning, ...] = ()


def rule_facts(
    rules: Sequence[Rule[Any]], cleaning: Cleaning, threshold: float | None, translation: TranslationFacts | None
) -> dict[str, RuleFacts]:
    """Returns the facts about the rules of a corpus, by key.

    Args:
        rules: its rules.
        cleaning: its settings.
        threshold: the score that the rule ``top`` found; None without this rule.
        translation: how the rule ``translation`` was applied; None without this rule.
    """
    from nmt_prep.cleaning.rules import rule_options  # noqa: PLC0415  (loads all rules)

    facts = {
        rule.key: RuleFacts(
            {
                column: RuleBounds(_finite(each.low), _finite(each.high), each.above, each.below)
                for column, each in zip(rule.columns, rule.bounds, strict=True)
            },
            _options(rule_options(rule.key, cleaning.rules[rule.key])),
        )
        for rule in rules
    }
    if cleaning.top is not None:
        options = top_options(cleaning.top)
        low = None if threshold is None else _finite(threshold)
        facts[TOP] = RuleFacts({options.score: RuleBounds(low, None)}, _options(options))
    if translation is not None:
        bounds = RuleBounds(translation.threshold, None)
        facts[TRANSLATION] = RuleFacts({"pair": bounds}, _options(translation_options(cleaning.translation)))
    return facts


def _options(options: Section | None) -> dict[str, Any]:
    return {} if options is None else options.model_dump(mode="json")


def _finite(limit: float) -> float | None:
    return limit if math.isfinite(limit) else None
