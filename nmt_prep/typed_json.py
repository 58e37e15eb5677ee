"""Conversion between dataclasses and JSON values; the types of fields are checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

_T = TypeVar("_T")
_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def parse_json_as(kind: type[_T], value: object) -> _T:
    """Converts a parsed JSON object to a dataclass, after checking the types of its fields.

    Raises:
        ValueError: a field is missing or of another type.
    """
    try:
        adapter: TypeAdapter[_T] = _adapter(kind)
        return adapter.validate_python(value)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(map(str, problem["loc"]))
        raise ValueError(f"{where}: {problem['msg']}" if where else problem["msg"]) from None


def as_json(value: object) -> Any:
    """Returns a dataclass as JSON values; the inverse of :func:`parse_json_as`."""
    return _adapter(value.__class__).dump_python(value, mode="json")
