"""Writes docs/config.md, the reference of all keys of a config, from the JSON schema. ``--check`` only compares.

Each description in the schema reads "allowed values: what the key does".
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

REPOSITORY = Path(__file__).resolve().parents[1]
TARGET = REPOSITORY / "docs" / "config.md"
EXAMPLES_FILE = REPOSITORY / "scripts" / "config_examples.txt"  # lines "anchor of a key: value in YAML"
EXAMPLES = dict(line.split(": ", 1) for line in EXAMPLES_FILE.read_text("utf-8").splitlines())

INTRODUCTION = """\
# Config reference

<!-- Written by scripts/make_config_reference.py; do not edit. -->

A config is one YAML 1.2 file. This page lists all its keys, section by section. Unknown keys and values that are not
allowed are errors, and the message lists every problem in the file.

- [configs/](../configs) contains complete files to start from.
- `nmt-prep schema` prints the JSON schema, with which editors complete and check the YAML.
- Each key has an anchor: `config.md#clean.dedup.keep` links to a key of a section, `config.md#seed` to a top-level key.

## Amounts

Integers may be written as `1e8`. An amount of bytes may have a unit: `500MB` (powers of 1,000) or `512MiB` (powers of
1,024).
"""

_COLUMNS = ("Key", "Type", "Default", "Example", "Meaning")
_TOLD_BY_TYPE = ("true or false", "a mapping", "a text", "a list of mappings")
_LONGEST_DEFAULT = 80
_BRACKETS = {"{": 1, "(": 1, "}": -1, ")": -1}
_AMOUNT = [{"type": "integer"}, {"type": "string"}]
_UNITS = (("GB", 10**9), ("MB", 10**6), ("GiB", 2**30), ("MiB", 2**20))
_TYPES = {"string": "text", "boolean": "true or false", "null": "null", "object": "mapping"}


class Section(NamedTuple):
    """A section of the page: heading, path of its keys in a config, start of their anchors, and schema."""

    heading: str
    path: str
    prefix: str
    model: Mapping[str, Any]


@dataclass
class Reference:
    """The sections of the page, found by following the references of a schema.

    Attributes:
        schema: the JSON schema of a config.
        headings: headings of the sections found so far, by the names of their definitions.
        examples: the example of each key, by its anchor, with the schema of the key.
        pending: sections that are not written yet.
    """

    schema: Mapping[str, Any]
    headings: dict[str, str] = field(default_factory=dict)
    examples: dict[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    pending: list[Section] = field(default_factory=list)

    def page(self) -> str:
        """Returns the text of docs/config.md."""
        parts = [INTRODUCTION, self._section(Section("Top level", "", "", self.schema))]
        while self.pending:
            parts.append(self._section(self.pending.pop(0)))
        return "\n".join(parts)

    def _section(self, section: Section) -> str:
        deeper = len(self.pending)
        model = section.model
        rows = [_COLUMNS, ("---",) * len(_COLUMNS)]
        for key, value in model["properties"].items():
            allowed, meaning = split_description(value["description"])
            path, name = (f"{start}.{key}".lstrip(".") for start in (section.path, section.prefix))
            kind = self._type(value, path)
            shown = example(value, (name, path))
            self.examples[name] = (shown, value)
            link = "" if name in map(anchor, self.headings.values()) else f'<a id="{name}"></a>'
            default = _default(value, key in model.get("required", ()))
            text = sentence(meaning) + ("" if allowed in _TOLD_BY_TYPE else f" Allowed: {allowed}.")
            rows.append((f"{link}`{key}`", kind, default, f"`{key}: {shown}`", text))
        self.pending[:] = self.pending[deeper:] + self.pending[:deeper]  # subsections come right after their section
        table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
        return f"## {section.heading}\n\n{model['description'].replace('``', '`')}\n\n{table}\n"

    def _type(self, value: Mapping[str, Any], path: str) -> str:
        if value.get("anyOf") == _AMOUNT:
            return "[amount](#amounts)"
        if "$ref" in value or "discriminator" in value:
            return self._kinds([option["$ref"] for option in value.get("oneOf", [value])], path)
        if "anyOf" in value or "oneOf" in value:
            options = value.get("anyOf") or value["oneOf"]
            return " or ".join(dict.fromkeys(self._type(option, path) for option in options))
        if value["type"] == "array":
            return f"list of {self._type(value['items'], f'{path}[]')}"
        items = [*value.get("patternProperties", {}).values(), value.get("additionalProperties")][0]
        name = _TYPES.get(value["type"], value["type"])
        return f"mapping to {self._type(items, f'{path}.*')}" if isinstance(items, Mapping) else name

    def _kinds(self, references: Sequence[str], path: str) -> str:
        """Returns the type of a mapping with a key ``kind``. Keys that all kinds have get a section of their own."""
        first, *others = (self.schema["$defs"][_name(reference)]["properties"] for reference in references)
        shared = {key: value for key, value in first.items() if all(other.get(key) == value for other in others)}
        path = _without_items(path)
        if len(references) == 1:
            shared = {}
        elif shared and _name(references[0]) not in self.headings:
            model = {"description": "Keys of every kind.", "properties": shared}
            self.pending.append(Section(f"{path} of every kind", path, path, model))
        return " or ".join(self._link(reference, path, shared) for reference in references)

    def _link(self, reference: str, path: str, shared: Mapping[str, Any]) -> str:
        name = _name(reference)
        if name not in self.headings:
            path = _without_items(path)
            model = self.schema["$defs"][name]
            kind = model["properties"].get("kind", {"const": ""})
            suffix = kind.get("const", "existing")
            own = {key: value for key, value in model["properties"].items() if key not in shared}
            self.headings[name] = f"{path} of kind {suffix}" if "const" in kind and suffix else path
            if suffix == "existing":
                self.headings[name] = f"{path} with from"
            prefix = f"{path}.{suffix}".rstrip(".")
            self.pending.append(Section(self.headings[name], path, prefix, {**model, "properties": own}))
        return f"[{self.headings[name]}](#{anchor(self.headings[name])})"


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]


def _without_items(path: str) -> str:
    """Returns the path of a section. Corpora have a section of their own name."""
    return "corpus" if path == "splits.*[]" else re.sub(r"\[\]|\.\*", "", path)


def anchor(heading: str) -> str:
    """Returns the fragment that GitHub and Python-Markdown both give a heading."""
    return "".join(c for c in heading.lower() if c.isalnum() or c in " _-").replace(" ", "-")


def split_description(description: str) -> tuple[str, str]:
    """Splits a description into the allowed values and the meaning, at the first colon outside of brackets.

    Raises:
        ValueError: there is no such colon.
    """
    depth = 0
    for position, character in enumerate(description):
        depth += _BRACKETS.get(character, 0)
        if depth == 0 and description.startswith(": ", position):
            return _code(description[:position]), _code(description[position + 2 :])
    raise ValueError(f"write it as 'allowed values: meaning': {description!r}")


def sentence(text: str) -> str:
    """Returns the text with a capital letter at its start and a full stop at its end."""
    return f"{text[0].upper()}{text[1:]}."


def amount(size: int) -> str:
    """Returns a number of bytes with the largest unit of which it is a multiple."""
    return next((f"{size // factor}{unit}" for unit, factor in _UNITS if size % factor == 0), str(size))


def example(value: Mapping[str, Any], paths: Sequence[str]) -> str:
    """Returns a value of a key in YAML: its line in ``config_examples.txt``, or a choice that is not the default."""
    for path in paths:
        if path in EXAMPLES:
            return EXAMPLES[path]
    options = value.get("anyOf", value.get("oneOf", [value]))
    constants = [constant for option in options for constant in option.get("enum", [option.get("const")])]
    choices = [constant for constant in constants if constant is not None]
    if any(option.get("type") == "boolean" for option in options):
        choices += ["true", "false"] if value.get("default") is True else ["false", "true"]
    if not choices:
        raise ValueError(f"add an example of {paths[0]} to {EXAMPLES_FILE.name}")
    return str(next((choice for choice in reversed(choices) if choice != value.get("default")), choices[0]))


def _code(text: str) -> str:
    """Marks characters as code that Markdown would take for markup."""
    return re.sub(r"\{[^{}]*\}|<[^<>]*>|\*", r"`\g<0>`", text)


def _default(value: Mapping[str, Any], required: bool) -> str:
    if required:
        return "required"
    if "default" in value:
        default = value["default"]
        if value.get("anyOf") == _AMOUNT:
            default = amount(default)
        text = default if isinstance(default, str) else json.dumps(default, ensure_ascii=False)
        return f"`{text}`" if len(text) <= _LONGEST_DEFAULT else f"{len(default)} values"
    if value.get("type") == "object":
        return "`{}`"
    return "as listed there" if "$ref" in value or "oneOf" in value else "none"


def main() -> int:
    """Writes or checks the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the page is current")
    arguments = parser.parse_args()
    sys.path.insert(0, str(REPOSITORY))
    from nmt_prep.runs.checks import json_schema  # noqa: PLC0415  (the script runs from a checkout without installation)

    page = Reference(json_schema()).page()
    if arguments.check:
        if TARGET.read_text("utf-8") != page:
            print(f"{TARGET} is out of date; run scripts/make_config_reference.py", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(page, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
