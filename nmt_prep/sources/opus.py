"""OPUS corpora by id: ``opus:<corpus>/<version>/<pair>``, such as ``opus:Books/v1/en-fr``.

An id names a zip in Moses layout: one text file per side. Its URL comes from OPUS's public service
(https://opus.nlpl.eu/opusapi/), which returns a list ``corpora`` of objects with ``corpus``, ``version``, ``source``,
``target``, ``preprocessing`` and ``url``. Pairs are in alphabetical order there, whatever the order in the id.
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
"""Environment variable with the URL of another service, such as a local copy."""

_MOST_BYTES = 10_000_000
_ID = re.compile(r"opus:(?P<corpus>[\w.+-]+)/(?P<version>[\w.+-]+)/(?P<first>[A-Za-z_]+)-(?P<second>[A-Za-z_]+)")


@dataclass(frozen=True)
class OpusId:
    """The parts of an id; ``languages`` are spelled and ordered as in OPUS."""

    corpus: str
    version: str
    languages: tuple[str, str]

    def member(self, language: str) -> str:
        """Returns the name of a language's file in the zip."""
        return f"{self.corpus}.{'-'.join(self.languages)}.{language}"


def parse_id(address: str) -> OpusId:
    """Parses an id.

    Raises:
        ConfigError: the id is malformed.
    """
    match = _ID.fullmatch(address)
    if match is None:
        raise ConfigError(
            f"{address}: an OPUS id is opus:<corpus>/<version>/<pair>, such as opus:Books/v1/en-fr; "
            "https://opus.nlpl.eu lists them"
        )
    first, second = sorted((match["first"], match["second"]))
    return OpusId(match["corpus"], match["version"], (first, second))


def resolve(address: str, limits: Limits, clock: Clock, stop: Stop) -> str:
    """Returns the URL of the zip that an id names.

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
    there = f"it has the versions {versions}" if versions else "it has no version for this pair"
    raise DownloadError(f"{address}: not found in OPUS; {there}; check the id at https://opus.nlpl.eu")


def _asked(url: str, limits: Limits, clock: Clock, stop: Stop) -> list[dict[str, Any]]:
    content = bytearray()
    with asked(url, None, limits, clock, stop) as answer:
        for chunk in answer.chunks:
            content += chunk
            if len(content) > _MOST_BYTES:
                raise DownloadError(
                    f"{shown(url)}: more than {_MOST_BYTES:,} bytes, which is too long for a list of corpora"
                )
    try:
        entries = parse_json(bytes(content))["corpora"]
        return [entry for entry in entries if isinstance(entry, dict)]
    except (ValueError, KeyError, TypeError) as error:
        raise DownloadError(f"{shown(url)}: the answer is not a list of corpora; try again later") from error


def _names(entry: dict[str, Any]) -> tuple[object, ...]:
    return tuple(entry.get(key) for key in ("corpus", "source", "target", "preprocessing"))


def _checked(url: str, service: str, address: str) -> str:
    """Returns the URL from the service; refuses it by the rules for redirects."""
    parts, asked_at = urlsplit(url), urlsplit(service)
    if parts.scheme not in {"http", "https"} or (asked_at.scheme, parts.scheme) == ("https", "http"):
        raise DownloadError(
            f"{address}: OPUS returned {shown(url)}, which is not https and is refused: report it to OPUS"
        )
    return url
