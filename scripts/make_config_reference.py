"""Writes docs/config.md, the reference of all keys of a config, from the JSON schema. ``--check`` only compares.

Each description in the schema reads "allowed values: what the key does".
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

REPOSITORY = Path(__file__).resolve().parents[1]
TARGET = REPOSITORY / "docs" / "config.md"
EXAMPLES_FILE = REPOSITORY / "scripts" / "config_examples.txt"  # lines "anchor of a key: value in YAML"
EXAMPLES = dict(line.split(": ", 1) for line in EXAMPLES_FILE.read_text("utf-8").splitlines())

INTRODUCTION = """\
# Config reference

<!-- Written by scripts/make_config_reference.py; do not edit. -->

A config is one YAML 1.2 file. This page lists all its keys; [configs/](../configs) contains complete files to start
from. Unknown keys and invalid values are errors, and the message lists all of them.

- `nmt-prep schema` prints a JSON schema, so that editors can complete and check the YAML.
- A dot leads into a mapping: `dedup.keep` is the key `keep` in `dedup`. A `*` stands for any name, and `[]` for each
  item in a list.
- Each key has an anchor: `config.md#clean.dedup.keep` links to a section's key, `config.md#seed` to a top-level key.
- If *Default* is empty, it is `null`, `{}` or `[]`, or the default of the section in *Type*.

## Amounts

