"""Rule ``python``: a custom Python function, short for a computed value and its limits.

``python: my_rules:looks_fine`` names a function of a module that is beside the config or installed. ``python:
looks_fine`` names an entry point of the group ``nmt_prep.rules``. The function is called for each batch of texts, with
the arguments that it takes among ``source``, ``target`` and ``languages``. ``source`` and ``target`` are Arrow arrays
of text. The function returns an array of booleans, true for pairs that pass. If the rule has ``min`` or ``max``, it
returns an array of numbers instead.

A function that takes only one side judges that side. Skips corpora that lack a side which the rule takes.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from nmt_prep.cleaning.computed_rules import ShortForm, ShortFormOptions
from nmt_prep.config import ComputedValue


class PythonOptions(ShortFormOptions):
    """A function that judges pairs. In YAML, the name of the function alone is short for ``{function: NAME}``."""

    function: str = Field(min_length=1)
    """module:function, beside the config or installed, or an entry point's name in the group nmt_prep.rules: the
    function to call"""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return {"function": value} if isinstance(value, str) else value

    @property
    def value(self) -> ComputedValue:
        return ComputedValue(python=self.function, version=self.version)


class PythonRule(ShortForm[PythonOptions]):
    """A custom Python function."""
