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
    return [line for line in text.splitlines() if line and not line.startswith(("|---", "| Key"))]


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives the keys of small schemas an example."""
    keys = ("name", "size", "memory", "tag", "shards", "splits", "vocab", "corpus.url", "corpus.size", "vocab.size")
    more = ("name.source", "name.target", "vocab.b.name")
    monkeypatch.setattr(make_config_reference, "EXAMPLES", dict.fromkeys(keys + more, "x"))


def test_the_page_is_current() -> None:
    assert make_config_reference.TARGET.read_text("utf-8") == Reference(json_schema()).page(), (
        "run scripts/make_config_reference.py"
    )


def test_every_key_has_a_row_and_a_valid_example() -> None:
    schema = json_schema()
    reference = Reference(schema)
    page = reference.page()
    keys = re.findall(r"(?:^\| |<a id=\"([^\"]+)\"></a>)`(?:[\w\-\[\]*]+\.)*([\w-]+)`(?=,| \|)", page, re.MULTILINE)
    anchors = [name for name, _ in keys if name]
    assert len(anchors) == len({*anchors}) > 250
    assert {key for _, key in keys} == {
        key for model in (schema, *schema["$defs"].values()) for key in model["properties"]
    }
    targets = {*anchors, *(anchor(heading) for heading in re.findall("^## (.*)", page, re.MULTILINE))}
    assert {*re.findall(r"\(#([^)]+)\)", page)} <= targets
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
                "description": "an amount of bytes: max",
            },
            "tag": {
                "anyOf": [{"type": "string"}, {"type": "null"}],
                "default": None,
                "description": "{source: <2zh>}, a|b, or null: a piece",
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
        '| <a id="name"></a>`name` | letters | required | `x` | Part of file names. |',
        '| <a id="size"></a>`size` | integer >= 1 | `8192` | `x` | Number of pieces. |',
        '| <a id="memory"></a>`memory` | [amount](#amounts) | `2GB` | `x` | Max. |',
        '| <a id="tag"></a>`tag` | `{source: <2zh>}`, a\\|b |  | `x` | A piece. |',
        '| <a id="shards"></a>`shards` | by split |  | `x` | How many. |',
        '| <a id="on"></a>`on` | boolean | `true` | `false` | Whether. |',
    ]


@pytest.mark.usefixtures("examples")
def test_the_keys_of_a_mapping_follow_it_or_have_a_section() -> None:
    def section(description: str, **properties: Any) -> dict[str, Any]:
        return {"description": description, "properties": properties}

    def named(name: str, description: str) -> dict[str, Any]:
        return {"$ref": f"#/$defs/{name}", "description": description}

    kind, size = {"type": "string"}, {"type": "integer", "description": "a number: the size"}
    side = {"type": "string", "description": "a URL: of that side"}
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
                "description": "a mapping: the type",
            },
            "name": named("Urls", "a mapping: the name"),
        },
        Corpus=section("A corpus.", url=named("Urls", "a URL: where it is"), size=size),
        Urls=section("Addresses.", source=side, target=side),
        A=section(
            "First.", kind={"const": "a_1", "default": "a_1", "description": "1 or 2: the kind"} | kind, size=size
        ),
        B=section("Second.", kind={"const": "b", "description": "1 or 2: the kind"} | kind, size=size, name=size),
    ) == [
        "## Top level",
        "A schema.",
        '| <a id="splits"></a>`splits` | lists by split ([corpus](#corpus)) |  | `x` | Data. |',
        ('| <a id="vocab"></a>`vocab` | mapping ([a_1](#vocab-of-kind-a_1), [b](#vocab-of-kind-b)) |  | `x` | Type. |'),
        '| <a id="name"></a>`name` | mapping | required | `x` | Name. |',
        (
            '| <a id="name.source"></a>`name.source`, <a id="name.target"></a>`name.target` | URL | none | `x` '
            "| Of that side. |"
        ),
        "## corpus",
        "A corpus.",
        '| <a id="corpus.url"></a>`url` | URL ([name](#name)) |  | `x` | Where it is. |',
        '| <a id="corpus.size"></a>`size` | number | none | `x` | Size. |',
        "## vocab of every kind",
        "Keys that all kinds have.",
        '| <a id="vocab.kind"></a>`kind` | 1 or 2 | `a_1` | `a_1` | Kind. |',
        '| <a id="vocab.size"></a>`size` | as [corpus](#corpus) |  |  |  |',
        "## vocab of kind a_1",
        "First.",
        "## vocab of kind b",
        "Second.",
        '| <a id="vocab.b.name"></a>`name` | number | none | `x` | Size. |',
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
