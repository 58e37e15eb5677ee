"""Messages about the problems that pydantic finds in a config."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from nmt_prep.base.errors import ConfigError
from nmt_prep.base.sides import SIDES
from nmt_prep.config.section import UNKNOWN_NAME, descriptions

Options = TypeVar("Options", bound=BaseModel)

KeyPath = tuple[str | int, ...]
"""The keys and indexes that lead to a value."""

Problem = tuple[KeyPath, str]
"""A key, and the problem of its value."""

_WITHOUT_KIND = ("union_tag_invalid", "union_tag_not_found")
"""Types of pydantic's errors for a mapping with a missing or an unknown ``kind``."""

_TRANSLATE = "a corpus of one side gets the other one by translate, with the name of a computed text"

_REMOVED = {
    "download.connect_seconds": "a server has 10 s to accept a connection",
    "download.stall_seconds": "a connection that is slower than 1 KiB per second for 60 s is closed, and tried again",
    "engine.connect_seconds": "the scheduler has 30 s to answer",
    "engine.frozen_seconds": "a worker of the run's own cluster that is silent for 30 s is replaced",
    "extract.max_members": "an archive may have 1,000,000 members",
    "extract.max_ratio": "an archive may be unpacked to 250 times its size",
    "outputs.dtype": "the size of the vocabulary determines the type of the IDs, as toolkits expect",
    "publish.retries": "a failed request is repeated 5 times",
    "splits.placeholder": _TRANSLATE,
    "splits.translations": "pivot joins the first 3 translations of a line",
}
"""Keys from earlier versions, without split names and list indexes, and what holds in their place."""

_OF_CORPUS = {f"splits.{key}": f"clean.overrides sets {key} for a corpus" for key in ("fix", "rules")}
"""Keys that a corpus does not have, and what to use instead."""

_REMOVED_VALUES = {("splits.role", "monolingual"): f"it no longer exists: {_TRANSLATE}; replace it by translate"}
"""Values of earlier versions, with their keys."""

_REMOVED_KINDS = {
    "outputs.tfrecord": "records/ has such shards; records.layout and records.shards set their form and their number",
}
"""Kinds of earlier versions, likewise."""


def problems_of(error: ValidationError, root: type[BaseModel], lines: Mapping[KeyPath, int]) -> set[str]:
    """Returns a line of text for each problem in ``root``: key, line if known, what was found and what is allowed."""
    # Pydantic also reports a list with wrong items as too short; keep that report only for lists that are too short.
    details = [
        detail
        for detail in error.errors()
        if detail["type"] != "too_short" or len(detail["input"]) < detail["ctx"]["min_length"]
    ]
    return {_problem(detail, root, lines) for detail in details}


def first_problem(error: ValidationError) -> str:
    """Returns the first problem with its key, for settings that are in no config."""
    detail = error.errors()[0]
    where = _dotted(tuple(part for part in detail["loc"] if part != "[key]"))
    return (f"{where}: " if where else "") + message_of(detail)


def message_of(detail: ErrorDetails) -> str:
    """Returns pydantic's message without the prefix that it gives to messages of validators."""
    return detail["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")


def wrong_keys(error: ValidationError, root: type[BaseModel]) -> set[KeyPath]:
    """Returns the keys of the values in which pydantic found a problem; the empty path stands for the whole."""
    return {_locate(detail["loc"], root)[0] for detail in error.errors()}


