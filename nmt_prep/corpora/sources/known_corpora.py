"""What is known of public corpora: traps such as test sets in them, each with a public reason, and licences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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


@dataclass(frozen=True)
class Trap:
    """A property of a corpus that spoils training or evaluation, or forbids a use."""

    kind: str  # `test sets`, `machine-translated`, `misaligned`, `duplicates`, `order` or `licence`
    text: str
    reason: str  # the URL of a page that says so

    def __str__(self) -> str:
        return f"{self.text} ({self.reason})"


def name_in_catalogue(address: str) -> str:
    """Returns a name such as ``opus:wmt-news`` for any version and pair, by id or URL; other addresses unchanged."""
    found = next(filter(None, (pattern.match(address) for pattern in _NAMES)), None)
    if found is None:
        return address
    catalogue = {"h": "hf"}.get(found["catalogue"], found["catalogue"])
    return f"{catalogue}:{found['name'].replace('_', '-')}".lower()


def traps_of(addresses: Iterable[str]) -> tuple[Trap, ...]:
    """Returns the known traps of a corpus, given its id or URLs."""
    listed = [*addresses]
    return tuple(Trap(each["kind"], each["text"], each["reason"]) for each in _known()["traps"] if _fits(each, listed))


def is_public(address: str) -> bool:
    """Returns true for an id of a catalogue, and for a URL of a server that is not in a local network."""
    host = urlsplit(address).hostname or ""
    return address.startswith(("opus:", "mtdata:", "hf:")) or (
        address.startswith(("http:", "https:")) and re.search(r"\.[a-z][a-z0-9-]+$", host) is not None
    )


def licence_of(address: str) -> str | None:
    """Returns the licence of a corpus, given its id; None if it is not known."""
    known = _known()["licences"].items()
    return next((licence for licence, names in known if _fits({"corpora": names}, [address])), None)


def _fits(entry: dict[str, Any], addresses: Sequence[str]) -> bool:
    return any(_is(name, address) for name in entry["corpora"] for address in addresses)


def _is(known: str, address: str) -> bool:
    if re.match("(opus|mtdata|hf):", known):
        return re.fullmatch(known, name_in_catalogue(address)) is not None
    return known in address


@cache
def _known() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("known_corpora.yaml").read_text("utf-8")
    known: dict[str, Any] = yaml.safe_load(text)
    return known
