"""Base class of the sections of a config, and the types of single values."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
)

_MEMORY_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_MEMORY_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def _parse_amount(value: object) -> object:
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", value)
    if match is None or match[2].upper() not in _MEMORY_UNITS:
        raise ValueError("not an amount of bytes")
    return int(float(match[1]) * _MEMORY_UNITS[match[2].upper()])


def _whole_number(value: object) -> object:
    """Returns a float such as 1e8 as an integer, because people write large numbers like that."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
Location = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""A path or URL: no control characters."""

Tag = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{1,8}([-_][A-Za-z0-9]{1,8})*$")]
Count = Annotated[int, BeforeValidator(_whole_number)]
Amount = Annotated[
    int,
    BeforeValidator(_parse_amount),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
]
"""A number of bytes, with or without a unit."""


def default_kind(kind: str) -> BeforeValidator:
    """Returns a validator that gives a section without the key ``kind`` this one."""
    return BeforeValidator(lambda value: {"kind": kind, **value} if isinstance(value, dict) else value)


class Section(BaseModel):
    """The base class of all sections: no unknown keys, no coercion of types, immutable."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, strict=True)


LANGUAGE = "a language tag such as en, zh or pt-BR"


class Languages(Section):
    """The languages of the two sides."""

    source: Tag = Field(description=f"{LANGUAGE}: the language of the source side")
    target: Tag = Field(description=f"{LANGUAGE}: the language of the target side")
