"""Base class for config sections, types for single values, and addresses and checksums for files."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

UNKNOWN_NAME = "unknown_name"
"""Type of pydantic's custom errors whose message says what was found and what is allowed."""

_LONGEST_FILE_NAME = 255  # bytes, in most file systems

_MEMORY_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_MEMORY_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def _parse_amount(value: object) -> object:
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", value)
    if match is None or match[2].upper() not in _MEMORY_UNITS:
        raise ValueError("not an amount of bytes")
    return int(float(match[1]) * _MEMORY_UNITS[match[2].upper()])


def _parse_count(value: object) -> object:
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kKMB])\s*", value) if isinstance(value, str) else None
    if match is None:
        return _whole_number(value)
    return round(float(match[1]) * {"K": 10**3, "M": 10**6, "B": 10**9}[match[2].upper()])


def _whole_number(value: object) -> object:
    """Returns a float such as 1e8 as an integer, because people write large numbers like that."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]


def _possible(location: str) -> str:
    longest = max(location.split("/"), key=lambda name: len(name.encode()))
    if "://" not in location and len(longest.encode()) > _LONGEST_FILE_NAME:
        raise PydanticCustomError(
            UNKNOWN_NAME,
            "{start}… is no path: a file name has at most {most} bytes; shorten it, or put the text into a file",
            {"start": longest[:40], "most": _LONGEST_FILE_NAME},
        )
    return location


Location = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\x00-\x1f\x7f]+$"), AfterValidator(_possible)]
"""A path or URL: no control characters."""

Tag = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{1,8}([-_][A-Za-z0-9]{1,8})*$")]
Count = Annotated[int, BeforeValidator(_whole_number)]
Amount = Annotated[
    int,
    BeforeValidator(_parse_amount),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
]
"""A number of bytes, with or without a unit."""


PairCount = Annotated[
    int,
    BeforeValidator(_parse_count),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
]
"""A number of pairs, with or without k, M or B for thousands, millions or billions."""


def default_kind(kind: str) -> BeforeValidator:
    """Returns a validator that gives a section the key ``kind`` if it lacks the key."""
    return BeforeValidator(lambda value: {"kind": kind, **value} if isinstance(value, dict) else value)


class Section(BaseModel):
    """Base class for all sections: no unknown keys, no type coercion, immutable.

    The docstring below a field, or its ``description``, says "allowed values: what the key does".
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, strict=True)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for problem in self._problems():
            raise ValueError(problem)
        return self

    def _problems(self) -> Iterator[str]:
        """Yields the conflicts between keys whose types are right; the first one is reported."""
        return iter(())


@cache
def descriptions(section: type[BaseModel]) -> dict[str, str]:
    """Returns the key descriptions of a section.

    Parses the section's source when a message needs descriptions; pydantic would parse all sections whenever a command
    starts.
    """
    below: dict[str, str] = {}
    for kind in (kind for kind in reversed(section.__mro__) if issubclass(kind, Section)):
        with suppress(OSError, TypeError):  # a class made at run time has no source
            definition = ast.parse(dedent(inspect.getsource(kind))).body[0]
            for field, text in pairwise(ast.iter_child_nodes(definition)):
                if (
                    isinstance(field, ast.AnnAssign)
                    and isinstance(text, ast.Expr)
                    and isinstance(text.value, ast.Constant)
                ):
                    below[ast.unparse(field.target)] = " ".join(str(text.value.value).split())
    fields = section.model_fields.items()
    known = {field.alias or name: field.description or below.get(name) for name, field in fields}
    return {key: text for key, text in known.items() if text}


LANGUAGE = "a language tag such as en, zh or pt-BR"


class Languages(Section):
    """The languages of both sides."""

    source: Tag = Field(description=f"{LANGUAGE}: the language of that side")
    target: Tag = Field(description=f"{LANGUAGE}: the language of that side")


_CATALOGUE = re.compile(r"(opus|mtdata|sacrebleu):")
_ONE_SIDE = re.compile(r"opus:[^/]+/[^/]+/[^/-]+")  # an ID of one language, which names a file
_HUB_ID = re.compile(r"hf:(?!//)")


def one_or_more(value: object) -> object:
    """Returns a single string as a tuple of one."""
    return (value,) if isinstance(value, str) else value


def is_hub_id(address: str) -> bool:
    """Returns True for an ID of the Hugging Face Hub, which names a whole repository, unlike an ``hf://`` address."""
    return _HUB_ID.match(address) is not None


def per_side(value: object) -> object:
    """Returns a single value as the value for both sides."""
    return value if isinstance(value, Section | dict) else {"both": value}


Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$", to_lower=True)]
Mirrors = Annotated[
    tuple[Location, ...],
    Field(min_length=1),
    BeforeValidator(one_or_more, json_schema_input_type=str | Annotated[tuple[str, ...], Field(min_length=1)]),
]


class Urls(Section):
    """The addresses of a corpus: one archive or file for both sides, or one file per side."""

    both: Mirrors | None = None
    """a URL, a path, or a list of mirrors: one archive or file for both sides"""
    source: Mirrors | None = None
    """a URL, a path, or a list of mirrors: the file of that side"""
    target: Mirrors | None = None
    """a URL, a path, or a list of mirrors: the file of that side"""

    def _problems(self) -> Iterator[str]:
        if (self.both is None) == (self.source is None and self.target is None):
            yield "give one url for both sides, or {source: …, target: …}"
        if any(map(is_hub_id, self._addresses())) and (self.hub_id is None or [*self._addresses()] != [self.hub_id]):
            yield "an hf: ID names a whole data set: give it as the only url"
        ids = [each for each in self._addresses() if _CATALOGUE.match(each) and not _ONE_SIDE.fullmatch(each)]
        if ids and ids != [self.catalogue_id]:
            yield f"{ids[-1]} names a whole corpus: give it as the only url, or as the first mirror"

    @property
    def catalogue_id(self) -> str | None:
        """The catalog ID that names the corpus; None if ``url`` holds no such ID."""
        first = self.both[0] if self.both else ""
        return first if _CATALOGUE.match(first) else None

    @property
    def hub_id(self) -> str | None:
        """The ``hf:`` ID of the data set that is the corpus; None for any other address."""
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
    """64 hexadecimal digits: SHA-256 of the file"""
    source: Sha256 | None = None
    """64 hexadecimal digits: SHA-256 of the file"""
    target: Sha256 | None = None
    """64 hexadecimal digits: SHA-256 of the file"""
