"""Base class for readers of parallel corpora, and the pairs that they yield."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.base.errors import InvalidTextError
from nmt_prep.base.sides import OTHER, Side
from nmt_prep.config.corpus import Corpus
from nmt_prep.config.section import Languages, Section
from nmt_prep.text.blocks import Block, Fault, Faults, TextPolicy, iter_blocks
from nmt_prep.text.chunks import LineSlice

S = TypeVar("S", bound=Section)

Rows: TypeAlias = "npt.NDArray[np.int64]"
Places: TypeAlias = "npt.NDArray[np.int64]"

Value: TypeAlias = "float | str | None"  # A score or the name of a document; None for a pair without it

DOCUMENT = "document"  # Key and name of the document column


def column_type(key: str) -> pa.DataType:
    """Returns the type of a document column, or of a score column."""
    return pa.dictionary(pa.int32(), pa.string()) if key == DOCUMENT else pa.float64()


TEXT_OPTIONS = frozenset({"encoding", "invalid", "crlf", "max_line_bytes"})
"""The corpus keys that all readers of line-based formats take."""


@dataclass(frozen=True, slots=True)
class PairBatch:
    """Consecutive pairs: pair i is ``source[i]`` and ``target[i]``.

    Attributes:
        source: ``large_string`` array without nulls.
        target: the same, of the same length.
        faults: `Fault` or 0 for each pair, uint8, shape ``[pairs]``; None for no faults.
        rows: the row of each pair: its position in the corpus before any pair was dropped, counted from 0; int64, shape
            ``[pairs]``. None in a reader's batches, which have all rows in order.
        columns: the other columns by their keys in the config, arrays of the same length: ``scores.<name>`` is
            ``float64``, null for a pair without score; ``document`` is ``dictionary<int32, string>``, null for a pair
            without document.
        places: begin and end of the source's line in its file, newline included, then of the target's line; int64,
            shape ``[pairs, 4]``. Only for a file in UTF-8 for each side.
    """

    source: pa.Array
    target: pa.Array
    faults: Faults | None = None
    rows: Rows | None = None
    columns: Mapping[str, pa.Array] = field(default_factory=dict)
    places: Places | None = None

    def __len__(self) -> int:
        return len(self.source)

    def side(self, side: Side) -> pa.Array:
        """Returns a side's column."""
        return self.source if side == "source" else self.target

    def sizes(self) -> npt.NDArray[np.int64]:
        """Returns the UTF-8 bytes of each pair: int64, shape ``[pairs]``."""
        lengths = [pc.binary_length(side).to_numpy(zero_copy_only=False) for side in (self.source, self.target)]
        sizes: npt.NDArray[np.int64] = np.sum(lengths, axis=0, dtype=np.int64)
        return sizes

    def sound(self) -> PairBatch:
        """Returns the pairs without fault."""
        return self if self.faults is None else replace(self, faults=None).filter(self.faults == 0)

    def filter(self, keep: npt.NDArray[np.bool_]) -> PairBatch:
        """Returns the pairs that a mask of shape ``[pairs]`` selects."""
        mask = pa.array(keep)
        return self._chosen(keep, lambda column: column.filter(mask))

    def taken(self, pairs: pa.Array) -> PairBatch:
        """Returns the pairs with some indices."""
        return self._chosen(pairs.to_numpy(), lambda column: column.take(pairs))

    def __getitem__(self, pairs: slice) -> PairBatch:
        """Returns consecutive pairs."""
        return self._chosen(pairs, lambda column: column[pairs])

    def _chosen(
        self, index: slice | npt.NDArray[np.bool_ | np.int64], taken: Callable[[pa.Array], pa.Array]
    ) -> PairBatch:
        return PairBatch(
            taken(self.source),
            taken(self.target),
            None if self.faults is None else self.faults[index],
            None if self.rows is None else self.rows[index],
            {key: taken(values) for key, values in self.columns.items()},
            None if self.places is None else self.places[index],
        )


