"""Collecting single strings into batches of pairs, for readers that parse documents."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.corpora.lines import Fault
from nmt_prep.corpora.reader import PairBatch
from nmt_prep.errors import InvalidTextError

PAIRS_PER_BATCH = 8192
BATCH_CHARACTERS = 2 << 20


class PairBuilder:
    """Collects pairs into batches; joins the lines of a text, and marks sides that are too long.

    Args:
        max_line_bytes: a pair with a longer side gets :attr:`Fault.TOO_LONG`.
        where: the file, for messages.
    """

    def __init__(self, max_line_bytes: int, where: object) -> None:
        self._limit = max_line_bytes
        self._where = where
        self._sources: list[str] = []
        self._targets: list[str] = []
        self._faults: list[int] = []
        self._characters = 0

    def add(self, source: str | None, target: str | None, fault: int = 0) -> None:
        """Adds a pair; it gets :attr:`Fault.MISSING_SIDE` if a side is None."""
        if source is None or target is None:
            source, target, fault = source or "", target or "", fault or Fault.MISSING_SIDE
        if fault:
            source = target = ""
        self._sources.append(one_line(source) if "\n" in source else source)
        self._targets.append(one_line(target) if "\n" in target else target)
        self._faults.append(fault)
        self._characters += len(source) + len(target)

    def full(self) -> Iterator[PairBatch]:
        """Yields a batch if there are enough pairs."""
        if len(self._sources) >= PAIRS_PER_BATCH or self._characters >= BATCH_CHARACTERS:
            yield from self.rest()

    def rest(self) -> Iterator[PairBatch]:
        """Yields a batch of the remaining pairs, if any."""
        if not self._sources:
            return
        source, target = self._column(self._sources), self._column(self._targets)
        faults = np.array(self._faults, np.uint8)
        faults[(faults == 0) & (longer(source, self._limit) | longer(target, self._limit))] = Fault.TOO_LONG
        self._sources, self._targets, self._faults, self._characters = [], [], [], 0
        yield PairBatch(source, target, faults if faults.any() else None)

    def _column(self, texts: list[str]) -> pa.Array:
        try:
            return pa.array(texts, pa.large_string())
        except UnicodeEncodeError as error:
            shown = error.object[max(error.start - 20, 0) : error.end].encode("ascii", "backslashreplace").decode()
            raise InvalidTextError(
                f"{self._where}: a text has half of a surrogate pair, which is not a character (…{shown}); fix the text"
            ) from error


def one_line(text: str) -> str:
    """Joins the lines of a text with single spaces."""
    return " ".join(filter(None, (line.strip(" \t\r") for line in text.split("\n"))))


def longer(column: pa.Array, limit: int) -> npt.NDArray[np.bool_]:
    """Returns True for each text of more than ``limit`` UTF-8 bytes; bool, shape ``[texts]``."""
    return np.asarray(pc.greater(pc.binary_length(column), limit).to_numpy(zero_copy_only=False), np.bool_)
