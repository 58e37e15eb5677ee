"""Corpora named by IDs of catalogs. nmt_prep fetches and reads them itself, without the catalog's program.

OPUS: ``opus:<corpus>/<version>/<pair>``, such as ``opus:Books/v1/en-fr``. An ID names a zip in Moses layout: one text
file per side. Its URL comes from OPUS's public service (https://opus.nlpl.eu/opusapi/), which returns a list
``corpora`` of objects with ``corpus``, ``version``, ``source``, ``target``, ``preprocessing`` and ``url``. Languages
are in alphabetical order there, whatever the order in the ID.

mtdata: ``mtdata:<group>-<name>-<version>-<pair>``, as ``mtdata list --id`` shows them. The index
(``mtdata.index.Index``) takes most of a minute to build and seconds to load, so its answer for an ID is cached in the
cache directory, per version of mtdata.

sacreBLEU: see :mod:`nmt_prep.corpora.sources.sacrebleu_sets`.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from nmt_prep.base.artefacts import parse_json, write_json
from nmt_prep.base.digests import cache_directory, digest_of
from nmt_prep.base.errors import ConfigError, DownloadError, OutputError
from nmt_prep.base.runtime import installing, needed_extra
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.config.language_pairs import hyphened
from nmt_prep.config.section import Languages
from nmt_prep.corpora.sources.address import shown
from nmt_prep.corpora.sources.web import Client

_T = TypeVar("_T")

SERVICE = "https://opus.nlpl.eu/opusapi/"
SERVICE_VARIABLE = "NMT_PREP_OPUS_API"  # Environment variable with the URL of another service, such as a local copy

_MOST_BYTES = 10_000_000
_OPUS_ID = re.compile(
    r"opus:(?P<corpus>[\w.+-]+)/(?P<version>[\w.+-]+)/(?P<first>[A-Za-z0-9_@]+)(-(?P<second>[A-Za-z0-9_@]+))?"
)

_MTDATA_FORMATS = {"txt": "plain", "raw": "plain", "tsv": "tsv", "sgm": "sgm", "tmx": "tmx", "wmt21xml": "wmt_xml"}

_SPLITS = ("train", "dev", "test")


def ordered(pair: tuple[str, str], languages: Languages, address: str) -> tuple[str, str]:
    """Returns the pair with the config's source first; ``zh_CN`` matches ``zh`` if there is no exact match."""
    wanted = languages.source, languages.target
    for spelling in (_tag, language_of):
        first, second = spelling(pair[0]), spelling(pair[1])
        if (first, second) == (spelling(wanted[0]), spelling(wanted[1])):
            return pair
        if (second, first) == (spelling(wanted[0]), spelling(wanted[1])):
            return pair[1], pair[0]
    raise ConfigError(f"{address} is for {'-'.join(pair)}, but languages is {'-'.join(wanted)}; correct one of them")


def _side_of(language: str, languages: Languages, address: str) -> Side:
    wanted = {side: getattr(languages, side) for side in SIDES}
    for spelling in (_tag, language_of):
        for side, tag in wanted.items():
            if spelling(language) == spelling(tag):
                return side
    raise ConfigError(f"{address} is for {language}, but languages is {'-'.join(wanted.values())}; correct one of them")


def _tag(code: str) -> str:
    return hyphened(code.lower()).lower()


def language_of(code: str) -> str:
    """Returns a language code without script and region, such as ``zh`` for ``zh_CN``."""
    return _tag(code).partition("-")[0]


@dataclass(frozen=True)
class OpusId:
    """An ID's parts; ``languages`` are spelled and ordered as in OPUS."""

    corpus: str
    version: str
    languages: tuple[str, ...]  # one for a monolingual corpus

    def member(self, language: str) -> str:
        """Returns the name of a language's file in the zip."""
        return f"{self.corpus}.{'-'.join(self.languages)}.{language}"


def parse_id(address: str) -> OpusId:
    """Parses an ID."""
    match = _OPUS_ID.fullmatch(address)
    if match is None:
        raise ConfigError(
            f"{address}: an OPUS ID is opus:<corpus>/<version>/<pair>, such as opus:Books/v1/en-fr, or ends in one "
            "language; https://opus.nlpl.eu lists them"
        )
    return OpusId(match["corpus"], match["version"], tuple(sorted(filter(None, match.group("first", "second")))))


def describe_opus(address: str, languages: Languages) -> dict[str, Any]:
    """Returns the config keys of an OPUS corpus."""
    named = parse_id(address)
    if len(named.languages) == 1:
        return {"url": {_side_of(named.languages[0], languages, address): (address,)}, "format": "plain"}
    source, target = ordered((named.languages[0], named.languages[1]), languages, address)
    members = {"source": named.member(source), "target": named.member(target)}
    return {"url": {"both": (address,)}, "format": "plain", **members}


class NotInOpusError(DownloadError):
    """OPUS answers that it has no such corpus."""