def _problem(detail: ErrorDetails, root: type[BaseModel], lines: Mapping[KeyPath, int]) -> str:
    path, model, allowed, known = _locate(detail["loc"], root)
    if "both" in path and path not in lines:
        path = path[: path.index("both")]  # the user wrote one value for both sides
    if path[-1:] == ("at",) and path not in lines:
        path = path[:-1]  # the user wrote only the place of a score
    if detail["type"] in _WITHOUT_KIND:
        path = (*path, "kind")
    where = located(path, lines)
    if detail["type"] == "extra_forbidden":
        return f"{where}: {_unknown(path, model)}"
    if detail["type"] in _WITHOUT_KIND:
        return f"{where}: {_problem_of_kind(detail, path)}"
    if detail["type"] == "missing":
        return f"{where}: this key is required: {allowed}"
    whole = detail["type"] == "value_error" and isinstance(detail["input"], Mapping | BaseModel)
    removed = _REMOVED_VALUES.get((_general(path), str(detail["input"])))
    if whole or removed or detail["type"] == UNKNOWN_NAME:
        text = removed or message_of(detail)
        return f"{where if path else _whole_config(text, lines)}: {text}"
    if detail["input"] is None and detail["type"] in ("model_type", "model_attributes_type"):
        return f"{where}: found an empty section; give it keys, or remove it"
    if allowed is None and detail["type"] == "model_type":
        allowed = f"a mapping with keys of: {', '.join(sorted(_fields(model)))}"
    near = did_you_mean(detail["input"], known) if isinstance(detail["input"], str) else ""
    return f"{where}: found {describe(detail['input'])}{near or ';'} allowed: {allowed or message_of(detail)}"


def located(path: KeyPath, lines: Mapping[KeyPath, int]) -> str:
    """Returns a dotted key, with the line of the key or of the nearest key above it, if known."""
    return (_dotted(path) or "config") + _line(path, lines)


def _line(path: KeyPath, lines: Mapping[KeyPath, int]) -> str:
    """Returns the line of a key or of the nearest key above it, as `` (line 3)``, or an empty text if unknown."""
    line = next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), None)
    return f" (line {line})" if line else ""


def _whole_config(problem: str, lines: Mapping[KeyPath, int]) -> str:
    """Returns where a problem between sections is, with the line of the key that starts the problem's text."""
    named = re.match(r"[\w.]*", problem)
    return "config" + _line(tuple(named[0].split(".")) if named else (), lines)


def worded(problems: Iterable[Problem], lines: Mapping[KeyPath, int]) -> Iterator[str]:
    """Yields each problem with its key and line."""
    for path, problem in problems:
        yield f"{located(path, lines)}: {problem}"


def refusal(origin: str, problems: Collection[str]) -> ConfigError:
    """Returns the error that lists all problems of the config ``origin``."""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return ConfigError("\n  ".join([f"{origin}: {count}", *sorted(problems)]))


def _locate(location: KeyPath, root: type[BaseModel]) -> tuple[KeyPath, type[BaseModel], str | None, set[str]]:
    """Returns the key path at pydantic's location, its section, its allowed values, and which of them are names."""
    # Pydantic's location has the keys, but also names that no user wrote: the members of unions, and "[key]". So the
    # types are followed along it, and a part counts as a key only where the type has keys.
    path: KeyPath = ()
    kind: Any = root
    section: type[BaseModel] = root
    allowed: str | None = None
    for part in location:
        if get_origin(kind) in (Union, UnionType):
            kind = next((_strip(model) for model in get_args(kind) if part in _kinds(model)), None)
        elif isinstance(kind, type) and issubclass(kind, BaseModel):
            section = kind
            path = (*path, part)
            field = _fields(kind).get(str(part))
            if field is None:
                return path, section, None, set()
            allowed = descriptions(kind).get(str(part), allowed)  # the description of the option if a side has none
            kind = _strip(field.annotation)
        elif get_origin(kind) in (dict, tuple) and part != "[key]":
            path = (*path, part)
            kind = _strip(get_args(kind)[1 if get_origin(kind) is dict else 0])
        else:
            break
    return path, section, allowed, {*_names(kind)}


def _names(annotation: Any) -> Iterator[str]:
    """Yields the texts that a type lists as its values; for a type with two sides, the texts of both sides."""
    if get_origin(annotation) is Literal:
        yield from (name for name in get_args(annotation) if isinstance(name, str))
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if {*annotation.model_fields} == {*SIDES}:
            yield from _names(annotation.model_fields[SIDES[0]].annotation)
    else:
        for part in get_args(annotation):
            yield from _names(part)


