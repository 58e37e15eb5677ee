"""Checks the section ``clean``: names of rules, fixes, corpora and languages, and the options of rules.

Checks that need files, such as models, are made by the stage, which knows the directory of the config. For the filter
``nmt-prep clean``, :func:`load_cleaning` reads the sections ``languages`` and ``clean`` alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import Field, ValidationError

from nmt_prep.base.errors import ConfigError
from nmt_prep.cleaning.corpus_rules import COMPUTED_SCORES, CORPUS_RULES
from nmt_prep.cleaning.evaluation_sets import against_problems
from nmt_prep.cleaning.opusfilter import opusfilter_rules
from nmt_prep.cleaning.presets import PRESET_AGAINST, Cleaning, cleaning_of, effective_dedup, effective_rules
from nmt_prep.cleaning.rules import rule_problems
from nmt_prep.config import CleanSettings, Config, CorpusCleaning, DecontaminateSettings, Languages, Section
from nmt_prep.config.file import as_tuples, read_file
from nmt_prep.config.language_pairs import are_languages, splits_of
from nmt_prep.config.languages import ConfigLanguages
from nmt_prep.config.problems import KeyPath, Problem, did_you_mean, located, problems_of, refusal, worded
from nmt_prep.text.fixes import parse_fixes


def clean_problems(config: Config, settings: CleanSettings) -> Iterator[Problem]:
    """Yields the problems of the section ``clean`` of a config."""
    yield from layer_problems(settings)
    yield from _evaluation_problems(settings, config)
    yield from _weight_problems(config, settings)
    corpora = {corpus.name for split in settings.splits for corpus in config.splits[split]}
    for name in settings.overrides:
        if name not in corpora and not any(map(are_languages, splits_of(name))):
            known = sorted(corpora)
            problem = f"neither a corpus that is cleaned nor a language pair such as en-de{did_you_mean(name, known)}"
            yield ("clean", "overrides", name), f"{problem} (corpora: {', '.join(known)})"


_AGAINST = ("clean", "decontaminate", "against")


def _evaluation_problems(settings: CleanSettings, config: Config) -> Iterator[Problem]:
    decontaminate = settings.decontaminate
    for problem in against_problems(decontaminate, config.splits, config.languages):
        yield _AGAINST, problem
    if decontaminate.model_fields_set and decontaminate.against is None and not PRESET_AGAINST[settings.preset]:
        problem = f"no evaluation sets are named, and the preset {settings.preset} brings none"
        yield _AGAINST, f"{problem}; name splits such as dev, sacrebleu:… or file:…"
    against = decontaminate.against or ()
    if against and all(split in against for split in settings.splits):
        cleaned = ", ".join(settings.splits)
        yield _AGAINST, f"names all splits that are cleaned ({cleaned}); nothing is compared with them"


def _weight_problems(config: Config, settings: CleanSettings) -> Iterator[Problem]:
    """Yields a problem if weights use the score of a rule that the config lacks, and no corpus has this score."""
    name = "" if config.weight is None else config.weight.origin.removeprefix("score:")
    if name not in COMPUTED_SCORES or any(name in corpus.scores for _, corpus in config.corpora):
        return
    layers = [{}, *(overrides.rules for overrides in settings.overrides.values())]
    if not any(name in effective_rules(settings.preset, settings.rules, layer) for layer in layers):
        yield (
            ("weight", "from"),
            f"no corpus has the score {name!r}, and no rule of clean computes it; add {name} to rules",
        )


def filter_problems(settings: CleanSettings, languages: Languages, corpus: str | None) -> Iterator[Problem]:
    """Yields the problems of a section ``clean`` that filters a stream of pairs.

    Args:
        corpus: name of the corpus whose overrides apply; None if there is none.
    """
    yield from layer_problems(settings)
    for problem in against_problems(settings.decontaminate, None, languages):
        yield _AGAINST, problem
    if corpus is not None and corpus not in settings.overrides:
        near = did_you_mean(corpus, settings.overrides)
        yield ("clean", "overrides"), f"--corpus names {corpus!r}, which has no overrides{near}"


def layer_problems(settings: CleanSettings) -> Iterator[Problem]:
    """Yields the problems of the fixes and rules of a section ``clean``, and of its overrides."""
    yield from _layer_problems(settings, ("clean",))
    for name, override in settings.overrides.items():
        yield from _layer_problems(override, ("clean", "overrides", name))


def _layer_problems(layer: CleanSettings | CorpusCleaning, path: KeyPath) -> Iterator[Problem]:
    try:
        parse_fixes(layer.fix or ())
    except ValueError as error:
        yield (*path, "fix"), str(error)
    for name, spec in layer.rules.items():
        for problem in rule_problems({name: spec}):
            key, _, what = problem.partition(": ")
            yield (*path, "rules", *key.split(".")), what


class FilterConfig(Section):
    """The sections of a config that the filter ``nmt-prep clean`` reads."""

    languages: ConfigLanguages = Field(description="{source: …, target: …}: the languages of the two sides")
    clean: CleanSettings = Field(CleanSettings(), description="a mapping: the fixes and rules")


@dataclass(frozen=True)
class StreamCleaning:
    """Settings of a filter of pairs."""

    languages: Languages  # the languages of the pairs
    cleaning: Cleaning  # the fixes and rules
    decontaminate: DecontaminateSettings  # the evaluation sets that pairs are compared with
    remarks: tuple[str, ...] = ()  # remarks for the user


def load_cleaning(
    path: Path, overrides: Iterable[str] = (), corpus: str | None = None, opusfilter: Path | None = None
) -> StreamCleaning:
    """Reads the languages and the section ``clean`` of a config, to filter a stream of pairs.

    Args:
        corpus: name of the corpus whose overrides apply; None for the overrides of the languages only.
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
        else:  # the rule itself reports what it needs
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