def resolve(address: str, client: Client) -> str:
    """Returns the URL of the zip that an ID names."""
    named = parse_id(address)
    kind = "moses" if len(named.languages) == 2 else "mono"
    query: dict[str, str] = {"corpus": named.corpus, **dict(zip(SIDES, named.languages, strict=False))}
    query["preprocessing"] = kind
    service = os.environ.get(SERVICE_VARIABLE) or SERVICE
    corpora = _listed(f"{service}?{urlencode(query)}", client)
    fitting = [
        entry
        for entry in corpora
        if all(entry.get(key) == value for key, value in query.items())
        and (kind == "moses" or str(entry.get("url")).endswith(".txt.gz"))  # else it is tokenized
    ]
    for entry in fitting:
        if entry.get("version") == named.version:
            return _checked_url(str(entry.get("url")), service, address)
    versions = ", ".join(sorted({str(entry.get("version")) for entry in fitting}))
    there = f"it has the versions {versions}" if versions else "it has no version for these languages"
    near = "" if versions else _nearest_opus(named, client)
    raise NotInOpusError(f"{address}: not found in OPUS{near}; {there}; check the ID at https://opus.nlpl.eu")


def _nearest_opus(named: OpusId, client: Client) -> str:
    """Returns a hint with the most similar corpus name in the same languages, or an empty text if none is similar."""
    with suppress(DownloadError, ValueError):
        source, target = named.languages
        corpora = opus_corpora((source, target), client, every_version=False)
        return meant(named.corpus, {str(entry.get("corpus")) for entry in corpora})
    return ""


def opus_corpora(languages: tuple[str, str], client: Client, *, every_version: bool) -> list[dict[str, Any]]:
    """Returns the entries of OPUS's service for a language pair; ``languages`` are spelled as there."""
    source, target = sorted(languages)
    query = {"source": source, "target": target, "preprocessing": "moses"}
    latest = {} if every_version else {"version": "latest"}
    service = os.environ.get(SERVICE_VARIABLE) or SERVICE
    return _listed(f"{service}?{urlencode(query | latest)}", client)


def _listed(url: str, client: Client) -> list[dict[str, Any]]:
    content = client.read_small(url, _MOST_BYTES)
    try:
        entries = parse_json(content)["corpora"]
        return [entry for entry in entries if isinstance(entry, dict)]
    except (ValueError, KeyError, TypeError) as error:
        raise DownloadError(f"{shown(url)}: the answer is not a list of corpora; try again later") from error


def _checked_url(url: str, service: str, address: str) -> str:
    """Returns the URL that the service gives; refuses schemes that a redirect may not have."""
    parts, asked_at = urlsplit(url), urlsplit(service)
    if parts.scheme not in {"http", "https"} or (asked_at.scheme, parts.scheme) == ("https", "http"):
        raise DownloadError(
            f"{address}: OPUS returned {shown(url)}, which is not https and is rejected: report it to OPUS"
        )
    return url


def describe_mtdata(address: str, languages: Languages) -> dict[str, Any]:
    """Returns the config keys of a corpus in mtdata's index, as JSON values."""
    try:
        version = metadata.version("mtdata")
    except metadata.PackageNotFoundError:
        raise ConfigError(f"{address} needs mtdata: {installing('mtdata')}") from None
    note = _note(address, version, languages)
    with suppress(OSError, ValueError, TypeError):
        noted = dict(parse_json(note.read_bytes()))
        if {"url", "format"} <= noted.keys():
            return noted
    with quiet_mtdata():
        known = _look_up(address, languages)
    with suppress(OutputError):
        write_json(note, known)
    return known


def _note(address: str, version: str, languages: Languages) -> Path:
    return cache_directory() / "mtdata" / f"{digest_of([address, version, languages.model_dump()])}.json"


def note_mtdata(address: str, version: str, languages: Languages, known: Mapping[str, Any]) -> None:
    """Keeps the config keys of a corpus in the cache directory, for :func:`describe_mtdata`."""
    note = _note(address, version, languages)
    if not note.exists():
        with suppress(OutputError):
            write_json(note, known)


def _look_up(address: str, languages: Languages) -> dict[str, Any]:
    index = needed_extra("mtdata.index", "mtdata", address)
    tags = needed_extra("mtdata.iso.bcp47", "mtdata", address)
    try:
        entry = index.INDEX[index.DatasetId.parse(address.removeprefix("mtdata:"))]
    except Exception as error:  # mtdata raises KeyError, AssertionError and Exception itself
        near = _nearest_mtdata(address.removeprefix("mtdata:"), getattr(index.INDEX, "entries", {}))
        raise ConfigError(
            f"{address}: mtdata has no such corpus{near}; an ID is mtdata:<group>-<name>-<version>-<pair>, and "
            "`mtdata list --id --langs <pair>` shows them"
        ) from error
    return mtdata_keys(address, entry, tags, languages)


