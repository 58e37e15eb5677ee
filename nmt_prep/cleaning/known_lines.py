"""Lines of earlier batches, and their values: a rule judges a line once, however often a corpus repeats it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import LineNumbers

from nmt_prep.base.columns import TextColumn

V = TypeVar("V", bound="np.generic")  # by its name, so that the module loads without NumPy
_MOST = 1 << 17  # with ten rules, these lines take 20 MB


@dataclass(frozen=True)
class NumberedLines:
    """The numbers of lines."""

    numbers: npt.NDArray[np.int64]  # equal lines have equal numbers: int64, shape `[lines]`
    new: npt.NDArray[np.int64]  # ascending positions of lines that did not occur before, each once: int64, `[new]`
    start: int  # number of the first new line; the other new lines have the numbers after it


class KnownLines:
    """The lines on one side so far, as 128-bit hashes, and the values of rules for them.

    It is not thread-safe.
    """

    def __init__(self, most: int = _MOST) -> None:
        """Makes an object that forgets all lines before it would hold more than ``most``."""
        self._most = most
        self._numbers = LineNumbers()
        self._values: dict[Hashable, npt.NDArray[Any]] = {}

    def number(self, lines: TextColumn) -> NumberedLines:
        if len(self._numbers) + len(lines) > self._most:
            self._numbers = LineNumbers()
        start = len(self._numbers)
        numbers, new = self._numbers.add(lines.data, lines.offsets)
        return NumberedLines(numbers.astype(np.int64), new, start)  # else NumPy converts them for each rule

    def values(self, rule: Hashable, lines: NumberedLines, new: npt.NDArray[V]) -> npt.NDArray[V]:
        """Returns a rule's values for lines: an array like ``new``, shape ``[lines, …]``.

        Args:
            new: the rule's values for the new lines: shape ``[new, …]``.
        """
        known: npt.NDArray[V] = self._values.get(rule, new[:0])
        end = lines.start + len(new)
        if len(known) < end:
            more = np.empty((max(end, len(known)), *new.shape[1:]), new.dtype)
            known = self._values[rule] = np.concatenate([known[: lines.start], more])
        known[lines.start : end] = new
        return known.take(lines.numbers, axis=0)
