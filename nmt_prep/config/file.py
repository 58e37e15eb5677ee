"""From a YAML file and overrides to a checked config, or to one error that lists every problem."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from nmt_prep.config import Config
from nmt_prep.errors import ConfigError

_MAX_NODES = 100_000
"""More values than this, with aliases expanded, is no config but an attack or a mistake."""

_Path = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):
    """The safe loader with YAML 1.2's core scalars: `no` is a language, 1e8 a number, 12:30 and 2017-01-01 text."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", [*"tTfF"]),
    ("int", r"[-+]?(0|[1-9][0-9_]*)|0x[0-9a-fA-F]+", [*"-+0123456789"]),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?", [*"-+.0123456789"]),
    ("null", r"~|null|Null|NULL|", [*"~nN", ""]),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _first)


def load_config(path: str | Path, overrides: Iterable[str] = ()) -> Config:
    """Reads and checks a config.

    Args:
        path: the YAML file.
        overrides: assignments such as ``vocab.size=4096``, the value in YAML; list items by number.

    Raises:
        ConfigError: the file cannot be read, is not YAML, or is not a valid config; the message lists every problem.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read the config {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start}; is this a config?") from error
    data, lines = _parse(text, str(path))
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: a config is a mapping of keys to values; found {_describe(data)}")
    for override in overrides:
        _apply(override, data)
    return check_config(data, str(path), lines)


def check_config(data: Mapping[str, object], origin: str, lines: Mapping[_Path, int] | None = None) -> Config:
    """Checks a config given as a mapping.

    Args:
        data: the mapping, as the YAML file would give it.
        origin: what to call it in messages.
        lines: line numbers of keys, where they are known.

    Raises:
        ConfigError: it is not a valid config; the message lists every problem.
    """
    try:
        config = Config.model_validate(_tuples(data))
    except ValidationError as error:
        # A list whose items are wrong is reported as too short as well; only an empty one is.
        details = [detail for detail in error.errors() if detail["type"] != "too_short" or not detail["input"]]
        problems = sorted({_problem(detail, lines or {}) for detail in details})
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise ConfigError("\n".join([f"{origin}: {count}", *(f"  {problem}" for problem in problems)])) from None
    from nmt_prep.sources.catalogues import fill_in  # noqa: PLC0415  (so that the command line starts without it)

    try:
        return fill_in(config)
    except ConfigError as error:
        raise ConfigError(f"{origin}: 1 problem\n  {error}") from error


def _parse(text: str, origin: str) -> tuple[object, dict[_Path, int]]:
    loader = _Loader(text)
    lines: dict[_Path, int] = {}
    try:
        node = loader.get_single_node()
        if node is None:
            raise ConfigError(f"{origin}: the file is empty; see configs/toy.yaml for an example")
        _index(node, (), lines, origin, [0])
        return loader.construct_document(node), lines
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{origin}:{mark.line + 1}:{mark.column + 1}" if mark is not None else origin
        raise ConfigError(f"{where}: not valid YAML: {getattr(error, 'problem', None) or error}") from error
    except RecursionError as error:
        raise ConfigError(f"{origin}: an alias refers to itself, or values are nested too deeply") from error
    except ValueError as error:
        raise ConfigError(f"{origin}: not valid YAML: {error}") from error
    finally:
        loader.dispose()


def _index(node: yaml.Node, path: _Path, lines: dict[_Path, int], origin: str, seen: list[int]) -> None:
    """Notes each key's line; refuses repeated keys and aliases that multiply."""
    seen[0] += 1
    if seen[0] > _MAX_NODES:
        raise ConfigError(f"{origin}: more than {_MAX_NODES} values once aliases are expanded; refused")
    if isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise ConfigError(f"{origin}:{line}: a key must be a plain word")
            if key.value in keys:
                dotted = _dotted((*path, key.value))
                raise ConfigError(f"{origin}:{line}: the key {dotted} is given twice; keep one of them")
            keys.add(key.value)
            lines[*path, key.value] = line
            _index(value, (*path, key.value), lines, origin, seen)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            lines[*path, number] = item.start_mark.line + 1
            _index(item, (*path, number), lines, origin, seen)