def mtdata_keys(address: str, entry: Any, tags: Any, languages: Languages) -> dict[str, Any]:
    """Returns the config keys for an entry in mtdata's index, as JSON values.

    Args:
        tags: the module ``mtdata.iso.bcp47``.
    """
    pair, langs, side = (tags.bcp47(languages.source), tags.bcp47(languages.target)), entry.did.langs, None
    if len(langs) == 1:
        compared = {each: (tag, tag) for each, tag in zip(SIDES, pair, strict=True)}
        found = [each for each in SIDES if tags.BCP47Tag.check_compat_swap(compared[each], (*langs, *langs))[0]]
        fits, swapped, side = bool(found), False, found[0] if found else None
    else:
        fits, swapped = tags.BCP47Tag.check_compat_swap(pair, langs)
    if not fits:
        raise ConfigError(f"{address} is not for {languages.source}-{languages.target}; correct the ID or languages")
    kind = _MTDATA_FORMATS.get(entry.in_ext or re.sub(r"\.(gz|bz2|xz)$", "", entry.ext))
    if kind is None:
        raise ConfigError(f"{address} is in a format that nmt_prep does not read ({entry.in_ext or entry.ext})")
    members = list(entry.in_paths or ())
    urls = [entry.url] if isinstance(entry.url, str) else list(entry.url)
    if side is not None and len(urls) == 1 and len(members) < 2 and kind in {"plain", "tsv"}:
        columns = {"columns": {side: (entry.cols or (0,))[0]}} if kind == "tsv" else {}
        url = {"url": {"both": urls}, side: members[0]} if members else {"url": {side: urls[0]}}
        return {"format": kind, **url, **columns}
    if side is not None or len(urls) > 2 or len(members) > (2 if kind in {"plain", "sgm"} else 1):
        raise ConfigError(f"{address} has more files than a corpus may have; name the files that you need by url")
    if len(urls) == 2:
        return {"format": kind, "url": _sides(urls, swapped)}
    known: dict[str, Any] = {"format": kind, "url": {"both": urls}}
    if len(members) == 2:
        return {**known, **_sides(members, swapped)}
    if kind == "tsv":
        known["columns"] = _sides(entry.cols or (0, 1), swapped)
    if kind == "wmt_xml":
        known["swap"] = bool(swapped)
    return {**known, "member": members[0]} if members else known


def _sides(both: Sequence[_T], swapped: object) -> dict[str, _T]:
    """Returns the source and target values, given in the catalog's order."""
    source, target = reversed(both) if swapped else both
    return {"source": source, "target": target}


def _nearest_mtdata(wanted: str, entries: Iterable[object]) -> str:
    """Returns a hint with the mtdata ID most similar to an unknown ID, or an empty text if none is similar.

    Only IDs with the same languages, or if there are none, of the same group are compared, since mtdata has hundreds of
    thousands.
    """
    if wanted.count("-") < 2:
        return ""
    group, *_, first, second = wanted.split("-")
    known = [str(entry) for entry in entries]
    endings = (f"-{first}-{second}", f"-{second}-{first}")
    alike = [name for name in known if name.endswith(endings)]
    alike = alike or [name for name in known if name.startswith(f"{group}-")]
    return meant(wanted, alike)


def meant(name: str, known: Iterable[str]) -> str:
    """Returns a hint with the known name most similar to a name, or an empty text if none is similar."""
    near = get_close_matches(name, known, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


@contextmanager
def quiet_mtdata() -> Iterator[None]:
    """Keeps mtdata from configuring the root logger and from logging."""
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


@dataclass(frozen=True)
class MtdataRecipe:
    """A recipe: a list of corpora for a language pair, as ``mtdata list-recipe`` shows it."""

    name: str
    languages: tuple[str, str]  # its two languages, as mtdata writes them, such as `eng`
    url: str  # a page about it; may be empty
    splits: Mapping[str, tuple[str, ...]]  # IDs of mtdata by split, without empty splits
    monolingual: int  # number of its monolingual corpora, which a config cannot name by ID


def mtdata_recipe(name: str) -> MtdataRecipe:
    """Returns a recipe by its name.

    Recipes come from the library, from ``mtdata.recipes*.yml`` in the working directory, and from mtdata's cache
    directory.
    """
    with quiet_mtdata():
        try:
            recipes: Mapping[str, Any] = needed_extra("mtdata.recipe", "mtdata", f"the recipe {name}").RECIPES
        except ConfigError:
            raise
        except Exception as error:  # mtdata raises YAML errors, file errors and errors from its own checks
            raise ConfigError(
                f"mtdata cannot read its recipes ({type(error).__name__}: {error}); check mtdata.recipes*.yml in this "
                "directory and in mtdata's cache directory"
            ) from error
    if name not in recipes:
        raise ConfigError(f"mtdata has no recipe {name!r}{meant(name, recipes)}; recipes: {', '.join(recipes)}")
    recipe = recipes[name]
    languages = tuple(map(str, recipe.langs))
    if len(languages) != 2 or "mul" in languages:
        raise ConfigError(f"the recipe {name} is for {'-'.join(languages)}, but a config has two languages")
    splits = {split: tuple(map(str, getattr(recipe, split) or ())) for split in _SPLITS}
    monolingual = sum(len(getattr(recipe, f"mono_{split}", None) or ()) for split in _SPLITS)
    return MtdataRecipe(
        name,
        (languages[0], languages[1]),
        recipe.url or "",
        {split: ids for split, ids in splits.items() if ids},
        monolingual,
    )
