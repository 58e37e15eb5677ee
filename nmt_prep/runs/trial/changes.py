"""Writes changes of the ``clean`` section into a config; all other text, comments included, stays as it is."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from nmt_prep.base.artefacts import atomic_write, writing
from nmt_prep.base.errors import ArgumentError, ConfigError
from nmt_prep.cleaning.presets import is_off
from nmt_prep.config.file import parse_yaml, text_of
from nmt_prep.runs.checks.load import check_config
from nmt_prep.stages.clean import Clean
from nmt_prep.text import STEPS

Keys: TypeAlias = "tuple[str, ...]"

_CODE = frozenset({"program", "python"})  # Rules that run code
_SAFE_STEPS = frozenset(STEPS) - _CODE - {"fugashi"}

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-")


def apply_changes(config: Path, changes: Path, *, allow_code: bool = False) -> list[str]:
    """Changes a config's rules, in its file, and returns the changed keys."""
    text, wanted = text_of(config), text_of(changes)
    before, after = parse_yaml(text, str(config))[0], parse_yaml(wanted, str(changes))[0]
    if not isinstance(before, dict) or not isinstance(after, dict) or set(after) != {"clean"}:
        raise ArgumentError(f"{changes}: expected a mapping with the key clean alone, as the page has it")
    changed = list(_changed(after, before))
    code = [f"{'.'.join(path)}: {flow(spec)}" for path, value in changed for path, spec in _code_in(path, value)]
    if code and not allow_code:
        raise ArgumentError(
            f"{changes}: these rules would run other people's code with your permissions:\n{chr(10).join(code)}\n"
            "read it, and add --allow-code if you trust it"
        )
    expected = _merged(before, after)
    new = _changed_text(text, changed, expected)
    if new is None:
        raise ArgumentError(
            f"{config}: the section clean cannot be changed here without changing other text, such as that of an "
            f"anchor; copy the changes from {changes} by hand"
        )
    # An edit that YAML reads differently was refused above, so the file will say what is checked here.
    checked = check_config(expected, f"{config} with the changes of {changes}").within(config.parent)
    if checked.clean is not None:
        Clean().check(checked)
    target = config.resolve()
    with atomic_write(target) as beside, writing(target):
        beside.write_bytes(new.encode())
        shutil.copymode(target, beside)
        if text_of(target) != text:
            raise ArgumentError(f"{config} was changed meanwhile, and stays as it is; run this again")
    return [".".join(path) for path, _ in changed]


def _code_in(path: Keys, value: Any) -> Iterator[tuple[Keys, Any]]:
    """Yields the rules and steps in a changed value that run a program or a Python function."""
    if path[-2:-1] == ("rules",):
        if path[-1].partition("/")[0] in _CODE and not is_off(value):
            yield path, value
    elif "fix" in path[-2:] and isinstance(value, list):
        names = ([*spec] if isinstance(spec, Mapping) else [spec] for spec in value)
        yield from ((path, spec) for spec, own in zip(value, names, strict=True) if not _SAFE_STEPS.issuperset(own))
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _code_in((*path, key), inner)


def _changed_text(text: str, changed: Iterable[tuple[Keys, Any]], expected: object) -> str | None:
    """Returns a config's text with new values for some keys, or None if the new text would not give these values."""
    try:
        for path, value in changed:
            text = _with(text, path, value)
        return text if parse_yaml(text, "")[0] == expected else None
    except (ConfigError, yaml.YAMLError):
        return None


def _goes_on(path: Keys) -> bool:
    """Returns true if a key's value is a mapping whose keys are changed one by one."""
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


class _Composer(yaml.SafeLoader):
    """Composes aliases as nodes with their own positions; PyYAML gives them the positions of their anchors."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        alias = self.peek_event() if self.check_event(yaml.AliasEvent) else None  # type: ignore[no-untyped-call]
        node = super().compose_node(parent, index)
        return node if alias is None else yaml.ScalarNode("alias", "", alias.start_mark, alias.end_mark)


def _with(text: str, path: Keys, value: Any) -> str:
    """Returns a config's text with another value for a key."""
    # Loading and dumping would lose comments and layout, so the text is changed at the positions of the nodes. This may
    # go wrong where nodes share text, such as at anchors; `_changed_text` then notices, because it parses the result.
    node, name = yaml.compose(text, _Composer), None
    for key in path:
        if not isinstance(node, yaml.MappingNode):
            raise yaml.YAMLError(f"{path}: the key above it is not a mapping")
        found = next((own for own in node.value if own[0].value == key), None)
        if found is None:
            return _inserted(text, node, key, value)
        name, node = found
    assert node is not None
    assert name is not None
    if isinstance(node, yaml.MappingNode) and node.value and isinstance(value, Mapping):
        options = {own.value: inner for own, inner in node.value}
        if options.keys() <= value.keys():
            for key, inner in value.items():  # one by one, so that the text between them stays
                if getattr(options.get(key), "value", None) != flow(inner):
                    text = _with(text, (*path, key), inner)
            return text
    begin, end = text.index(":", name.end_mark.index) + 1, _end(node)
    line = text.rfind("\n", 0, name.start_mark.index) + 1
    indent = text[line : len(text) - len(text[line:].lstrip(" "))]
    comments = "".join(f"{indent}{comment}{_line_end(text)}" for comment in _comments(text, begin, node))
    return f"{text[:line]}{comments}{text[line:begin]} {flow(value)}{text[end:]}"


def _comments(text: str, begin: int, node: yaml.Node) -> list[str]:
    """Returns the comments between the colon before a value and the end of the value."""
    parts, places = [], [node]
    while places:
        match places.pop():
            case yaml.ScalarNode() as scalar:
                parts.append((scalar.start_mark.index, scalar.end_mark.index))
            case yaml.MappingNode(value=entries):
                places += [each for entry in entries for each in entry]
            case yaml.SequenceNode(value=items):
                places += items
    between = [begin, *(place for part in sorted(parts) for place in part), _end(node)]
    gaps = (text[first:last] for first, last in zip(between[::2], between[1::2], strict=True))
    return [found for gap in gaps for found in re.findall(r"#[^\r\n]*", gap)]


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _inserted(text: str, node: yaml.MappingNode, key: str, value: Any) -> str:
    """Returns a config's text with a key at the end of a mapping."""
    entry = f"{flow(key)}: {flow(value)}"
    end = _end(node)
    if node.flow_style:
        last = _end(node.value[-1][1]) if node.value else end - 1
        return f"{text[:last]}{', ' if node.value else ''}{entry}{text[last:]}"
    indent = " " * node.start_mark.column
    found = re.compile(r"\r?\n|$").search(text, end)
    assert found is not None
    return f"{text[: found.start()]}{_line_end(text)}{indent}{entry}{text[found.start() :] or _line_end(text)}"


def _end(node: yaml.Node) -> int:
    """Returns the position after the last character of a node."""
    # PyYAML ends a block collection at the next token, after the comments that follow it; its last value ends in time.
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
