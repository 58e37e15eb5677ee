"""The part of a config's schema for cleaning. The options of single rules are in :mod:`nmt_prep.cleaning.rules`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from nmt_prep.base.sides import Side
from nmt_prep.config.section import Location, Name, Section

StepSpecs = tuple[str | dict[str, Any], ...]
Fixes = StepSpecs | dict[Side, StepSpecs]
"""Steps for both sides, or for each side."""

_RULES = "a mapping from names of rules to their options, or off: rules to add, replace or remove"


_MOST_SCORES = 5


def _off_in_yaml(value: object) -> object:
    """Returns the text ``off`` for the value that YAML makes of it."""
    return "off" if value is False else value


class CorpusCleaning(Section):
    """Changes for one corpus or language pair."""

    fix: Fixes | None = None
    """as fix of clean, or null for no change: replaces clean.fix"""
    rules: dict[str, Any] = Field(default_factory=dict, description=_RULES)


class NearSettings(Section):
    """The similarity from which pairs are near duplicates."""

    similarity: float = Field(0.75, gt=0, le=1)
    """a number above 0, up to 1: the minimum share of common character n-grams, on both sides"""


class DedupSettings(Section):
    """Deduplication: drops duplicate pairs, after the rules, within each split."""

    pair: Annotated[Literal["off", "exact", "normalized", "near"] | None, BeforeValidator(_off_in_yaml)] = None
    """off, exact, normalized, near, or null for the preset's value: how duplicates are found: normalized ignores case,
    punctuation, digits, spaces and width; near also drops similar pairs"""
    max_targets_per_source: int | None = Field(None, ge=1)
    """a number, or null for no limit: the maximum number of pairs with the same source"""
    max_sources_per_target: int | None = Field(None, ge=1)
    """a number, or null for no limit: the maximum number of pairs with the same target"""
    keep: tuple[str, ...] = ("corpus",)
    """a list of names of scores, then corpus: the order of preference among duplicates: by score, then by corpus and
    row"""
    near: NearSettings = Field(default_factory=NearSettings)
    """a mapping: how similar near duplicates are, for pair: near"""

    @field_validator("keep")
    @classmethod
    def _ends_with_corpus(cls, keep: tuple[str, ...]) -> tuple[str, ...]:
        if keep[-1:] != ("corpus",) or "corpus" in keep[:-1]:
            raise ValueError("must end with corpus, which may be named only once")
        if len(set(keep)) < len(keep) or len(keep) > _MOST_SCORES + 1:
            raise ValueError(f"must name no score twice, and at most {_MOST_SCORES} scores")
        return keep

    @field_validator("near")
    @classmethod
    def _applies(cls, near: NearSettings, info: ValidationInfo) -> NearSettings:
        pair = info.data.get("pair", "near")
        if pair is None or (pair != "near" and near != NearSettings()):  # the defaults may be written out
            raise ValueError("applies only with pair: near; set it, or remove near")
        return near

    def in_full(self) -> dict[str, Any]:
        """Returns all settings that apply, as in YAML."""
        return self.model_dump(mode="json", exclude=None if self.pair == "near" else {"near"})

    @property
    def keys(self) -> Literal["exact", "normalized"]:
        """The kind of keys that pairs and sides are compared by."""
        return "normalized" if self.pair in ("normalized", "near") else "exact"

    @property
    def active(self) -> bool:
        """True if anything may be dropped."""
        compared = self.pair not in ("off", None)
        return compared or bool(self.max_targets_per_source or self.max_sources_per_target)


class DecontaminateSettings(Section):
    """Decontamination: finds pairs that contain segments of evaluation sets, after the rules."""

    against: tuple[Location, ...] | None = None
    """a list of different splits, IDs such as sacrebleu:wmt22 or sacrebleu:all, and files such as file:extra.txt, or
    null for the preset's sets: the evaluation sets; [] for none"""
    coverage: float = Field(0.7, gt=0, le=1, strict=False)
    """a number above 0, up to 1: the share of a segment's n-grams that makes a pair contaminated"""
    action: Literal["drop", "report"] = "drop"
    """drop or report: drop contaminated pairs, or only count them"""

    @field_validator("against")
    @classmethod
    def _each_once(cls, against: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if against is not None and len(set(against)) < len(against):
            raise ValueError("must name no evaluation set twice")
        return against


class CleanSettings(Section):
    """Fixes that repair text, and rules that drop pairs."""

    preset: Literal["none", "light", "standard", "strict"] = "standard"
    """none, light, standard or strict: the rules and fixes to start from; nmt-prep plan --show-rules prints them"""
    fix: Fixes | None = None
    """a list of steps such as [control, {punctuation: moses}], or {source: …, target: …}, or null for the preset's
    fixes: the fixes before the rules, in order"""
    rules: dict[str, Any] = Field(default_factory=dict, description=_RULES)
    overrides: dict[Name, CorpusCleaning] = Field(default_factory=dict)
    """a mapping from language pairs and names of corpora: changes for each; the corpus takes precedence"""
    dedup: DedupSettings = Field(default_factory=DedupSettings)
    """a mapping: which duplicate pairs to drop"""
    decontaminate: DecontaminateSettings = Field(default_factory=DecontaminateSettings)
    """a mapping: evaluation sets whose segments must not be in the pairs"""
    splits: Annotated[tuple[Name, ...], Field(min_length=1)] = ("train",)
    """a list of splits: the splits to clean"""
    rejects: Literal["none", "sample", "all"] = "sample"
    """none, sample or all: the dropped pairs to keep in rejected/; sample means up to 1,000 per rule and corpus"""
    allow_empty: bool = False
    """true or false: continue if a corpus loses all its pairs"""