def _apply(override: str, data: dict[str, Any]) -> None:
    key, equals, text = override.partition("=")
    if not equals or not all(parts := key.strip().split(".")):
        raise ConfigError(f"--set {override}: expected KEY=VALUE, such as vocab.size=4096")
    value, _ = _parse(text, f"--set {override}") if text.strip() else ("", {})
    target: Any = data
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if isinstance(target, list):
            if not part.isdecimal() or int(part) >= len(target):
                where = ".".join(parts[:number])
                raise ConfigError(f"--set {override}: {where} is a list of {len(target)}; found {part!r} for a number")
            index: Any = int(part)
        elif isinstance(target, dict):
            index = part
        else:
            raise ConfigError(f"--set {override}: {'.'.join(parts[:number])} is not a section")
        if last:
            target[index] = value
        else:
            if isinstance(target, dict) and target.get(index) is None:
                target[index] = {}
            target = target[index]


def _tuples(value: object) -> object:
    """Lists as tuples, which the strict models hold."""
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    if isinstance(value, Mapping):
        return {key: _tuples(item) for key, item in value.items()}
    return value


def _problem(detail: ErrorDetails, lines: Mapping[_Path, int]) -> str:
    path, model, allowed = _locate(detail["loc"])
    if "both" in path and path not in lines:
        path = path[: path.index("both")]  # the user wrote one value for both sides
    if detail["type"] == "union_tag_invalid":
        path = (*path, "kind")
    line = next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), None)
    where = (_dotted(path) or "config") + (f" (line {line})" if line else "")
    if detail["type"] == "extra_forbidden":
        return f"{where}: unknown key{_suggest(str(path[-1]), model)}"
    if detail["type"] == "union_tag_invalid":
        return f"{where}: found {_describe(detail['ctx']['tag'])}; allowed: {detail['ctx']['expected_tags']}"
    if detail["type"] == "missing":
        return f"{where}: this key is required: {allowed}"
    if detail["type"] == "value_error" and isinstance(detail["input"], Mapping | BaseModel):
        return f"{where}: {detail['ctx']['error']}"
    if detail["input"] is None and detail["type"] in ("model_type", "model_attributes_type"):
        return f"{where}: found an empty section; give it keys, or leave it out"
    return f"{where}: found {_describe(detail['input'])}; allowed: {allowed or detail['msg']}"


def _locate(location: _Path) -> tuple[_Path, type[BaseModel], str | None]:
    """From pydantic's location to the key's path, the section that holds it, and what it allows."""
    path: _Path = ()
    kind: Any = Config
    section: type[BaseModel] = Config
    allowed: str | None = None
    for part in location:
        if get_origin(kind) in (Union, UnionType):
            # One model for each kind: pydantic names the kind in the location, which is no key of the config.
            kind = next((model for model in get_args(kind) if part in _kinds(model)), None)
        elif isinstance(kind, type) and issubclass(kind, BaseModel):
            section = kind
            path = (*path, part)
            if part not in kind.model_fields:
                return path, section, None
            kind, allowed = kind.model_fields[str(part)].annotation, kind.model_fields[str(part)].description
            kind = _strip(kind)
        elif get_origin(kind) in (dict, tuple) and part != "[key]":
            path = (*path, part)
            kind = _strip(get_args(kind)[1 if get_origin(kind) is dict else 0])
        else:
            break
    return path, section, allowed


def _kinds(model: Any) -> tuple[Any, ...]:
    """What ``kind`` may be in a model that is told apart by it."""
    if isinstance(model, type) and issubclass(model, BaseModel) and "kind" in model.model_fields:
        return get_args(model.model_fields["kind"].annotation)
    return ()


def _strip(annotation: Any) -> Any:
    """The type below Annotated, and beside None."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
        return _strip(kinds[0]) if len(kinds) == 1 else annotation
    return annotation


def _suggest(key: str, section: type[BaseModel]) -> str:
    allowed = sorted(section.model_fields)
    near = difflib.get_close_matches(key, allowed, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{hint} (allowed here: {', '.join(allowed)})"


def _dotted(path: _Path) -> str:
    return ".".join(str(part) for part in path)


def _describe(value: object) -> str:
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
