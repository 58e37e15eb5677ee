"""Corpora of OPUS by id: ``opus:<corpus>/<version>/<pair>``, such as ``opus:Books/v1/en-fr``.

What an id names is a zip in the layout of Moses: a text file a side. Where it is, OPUS's public service says
(https://opus.nlpl.eu/opusapi/, whose answer has a list ``corpora`` of objects with ``corpus``, ``version``, ``source``,
``target``, ``preprocessing`` and ``url``). Pairs are in alphabetical order there, whichever the order in the id.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from nmt_prep.artefacts import parse_json
from nmt_prep.errors import ConfigError, DownloadError
from nmt_prep.sources.address import shown
from nmt_prep.sources.limits import Clock, Limits
from nmt_prep.sources.watch import Stop
from nmt_prep.sources.web import asked

SERVICE = "https://opus.nlpl.eu/opusapi/"
SERVICE_VARIABLE = "NMT_PREP_OPUS_API"
"""A variable of the environment that names another service, such as a copy within a site."""

_MOST_BYTES = 10_000_000
_ID = re.compile(r"opus:(?P<corpus>[\w.+-]+)/(?P<version>[\w.+-]+)/(?P<first>[A-Za-z_]+)-(?P<second>[A-Za-z_]+)")


@dataclass(frozen=True)
class OpusId:
    """The parts of an id; ``languages`` are as OPUS writes and orders them."""

    corpus: str
    version: str
    languages: tuple[str, str]

    def member(self, language: str) -> str:
        """The file of a language in the zip."""
        return f"{self.corpus}.{'-'.join(self.languages)}.{language}"


def parse_id(address: str) -> OpusId:
    """The parts of an id.

    Raises:
        ConfigError: it is none.
    """
    match = _ID.fullmatch(address)
    if match is None:
        raise ConfigError(
            f"{address}: an id of OPUS is opus:<corpus>/<version>/<pair>, such as opus:Books/v1/en-fr; "
            "https://opus.nlpl.eu lists them"
        )
    first, second = sorted((match["first"], match["second"]))
    return OpusId(match["corpus"], match["version"], (first, second))


def resolve(address: str, limits: Limits, clock: Clock, stop: Stop) -> str:
    """The URL of the zip that an id names.

    Raises:
        DownloadError: OPUS has no such corpus, or does not answer.
    """
    named = parse_id(address)
    source, target = named.languages
    query = {"corpus": named.corpus, "source": source, "target": target, "preprocessing": "moses"}
    service = os.environ.get(SERVICE_VARIABLE) or SERVICE
    found = _asked(f"{service}?{urlencode(query)}", limits, clock, stop)
    fitting = [entry for entry in found if _names(entry) == (named.corpus, *named.languages, "moses")]
    for entry in fitting:
        if entry.get("version") == named.version:
            return _checked(str(entry.get("url")), service, address)
    versions = ", ".join(sorted({str(entry.get("version")) for entry in fitting}))
    there = f"there are the versions {versions}" if versions else "there is no version for this pair"
    raise DownloadError(f"{address}: OPUS does not have it: {there}; check the id at https://opus.nlpl.eu")


def _asked(url: str, limits: Limits, clock: Clock, stop: Stop) -> list[dict[str, Any]]:
    content = bytearray()
    with asked(url, None, limits, clock, stop) as answer:
        for chunk in answer.chunks:
            content += chunk
            if len(content) > _MOST_BYTES:
                raise DownloadError(f"{shown(url)}: more than {_MOST_BYTES:,} bytes, which is no list of corpora")
    try:
        entries = parse_json(bytes(content))["corpora"]
        return [entry for entry in entries if isinstance(entry, dict)]
    except (ValueError, KeyError, TypeError) as error:
        raise DownloadError(f"{shown(url)}: the answer is no list of corpora; try again later") from error


def _names(entry: dict[str, Any]) -> tuple[object, ...]:
    return tuple(entry.get(key) for key in ("corpus", "source", "target", "preprocessing"))


def _checked(url: str, service: str, address: str) -> str:
    """What the service names, unless following it would be a redirect that is refused."""
    parts, asked_at = urlsplit(url), urlsplit(service)
    if parts.scheme not in {"http", "https"} or (asked_at.scheme, parts.scheme) == ("https", "http"):
        raise DownloadError(f"{address}: OPUS names {shown(url)}, which is not https; refused: report it to OPUS")
    return url