class Reader(ABC):
    """Base class: reads one corpus in bounded memory, any number of times.

    Attributes:
        parts: names of a corpus's files: ``("both",)`` or ``("source", "target")``.
        suffixes: lower-case ends of file names that imply the format if the config does not state one.
        options: the format-specific keys of a corpus that the reader takes.
        section: the model for the keys below a corpus's ``options``, or None without keys.
        version: increased when the same files give different pairs than before.
        multilingual: true if the languages decide which texts of a file are read.
        has_lines: true if a text may have several lines.
        lines_apart: true if each line can be read without the others, so that a large file can be read in slices.
        own_documents: where the format itself keeps documents, or an empty text if it has none.
        quote: a byte, or empty. Lines can be read apart only if every line contains the byte an even number of times.
        columns: where the files contain other columns than the sides, by their keys ``document`` and
            ``scores.<name>``.
        counts: numbers of ``byte_order_marks`` and ``carriage_returns`` removed so far.
    """

    parts: ClassVar[tuple[str, ...]]
    suffixes: ClassVar[tuple[str, ...]] = ()
    options: ClassVar[frozenset[str]]
    section: ClassVar[type[Section] | None] = None
    version: ClassVar[int] = 1
    multilingual: ClassVar[bool] = False
    has_lines: ClassVar[bool] = False
    lines_apart: ClassVar[bool] = False
    quote: ClassVar[bytes] = b""
    own_documents: ClassVar[str] = ""

    def __init__(
        self,
        corpus: Corpus,
        files: Mapping[str, Path],
        languages: Languages,
        slices: Mapping[str, LineSlice] | None = None,
    ) -> None:
        """Stores the arguments; opens no file.

        Args:
            corpus: entry of the corpus in the config.
            files: paths by the names in ``parts``.
            languages: languages of the config; the corpus may have others.
            slices: the lines to read of each file; None for all. Only for ``lines_apart``.
        """
        self.corpus = corpus
        self.files = files
        self.slices = slices or {}
        self.languages = corpus.languages or languages
        self.columns = self.columns_inside(corpus)
        self.joint = "\n" if self.divides(corpus) else " "  # between the lines of a text
        self.counts: Counter[str] = Counter()

    def own_options(self, section: type[S]) -> S:
        """Returns the ``options`` of the corpus as the model that the reader declares."""
        return section.model_validate(self.corpus.options)

    def policy(self, part: str) -> TextPolicy:
        """Returns the options for turning the bytes of a file into lines."""
        return TextPolicy.of(self.corpus, part, drops="invalid" in self.options)

    @abstractmethod
    def pairs(self) -> Iterator[PairBatch]:
        """Yields the pairs in the corpus's order, in batches with a few megabytes of text.

        Every row of the corpus is a pair; a pair that must be dropped has a fault.

        Raises:
            AlignmentError: the sides do not match.
            InvalidTextError: a file is not text in the corpus's encoding.
            CorpusError: a file is malformed or cannot be read.
        """

    def row_count(self) -> int:
        """Returns the row count, which is the number of pairs from :meth:`pairs`; subclasses may be faster.

        Raises:
            CorpusError: as :meth:`pairs`.
        """
        return sum(map(len, self.pairs()))

    @classmethod
    def has_column_at(cls, place: int | str) -> bool:
        """Returns True if files in this format can have a value of each pair at this place, such as a column.

        A reader that returns True yields batches with the columns of :attr:`columns`.
        """
        return bool(cls.own_documents) and place == cls.own_documents

    @classmethod
    def columns_inside(cls, corpus: Corpus) -> dict[str, int | str]:
        """Returns the places of columns in a corpus's files, without columns in separate files."""
        places = {key: place.at for key, place in corpus.places.items()}
        return {key: at for key, at in places.items() if at is not None and cls.has_column_at(at)}

    @classmethod
    def divides(cls, corpus: Corpus) -> bool:
        """Returns True if the texts of a corpus are documents, which have a row for each line."""
        return cls.has_lines and len(corpus.read_sides) == 1 and DOCUMENT in cls.columns_inside(corpus)

    @classmethod
    def header_lines(cls, corpus: Corpus) -> int:
        """Returns how many lines at the start of each corpus file are not rows."""
        return 0

    def lines(self, side: Side) -> Iterator[pa.Array]:
        """Yields one side's lines without fault as ``large_string`` arrays, in the corpus's order.

        Raises:
            CorpusError: as :meth:`pairs`.
        """
        return (batch.sound().side(side) for batch in self.pairs())

    def blocks(self, part: str) -> Iterator[Block]:
        """Yields the lines to read of one file.

        Raises:
            InvalidTextError: the file is not text in the corpus's encoding.
            CorpusError: the file cannot be read.
        """
        return iter_blocks(self.files[part], self.policy(part), self.counts, self.slices.get(part))

    def first_block(self, part: str) -> Block:
        """Returns the first block of a file, whatever the slice; does not change ``counts``.

        Raises:
            CorpusError: as :meth:`blocks`.
        """
        return next(iter_blocks(self.files[part], self.policy(part)))

    def text_files(self, side: Side) -> Sequence[Path] | None:
        """Returns the files with the lines of one side alone, in UTF-8; None for a format without such files."""
        return None


