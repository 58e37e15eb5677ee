"""The part of a config's schema for cleaning. The options of single rules are in :mod:`nmt_prep.cleaning.rules`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from nmt_prep.config.section import Name, Section

Fixes = tuple[str | dict[str, str], ...]

_RULES = "a mapping from names of rules to their options, or off: rules to add, replace or remove"


class CorpusCleaning(Section):
    """Changes for one corpus or language pair."""

    fix: Fixes | None = Field(None, description="a list of fixes, or null for no change: replaces the list above")
    rules: dict[str, Any] = Field(default_factory=dict, description=_RULES)


class CleanSettings(Section):
    """Rules that drop pairs for a reason, and fixes that repair text. Without this section, nothing is cleaned."""

    preset: Literal["none", "light", "standard", "strict"] = Field(
        "standard",
        description="none, light, standard or strict: the rules and fixes to begin with; nmt-prep plan --show-rules "
        "prints them",
    )
    fix: Fixes | None = Field(
        None,
        description="a list of names of fixes, some with a mode such as {punctuation: moses}, or null for those of the "
        "preset: what is repaired before the rules judge",
    )
    rules: dict[str, Any] = Field(default_factory=dict, description=_RULES)
    overrides: dict[Name, CorpusCleaning] = Field(
        default_factory=dict,
        description="a mapping from language pairs such as en-de, and from names of corpora: changes for them; those "
        "of a corpus take precedence over those of its language pair",
    )
    splits: Annotated[tuple[Name, ...], Field(min_length=1)] = Field(
        ("train",), description="a list of splits: which splits are cleaned; the others stay as they are"
    )
    rejects: Literal["none", "sample", "all"] = Field(
        "sample",
        description="none, sample or all: which dropped pairs are written to rejected/, where sample means up to 1,000 "
        "of each rule and corpus",
    )
    allow_empty: bool = Field(
        False,
        description="true or false: continue, without an error, if the rules drop all pairs of a corpus",
    )
