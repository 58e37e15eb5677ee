"""Checks the section ``clean``: names of rules, fixes, corpora and languages, and the options of rules.

Checks that need files, such as models, are made by the stage, which knows the directory of the config.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from pydantic_core import PydanticCustomError

from nmt_prep.checks.languages import check_language
from nmt_prep.cleaning.cleaning import language_pairs
from nmt_prep.cleaning.decontamination.sets import against_problems
from nmt_prep.cleaning.fixes import parse_fixes
from nmt_prep.cleaning.presets import PRESET_AGAINST, is_off
from nmt_prep.cleaning.rules import RULES, kind_of, rule_problems
from nmt_prep.cleaning.top import TOP, top_options
from nmt_prep.config import CleanSettings, Config, CorpusCleaning, Languages
from nmt_prep.config.problems import located
from nmt_prep.config.yaml_text import KeyPath


def clean_problems(config: Config, settings: CleanSettings, lines: Mapping[KeyPath, int]) -> Iterator[str]:
    """Yields the problems of the section ``clean``, each with its key.

    Args:
        config: the config, whose types were checked.
        settings: the section ``clean`` of the config.
        lines: line numbers of keys, if known.
    """
    yield from _problems(settings, ("clean",), lines)
    yield from _evaluation_problems(settings, config, lines)
    corpora = {corpus.name for split in settings.splits for corpus in config.splits[split]}
    for name, override in settings.overrides.items():
        path = ("clean", "overrides", name)
        if name not in corpora and not any(map(_are_languages, language_pairs(name))):
            near = _nearest(name, corpora)
            known = ", ".join(sorted(corpora))
            yield (
                f"{located(path, lines)}: neither a corpus that is cleaned nor a language pair such as en-de{near} "
                f"(corpora: {known})"
            )
        yield from _problems(override, path, lines)


def _evaluation_problems(settings: CleanSettings, config: Config, lines: Mapping[KeyPath, int]) -> Iterator[str]:
    where = located(("clean", "decontaminate", "against"), lines)
    for problem in against_problems(settings.decontaminate, config.splits, config.languages):
        yield f"{where}: {problem}"
    own, brought = settings.decontaminate, PRESET_AGAINST[settings.preset]
    if own.model_fields_set and own.against is None and not brought:
        yield (
            f"{where}: no evaluation sets are named, and the preset {settings.preset} brings none; name splits such as "
            "dev, sacrebleu:… or file:…"
        )
    against = settings.decontaminate.against or ()
    if against and all(split in against for split in settings.splits):
        cleaned = ", ".join(settings.splits)
        yield f"{where}: names all splits that are cleaned ({cleaned}); nothing is compared with them"


def filter_problems(
    settings: CleanSettings, languages: Languages, corpus: str | None, lines: Mapping[KeyPath, int]
) -> Iterator[str]:
    """Yields the problems of a section ``clean`` that is used to filter a stream of pairs, each with its key.

    Args:
        settings: the section, whose types were checked.
        languages: the languages of the pairs.
        corpus: name of the corpus whose overrides apply; None for none.
        lines: line numbers of keys, if known.
    """
    yield from _problems(settings, ("clean",), lines)
    for problem in against_problems(settings.decontaminate, None, languages):
        yield f"{located(('clean', 'decontaminate', 'against'), lines)}: {problem}"
    if corpus is not None and corpus not in settings.overrides:
        near = _nearest(corpus, set(settings.overrides))
        yield f"clean.overrides: --corpus names {corpus!r}, which has no overrides{near}"
    for name, layer in settings.overrides.items():
        yield from _problems(layer, ("clean", "overrides", name), lines)


def _problems(layer: CleanSettings | CorpusCleaning, path: KeyPath, lines: Mapping[KeyPath, int]) -> Iterator[str]:
    try:
        parse_fixes(layer.fix or ())
    except ValueError as error:
        yield f"{located((*path, 'fix'), lines)}: {error}"
    for name, spec in layer.rules.items():
        for problem in _rule_problems(name, spec):
            where, _, what = problem.partition(": ")
            yield f"{located((*path, 'rules', *where.split('.')), lines)}: {what}"


def _rule_problems(name: str, spec: object) -> Iterator[str]:
    if name == TOP:
        try:
            if not is_off(spec):
                top_options(spec)
        except ValueError as error:
            yield from str(error).splitlines()
    elif kind_of(name) not in RULES:
        known = (*RULES, TOP)
        yield f"{name}: there is no such rule{_nearest(name, known)} (rules: {', '.join(known)})"
    else:
        yield from rule_problems({name: spec})


def _nearest(name: str, known: Mapping[str, object] | set[str] | tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _are_languages(tags: tuple[str, str]) -> bool:
    try:
        for tag in tags:
            check_language(tag)
    except PydanticCustomError:
        return False
    return all(tags)
