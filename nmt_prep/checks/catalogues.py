"""Fills in the keys of corpora that are named by a catalogue id.

Nothing is fetched: OPUS ids are resolved at download; ids of mtdata and sacrebleu become URLs here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from nmt_prep.checks.corpora import check_corpus
from nmt_prep.config import Config
from nmt_prep.config.corpus import Corpus
from nmt_prep.config.section import ConfigLanguages, Languages
from nmt_prep.errors import ConfigError
from nmt_prep.sources import mtdata_index, sacrebleu_sets
from nmt_prep.sources.languages import ordered
from nmt_prep.sources.opus import parse_id

Checks = Mapping[str, Callable[[Any], None]]

_MEMBERS = {"source", "target", "member"}


def fill_in(config: Config, checks: Checks) -> tuple[Config, list[str]]:
    """Returns the config with url, members and format of each corpus that is named by an id, and the problems.

    Args:
        config: a config without problems of its own.
        checks: the context for validating the filled-in corpora.
    """
    splits: dict[str, tuple[Corpus, ...]] = {}
    problems = []
    for split, corpora in config.splits.items():
        filled = []
        for corpus in corpora:
            try:
                filled.append(_filled(corpus, config.languages, split, checks))
            except ConfigError as error:
                problems.append(str(error))
        splits[split] = tuple(filled)
    return config.model_copy(update={"splits": splits}), problems


def catalogue_problems(data: Any, checks: Checks) -> Iterator[str]:
    """Yields the problems with catalogue ids of the valid corpora of a config that has other problems.

    Args:
        data: the config as it was given, with tuples for lists.
        checks: the context of the validation.
    """
    try:
        languages = ConfigLanguages.model_validate(data.get("languages"), context=checks)
    except ValidationError:
        return
    for split, corpus in _valid_corpora(data.get("splits"), checks):
        try:
            _filled(corpus, languages, split, checks)
        except ConfigError as error:
            yield str(error)


def _valid_corpora(splits: object, checks: Checks) -> Iterator[tuple[str, Corpus]]:
    for split, corpora in splits.items() if isinstance(splits, Mapping) else ():
        for data in corpora if isinstance(corpora, tuple) else ():
            with suppress(ValidationError):
                yield str(split), Corpus.model_validate(data, context=checks)


def _filled(corpus: Corpus, languages: Languages, split: str, checks: Checks) -> Corpus:
    """Returns a corpus with the keys from its catalogue.

    Raises:
        ConfigError: the id is unknown, its languages differ from the config's, its catalogue is not installed, or other
            keys of the corpus do not fit.
    """
    address, where = corpus.url.catalogue_id, f"splits.{split}.{corpus.name}"
    if address is None:
        return corpus
    try:
        known = _CATALOGUES[address.partition(":")[0]](address, languages)
    except ConfigError as error:
        raise ConfigError(f"{where}.url: {error}") from error
    # The config takes precedence: it may name other members than the catalogue, or another format.
    given = {name: getattr(corpus, name) for name in corpus.model_fields_set if name != "url"}
    if _MEMBERS & given.keys():
        known = {key: value for key, value in known.items() if key not in _MEMBERS}
    url = known["url"]
    if isinstance(url, tuple):
        url = {"both": (*url, *(corpus.url.both or ())[1:])}
    try:
        filled = Corpus.model_validate({**known, **given, "url": url}, context=checks)
        check_corpus(filled)
    except ValidationError as error:
        problems = "; ".join(detail["msg"] for detail in error.errors())
        raise ConfigError(f"{where}: {address} conflicts with the other keys: {problems}") from None
    except ValueError as error:
        raise ConfigError(f"{where}: {address} conflicts with the other keys: {error}") from None
    return filled


def _opus(address: str, languages: Languages) -> dict[str, Any]:
    named = parse_id(address)
    source, target = ordered(named.languages, languages, address)
    members = {"source": named.member(source), "target": named.member(target)}
    return {"url": (address,), "format": "plain", **members}


_CATALOGUES: Mapping[str, Callable[[str, Languages], dict[str, Any]]] = {
    "opus": _opus,
    "mtdata": mtdata_index.describe,
    "sacrebleu": sacrebleu_sets.describe,
}
