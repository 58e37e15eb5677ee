"""From a YAML file and overrides to a checked config, or to one error that lists every problem."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from nmt_prep.config import Config
from nmt_prep.config.yaml_text import KeyPath, parse_yaml
from nmt_prep.errors import ConfigError


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
    data, lines = parse_yaml(text, str(path))
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: a config is a mapping of keys to values; found {_describe(data)}")
    for override in overrides:
        _apply(override, data)
    return check_config(data, str(path), lines)


def check_config(data: Mapping[str, object], origin: str, lines: Mapping[KeyPath, int] | None = None) -> Config:
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


def _apply(override: str, data: dict[str, Any]) -> None:
    key, equals, text = override.partition("=")
    if not equals or not all(parts := key.strip().split(".")):
        raise ConfigError(f"--set {override}: expected KEY=VALUE, such as vocab.size=4096")
    value, _ = parse_yaml(text, f"--set {override}") if text.strip() else ("", {})
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


def _problem(detail: ErrorDetails, lines: Mapping[KeyPath, int]) -> str:
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
    whole = detail["type"] == "value_error" and isinstance(detail["input"], Mapping | BaseModel)
    if whole or detail["type"] == "language_tag":
        return f"{where}: {detail['ctx']['error'] if whole else detail['msg']}"
    if detail["input"] is None and detail["type"] in ("model_type", "model_attributes_type"):
        return f"{where}: found an empty section; give it keys, or leave it out"
    return f"{where}: found {_describe(detail['input'])}; allowed: {allowed or detail['msg']}"


def _locate(location: KeyPath) -> tuple[KeyPath, type[BaseModel], str | None]:
    """From pydantic's location to the key's path, the section that holds it, and what it allows."""
    path: KeyPath = ()
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


def _dotted(path: KeyPath) -> str:
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