Integers may be written as `1e8`. An amount of bytes may have a unit: `500MB` (powers of 1,000) or `512MiB` (powers of
1,024). The number of pairs in `limit` and `hold_out` may end in `k`, `M` or `B`.
"""

_HEAD = ("| Key | Type | Default | Example | Meaning |", "|---|---|---|---|---|")
_LONGEST_DEFAULT = 80
_FEW = 2  # a top-level section with at most this many keys has no table of its own
_BRACKETS = {"{": 1, "(": 1, "}": -1, ")": -1}
_EMPTY = ("`null`", "`{}`", "`[]`")
_AMOUNT = [{"type": "integer"}, {"type": "string"}]
_UNITS = (("GB", 10**9), ("MB", 10**6), ("GiB", 2**30), ("MiB", 2**20))


class Section(NamedTuple):
    """A section of the page: heading, path of its keys in a config, start of their anchors, and schema."""

    heading: str
    path: str
    prefix: str
    model: Mapping[str, Any]


class Row(NamedTuple):
    """A row of a table: one key, or neighbors such as ``source`` and ``target`` that differ in their names alone."""

    keys: tuple[str, ...]
    kind: str
    default: str
    examples: tuple[str, ...]
    meaning: str

    def joined(self, row: Row) -> Row:
        """Returns the row of the keys of both rows."""
        return self._replace(keys=self.keys + row.keys, examples=(*dict.fromkeys(self.examples + row.examples),))

    def __str__(self) -> str:
        cells = (", ".join(self.keys), self.kind, self.default, ", ".join(self.examples), self.meaning)
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


@dataclass
class Reference:
    """The sections of the page, found by following the references of a schema.

    Attributes:
        schema: the JSON schema of a config.
        headings: anchors of the headings found so far.
        places: title and anchor of each definition found so far, by its name.
        examples: the example of each key, by its anchor, with the schema of the key.
        pending: sections that are not written yet.
    """

    schema: Mapping[str, Any]
    headings: set[str] = field(default_factory=set)
    places: dict[str, tuple[str, str]] = field(default_factory=dict)
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
        alike = groupby(self._rows(section), lambda row: row._replace(keys=(), examples=()))
        rows = [functools.reduce(Row.joined, group) for _, group in alike]
        self.pending[:] = self.pending[deeper:] + self.pending[:deeper]  # subsections come right after their section
        text = f"## {section.heading}\n\n{section.model['description'].replace('``', '`')}\n"
        return "\n".join([text, *_HEAD, *map(str, rows), ""]) if rows else text

    def _rows(self, section: Section, start: str = "") -> Iterator[Row]:
        """Yields a row for each key, followed by the rows of its mapping if that has no table of its own."""
        for key, value in section.model["properties"].items():
            allowed, meaning = split_description(value["description"])
            path, name = (f"{above}.{key}".lstrip(".") for above in (section.path, section.prefix))
            same = [other for other, (_, known) in self.examples.items() if known == value and _last(other) == key]
            shown = example(value, (name, path))
            self.examples[name] = (shown, value)
            links, inner = self._mappings(value, path, name)
            link = "" if name in self.headings else f'<a id="{name}"></a>'
            default = _default(value, key in section.model.get("required", ()))
            kind = type_of(allowed, default) + (f" ({', '.join(links)})" if links else "")
            row = Row(
                (f"{link}`{start}{key}`",),
                kind,
                "" if default in _EMPTY else default,
                (f"`{shown}`",),
                sentence(meaning),
            )
            yield row._replace(kind=f"as {self._alike(same[0])}", default="", examples=(), meaning="") if same else row
            if inner is not None:
                suffix = re.sub(r"^.*?(?=(\[\]|\.\*)*$)", "", inner.heading)
                yield from self._rows(inner, f"{start}{key}{suffix}.")

    def _alike(self, name: str) -> str:
        """Returns a link to the section of a key with the same meaning, or to the key if the section has no anchor."""
        section = name.rpartition(".")[0]
        target = section if section in self.headings or section in self.examples else name
        return f"[{target}](#{target})"

    def _mappings(self, value: Mapping[str, Any], path: str, key: str) -> tuple[list[str], Section | None]:
        """Returns links to the mappings that a key may have, and the mapping whose rows follow the key."""
        links, inner = [], None
        for names, place in _references(value, path):
            shared = self._shared(names, _without_items(place))
            for name in names:
                if name in self.places:
                    links += [] if self.places[name][1] == key else [self._link(name)]
                    continue
                section = self._described(name, place, shared)
                if len(names) == 1 and _is_inner(section):
                    inner = section._replace(heading=place)
                    self.places[name] = (section.path, key)
                else:
                    self.pending.append(section)
                    self.headings.add(anchor(section.heading))
                    self.places[name] = (_last(section.heading, " "), anchor(section.heading))
                    links.append(self._link(name))
        return [*dict.fromkeys(links)], inner

    def _link(self, name: str) -> str:
        title, target = self.places[name]
        return f"[{title}](#{target})"

    def _shared(self, names: Sequence[str], path: str) -> dict[str, Any]:
        """Returns the keys that all kinds of a mapping have; they get a section of their own."""
        models = [self.schema["$defs"][name] for name in names]
        first, *others = (model["properties"] for model in models)
        known = {key for key, value in first.items() if all(key == "kind" or o.get(key) == value for o in others)}
        shared = {key: first[key] for key in sorted(first, key="kind".__ne__) if others and key in known}
        if shared and names[0] not in self.places:
            required = [key for key in shared if all(key in model.get("required", ()) for model in models)]
            model = {"description": "Keys that all kinds have.", "required": required, "properties": shared}
            self.pending.append(Section(f"{path} of every kind", path, path, model))
        return shared

    def _described(self, name: str, place: str, shared: Mapping[str, Any]) -> Section:
        """Returns the section of a definition, without the keys that all kinds have."""
        path = _without_items(place)
        model = self.schema["$defs"][name]
        kind = model["properties"].get("kind", {"const": ""})
        suffix = kind.get("const", "existing")
        heading = f"{path} of kind {suffix}" if "const" in kind and suffix else path
        own = {key: value for key, value in model["properties"].items() if key not in shared}
        return Section(
            f"{path} with from" if suffix == "existing" else heading,
            path,
            f"{path}.{suffix}".rstrip("."),
            {**model, "properties": own},
        )


def _references(value: Mapping[str, Any], path: str) -> Iterator[tuple[list[str], str]]:
    """Yields the definitions that a value may have, with their path; the kinds of one mapping together."""
    if "$ref" in value:
        yield [_last(value["$ref"], "/")], path
    elif "discriminator" in value:
        yield [_last(option["$ref"], "/") for option in value["oneOf"]], path
    else:
        for option in (*value.get("anyOf", ()), *value.get("oneOf", ())):
            yield from _references(option, path)
        if "items" in value:
            yield from _references(value["items"], f"{path}[]")
        for option in (*value.get("patternProperties", {}).values(), value.get("additionalProperties")):
            if isinstance(option, Mapping):
                yield from _references(option, f"{path}.*")


def _is_inner(section: Section) -> bool:
    """Returns True for a mapping whose rows follow its key, rather than in a table of their own."""
    values = section.model["properties"].values()
    few = len(values) <= _FEW and not any([*_references(value, "")] for value in values)
    return section.path != "corpus" and ("." in section.path or few)


def type_of(allowed: str, default: str) -> str:
    """Returns the allowed values in the words of a table, without those that the default tells."""
    kind = re.sub("^(an?|the) ", "", allowed).replace("amount of bytes", "[amount](#amounts)")
    return "boolean" if kind == "true or false" else kind.removesuffix(", or null" if default == "`null`" else "")


def _last(name: str, separator: str = ".") -> str:
    return name.rpartition(separator)[2]


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
    """Returns the text without an article, with a capital letter at its start and a full stop at its end."""
    text = text.removeprefix("the ")
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
    return re.sub(r"\{(?:[^{}]|\{[^{}]*\})*\}|<[^<>]*>|\*", r"`\g<0>`", text)


def _default(value: Mapping[str, Any], required: bool) -> str:
    if required:
        return "required"
    if "default" in value:
        default = value["default"]
        if isinstance(default, dict):
            default = {key: item for key, item in default.items() if item}
        if value.get("anyOf") == _AMOUNT:
            default = amount(default)
        text = default if isinstance(default, str) else json.dumps(default, ensure_ascii=False)
        return f"`{text}`" if len(text) <= _LONGEST_DEFAULT else f"{len(default)} values"
    return "`{}`" if value.get("type") == "object" or "$ref" in value or "oneOf" in value else "none"


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