def _fields(section: type[BaseModel]) -> dict[str, FieldInfo]:
    """Returns the fields of a section by their keys in the config."""
    return {field.alias or name: field for name, field in section.model_fields.items()}


def _kinds(model: Any) -> tuple[Any, ...]:
    """Returns the ``kind`` values, or the pydantic tags, that select a model in a union."""
    if get_origin(model) is Annotated:
        return tuple(meta.tag for meta in get_args(model)[1:] if isinstance(meta, Tag))
    if isinstance(model, type) and issubclass(model, BaseModel) and "kind" in model.model_fields:
        return get_args(model.model_fields["kind"].annotation)
    return ()


def _strip(annotation: Any) -> Any:
    """Returns a type without Annotated and None."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
        return _strip(kinds[0]) if len(kinds) == 1 else annotation
    return annotation


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns "; did you mean 'x'?" with the most similar name, or an empty text if no name is similar."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _unknown(path: KeyPath, section: type[BaseModel]) -> str:
    if (now := _REMOVED.get(_general(path))) is not None:
        return f"this key no longer exists: {now}; remove it"
    if (instead := _OF_CORPUS.get(_general(path))) is not None:
        return f"unknown key; {instead}"
    allowed = sorted(_fields(section))
    return f"unknown key{did_you_mean(str(path[-1]), allowed)} (allowed here: {', '.join(allowed)})"


def _problem_of_kind(detail: ErrorDetails, path: KeyPath) -> str:
    if detail["type"] == "union_tag_not_found":
        return "this key is required, as each of them has a kind"
    tag, allowed = str(detail["ctx"]["tag"]), detail["ctx"]["expected_tags"]
    if (now := _REMOVED_KINDS.get(f"{_general(path[:-1])}.{tag}")) is not None:
        return f"the kind {tag} no longer exists: {now}"
    near = did_you_mean(tag, allowed.replace("'", "").split(", "))
    return f"found {describe(tag)}{near or ';'} allowed: {allowed}"


def _general(path: KeyPath) -> str:
    """Returns a dotted key without the names of splits and numbers in lists."""
    keys = [part for part in path if isinstance(part, str)]
    return ".".join(keys[:1] + keys[2:] if keys[:1] == ["splits"] else keys)


def _dotted(path: KeyPath) -> str:
    return ".".join(str(part) for part in path)


def describe(value: object) -> str:
    """Returns a value of a YAML file in words."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the text {value!r}" if len(value) <= 80 else f"the text {value[:80]!r}…"
    if isinstance(value, tuple | list):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, Mapping):
        return f"a mapping with the keys {', '.join(map(str, value))}" if value else "an empty mapping"
    return f"the number {value}" if isinstance(value, int | float) else repr(value)


def checked_options(key: str, kind: type[Options], spec: object) -> Options:
    """Returns the checked options of a rule or step.

    Args:
        key: the config key.
        kind: the type of the options.
        spec: the options as in YAML; true or nothing for the defaults.

    Raises:
        ValueError: an option is unknown, missing or wrong; each line of the message begins with the key.
    """
    if problems := [*_too_large(key, spec)]:
        raise ValueError("\n".join(problems))
    try:
        return kind.model_validate({} if spec is None or spec is True else spec)
    except ValidationError as error:
        lines = sorted(problems_of(error, kind, {}))
        raise ValueError("\n".join(f"{key}.{line}".replace(f"{key}.config:", f"{key}:") for line in lines)) from None


def _too_large(key: str, spec: object) -> Iterator[str]:
    """Yields a problem for each integer that has more than 64 bits, which neither arrays nor native code hold."""
    if isinstance(spec, Mapping):
        for name, value in spec.items():
            yield from _too_large(f"{key}.{name}", value)
    elif isinstance(spec, list | tuple):
        for number, value in enumerate(spec):
            yield from _too_large(f"{key}.{number}", value)
    elif isinstance(spec, int) and not -(2**63) <= spec < 2**63:
        yield f"{key}: found an integer of more than 64 bits"
