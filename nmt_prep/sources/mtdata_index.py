"""Corpora in the index of mtdata by id: ``mtdata:<group>-<name>-<version>-<pair>``, as ``mtdata list --id`` shows them.

The index (``mtdata.index.Index``) takes most of a minute to build and seconds to load, so its answer for an id is
cached in the cache directory, per version of mtdata. Corpora are fetched and read here, not by mtdata.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from typing import Any

from nmt_prep.artefacts import parse_json, write_json
from nmt_prep.config.section import Languages
from nmt_prep.digests import cache_directory, digest_of
from nmt_prep.errors import ConfigError, OutputError
from nmt_prep.runtime.extras import needed_extra

_FORMATS = {"txt": "plain", "raw": "plain", "tsv": "tsv", "sgm": "sgm", "tmx": "tmx", "wmt21xml": "wmt_xml"}

_FACTS = {"url", "format", "members", "columns", "swapped"}
"""Keys of a cached entry."""


def describe(address: str, languages: Languages) -> dict[str, Any]:
    """Returns the config keys of a corpus in mtdata's index.

    Raises:
        ConfigError: mtdata is not installed, has no such corpus, or the corpus is not supported.
    """
    entry = _entry(address, languages)
    known: dict[str, Any] = {"format": entry["format"]}
    urls, members = entry["url"], entry["members"]
    if isinstance(urls, list):
        source, target = reversed(urls) if entry["swapped"] else urls
        return {**known, "url": {"source": (source,), "target": (target,)}}
    known["url"] = (urls,)
    if len(members) == 2:
        source, target = reversed(members) if entry["swapped"] else members
        return {**known, "source": source, "target": target}
    if known["format"] == "tsv":
        first, second = entry["columns"] or (0, 1)
        known["columns"] = (
            {"source": second, "target": first} if entry["swapped"] else {"source": first, "target": second}
        )
    if known["format"] == "wmt_xml":
        known["swap"] = entry["swapped"]
    return {**known, "member": members[0]} if members else known


def _entry(address: str, languages: Languages) -> dict[str, Any]:
    """Returns the index entry of an id as JSON: url, format, members, columns, and whether the pair is swapped."""
    try:
        version = metadata.version("mtdata")
    except metadata.PackageNotFoundError:
        raise ConfigError(f"{address} needs mtdata: pip install 'nmt_prep[mtdata]'") from None
    note = cache_directory() / "mtdata" / f"{digest_of([version, address, languages.model_dump()])}.json"
    with suppress(OSError, ValueError, TypeError):
        noted = dict(parse_json(note.read_bytes()))
        if noted.keys() == _FACTS:
            return noted
    with _quiet():
        entry = _look_up(address, languages)
    with suppress(OutputError):
        write_json(note, entry)
    return entry


def _look_up(address: str, languages: Languages) -> dict[str, Any]:
    index = needed_extra("mtdata.index", "mtdata", address)
    tags = needed_extra("mtdata.iso.bcp47", "mtdata", address)
    try:
        found = index.INDEX[index.DatasetId.parse(address.removeprefix("mtdata:"))]
    except Exception as error:  # mtdata raises KeyError, AssertionError and Exception itself
        raise ConfigError(
            f"{address}: mtdata has no such corpus; an id is mtdata:<group>-<name>-<version>-<pair>, and "
            "`mtdata list --id --langs <pair>` shows them"
        ) from error
    if len(found.did.langs) != 2:
        raise ConfigError(f"{address} is not a parallel corpus")
    pair = tags.bcp47(languages.source), tags.bcp47(languages.target)
    fits, swapped = tags.BCP47Tag.check_compat_swap(pair, found.did.langs)
    if not fits:
        raise ConfigError(f"{address} is not for {languages.source}-{languages.target}; correct the id or languages")
    kind = _FORMATS.get(found.in_ext or re.sub(r"\.(gz|bz2|xz)$", "", found.ext))
    if kind is None:
        raise ConfigError(f"{address} is in a format that nmt_prep does not read ({found.in_ext or found.ext})")
    members = list(found.in_paths or [])
    url = found.url if isinstance(found.url, str) else list(found.url)
    most = 2 if kind in {"plain", "sgm"} else 1
    if (isinstance(url, list) and len(url) != 2) or len(members) > most:
        raise ConfigError(f"{address} has more files than a corpus may have; name the files that you need by url")
    columns = list(found.cols) if found.cols else None
    return {"url": url, "format": kind, "members": members, "columns": columns, "swapped": bool(swapped)}


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps mtdata from configuring the root logger and from logging."""
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
