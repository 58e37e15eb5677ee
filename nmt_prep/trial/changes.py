"""Writes changes of the section ``clean`` into a config; all other text, comments included, stays as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from nmt_prep.artefacts import atomic_write, writing
from nmt_prep.checks.load import check_config
from nmt_prep.config.file import parse_yaml
from nmt_prep.errors import ArgumentError, ConfigError
from nmt_prep.stages.clean import Clean

Keys: TypeAlias = "tuple[str, ...]"

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-")


def apply_changes(config: Path, changes: Path) -> list[str]:
    """Changes the rules of a config, in its file.

    Args:
        config: the config.
        changes: YAML with a section ``clean``, as the page shows it. A rule in it replaces the rule of the config.

    Returns:
        The keys that were changed.

    Raises:
        ArgumentError: the changes are not of this kind, or cannot be written without touching other text.
        ConfigError: a file cannot be read, or the config would not be valid. The file is then unchanged.
        CleaningError: a rule could not be used, such as one that no pair passes. The file is then unchanged.
    """
    try:
        text, wanted = config.read_text("utf-8"), changes.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {config} or {changes}: {error}") from error
    before, after = parse_yaml(text, str(config))[0], parse_yaml(wanted, str(changes))[0]
    if not isinstance(before, dict) or not isinstance(after, dict) or set(after) != {"clean"}:
        raise ArgumentError(f"{changes}: expected a mapping with the key clean alone, as the page has it")
    changed = list(_changed(after, before))
    new = text
    for path, value in changed:
        new = _with(new, path, value, changes)
    expected = _merged(before, after)
    if parse_yaml(new, str(config))[0] != expected:
        raise ArgumentError(
            f"{config}: the section clean cannot be changed here without changing other text, such as that of an "
            f"anchor; copy the changes from {changes} by hand"
        )
    checked = check_config(expected, f"{config} with the changes of {changes}").within(config.parent)
    if checked.clean is not None:
        Clean().check(checked)
    with atomic_write(config) as beside, writing(config):
        beside.write_text(new, "utf-8")
    return [".".join(path) for path, _ in changed]


def _goes_on(path: Keys) -> bool:
    """Returns true if the value of a key is a mapping whose keys are changed one by one."""
    match path:
        case (
            ("clean",)
            | ("clean", "rules" | "overrides")
            | ("clean", "overrides", _)
            | ("clean", "overrides", _, "rules")
        ):
            return True
    return False


def _changed(changes: Mapping[str, Any], before: object, path: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Yields the keys to set, with their values: a mapping that the config does not have yet is set as a whole."""
    for key, value in changes.items():
        own = before.get(key) if isinstance(before, Mapping) else None
        if _goes_on((*path, key)) and isinstance(value, Mapping) and isinstance(own, Mapping):
            yield from _changed(value, own, (*path, key))
        elif own != value or not isinstance(before, Mapping) or key not in before:
            yield (*path, key), value


def _merged(before: Any, changes: Any, path: Keys = ()) -> Any:
    if not (isinstance(before, Mapping) and isinstance(changes, Mapping) and (not path or _goes_on(path))):
        return changes
    return {**before, **{key: _merged(before.get(key), value, (*path, key)) for key, value in changes.items()}}


def _with(text: str, path: Keys, value: Any, changes: Path) -> str:
    """Returns the text of a config with another value of a key."""
    node = yaml.compose(text, yaml.SafeLoader)
    for depth, key in enumerate(path):
        if not isinstance(node, yaml.MappingNode):
            raise ArgumentError(f"{changes}: {'.'.join(path[:depth])} is no mapping in the config; change it by hand")
        found = next((own for name, own in node.value if name.value == key), None)
        if found is None:
            return _inserted(text, node, key, value)
        node = found
    assert node is not None
    begin, end = node.start_mark.index, _end(node)
    if isinstance(node, yaml.MappingNode | yaml.SequenceNode) and not node.flow_style:
        begin = text.rindex(":", 0, begin) + 1  # the value begins on the line after the key
        return f"{text[:begin]} {flow(value)}{text[end:]}"
    return f"{text[:begin]}{' ' * (text[begin - 1] == ':')}{flow(value)}{text[end:]}"  # after an empty value


def _inserted(text: str, node: yaml.MappingNode, key: str, value: Any) -> str:
    """Returns the text of a config with a key at the end of a mapping."""
    entry = f"{flow(key)}: {flow(value)}"
    end = _end(node)
    if node.flow_style:
        comma = ", " if node.value else ""
        return f"{text[: end - 1].rstrip()}{comma}{entry}{text[end - 1 :]}"
    indent = " " * node.start_mark.column
    newline = text.find("\n", end)
    rest = "" if newline < 0 else text[newline:]
    line = text if newline < 0 else text[:newline]
    return f"{line}\n{indent}{entry}{rest or chr(10)}"


def _end(node: yaml.Node) -> int:
    """Returns the position after the last character of a node; a block mapping ends with its last value."""
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        return _end(node.value[-1][1])
    if isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value:
        return _end(node.value[-1])
    return int(node.end_mark.index)


def flow(value: Any) -> str:
    """Returns a value as YAML on one line."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{flow(key)}: {flow(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(flow, value))}]"
    if isinstance(value, str) and value and set(value) <= _PLAIN and value[0].isalpha():
        return value if value.lower() not in {"true", "false", "null"} else json.dumps(value)
    return json.dumps(value, ensure_ascii=False)
