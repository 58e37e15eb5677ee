"""Writes docs/config.md, the reference of all keys of a config, from the JSON schema. ``--check`` only compares.

Each description in the schema reads "allowed values: what the key does".
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
TARGET = REPOSITORY / "docs" / "config.md"

INTRODUCTION = """\
# Config reference

<!-- Written by scripts/make_config_reference.py; do not edit. -->

A config is one YAML 1.2 file. Here are all its keys, section by section. Unknown keys are refused, and so is any value
that is not allowed; the message lists every problem of the file. Integers may be written as `1e8`. An amount is a
number of bytes, with or without a unit: `500MB` (powers of 1,000) or `512MiB` (powers of 1,024).
[configs/](../configs) has whole files to start from, and `nmt-prep schema` prints the JSON schema, with which editors
complete and check the YAML.
"""

_COLUMNS = ("Key", "Type", "Default", "Allowed values", "Meaning")
_BRACKETS = {"{": 1, "(": 1, "}": -1, ")": -1}
_AMOUNT = [{"type": "integer"}, {"type": "string"}]
_UNITS = (("GB", 10**9), ("MB", 10**6), ("GiB", 2**30), ("MiB", 2**20))
_TYPES = {"string": "text", "boolean": "true or false", "null": "null", "object": "mapping"}


@dataclass
class Reference:
    """The sections of the page, found by following the references of a schema.

    Attributes:
        schema: the JSON schema of a config.
        anchors: headings of the sections found so far, by the names of their definitions.
        pending: sections that are not written yet: heading and name of the definition.
    """

    schema: Mapping[str, Any]
    anchors: dict[str, str] = field(default_factory=dict)
    pending: list[tuple[str, str]] = field(default_factory=list)

    def page(self) -> str:
        """Returns the text of docs/config.md."""
        parts = [INTRODUCTION, self._section("Top level", "", self.schema)]
        while self.pending:
            path, name = self.pending.pop(0)
            parts.append(self._section(self.anchors[name], path, self.schema["$defs"][name]))
        return "\n".join(parts)

    def _section(self, heading: str, path: str, model: Mapping[str, Any]) -> str:
        deeper = len(self.pending)
        required = model.get("required", ())
        rows = [_COLUMNS, ("---",) * len(_COLUMNS)]
        for key, value in model["properties"].items():
            allowed, meaning = split_description(value["description"])
            kind = self._type(value, f"{path}.{key}".lstrip("."))
            rows.append((f"`{key}`", kind, _default(value, key in required), allowed, sentence(meaning)))
        self.pending[:] = self.pending[deeper:] + self.pending[:deeper]  # subsections come right after their section
        table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
        return f"## {heading}\n\n{model['description'].replace('``', '`')}\n\n{table}\n"

    def _type(self, value: Mapping[str, Any], path: str) -> str:
        if "$ref" in value:
            return self._link(value["$ref"], path)
        if value.get("anyOf") == _AMOUNT:
            return "amount"
        if "anyOf" in value or "oneOf" in value:
            options = value.get("anyOf") or value["oneOf"]
            return " or ".join(dict.fromkeys(self._type(option, path) for option in options))
        if value["type"] == "array":
            return f"list of {self._type(value['items'], f'{path}[]')}"
        items = [*value.get("patternProperties", {}).values(), value.get("additionalProperties")]
        if isinstance(items[0], Mapping):
            return f"mapping to {self._type(items[0], f'{path}.*')}"
        return _TYPES.get(value["type"], value["type"])

    def _link(self, reference: str, path: str) -> str:
        name = reference.rpartition("/")[2]
        if name not in self.anchors:
            path = name.lower() if path.endswith("[]") else path
            kind = self.schema["$defs"][name]["properties"].get("kind", {}).get("const")
            self.anchors[name] = f"{path} of kind {kind}" if kind else path
            self.pending.append((path, name))
        return f"[{self.anchors[name]}](#{anchor(self.anchors[name])})"


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
        return f"`{default if isinstance(default, str) else json.dumps(default, ensure_ascii=False)}`"
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
