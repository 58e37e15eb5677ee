"""Rule ``python``: a custom Python function.

``python: my_rules:looks_fine`` names a function of a module that is beside the config or installed. ``python:
looks_fine`` names an entry point of the group ``nmt_prep.rules``. The function is called for each batch of pairs, with
those of the arguments ``source``, ``target`` and ``languages`` that it takes. ``source`` and ``target`` are Arrow
arrays of text. The function returns an array of booleans, true for pairs that pass. If the rule has ``min`` or ``max``,
it returns an array of numbers instead.

A function that takes only one side judges that side. The rule does not apply to corpora that lack a side it takes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from nmt_prep.base.errors import CleaningError
from nmt_prep.base.runtime import unstoppable
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.rule import Context, OwnBounds, Pairs, Rule, Values
from nmt_prep.text.functions import described, load_function

ENTRY_POINTS = "nmt_prep.rules"  # Group of entry points for rules of installed packages

_ARGUMENTS = (*SIDES, "languages")


class PythonOptions(OwnBounds):
    """A function that judges pairs. In YAML, the name of the function alone is short for ``{function: NAME}``."""

    function: str = Field(min_length=1)
    """module:function, beside the config or installed, or the name of an entry point of the group nmt_prep.rules: the
    function to call"""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return {"function": value} if isinstance(value, str) else value


class PythonRule(Rule[PythonOptions]):
    """A custom Python function."""

    def __init__(self, options: PythonOptions, context: Context) -> None:
        self._name = options.function
        self._numbers = options.numbers
        self._function, file = load_function(options.function, context.base_dir, ENTRY_POINTS)
        self._arguments = _arguments(self._function, options.function)
        sides = tuple(side for side in SIDES if side in self._arguments)
        self.columns = () if not {*sides} <= {*context.sides} else ("pair",) if len(sides) == 2 else sides
        self._languages = context.languages
        self.bounds = (options.bounds(),) * len(self.columns)
        self.edges = options.edges()
        self.files = {} if file is None else {f"python {options.function}": file}

    def values(self, pairs: Pairs) -> Values:
        given = {side: pairs.arrow(side) for side in SIDES if side in self._arguments}
        languages = {"languages": self._languages} if "languages" in self._arguments else {}
        try:
            with unstoppable():
                result = self._function(**given, **languages)
        except (Exception, SystemExit) as error:
            raise CleaningError(f"{self._name} failed: {described(error)}") from error
        return self._checked(result, len(pairs))[np.newaxis]

    def _checked(self, result: object, pairs: int) -> Values:
        if isinstance(result, pa.ChunkedArray):
            result = result.combine_chunks()
        if isinstance(result, pa.Array):
            if result.null_count:
                raise CleaningError(f"{self._name} returned {result.null_count} nulls; return a value for each pair")
            result = result.to_numpy(zero_copy_only=False)
        try:
            values = np.asarray(result)
        except ValueError as error:
            raise CleaningError(f"{self._name} returned no array: {error}") from error
        if values.shape != (pairs,):
            what = f"{len(values)} values" if values.ndim == 1 else f"an array of the shape {values.shape}"
            raise CleaningError(f"{self._name} returned {what} for {pairs} pairs; return one value for each pair")
        if values.dtype.kind not in "biuf":
            raise CleaningError(f"{self._name} returned values of type {values.dtype}; return booleans or numbers")
        if self._numbers != (values.dtype.kind != "b"):
            expected = "booleans, but the rule has min or max" if self._numbers else "numbers; give the rule min or max"
            raise CleaningError(f"{self._name} returned {expected}")
        if np.isnan(values).any():
            first = int(np.isnan(values).argmax())
            raise CleaningError(f"{self._name} returned NaN for pair {first + 1} of {pairs}; return a number for each")
        return values.astype(np.float64)


def _arguments(function: Callable[..., Any], name: str) -> set[str]:
    """Returns the names of the arguments that a function takes, among those that it can be given."""
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return {*_ARGUMENTS}
    named = {parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL}
    needed = {p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL}
    if not named & {*SIDES} or not needed <= {*_ARGUMENTS} or any(p.kind is p.POSITIONAL_ONLY for p in parameters):
        raise ValueError(f"{name} must take arguments named source and target, or one of them, and may take languages")
    return named & {*_ARGUMENTS}
