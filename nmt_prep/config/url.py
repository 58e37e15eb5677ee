"""The part of a config's schema for the addresses and checksums of a corpus's files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import BeforeValidator, Field, StringConstraints

from nmt_prep.config.section import Location, Section

_CATALOGUE = re.compile(r"(opus|mtdata|sacrebleu):")
_HUB_ID = re.compile(r"hf:(?!//)")


def one_or_more(value: object) -> object:
    """Returns a single string as a tuple of one."""
    return (value,) if isinstance(value, str) else value


def is_hub_id(address: str) -> bool:
    """Returns True for an id of the Hugging Face Hub, which names a whole repository, unlike an ``hf://`` address."""
    return _HUB_ID.match(address) is not None


def per_side(value: object) -> object:
    """Returns a single value as the value for both sides."""
    return value if isinstance(value, dict) else {"both": value}


Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$", to_lower=True)]
Mirrors = Annotated[
    tuple[Location, ...],
    Field(min_length=1),
    BeforeValidator(one_or_more, json_schema_input_type=str | Annotated[tuple[str, ...], Field(min_length=1)]),
]


class Urls(Section):
    """The addresses of a corpus: one archive or file for both sides, or one file per side."""

    both: Mirrors | None = None
    """a URL or path, or a list of mirrors of the same file: one archive or file for both sides"""
    source: Mirrors | None = None
    """a URL or path, or a list of mirrors of the same file: the file of the source side"""
    target: Mirrors | None = None
    """a URL or path, or a list of mirrors of the same file: the file of the target side"""

    def _problems(self) -> Iterator[str]:
        if (self.both is None) == (self.source is None and self.target is None):
            yield "give one url for both sides, or {source: …, target: …}"
        if any(map(is_hub_id, self._addresses())) and (self.hub_id is None or [*self._addresses()] != [self.hub_id]):
            yield "an hf: id names a whole data set: give it as the only url"
        ids = [address for address in self._addresses() if _CATALOGUE.match(address)]
        if ids and ids != [self.catalogue_id]:
            yield f"{ids[-1]} names a whole corpus: give it as the only url, or as the first mirror"

    @property
    def catalogue_id(self) -> str | None:
        """The catalogue id that names the corpus; None if ``url`` holds no such id."""
        first = self.both[0] if self.both else ""
        return first if _CATALOGUE.match(first) else None

    @property
    def hub_id(self) -> str | None:
        """The ``hf:`` id of the data set that is the corpus; None for any other address."""
        first = self.both[0] if self.both else ""
        return first if is_hub_id(first) else None

    @property
    def remote(self) -> bool:
        """True if any address is not a plain path."""
        return any("://" in address or _CATALOGUE.match(address) or is_hub_id(address) for address in self._addresses())

    def _addresses(self) -> Iterator[str]:
        for mirrors in (self.both, self.source, self.target):
            yield from mirrors or ()


class Checksums(Section):
    """SHA-256 of the files behind the URLs, in the same form as ``url``."""

    both: Sha256 | None = None
    """64 hexadecimal digits: SHA-256 of the one file for both sides"""
    source: Sha256 | None = None
    """64 hexadecimal digits: SHA-256 of the file of the source side"""
    target: Sha256 | None = None
    """64 hexadecimal digits: SHA-256 of the file of the target side"""
