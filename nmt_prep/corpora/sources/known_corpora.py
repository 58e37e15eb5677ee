"""What is known of public corpora: traps such as test sets in them, each with a public reason, and licences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

import yaml

_NAMES = (
    re.compile(r"(?P<catalogue>opus):(?P<name>[^/]+)/"),
    re.compile(r"https?://.*/(?P<catalogue>OPUS)-(?P<name>[^/]+)/"),
    re.compile(r"mtdata:(?P<catalogue>OPUS)-(?P<name>[^-]+)-"),
    re.compile(r"(?P<catalogue>mtdata):(?P<name>[^-]+-[^-]+)-"),
    re.compile(r"(?P<catalogue>hf):(?://datasets/)?(?P<name>[^/@]+/[^/@]+)"),
    re.compile(r"https://(?P<catalogue>h)uggingface.co/datasets/(?P<name>[^/@]+/[^/@?]+)"),
)

_CATALOGUE = re.compile("(opus|mtdata|hf):")


@dataclass(frozen=True)
class Trap:
    """A property of a corpus that spoils training or evaluation, or forbids a use."""

    kind: str  # `test sets`, `machine-translated`, `misaligned`, `duplicates`, `pivoted`, `order`, `gone` or `licence`
    text: str
    reason: str  # the URL of a page that says so

    def __str__(self) -> str:
        return f"{self.text} ({self.reason})"


def name_in_catalogue(address: str) -> str:
    """Returns a name such as ``opus:wmt-news`` for any version and pair, by ID or URL; other addresses unchanged."""
    found = next(filter(None, (pattern.match(address) for pattern in _NAMES)), None)
    if found is None:
        return address
    catalogue = {"h": "hf"}.get(found["catalogue"], found["catalogue"])
    return f"{catalogue}:{found['name'].replace('_', '-')}".lower()


def traps_of(addresses: Iterable[str]) -> tuple[Trap, ...]:
    """Returns the known traps of a corpus, given its ID or URLs."""
    named = {address: name_in_catalogue(address) for address in addresses}
    traps = (each for each in _known()["traps"] if _fits(each["corpora"], named))
    return tuple(Trap(each["kind"], each["text"], each["reason"]) for each in traps)


def is_public(address: str) -> bool:
    """Returns true for a catalog ID, and for the URL of a server that is not in a local network."""
    host = urlsplit(address).hostname or ""
    return address.startswith(("opus:", "mtdata:", "hf:")) or (
        address.startswith(("http:", "https:")) and re.search(r"\.[a-z][a-z0-9-]+$", host) is not None
    )


def licence_of(address: str) -> str | None:
    """Returns a corpus's license, given its ID, or None if the license is not known."""
    named = {address: name_in_catalogue(address)}
    return next((licence for licence, known in _known()["licences"].items() if _fits(known, named)), None)


def _fits(known: Sequence[str], named: Mapping[str, str]) -> bool:
    """Returns true if a known corpus is at one of the addresses, which are given with their names."""
    return any(
        re.fullmatch(pattern, name) is not None if _CATALOGUE.match(pattern) else pattern in address
        for pattern in known
        for address, name in named.items()
    )


@cache
def _known() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("known_corpora.yaml").read_text("utf-8")
    known: dict[str, Any] = yaml.safe_load(text)
    return known
