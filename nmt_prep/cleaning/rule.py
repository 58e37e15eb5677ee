"""The interface of rules: a rule computes values for every pair, and has the bounds that the values must be within.

Every rule is a module in :mod:`nmt_prep.cleaning.rules`, with its options as a :class:`~nmt_prep.config.Section`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import Lines
from pydantic import Field, ModelWrapValidatorHandler, ValidationError, model_validator

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import CleaningError
from nmt_prep.base.sides import Side
from nmt_prep.cleaning.known_lines import KnownLines, V
from nmt_prep.config import ComputedValue, Languages, Section
from nmt_prep.text.computed import Column

T = TypeVar("T")
O = TypeVar("O", bound=Section)  # noqa: E741  (O for options)

Values: TypeAlias = "npt.NDArray[np.float64]"


_MOSTLY_NEW = 0.9  # Share of new lines from which on rules judge all lines of a batch, not each new line once


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
    """The range of values that pass. NaN passes only if the range has no limits."""

    low: float = -math.inf  # lower limit of the range
    high: float = math.inf  # upper limit of the range
    above: bool = False  # true if `low` itself does not pass
    below: bool = False  # true if `high` itself does not pass

    def threshold(self, value: float) -> float:
        """Returns the limit that a value violates. Requires a value that does not pass."""
        too_high = value >= self.high if self.below else value > self.high
        return self.high if too_high or self.low == -math.inf else self.low


NOT_FOUND = Bounds(high=0.0)
"""Bounds of rules that look for something: the value 1.0 (found) does not pass, 0.0 (not found) does."""


@dataclass(frozen=True)
class Context:
    """The corpus that a rule is built for."""

    languages: Languages  # the languages of the corpus
    sides: tuple[Side, ...]  # both sides, or one side for a corpus of one language
    base_dir: Path  # the config's directory; the config's local paths are relative to it
    computed: Mapping[str, ComputedValue] = field(default_factory=dict)  # the values that the config defines, by name

    def language(self, side: Side) -> str:
        """Returns the language tag of a side."""
        return self.languages.source if side == "source" else self.languages.target


class Pairs:
    """A batch of pairs, or of lines on one side, after the fixes. It is not thread-safe."""

    def __init__(
        self,
        text: Mapping[Side, pa.Array],
        scores: Mapping[str, Values] | None = None,
        known: Mapping[Side, KnownLines] | None = None,
    ) -> None:
        """Makes a batch.

        Args:
            text: the lines of each side: Arrow ``string`` or ``large_string`` arrays without nulls.
            scores: score columns by name: float64, shape ``[pairs]``.
            known: the lines of earlier batches, which the same rules judged; None if there is none.

        Raises:
            ValueError: the sides or the scores have different numbers of lines, or there is no side.
        """
        self._arrow = {side: _large(lines) for side, lines in text.items()}
        self._columns: dict[Side, TextColumn] = {}
        self._lines: dict[Side, Lines] = {}
        self._known = known or {side: KnownLines() for side in text}
        self._kept: dict[Hashable, Any] = {}
        self.scores: Mapping[str, Values] = scores or {}
        self.words: dict[Side, pa.Array] = {}
        """The words of each side that ``limits.tokens`` counted, if they are not the text."""
        sizes = {len(lines) for lines in self._arrow.values()} | {len(values) for values in self.scores.values()}
        if len(sizes) != 1 or not self._arrow:
            raise ValueError(f"the sides and scores of a batch must be equally long, but have {sorted(sizes)} lines")
        (self._size,) = sizes

    def __len__(self) -> int:
        return self._size

    def arrow(self, side: Side) -> pa.Array:
        """Returns a side's lines as an Arrow ``large_string`` array."""
        return self._arrow[side]

    def side(self, side: Side) -> TextColumn:
        """Returns a side's lines as bytes and offsets."""
        if side not in self._columns:
            self._columns[side] = TextColumn.from_arrow(self._arrow[side])
        return self._columns[side]

    def lines(self, side: Side) -> Lines:
        """Returns a side's lines in the form that native functions take.

        Raises:
            InvalidTextError: a line is not UTF-8.
        """
        if side not in self._lines:
            column = self.side(side)
            self._lines[side] = Lines(column.data, column.offsets)
        return self._lines[side]

    def score(self, name: str, column: Column | None) -> Values:
        """Returns a score of the pairs, which ``column`` computes if it is not stored: float64, shape ``[pairs]``."""
        if column is None or name in self.scores:
            return np.asarray(self.scores[name], np.float64)
        text = {side: self.arrow(side) for side in column.sides}
        return self.keep(("computed", column.value), lambda: column.numbers(text))

    def taken(self, places: npt.NDArray[np.int64]) -> Pairs:
        """Returns some pairs, by their positions."""
        if len(places) == len(self):
            return self
        text = {side: lines.take(pa.array(places)) for side, lines in self._arrow.items()}
        return Pairs(text, {name: values[places] for name, values in self.scores.items()})

    def line_values(self, rule: Hashable, side: Side, judge: Callable[[Pairs, Side], npt.NDArray[V]]) -> npt.NDArray[V]:
        """Returns a rule's values for the lines on a side, or other values that depend on a line alone.

        Args:
            rule: the rule.
            side: the side.
            judge: returns the values for a batch: shape ``[pairs, …]``. It gets only new lines, each once and without
                the other side, or this whole batch if nearly all lines are new.

        Returns: An array as from ``judge``, shape ``[pairs, …]``.
        """
        lines = self.keep(("numbers", side), lambda: self._known[side].number(self.side(side)))
        if len(lines.new) > _MOSTLY_NEW * len(self):
            new = judge(self, side)[lines.new]
        else:
            new = judge(self.keep(("new", side), lambda: self._taken(side, lines.new)), side)
        return self._known[side].values(rule, lines, new)

    def _taken(self, side: Side, places: npt.NDArray[np.int64]) -> Pairs:
        return Pairs({side: self._arrow[side].take(pa.array(places))})

    def keep(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Returns a result that rules share: calls ``compute`` at the first use of a key, then reuses its result."""
        if key not in self._kept:
            self._kept[key] = compute()
        kept: T = self._kept[key]
        return kept


def _large(lines: pa.Array) -> pa.Array:
    return lines if pa.types.is_large_string(lines.type) else lines.cast(pa.large_string())


class Rule(ABC, Generic[O]):
    """A rule: one or more values for every pair, and the bounds that they must be within.

    The values form columns, for example one for each side. A pair passes if each of its values is within its column's
    bounds. A rule that looks for something has the values 1.0 (found) and 0.0 (not found), and the bounds
    :data:`NOT_FOUND`. A rule without columns does not apply to its corpus.

    Attributes:
        key: the key below ``rules`` in the config: the name of the rule's module, or this name and a label. Counts and
            rejects use the key.
        options: the type of the options, validated from the YAML below the key: the type parameter of the class.
        compares: true if the rule compares the sides; one-sided corpora are then cleaned without it.
        edges: edges of the value histogram, ascending, first and last edge included. Values outside are counted
            in the first or last bin.
        columns: names of the columns: sides, ``pair``, or names that only this rule uses.
        bounds: each column's bounds.
        scores: names of the score columns that the values are computed from, which come with the corpus.
        computed: computed values by name, for a rule on such values; it judges the pairs that all other rules keep.
        files: local files whose content the values depend on, by their names in the config.
    """

    options: ClassVar[type[Section]]
    compares: ClassVar[bool] = False
    edges: tuple[float, ...]
    columns: tuple[str, ...]
    bounds: tuple[Bounds, ...]
    scores: tuple[str, ...] = ()
    computed: Mapping[str, Column] = MappingProxyType({})
    files: Mapping[str, Path] = MappingProxyType({})
    key: str

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for base in vars(cls).get("__orig_bases__", ()):
            for kind in get_args(base):
                if not isinstance(kind, TypeVar):
                    cls.options = kind

    @abstractmethod
    def __init__(self, options: O, context: Context) -> None:
        """Prepares the rule for one corpus.

        Raises:
            ValueError: the options contradict each other, or do not suit the languages.
        """

    @abstractmethod
    def values(self, pairs: Pairs) -> Values:
        """Returns the values of all pairs: float64, shape ``[columns, pairs]``. It is thread-safe.

        Raises:
            CleaningError: the pairs cannot be judged; a ``PairError`` names the pair.
        """


def _bounds(options: Section, side: Side, *, below: bool) -> Bounds:
    """Returns the bounds that the options ``min`` and ``max`` set for a side."""
    limits = {name: getattr(options, name) for name in ("min", "max") if hasattr(options, name)}
    low, high = limits.get("min", -math.inf), limits.get("max", math.inf)
    low, high = (limit.of(side) if isinstance(limit, PerSide) else limit for limit in (low, high))
    return Bounds(low, high, below=below) if limits else NOT_FOUND


class PairError(CleaningError):
    """A rule cannot judge a pair.

    Attributes:
        pair: position of the pair in the batch.
    """

    def __init__(self, pair: int, message: str) -> None:
        super().__init__(message)
        self.pair = pair


class SideRule(Rule[O]):
    """A rule with a value for each side, and the options ``min`` and ``max`` or one of them as its bounds.

    A rule without these options looks for something: its bounds are :data:`NOT_FOUND`.

    Attributes:
        below: true if ``max`` itself does not pass.
        given: the options.
        sides: the sides that are judged.
    """

    below: ClassVar[bool] = False

    def __init__(self, options: O, context: Context) -> None:
        self.given, self.sides = options, context.sides
        self.columns = context.sides
        self.bounds = tuple(_bounds(options, side, below=self.below) for side in context.sides)

    def leave_out(self, side: Side) -> None:
        """Leaves out a side, whose lines have passed the rule before."""
        left = [number for number, own in enumerate(self.sides) if own != side]
        self.sides = tuple(self.sides[number] for number in left)
        self.columns = self.sides
        self.bounds = tuple(self.bounds[number] for number in left)

    def values(self, pairs: Pairs) -> Values:
        return np.stack([pairs.line_values(self, side, self.line_values) for side in self.sides])

    @abstractmethod
    def line_values(self, pairs: Pairs, side: Side) -> Values:
        """Returns the values for the lines on a side: float64, shape ``[pairs]``.

        A line's values must not depend on other lines. ``pairs`` need not have the other side.
        """


class PairRule(Rule[O]):
    """A rule that compares a pair's sides, with one value for each pair.

    It has the same bounds and attributes as a :class:`SideRule`.
    """

    compares = True
    below: ClassVar[bool] = False
    columns = ("pair",)

    def __init__(self, options: O, context: Context) -> None:
        self.given = options
        self.bounds = (_bounds(options, "source", below=self.below),)

    def values(self, pairs: Pairs) -> Values:
        return self.pair_values(pairs)[np.newaxis]

    @abstractmethod
    def pair_values(self, pairs: Pairs) -> Values:
        """Returns the values of the pairs: float64, shape ``[pairs]``."""


YES_OR_NO = (0.0, 0.5, 1.0)  # Histogram edges for rules whose values are 0.0 and 1.0
SHARES = tuple(round(number / 20, 2) for number in range(21))  # Histogram edges for values from 0 to 1


_BINS = 20


class OwnBounds(Section):
    """The limits of the numbers that pass. Without limits, booleans are expected instead of numbers."""

    min: float | None = Field(None, strict=False, description="a number, or null: the minimum that passes")
    max: float | None = Field(None, strict=False, description="a number, or null: the maximum that passes")

    @model_validator(mode="after")
    def _in_order(self) -> OwnBounds:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("min is greater than max")
        return self

    @property
    def numbers(self) -> bool:
        """True if numbers are expected, false if booleans are."""
        return self.min is not None or self.max is not None

    def bounds(self) -> Bounds:
        """Returns the bounds; of booleans, only true (1.0) passes."""
        if not self.numbers:
            return Bounds(low=1.0)
        return Bounds(-math.inf if self.min is None else self.min, math.inf if self.max is None else self.max)

    def edges(self) -> tuple[float, ...]:
        """Returns the edges of a value histogram, with the limits near its middle."""
        if not self.numbers:
            return YES_OR_NO
        known = [bound for bound in (self.min, self.max) if bound is not None]
        around = max(known[-1] - known[0], abs(known[0]), 1.0)
        return tuple(np.linspace(known[0] - around, known[-1] + around, _BINS + 1).tolist())