class SeveralFiles(Reader):
    """Reads a corpus that consists of several file groups, one after the other."""

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

    def text_files(self, side: Side) -> Sequence[Path] | None:
        files = [reader.text_files(side) for reader in self._readers]
        known = [paths for paths in files if paths is not None]
        return [*chain.from_iterable(known)] if len(known) == len(files) else None


class _Changed(Reader):
    """Base class: changes the pairs of another reader."""

    parts = ()
    options = frozenset()

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader.corpus, reader.files, reader.languages)
        self._reader = reader
        self.counts = reader.counts


class Divided(_Changed):
    """Reads a corpus of one side whose texts have a row for each line."""

    def pairs(self) -> Iterator[PairBatch]:
        (side,) = self.corpus.read_sides
        for batch in self._reader.pairs():
            texts = batch.side(side)
            if batch.faults is not None:
                texts = pc.if_else(pa.array(batch.faults == 0), texts, "")  # a text that is dropped is one row
            lines = pc.split_pattern(texts, "\n")
            without = replace(batch, **{side: no_text(len(batch))})
            yield replace(without.taken(pc.list_parent_indices(lines)), **{side: lines.flatten()})


class Swapped(_Changed):
    """Reads a corpus with its sides exchanged."""

    def pairs(self) -> Iterator[PairBatch]:
        for batch in self._reader.pairs():
            places = None if batch.places is None else batch.places[:, [2, 3, 0, 1]]
            yield replace(batch, source=batch.target, target=batch.source, places=places)

    def lines(self, side: Side) -> Iterator[pa.Array]:
        return self._reader.lines(OTHER[side])

    def text_files(self, side: Side) -> Sequence[Path] | None:
        return self._reader.text_files(OTHER[side])


def no_text(pairs: int) -> pa.Array:
    """Returns the side that a corpus of one side lacks: empty lines."""
    return pa.repeat(pa.scalar("", pa.large_string()), pairs)


def numbered(batches: Iterator[PairBatch], first: int) -> Iterator[PairBatch]:
    """Yields a reader's batches with the rows of their pairs, counted from ``first``."""
    for batch in batches:
        yield replace(batch, rows=np.arange(first, first + len(batch), dtype=np.int64))
        first += len(batch)


