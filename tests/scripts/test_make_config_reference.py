from __future__ import annotations

import re
from typing import Any

import jsonschema
import make_config_reference
import pytest
from make_config_reference import EXAMPLES, Reference, amount, anchor, example, split_description

from nmt_prep.config.file import parse_yaml
from nmt_prep.runs.checks import json_schema


def page_of(properties: dict[str, Any], **definitions: Any) -> list[str]:
    """Returns the rows and headings of the page of a small schema."""
    schema = {"description": "A schema.", "required": ["name"], "properties": properties, "$defs": definitions}
    text = Reference(schema).page().removeprefix(make_config_reference.INTRODUCTION)
    return [line for line in text.splitlines() if line and not line.startswith(("| ---", "| Key"))]


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives the keys of small schemas an example."""
    keys = ("name", "size", "memory", "tag", "shards", "splits", "vocab", "corpus.url", "corpus.url.both", "vocab.size")
    monkeypatch.setattr(make_config_reference, "EXAMPLES", dict.fromkeys(keys, "x"))


def test_the_page_is_current() -> None:
    assert make_config_reference.TARGET.read_text("utf-8") == Reference(json_schema()).page(), (
        "run scripts/make_config_reference.py"
    )


def test_every_key_has_a_row_and_a_valid_example() -> None:
    schema = json_schema()
    reference = Reference(schema)
    rows = re.findall(r"^\| (?:<a id=\"([^\"]+)\"></a>)?`([\w-]+)` \|", reference.page(), re.MULTILINE)
    anchors = [name for name, _ in rows if name]
    assert len(anchors) == len({*anchors}) > 250
    assert {key for _, key in rows} == {
        key for model in (schema, *schema["$defs"].values()) for key in model["properties"]
    }
    for name, (shown, value) in reference.examples.items():
        given = parse_yaml(f"key: {shown}", name)[0]["key"]
        jsonschema.Draft202012Validator({**value, "$defs": schema["$defs"]}).validate(given)
    names = {re.sub(r"\.\w+(?=\.\w+$)", "", name) for name in reference.examples}  # keys of several kinds share one
    assert EXAMPLES.keys() <= names | reference.examples.keys()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"enum": ["a", "b"], "default": "b"}, "a"),
        ({"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}], "default": None}, "b"),
        ({"const": "t2t", "default": "t2t"}, "t2t"),
        ({"type": "boolean", "default": True}, "false"),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": None}, "true"),
    ],
)
def test_examples_of_choices(value: dict[str, Any], shown: str) -> None:
    assert example(value, ["some.key"]) == shown


def test_other_keys_need_an_example() -> None:
    assert example({"type": "integer"}, ["no.such.seed", "seed"]) == EXAMPLES["seed"]
    with pytest.raises(ValueError, match=r"add an example of some\.key to config_examples\.txt"):
        example({"type": "integer"}, ["some.key"])


@pytest.mark.usefixtures("examples")
def test_types_defaults_and_allowed_values() -> None:
    assert page_of(
        {
            "name": {"type": "string", "description": "letters: part of file names"},
            "size": {"type": "integer", "default": 8192, "description": "an integer >= 1: the number of pieces"},
            "memory": {
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "default": 2_000_000_000,
                "description": "an amount: max",
            },
            "tag": {
                "anyOf": [{"type": "string"}, {"type": "null"}],
                "default": None,
                "description": "{source: <2zh>}, a|b or null: a piece",
            },
            "shards": {
                "type": "object",
                "additionalProperties": {"type": "integer"},
                "description": "by split: how many",
            },
            "on": {"type": "boolean", "default": True, "description": "true or false: whether"},
        }
    ) == [
        "## Top level",
        "A schema.",
        '| <a id="name"></a>`name` | text | required | `name: x` | Part of file names. Allowed: letters. |',
        '| <a id="size"></a>`size` | integer | `8192` | `size: x` | The number of pieces. Allowed: an integer >= 1. |',
        '| <a id="memory"></a>`memory` | [amount](#amounts) | `2GB` | `memory: x` | Max. Allowed: an amount. |',
        (
            '| <a id="tag"></a>`tag` | text or null | `null` | `tag: x` '
            "| A piece. Allowed: `{source: <2zh>}`, a\\|b or null. |"
        ),
        '| <a id="shards"></a>`shards` | mapping to integer | `{}` | `shards: x` | How many. Allowed: by split. |',
        '| <a id="on"></a>`on` | true or false | `true` | `on: false` | Whether. |',
    ]


@pytest.mark.usefixtures("examples")
def test_a_section_follows_the_one_that_refers_to_it() -> None:
    def section(description: str, **properties: Any) -> dict[str, Any]:
        return {"description": description, "properties": properties}

    kind, size = {"type": "string"}, {"type": "integer", "description": "a number: the size"}
    assert page_of(
        {
            "splits": {
                "type": "object",
                "patternProperties": {".*": {"type": "array", "items": {"$ref": "#/$defs/Corpus"}}},
                "description": "lists by split: the data",
            },
            "vocab": {
                "discriminator": {},
                "oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}],
                "description": "a mapping: the dialect",
            },
        },
        Corpus=section("A corpus.", url={"$ref": "#/$defs/Urls", "description": "a URL: where it is"}),
        Urls=section("Addresses.", both={"type": "string", "description": "a URL: for both sides"}),
        A=section("First.", kind={"const": "a_1", "default": "a_1", "description": "a_1: the kind"} | kind, size=size),
        B=section("Second.", kind={"const": "b", "default": "b", "description": "b: the kind"} | kind, size=size),
    ) == [
        "## Top level",
        "A schema.",
        (
            '| <a id="splits"></a>`splits` | mapping to list of [corpus](#corpus) | `{}` | `splits: x` '
            "| The data. Allowed: lists by split. |"
        ),
        (
            '| <a id="vocab"></a>`vocab` | [vocab of kind a_1](#vocab-of-kind-a_1) or '
            "[vocab of kind b](#vocab-of-kind-b) | as listed there | `vocab: x` | The dialect. |"
        ),
        "## corpus",
        "A corpus.",
        (
            '| <a id="corpus.url"></a>`url` | [corpus.url](#corpusurl) | as listed there | `url: x` '
            "| Where it is. Allowed: a URL. |"
        ),
        "## corpus.url",
        "Addresses.",
        '| <a id="corpus.url.both"></a>`both` | text | none | `both: x` | For both sides. Allowed: a URL. |',
        "## vocab of every kind",
        "Keys of every kind.",
        '| <a id="vocab.size"></a>`size` | integer | none | `size: x` | The size. Allowed: a number. |',
        "## vocab of kind a_1",
        "First.",
        '| <a id="vocab.a_1.kind"></a>`kind` | text | `a_1` | `kind: a_1` | The kind. Allowed: a_1. |',
        "## vocab of kind b",
        "Second.",
        '| <a id="vocab.b.kind"></a>`kind` | text | `b` | `kind: b` | The kind. Allowed: b. |',
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
