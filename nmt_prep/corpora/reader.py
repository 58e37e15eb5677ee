"""What every reader of a parallel corpus offers, and what it is given to work with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import ClassVar, TypeVar

import numpy as np
import pyarrow as pa

from nmt_prep.config.corpus import Corpus
from nmt_prep.config.section import Languages, Section, Side
from nmt_prep.corpora.lines import Block, Faults, TextPolicy, iter_blocks
from nmt_prep.corpora.pieces import LineSlice

S = TypeVar("S", bound=Section)

TEXT_OPTIONS = frozenset({"encoding", "invalid", "crlf", "max_line_bytes"})
"""The keys of a corpus that every reader takes whose files are lines of text."""


@dataclass(frozen=True, slots=True)
class PairBatch:
    """Some pairs: pair i is ``source[i]`` and ``target[i]``.

    Attributes:
        source: ``large_string`` array without nulls.
        target: the same, of the same length.
        faults: why a pair must be dropped, :class:`~nmt_prep.corpora.lines.Fault` or 0, uint8, shape ``[pairs]``;
            None where no pair must.
    """

    source: pa.Array
    target: pa.Array
    faults: Faults | None = None

    def __len__(self) -> int:
        return len(self.source)

    def side(self, side: Side) -> pa.Array:
        """One of the two columns."""
        return self.source if side == "source" else self.target

    def sound(self) -> PairBatch:
        """The pairs without fault."""
        if self.faults is None:
            return self
        keep = pa.array(self.faults == 0)
        return PairBatch(self.source.filter(keep), self.target.filter(keep))


class Reader(ABC):
    """Reads one corpus of one format, in bounded memory, as often as asked.

    Attributes:
        parts: the names of the files it reads: ``("both",)`` or ``("source", "target")``.
        suffixes: endings of file names, in lower case, that tell the format where the config does not give it.
        options: the keys of a corpus that it takes, of those that not all formats take.
        section: the model of the keys that a corpus has below ``options``; None if there are none.
        version: raised when the same files would give other pairs than before.
        multilingual: true where the languages decide which text of a file is read.
        lines_apart: true where each line of the files is read for itself, so that a large file can be read in slices.
        quote: a byte of which every line must hold an even number for that; empty where there is none.
        counts: what was altered in the pairs read so far: ``byte_order_marks`` and ``carriage_returns`` removed.
    """

    parts: ClassVar[tuple[str, ...]]
    suffixes: ClassVar[tuple[str, ...]] = ()
    options: ClassVar[frozenset[str]]
    section: ClassVar[type[Section] | None] = None
    version: ClassVar[int] = 1
    multilingual: ClassVar[bool] = False
    lines_apart: ClassVar[bool] = False
    quote: ClassVar[bytes] = b""

    def __init__(
        self,
        corpus: Corpus,
        files: Mapping[str, Path],
        languages: Languages,
        slices: Mapping[str, LineSlice] | None = None,
    ) -> None:
        """Opens nothing yet.

        Args:
            corpus: what the config says of it.
            files: by the names that ``parts`` lists.
            languages: of the config; the corpus may say otherwise.
            slices: the lines to read of each file; None is all. Only where ``lines_apart``.
        """
        self.corpus = corpus
        self.files = files
        self.slices = slices or {}
        self.languages = corpus.languages or languages
        self.policy = TextPolicy.of(corpus)
        self.counts: Counter[str] = Counter()

    def own_options(self, section: type[S]) -> S:
        """Returns what the config has below ``options`` of the corpus, as the model that the reader declares."""
        return section.model_validate(self.corpus.options)

    @abstractmethod
    def pairs(self) -> Iterator[PairBatch]:
        """The pairs in the order of the corpus, in batches of a few megabytes of text.

        Raises:
            AlignmentError: the sides do not pair up.
            InvalidTextError: a file is not text in the encoding of the corpus.
            CorpusError: a file is malformed or cannot be read.
        """

    def lines(self, side: Side) -> Iterator[pa.Array]:
        """The sound lines of one side as ``large_string`` arrays, in the order of the corpus.

        Raises:
            CorpusError: as :meth:`pairs`.
        """
        return (batch.sound().side(side) for batch in self.pairs())

    def every(self, side: Side, stride: int, *, sound: bool) -> Iterator[pa.Array]:
        """Lines ``stride``, ``2 * stride`` and so on of :meth:`lines`, counted from 1.

        Args:
            side: which one.
            stride: 1 or more.
            sound: whether it is known that no pair has a fault, so that a reader may pass over lines unread.

        Raises:
            CorpusError: as :meth:`pairs`.
        """
        return every(self.lines(side), stride)

    def blocks(self, part: str) -> Iterator[Block]:
        """The lines to read of one of the files.

        Raises:
            InvalidTextError: the file is not text in the encoding of the corpus.
            CorpusError: it cannot be read.
        """
        return iter_blocks(self.files[part], self.policy, self.counts, self.slices.get(part))

    def first_block(self, part: str) -> Block:
        """The lines that a file begins with, whichever are to be read; nothing of it is counted.

        Raises:
            CorpusError: as :meth:`blocks`.
        """
        return next(iter_blocks(self.files[part], self.policy))

    def size_in_bytes(self, side: Side) -> int | None:
        """Size of the file that holds one side's lines and nothing else; None for a format with no such file."""
        return None


class SeveralFiles(Reader):
    """A corpus whose files come several to a part: one after the other, each with its own counterpart."""

    parts = ()
    options = frozenset()

    def __init__(self, readers: Sequence[Reader]) -> None:
        first = readers[0]
        super().__init__(first.corpus, first.files, first.languages)
        self._readers = readers

    def pairs(self) -> Iterator[PairBatch]:
        for reader in self._readers:
            yield from reader.pairs()
            self.counts += reader.counts

    def lines(self, side: Side) -> Iterator[pa.Array]:
        return chain.from_iterable(reader.lines(side) for reader in self._readers)

    def size_in_bytes(self, side: Side) -> int | None:
        sizes = [reader.size_in_bytes(side) for reader in self._readers]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None


class Swapped(Reader):
    """A corpus with its sides exchanged."""

    parts = ()
    options = frozenset()

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader.corpus, reader.files, reader.languages)
        self._reader = reader
        self.counts = reader.counts

    def pairs(self) -> Iterator[PairBatch]:
        return (PairBatch(batch.target, batch.source, batch.faults) for batch in self._reader.pairs())

    def lines(self, side: Side) -> Iterator[pa.Array]:
        return self._reader.lines(_other(side))

    def every(self, side: Side, stride: int, *, sound: bool) -> Iterator[pa.Array]:
        return self._reader.every(_other(side), stride, sound=sound)

    def size_in_bytes(self, side: Side) -> int | None:
        return self._reader.size_in_bytes(_other(side))


def every(batches: Iterator[pa.Array], stride: int) -> Iterator[pa.Array]:
    """Lines ``stride``, ``2 * stride`` and so on, counted from 1."""
    wait = stride - 1
    for batch in batches:
        wanted = np.arange(wait, len(batch), stride)
        wait = (wait - len(batch)) % stride
        if len(wanted):
            yield batch.take(pa.array(wanted))


def merged_faults(first: Faults | None, second: Faults | None) -> Faults | None:
    """The fault of each pair: that of the first side, else that of the second."""
    if first is None or second is None:
        return second if first is None else first
    return np.where(first != 0, first, second)


def _other(side: Side) -> Side:
    return "target" if side == "source" else "source"
