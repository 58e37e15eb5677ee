"""Loads the sections of a config that the filter ``nmt-prep clean`` reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import Field, ValidationError

from nmt_prep.checks.clean import filter_problems
from nmt_prep.checks.load import as_tuples, refusal
from nmt_prep.cleaning.corpus_rules import CORPUS_RULES
from nmt_prep.cleaning.opusfilter import opusfilter_rules
from nmt_prep.cleaning.presets import PRESET_AGAINST, Cleaning, cleaning_of, effective_dedup
from nmt_prep.cleaning.rules import rule_problems
from nmt_prep.config import CleanSettings, DecontaminateSettings, Languages, Section
from nmt_prep.config.file import read_file
from nmt_prep.config.languages import ConfigLanguages
from nmt_prep.config.problems import located, problems_of, worded
from nmt_prep.errors import ConfigError


class FilterConfig(Section):
    """The sections of a config that the filter ``nmt-prep clean`` reads."""

    languages: ConfigLanguages = Field(description="{source: …, target: …}: the languages of the two sides")
    clean: CleanSettings = Field(CleanSettings(), description="a mapping: the fixes and rules")


@dataclass(frozen=True)
class StreamCleaning:
    """Settings of a filter of pairs.

    Attributes:
        languages: the languages of the pairs.
        cleaning: the fixes and rules.
        decontaminate: the evaluation sets that pairs are compared with.
        remarks: remarks for the user.
    """

    languages: Languages
    cleaning: Cleaning
    decontaminate: DecontaminateSettings
    remarks: tuple[str, ...] = ()


def load_cleaning(
    path: Path, overrides: Iterable[str] = (), corpus: str | None = None, opusfilter: Path | None = None
) -> StreamCleaning:
    """Reads the languages and the section ``clean`` of a config, to filter a stream of pairs.

    Args:
        path: the YAML file; its other sections are not read.
        overrides: as for :func:`load_config`.
        corpus: name of the corpus whose overrides apply; None for the overrides of the languages only.
        opusfilter: an OpusFilter config. Its filters replace preset and rules, and only the fixes that the section
            itself names are applied.

    Raises:
        ConfigError: a file cannot be read, or one of the two sections is not valid, or asks for something that needs
            the whole corpus; the message lists every problem.
    """
    data, lines = read_file(path, overrides)
    values = as_tuples({key: data[key] for key in FilterConfig.model_fields if key in data})
    try:
        config = FilterConfig.model_validate(values)
    except ValidationError as error:
        raise refusal(str(path), problems_of(error, FilterConfig, lines)) from None
    remarks: list[str] = []
    if config.clean.dedup.active:
        remarks.append(f"{located(('clean', 'dedup'), lines)}: it is left out: it needs all pairs")
    if opusfilter is not None:
        return _like_opusfilter(config, opusfilter, remarks)
    problems: list[str] = []
    cleaning = cleaning_of(config.clean, config.languages, corpus or "")
    problems.extend(worded(filter_problems(config.clean, config.languages, corpus), lines))
    if not config.clean.dedup.active and effective_dedup(config.clean).active:
        remarks.append(f"clean.preset {config.clean.preset}: dedup is left out: it needs all pairs")
    if config.clean.decontaminate.against is None and PRESET_AGAINST[config.clean.preset]:
        remarks.append(f"clean.preset {config.clean.preset}: decontaminate is left out: a stream has no dev and test")
    for name, spec in cleaning.corpus_rules.items():
        if cleaning.keys[name].startswith("clean.preset"):
            remarks.append(f"{cleaning.keys[name]}{name} is left out: {CORPUS_RULES[name].in_stream}")
        else:  # the rule says what it needs here
            cleaning.rules[name] = spec
    if problems:
        raise refusal(str(path), problems)
    cleaning = replace(cleaning, corpus_rules={})
    return StreamCleaning(config.languages, cleaning, config.clean.decontaminate, tuple(remarks))


def _like_opusfilter(config: FilterConfig, path: Path, remarks: Iterable[str]) -> StreamCleaning:
    data, _ = read_file(path)
    try:
        filters = opusfilter_rules(data)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    if problems := [*rule_problems(filters.rules)]:
        raise refusal(str(path), problems)
    cleaning = Cleaning(config.clean.fix or (), filters.rules, keys=dict.fromkeys(filters.rules, f"{path}: "))
    return StreamCleaning(
        config.languages,
        cleaning,
        config.clean.decontaminate,
        (*remarks, *(f"{path}: not taken over: {name}" for name in filters.left_out)),
    )
