"""From lines to pretokens where the native core cannot do it alone: added tokens, normal forms, patterns.

All of this is slower than GPT-2's pattern, which the native core cuts by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import regex

from nmt_prep.columns import Ragged, TextColumn
from nmt_prep.errors import InvalidTextError, VocabularyError
from nmt_prep.subwords.byte_bpe.added import AddedToken, AddedTokenFinder, finder
from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN, Cut, Form, Pretokenization
from nmt_prep.subwords.byte_bpe.vocabulary import spelled

_LINES_PER_BLOCK = 4096
_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Pretokens:
    """What lines were cut into.

    Attributes:
        column: each part as a line of its own; those that stand for added tokens are empty.
        firsts: int64, shape ``[lines + 1]``: number of each line's first part.
        places: int64, shape ``[n]``: numbers of the parts that stand for added tokens, ascending.
        ids: int32, shape ``[n]``: ids of those tokens.
    """

    column: TextColumn
    firsts: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    ids: npt.NDArray[np.int32]

    def joined(self, values: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64]) -> Ragged:
        """Ids of the lines, from the ids of the parts."""
        if len(self.places):
            values = np.insert(values, offsets[self.places], self.ids)
            lengths = np.diff(offsets)
            lengths[self.places] += 1
            offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return Ragged(values, offsets[self.firsts])


class Pretokenizer:
    """Cuts lines as a vocabulary says."""

    def __init__(self, pretokenization: Pretokenization, added: Mapping[str, AddedToken] | None = None) -> None:
        """Compiles the patterns.

        Raises:
            VocabularyError: one of them is not a regular expression.
        """
        self._how = pretokenization
        self._added = added or {}
        self._cuts = [_Cutter(cut) for cut in pretokenization.cuts]
        if pretokenization.byte_cuts and pretokenization.gpt2:
            self._cuts.append(_Cutter(Cut(GPT2_PATTERN)))
        self._byte_cuts = [_Cutter(cut) for cut in pretokenization.byte_cuts]
        self._finders = cache(self._make_finders)

    @property
    def to_be_scanned(self) -> bool:
        """Whether the native scanner is to cut the parts by GPT-2's pattern."""
        return self._how.gpt2 and not self._how.byte_cuts

    def cut(self, column: TextColumn, allowed: frozenset[str] = _NOTHING) -> Pretokens | None:
        """The parts of lines; None where each line is a part as it is.

        Args:
            column: the lines.
            allowed: names of special tokens that are found in them.

        Raises:
            InvalidTextError: a line is not UTF-8.
        """
        before, after = self._finders(allowed)
        if before is None and after is None and not self._cuts and not self._byte_cuts and not self._how.forms:
            return None
        data = bytearray()
        ends, firsts, places, ids = [0], [0], [], []
        lines = _decoded(column)
        while block := list(islice(lines, _LINES_PER_BLOCK)):
            for row in self._normalised([[line] if before is None else [*before.cut(line)] for line in block]):
                for part in self._parts(row, after):
                    if isinstance(part, int):
                        places.append(len(ends) - 1)
                        ids.append(part)
                    else:
                        data += part.encode()
                    ends.append(len(data))
                firsts.append(len(ends) - 1)
        return Pretokens(
            TextColumn(np.frombuffer(bytes(data), np.uint8), np.array(ends, np.int64)),
            np.array(firsts, np.int64),
            np.array(places, np.int64),
            np.array(ids, np.int32),
        )

    def _normalised(self, rows: list[list[str | int]]) -> list[list[str | int]]:
        if not self._how.forms:
            return rows
        texts = iter(_normal([part for row in rows for part in row if isinstance(part, str)], self._how.forms))
        return [[next(texts) if isinstance(part, str) else part for part in row] for row in rows]

    def _parts(self, parts: Iterable[str | int], after: AddedTokenFinder | None) -> Iterable[str | int]:
        if after is not None:
            parts = _each(parts, after.cut)
        for cutter in self._cuts:
            parts = _each(parts, cutter.cut)
        if self._byte_cuts:
            parts = _each(parts, lambda text: [spelled(text.encode())])
            for cutter in self._byte_cuts:
                parts = _each(parts, cutter.cut)
        return parts

    def _make_finders(self, allowed: frozenset[str]) -> tuple[AddedTokenFinder | None, AddedTokenFinder | None]:
        def normal(name: str) -> str:
            return _normal([name], self._how.forms)[0]

        return finder(self._added, allowed, False, normal), finder(self._added, allowed, True, normal)


def _normal(texts: list[str], forms: tuple[Form, ...]) -> list[str]:
    """Texts in normalization forms, by the tables of Arrow's utf8proc."""
    column = pa.array(texts, pa.large_string())
    for form in forms:
        column = pc.utf8_normalize(column, form)
    return list(column.to_pylist())


def _each(parts: Iterable[str | int], cut: Callable[[str], Iterable[str | int]]) -> Iterator[str | int]:
    for part in parts:
        if isinstance(part, int):
            yield part
        else:
            yield from cut(part)


def _decoded(column: TextColumn) -> Iterator[str]:
    first = int(column.offsets[0])
    data = column.data[first : column.offsets[-1]].tobytes()
    for number, (start, end) in enumerate(pairwise((column.offsets - first).tolist())):
        try:
            yield data[start:end].decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidTextError(
                f"line {number}: byte {error.start} is not UTF-8; convert the text to UTF-8 or drop the line"
            ) from error


class _Cutter:
    """One step of cutting, as tokenizers' ``Split`` does it."""

    def __init__(self, cut: Cut) -> None:
        try:
            self._compiled = regex.compile(cut.pattern)
        except regex.error as error:
            raise VocabularyError(
                f"the pattern {cut.pattern!r} is not a regular expression: {error}; mend it"
            ) from error
        self._cut = cut

    def cut(self, text: str) -> list[str]:
        parts: list[tuple[int, int, bool]] = []
        at = 0
        for match in self._compiled.finditer(text):
            start, end = match.span()
            parts += [(at, start, False), (start, end, True)]
            at = end
        parts.append((at, len(text), False))
        parts = [part for part in parts if part[0] < part[1]]
        if self._cut.behavior == "Isolated":
            return [text[start:end] for start, end, _ in parts]
        if self._cut.behavior == "Removed":
            return [text[start:end] for start, end, matches in parts if matches == self._cut.invert]
        parts = [(start, end, matches != self._cut.invert) for start, end, matches in parts]
        return [text[start:end] for start, end in _merged(parts, self._cut.behavior)]


def _merged(parts: list[tuple[int, int, bool]], behavior: str) -> list[tuple[int, int]]:
    """Parts that matches were joined to; a match that follows another is only joined to that, and if Contiguous."""
    merged: list[tuple[int, int]] = []
    backwards = behavior == "MergedWithNext"
    matched = False
    for start, end, matches in reversed(parts) if backwards else parts:
        joins = matches == matched if behavior == "Contiguous" else matches and not matched
        if joins and merged:
            other = merged.pop()
            merged.append((start, other[1]) if backwards else (other[0], end))
        else:
            merged.append((start, end))
        matched = matches
    return merged[::-1] if backwards else merged
