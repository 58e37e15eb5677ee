"""Reads a YAML file, with the line of each key, and applies overrides; `checks` checks the result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from rich.cells import cell_len
from yaml.reader import ReaderError

from nmt_prep.base.errors import ConfigError
from nmt_prep.config.problems import KeyPath, describe

_MAX_BYTES = 16 << 20
"""Maximum size of a config; guards against endless files such as /dev/zero."""

_MAX_NODES = 100_000
"""Maximum number of values, with aliases expanded; more are an attack or a mistake."""

_SNIPPET_WIDTH = 68
"""Maximum width of the line excerpt in a message: with the line number, it fits into 80 columns."""

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # as PyYAML counts lines


def read_file(path: Path, overrides: Iterable[str] = ()) -> tuple[dict[str, Any], Mapping[KeyPath, int]]:
    """Returns the mapping in a config file after overrides such as ``vocab.size=4096``, and the lines of its keys."""
    data, lines = parse_yaml(text_of(path), str(path))
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: a config is a mapping of keys to values; found {describe(data)}")
    for override in overrides:
        _apply(override, data)
    return data, lines


def text_of(path: Path) -> str:
    """Returns the text of a config, with its line ends."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise ConfigError(f"{path} is larger than {_MAX_BYTES >> 20} MiB; is this a config?")
        return content.decode("utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read the config {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start}; is this a config?") from error


def as_tuples(value: object) -> Any:
    """Returns a YAML value with tuples in place of lists, which the config models require."""
    if isinstance(value, list):
        return tuple(map(as_tuples, value))
    if isinstance(value, Mapping):
        return {key: as_tuples(item) for key, item in value.items()}
    return value


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
                raise ConfigError(
                    f"--set {override}: {where} is a list of {len(target)}; found {part!r} instead of an index"
                )
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


def parse_yaml(text: str, origin: str) -> tuple[object, dict[KeyPath, int]]:
    """Returns a YAML text's value, and the line of each key and list item, counted from 1.

    Messages call the text ``origin``.
    """
    lines: dict[KeyPath, int] = {}
    try:
        loader = _Loader(text)
    except ReaderError as error:
        before = text[: error.position]
        problem = f"the character U+{error.character:04X} cannot be in YAML text; delete it"
        raise _error(text, origin, before.count("\n"), len(before) - before.rfind("\n") - 1, problem) from None
    try:
        node = loader.get_single_node()
        if node is None:
            raise ConfigError(f"{origin}: the file is empty; see configs/toy.yaml for an example")
        _index(node, (), lines, origin, [0])
        return loader.construct_document(node), lines
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(text, origin, error) from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{origin}: not valid YAML: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{origin}: an alias refers to itself, or values are nested too deeply") from error
    except ValueError as error:
        raise ConfigError(f"{origin}: not valid YAML: {error}") from error
    finally:
        loader.dispose()


def _index(node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int], origin: str, seen: list[int]) -> None:
    """Records the line of each key; refuses repeated keys and aliases that expand to too many values."""
    seen[0] += 1
    if seen[0] > _MAX_NODES:
        raise ConfigError(f"{origin}: more than {_MAX_NODES} values after expanding aliases; use fewer")
    if isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise ConfigError(f"{origin}:{line}: a key must be a plain word")
            if key.value in keys:
                dotted = ".".join(map(str, (*path, key.value)))
                raise ConfigError(f"{origin}:{line}: the key {dotted} is given twice; keep one of them")
            keys.add(key.value)
            lines[*path, key.value] = line
            _index(value, (*path, key.value), lines, origin, seen)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            lines[*path, number] = item.start_mark.line + 1
            _index(item, (*path, number), lines, origin, seen)


def _syntax_error(text: str, origin: str, error: yaml.MarkedYAMLError) -> ConfigError:
    """Returns PyYAML's error for the line at fault, which is not always the line where PyYAML stopped."""
    mark = error.problem_mark or error.context_mark
    problem = error.problem or str(error)
    if mark is None:
        return ConfigError(f"{origin}: not valid YAML: {problem}")
    line, column = mark.line, mark.column
    source = _line(text, line)
    tab = source.find("\t", 0, len(source) - len(source.lstrip()))
    if tab >= 0 or "'\\t'" in problem:
        problem, column = "a tab; use spaces", tab if tab >= 0 else column
    elif problem == "could not find expected ':'" and error.context_mark is not None:
        line, column = error.context_mark.line, error.context_mark.column
        problem = "no ':' followed by a space after the key"
    elif problem == "mapping values are not allowed here":
        problem = "a second ':' followed by a space; put quotes around the value, or fix the line above"
    elif "end of stream" in problem or "<stream end>" in problem:
        line, column = (error.context_mark or mark).line, (error.context_mark or mark).column
        problem = f"not closed: no end was found ({problem})"
    elif error.context and error.context_mark is not None and error.context_mark.line != line:
        problem = f"{error.context} from line {error.context_mark.line + 1}, {problem}"
    return _error(text, origin, line, column, problem)


def _error(text: str, origin: str, line: int, column: int, problem: str) -> ConfigError:
    """Returns the error for a position in a text; ``line`` and ``column`` count from 0."""
    return ConfigError(f"{origin}:{line + 1}:{column + 1}: not valid YAML: {problem}\n{_snippet(text, line, column)}")


def _snippet(text: str, line: int, column: int) -> str:
    """Returns the part of the line around the column, with a caret below it."""
    source = "".join(character if character.isprintable() else " " for character in _line(text, line))
    first = max(0, min(column - _SNIPPET_WIDTH // 2, len(source) - _SNIPPET_WIDTH))
    before = source[first:column]
    label = f"  {line + 1} | "
    blank = f"{' ' * (len(label) - 2)}| "
    return f"{label}{source[first : first + _SNIPPET_WIDTH]}\n{blank}{' ' * cell_len(before)}^"


def _line(text: str, number: int) -> str:
    lines = _BREAK.split(text)
    return lines[number] if number < len(lines) else ""


class _Dumper(yaml.SafeDumper):
    """Writes YAML that parsers of YAML 1.1 and 1.2 read in the same way: text that begins like a number is quoted."""


_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+.]?[0-9].*"), list("-+.0123456789"))


def yaml_of(value: object) -> str:
    """Returns a value as YAML, in the order of its keys."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1000)
