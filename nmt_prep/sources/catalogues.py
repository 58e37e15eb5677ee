"""Corpora named by an id of OPUS, mtdata or sacrebleu: fills in the keys that the config leaves out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from nmt_prep.config import Config
from nmt_prep.config.corpus import Corpus
from nmt_prep.config.section import Languages
from nmt_prep.errors import ConfigError
from nmt_prep.sources import mtdata_index, sacrebleu_sets
from nmt_prep.sources.languages import ordered
from nmt_prep.sources.opus import parse_id

_MEMBERS = {"source", "target", "member"}


def fill_in(config: Config) -> Config:
    """Returns the config with url, members and format filled in for each corpus that is named by an id.

    Nothing is fetched: OPUS ids are resolved at download; ids of mtdata and sacrebleu become URLs here.

    Raises:
        ConfigError: an id is unknown, its languages are not the config's, or the catalogue's package is not installed.
    """
    splits = {
        split: tuple(_filled(corpus, config.languages, f"splits.{split}.{corpus.name}") for corpus in corpora)
        for split, corpora in config.splits.items()
    }
    return config.model_copy(update={"splits": splits})


def _filled(corpus: Corpus, languages: Languages, where: str) -> Corpus:
    address = corpus.url.catalogue_id
    if address is None:
        return corpus
    try:
        known = _CATALOGUES[address.partition(":")[0]](address, languages)
    except ConfigError as error:
        raise ConfigError(f"{where}.url: {error}") from error
    # The config takes precedence, for example with other members or another format.
    given = {name: getattr(corpus, name) for name in corpus.model_fields_set if name != "url"}
    if _MEMBERS & given.keys():
        known = {key: value for key, value in known.items() if key not in _MEMBERS}
    url = known["url"]
    if isinstance(url, tuple):
        url = {"both": (*url, *(corpus.url.both or ())[1:])}
    try:
        return Corpus.model_validate({**known, **given, "url": url})
    except ValidationError as error:
        problems = "; ".join(detail["msg"] for detail in error.errors())
        raise ConfigError(f"{where}: {address} conflicts with the other keys: {problems}") from None


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
