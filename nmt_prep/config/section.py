"""Base class of the sections of a config, and the types of single values."""

from __future__ import annotations

import re
from typing import Annotated, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    WithJsonSchema,
)

V = TypeVar("V")

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

Language = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$")]
Count = Annotated[int, BeforeValidator(_whole_number)]
Amount = Annotated[
    int,
    BeforeValidator(_parse_amount),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
]
"""A number of bytes, with or without a unit."""


def checked_above(what: str) -> AfterValidator:
    """Returns a validator that leaves a check to the layer above, :mod:`nmt_prep.checks`.

    The config itself checks shapes and types. Checks that need readers, dialects or catalogues are functions in the
    ``context`` of a validation, under the key ``what``; they raise ``ValueError``. A validation without context checks
    shapes and types only.
    """

    def check(value: V, info: ValidationInfo) -> V:
        if info.context is not None:
            info.context[what](value)
        return value

    return AfterValidator(check)


def default_kind(kind: str) -> BeforeValidator:
    """Returns a validator that gives a section without the key ``kind`` this one."""
    return BeforeValidator(lambda value: {"kind": kind, **value} if isinstance(value, dict) else value)


class Section(BaseModel):
    """The base class of all sections: no unknown keys, no coercion of types, immutable."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, strict=True)


_LANGUAGE = "a language tag such as en, zh or pt-BR"


class Languages(Section):
    """The languages of the two sides."""

    source: Language = Field(description=f"{_LANGUAGE}: the language of the source side")
    target: Language = Field(description=f"{_LANGUAGE}: the language of the target side")


Tag = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{1,8}([-_][A-Za-z0-9]{1,8})*$"), checked_above("language")]


class ConfigLanguages(Languages):
    """The languages of the two sides. Files and records may use other tags for them."""

    source: Tag = Field(description=f"{_LANGUAGE}: the language of the source side")
    target: Tag = Field(description=f"{_LANGUAGE}: the language of the target side")
