"""What a rule is: a value for every pair, and the bounds that it must be within.

Every rule is a module in :mod:`nmt_prep.cleaning.rules`, with its options as a :class:`~nmt_prep.config.Section`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import Lines
from pydantic import ModelWrapValidatorHandler, ValidationError, model_validator

from nmt_prep.columns import TextColumn
from nmt_prep.config import Languages, Section, Side

T = TypeVar("T")
O = TypeVar("O", bound=Section)  # noqa: E741  (O for options)

Values: TypeAlias = "npt.NDArray[np.float64]"


class PerSide(Section, Generic[T]):
    """An option with a value for each side. In YAML it is one value for both, or ``{source: …, target: …}``."""

    source: T
    target: T

    @model_validator(mode="wrap")
    @classmethod
    def _one_or_two(cls, value: Any, handler: ModelWrapValidatorHandler[PerSide[T]]) -> PerSide[T]:
        if isinstance(value, Mapping | PerSide):
            return handler(value)
        try:
            return handler({"source": value, "target": value})
        except ValidationError as error:
            raise ValueError("not a value of this option") from error

    def of(self, side: Side) -> T:
        """Returns the value for a side."""
        return self.source if side == "source" else self.target

    @classmethod
    def both(cls, value: T) -> PerSide[T]:
        """Returns one value for both sides."""
        return cls(source=value, target=value)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The values that pass: from ``low`` to ``high``. NaN passes only where there are no bounds.

    Attributes:
        low: the lowest value that passes.
        high: the highest value that passes.
        above: a value must be greater than ``low``, not only equal to it.
        below: a value must be less than ``high``, not only equal to it.
    """

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    below: bool = False

    def passes(self, value: float) -> bool:
        """Returns whether a value is within the bounds."""
        if math.isnan(value):
            return self == Bounds()
        return (value > self.low if self.above else value >= self.low) and (
            value < self.high if self.below else value <= self.high
        )

    def threshold(self, value: float) -> float:
        """Returns the bound that a value which does not pass violates."""
        too_high = value >= self.high if self.below else value > self.high
        return self.high if too_high or self.low == -math.inf else self.low


NOT_FOUND = Bounds(high=0.0)
"""The bounds of rules that answer yes or no: 1.0 for a pair that has what the rule looks for does not pass."""


@dataclass(frozen=True)
class Context:
    """What a rule is built for: one corpus of one language pair.

    Attributes:
        languages: the languages of the corpus.
        sides: both sides, or the only one that a corpus of one language has.
        base_dir: local paths of the config are relative to it.
    """

    languages: Languages
    sides: tuple[Side, ...]
    base_dir: Path

    def language(self, side: Side) -> str:
        """Returns the language tag of a side."""
        return self.languages.source if side == "source" else self.languages.target


