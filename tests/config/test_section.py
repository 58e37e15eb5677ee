from __future__ import annotations

from typing import Any

from pydantic import Field, create_model

from nmt_prep.config import Section
from nmt_prep.config.section import descriptions


class Base(Section):
    first: int = 1
    """a number
    of lines: from the docstring"""
    second: int = Field(2, alias="2nd", description="a number: from the field")
    """not this"""
    third: int = 3


class Derived(Base):
    third: int = 4
    """a number: from the derived class"""


def test_docstrings_below_fields_describe_their_keys() -> None:
    known = {"first": "a number of lines: from the docstring", "2nd": "a number: from the field"}
    assert descriptions(Base) == known
    assert descriptions(Derived) == {**known, "third": "a number: from the derived class"}


def test_a_class_without_source_has_the_descriptions_of_its_fields() -> None:
    fields: dict[str, Any] = {"a": (int, Field(1, description="a number: here")), "b": (int, 2)}
    assert descriptions(create_model("Made", __base__=Section, **fields)) == {"a": "a number: here"}