def every(batches: Iterator[pa.Array], stride: int) -> Iterator[pa.Array]:
    """Yields every n-th line: lines ``stride``, ``2 * stride`` and so on, counted from 1."""
    wait = stride - 1
    for batch in batches:
        wanted = np.arange(wait, len(batch), stride)
        wait = (wait - len(batch)) % stride
        if len(wanted):
            yield batch.take(pa.array(wanted))


def merged_faults(first: Faults | None, second: Faults | None) -> Faults | None:
    """Returns the fault of each pair: from the first side, or else from the second."""
    if first is None or second is None:
        return second if first is None else first
    return np.where(first != 0, first, second)


PAIRS_PER_BATCH = 8192
BATCH_CHARACTERS = 2 << 20


class PairBuilder:
    """Collects pairs into batches; joins a text's lines, and marks pairs that are too long.

    Args:
        max_line_bytes: a pair with a longer side gets :attr:`Fault.TOO_LONG`.
        where: the file, for messages.
        columns: keys of the columns other than the sides.
        joint: what joins the lines of a text.
    """

    def __init__(self, max_line_bytes: int, where: object, columns: Iterable[str] = (), joint: str = " ") -> None:
        self._limit = max_line_bytes
        self._columns: dict[str, list[Value]] = {key: [] for key in columns}
        self._where, self._joint = where, joint
        self._sources: list[str] = []
        self._targets: list[str] = []
        self._faults: list[int] = []
        self._characters = 0

    def add(
        self,
        source: str | None,
        target: str | None,
        fault: int = 0,
        columns: Mapping[str, Value] = MappingProxyType({}),
    ) -> None:
        """Adds a pair with its values of columns; a pair with a side that is None gets :attr:`Fault.MISSING_SIDE`."""
        if source is None or target is None:
            source, target, fault = source or "", target or "", fault or Fault.MISSING_SIDE
        if fault:
            source = target = ""
        self._sources.append(one_line(source, self._joint) if "\n" in source else source)
        self._targets.append(one_line(target, self._joint) if "\n" in target else target)
        self._faults.append(fault)
        self._characters += len(source) + len(target)
        for key, values in self._columns.items():
            values.append(columns.get(key))

    def full(self) -> Iterator[PairBatch]:
        """Yields a batch if there are enough pairs."""
        if len(self._sources) >= PAIRS_PER_BATCH or self._characters >= BATCH_CHARACTERS:
            yield from self.rest()

    def rest(self) -> Iterator[PairBatch]:
        """Yields a batch of the remaining pairs, if there are any."""
        if not self._sources:
            return
        source, target = self._column(self._sources), self._column(self._targets)
        faults = np.array(self._faults, np.uint8)
        faults[(faults == 0) & (longer(source, self._limit) | longer(target, self._limit))] = Fault.TOO_LONG
        columns = {key: pa.array(values, column_type(key)) for key, values in self._columns.items()}
        self._sources, self._targets, self._faults, self._characters = [], [], [], 0
        self._columns = {key: [] for key in columns}
        yield PairBatch(source, target, faults if faults.any() else None, columns=columns)

    def _column(self, texts: list[str]) -> pa.Array:
        try:
            return pa.array(texts, pa.large_string())
        except UnicodeEncodeError as error:
            shown = error.object[max(error.start - 20, 0) : error.end].encode("ascii", "backslashreplace").decode()
            raise InvalidTextError(
                f"{self._where}: a text has half of a surrogate pair, which is not a character (…{shown}); fix the text"
            ) from error


def one_line(text: str, joint: str = " ") -> str:
    """Joins a text's lines without white space at their ends; leaves out empty ones."""
    return joint.join(filter(None, (line.strip(" \t\r") for line in text.split("\n"))))


def longer(column: pa.Array, limit: int) -> npt.NDArray[np.bool_]:
    """Returns True for each text of more than ``limit`` UTF-8 bytes; bool, shape ``[texts]``."""
    return np.asarray(pc.greater(pc.binary_length(column), limit).to_numpy(zero_copy_only=False), np.bool_)
