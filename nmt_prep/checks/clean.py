"""Checks the section ``clean``: names of rules, fixes, corpora and languages, and the options of rules.

Checks that need files, such as models, are made by the stage, which knows the directory of the config.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator

from nmt_prep.cleaning.decontamination.sets import against_problems
from nmt_prep.cleaning.fixes import parse_fixes
from nmt_prep.cleaning.presets import PRESET_AGAINST, effective_rules
from nmt_prep.cleaning.rules import rule_problems
from nmt_prep.config import CleanSettings, Config, CorpusCleaning, Languages
from nmt_prep.config.pairs import are_languages, splits_of
from nmt_prep.config.problems import KeyPath, Problem


def clean_problems(config: Config, settings: CleanSettings) -> Iterator[Problem]:
    """Yields the problems of the section ``clean`` of a config.

    Args:
        config: the config, whose types were checked.
        settings: its section ``clean``.
    """
    yield from layer_problems(settings)
    yield from _evaluation_problems(settings, config)
    yield from _weight_problems(config, settings)
    corpora = {corpus.name for split in settings.splits for corpus in config.splits[split]}
    for name in settings.overrides:
        if name not in corpora and not any(map(are_languages, splits_of(name))):
            problem = f"neither a corpus that is cleaned nor a language pair such as en-de{_nearest(name, corpora)}"
            yield ("clean", "overrides", name), f"{problem} (corpora: {', '.join(sorted(corpora))})"


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
    """Yields the problem of weights from a score that no rule computes and no corpus has."""
    name = "" if config.weight is None else config.weight.origin.removeprefix("score:")
    corpora = [corpus for listed in config.splits.values() for corpus in listed]
    if not name or any(name in corpus.scores for corpus in corpora):
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
        settings: the section, whose types were checked.
        languages: the languages of the pairs.
        corpus: name of the corpus whose overrides apply; None for none.
    """
    yield from layer_problems(settings)
    for problem in against_problems(settings.decontaminate, None, languages):
        yield _AGAINST, problem
    if corpus is not None and corpus not in settings.overrides:
        near = _nearest(corpus, settings.overrides)
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


def _nearest(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
