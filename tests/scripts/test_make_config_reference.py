from __future__ import annotations

import re
from typing import Any

import make_config_reference
import pytest
from make_config_reference import Reference, amount, anchor, split_description

from nmt_prep.runs.checks import json_schema


def page_of(properties: dict[str, Any], **definitions: Any) -> list[str]:
    """Returns the rows and headings of the page of a small schema."""
    schema = {"description": "A schema.", "required": ["name"], "properties": properties, "$defs": definitions}
    text = Reference(schema).page().removeprefix(make_config_reference.INTRODUCTION)
    return [line for line in text.splitlines() if line and not line.startswith(("| ---", "| Key"))]


def test_the_page_is_current() -> None:
    assert make_config_reference.TARGET.read_text("utf-8") == Reference(json_schema()).page(), (
        "run scripts/make_config_reference.py"
    )


def test_every_key_of_the_schema_has_a_row() -> None:
    schema = json_schema()
    rows = re.findall(r"^\| `([\w-]+)` \|", make_config_reference.TARGET.read_text("utf-8"), re.MULTILINE)
    keys = [key for model in (schema, *schema["$defs"].values()) for key in model["properties"]]
    assert sorted(rows) == sorted(keys)


def test_types_defaults_and_allowed_values() -> None:
    assert page_of(
        {
            "name": {"type": "string", "description": "letters: part of file names"},
            "size": {"type": "integer", "default": 8192, "description": "an integer >= 1: the number of pieces"},
            "memory": {
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "default": 2_000_000_000,
                "description": "an amount >= 256MB: a bound",
            },
            "tag": {
                "anyOf": [{"type": "string"}, {"type": "null"}],
                "default": None,
                "description": "{source: <2zh>}, a|b or null: a piece",
            },
            "shards": {
                "type": "object",
                "additionalProperties": {"type": "integer"},
                "description": "numbers by split: how many",
            },
        }
    ) == [
        "## Top level",
        "A schema.",
        "| `name` | text | required | letters | Part of file names. |",
        "| `size` | integer | `8192` | an integer >= 1 | The number of pieces. |",
        "| `memory` | amount | `2GB` | an amount >= 256MB | A bound. |",
        "| `tag` | text or null | `null` | `{source: <2zh>}`, a\\|b or null | A piece. |",
        "| `shards` | mapping to integer | `{}` | numbers by split | How many. |",
    ]


def test_a_section_follows_the_one_that_refers_to_it() -> None:
    def section(description: str, **properties: Any) -> dict[str, Any]:
        return {"description": description, "properties": properties}

    assert page_of(
        {
            "splits": {
                "type": "object",
                "patternProperties": {".*": {"type": "array", "items": {"$ref": "#/$defs/Corpus"}}},
                "description": "lists by split: the data",
            },
            "vocab": {
                "oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}],
                "description": "a mapping: the dialect",
            },
        },
        Corpus=section("A corpus.", url={"$ref": "#/$defs/Urls", "description": "a URL: where it is"}),
        Urls=section("Addresses.", both={"type": "string", "description": "a URL: for both sides"}),
        A=section("First.", kind={"const": "a_1", "type": "string", "default": "a_1", "description": "a_1: the kind"}),
        B=section("Second.", kind={"const": "b", "type": "string", "default": "b", "description": "b: the kind"}),
    ) == [
        "## Top level",
        "A schema.",
        "| `splits` | mapping to list of [corpus](#corpus) | `{}` | lists by split | The data. |",
        (
            "| `vocab` | [vocab of kind a_1](#vocab-of-kind-a_1) or [vocab of kind b](#vocab-of-kind-b) "
            "| as listed there | a mapping | The dialect. |"
        ),
        "## corpus",
        "A corpus.",
        "| `url` | [corpus.url](#corpusurl) | as listed there | a URL | Where it is. |",
        "## corpus.url",
        "Addresses.",
        "| `both` | text | none | a URL | For both sides. |",
        "## vocab of kind a_1",
        "First.",
        "| `kind` | text | `a_1` | a_1 | The kind. |",
        "## vocab of kind b",
        "Second.",
        "| `kind` | text | `b` | b | The kind. |",
    ]


def test_a_description_must_give_the_allowed_values_and_the_effect() -> None:
    assert split_description("{a: 1, b: 2}, or * (as in x: y): what") == ("`{a: 1, b: 2}`, or `*` (as in x: y)", "what")
    with pytest.raises(ValueError, match="allowed values: meaning"):
        split_description("an integer >= 1")


@pytest.mark.parametrize(("size", "text"), [(10**11, "100GB"), (2**20, "1MiB"), (2**31, "2GiB"), (1000, "1000")])
def test_amounts(size: int, text: str) -> None:
    assert amount(size) == text


def test_anchors() -> None:
    assert anchor("vocab of kind byte_bpe") == "vocab-of-kind-byte_bpe"
    assert anchor("corpus.url") == "corpusurl"