class Pairs:
    """A batch of pairs, or of the lines of one side, after their text was fixed. One thread uses it at a time."""

    def __init__(self, text: Mapping[Side, pa.Array], scores: Mapping[str, Values] | None = None) -> None:
        """Takes the lines of each side that there is.

        Args:
            text: by side, an Arrow ``string`` or ``large_string`` array without nulls.
            scores: by name, float64, shape ``[pairs]``.

        Raises:
            ValueError: the sides or the scores have different numbers of lines, or there is no side.
        """
        self._arrow = {side: _large(lines) for side, lines in text.items()}
        self._columns: dict[Side, TextColumn] = {}
        self._lines: dict[Side, Lines] = {}
        self._kept: dict[Hashable, Any] = {}
        self.scores: Mapping[str, Values] = scores or {}
        sizes = {len(lines) for lines in self._arrow.values()} | {len(values) for values in self.scores.values()}
        if len(sizes) != 1 or not self._arrow:
            raise ValueError(f"the sides and scores of a batch must be equally long, but have {sorted(sizes)} lines")
        (self._size,) = sizes

    def __len__(self) -> int:
        return self._size

    def arrow(self, side: Side) -> pa.Array:
        """Returns the lines of a side as an Arrow ``large_string`` array."""
        return self._arrow[side]

    def side(self, side: Side) -> TextColumn:
        """Returns the lines of a side as bytes and offsets."""
        if side not in self._columns:
            self._columns[side] = TextColumn.from_arrow(self._arrow[side])
        return self._columns[side]

    def lines(self, side: Side) -> Lines:
        """Returns the lines of a side as native functions take them.

        Raises:
            InvalidTextError: a line is not UTF-8.
        """
        if side not in self._lines:
            column = self.side(side)
            self._lines[side] = Lines(column.data, column.offsets)
        return self._lines[side]

    def keep(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Returns what ``compute`` returned when it was first called with this key, for rules that share a result."""
        if key not in self._kept:
            self._kept[key] = compute()
        kept: T = self._kept[key]
        return kept


def _large(lines: pa.Array) -> pa.Array:
    return lines if pa.types.is_large_string(lines.type) else lines.cast(pa.large_string())


class Rule(ABC, Generic[O]):
    """A rule: values of every pair, and the bounds that they must be within.

    A pair passes if the values of all columns are within the bounds of their column. Rules that answer yes or no have
    the value 1.0 for yes, and the bounds :data:`NOT_FOUND`. A rule without columns does not apply to its corpus.

    Attributes:
        name: the name of the rule.
        key: the key below ``rules``: the name, or the name and a label; what counts and rejects say.
        options: the type of the options, validated from the YAML below the key.
        compares: the rule compares the sides; corpora of one side are cleaned without it.
        edges: ascending edges of the histogram of the values, ends included; values outside are counted at the ends.
        columns: what the values belong to: sides, or ``pair``, or names of the rule's own.
        bounds: the bounds of each column.
        scores: names of the score columns that the values are computed from.
        files: local files whose content decides the values, by the name that the config gives them.
    """

    name: ClassVar[str]
    options: ClassVar[type[Section]]
    compares: ClassVar[bool] = False
    edges: tuple[float, ...]
    columns: tuple[str, ...]
    bounds: tuple[Bounds, ...]
    scores: tuple[str, ...] = ()
    files: Mapping[str, Path] = MappingProxyType({})
    key: str

    @abstractmethod
    def __init__(self, options: O, context: Context) -> None:
        """Prepares the rule for one corpus.

        Raises:
            ValueError: the options do not fit each other or the languages.
        """

    @abstractmethod
    def values(self, pairs: Pairs) -> Values:
        """Returns the values of all pairs: float64, shape ``[columns, pairs]``. Threads may call it side by side."""


class SideRule(Rule[O]):
    """A rule with a value for each side."""

    def __init__(self, options: O, context: Context) -> None:
        self.sides = context.sides
        self.columns = context.sides

    def values(self, pairs: Pairs) -> Values:
        return np.stack([self.line_values(pairs, side) for side in self.sides])

    @abstractmethod
    def line_values(self, pairs: Pairs, side: Side) -> Values:
        """Returns the values of the lines of a side: float64, shape ``[pairs]``."""


class PairRule(Rule[O]):
    """A rule with one value for a pair, which compares its sides."""

    compares = True
    columns = ("pair",)

    def __init__(self, options: O, context: Context) -> None:
        """Prepares the rule; see :meth:`Rule.__init__`."""

    def values(self, pairs: Pairs) -> Values:
        return self.pair_values(pairs)[np.newaxis]

    @abstractmethod
    def pair_values(self, pairs: Pairs) -> Values:
        """Returns the values of the pairs: float64, shape ``[pairs]``."""


YES_OR_NO = (0.0, 0.5, 1.0)
"""Edges of the histogram of rules that answer yes or no."""

SHARES = tuple(round(number / 20, 2) for number in range(21))
"""Edges of the histogram of values from 0 to 1."""
