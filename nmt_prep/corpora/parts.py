"""Compiled corpora: Parquet parts with the columns ``source``, ``target``, ``corpus`` and ``row``.

The parts of files that are read in place name lines of these files (:mod:`~nmt_prep.corpora.formats.plain`), and a part
may name another part with the pairs to leave out of it. The same functions read all kinds of parts, and give the same
batches.

A row group has about :data:`ROW_GROUP_BYTES` of text and is read as a whole; a part has about :data:`PART_BYTES`, or
half of them if the corpus has one side. Their boundaries depend only on the pairs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import model_serializer

from nmt_prep.base.artefacts import atomic_write, parse_json, parse_json_as
from nmt_prep.base.columns import LINES_PER_CHUNK, parquet_writer
from nmt_prep.base.digests import sha256_of
from nmt_prep.base.errors import CorpusError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.corpora.formats import plain as line_parts
from nmt_prep.corpora.formats.plain import LineGroup, LinePart, TextFile, runs_without, save_part, without
from nmt_prep.corpora.reader import PairBatch, column_type
from nmt_prep.corpora.scores import joined_column
from nmt_prep.text.blocks import text_bytes

ROW_GROUP_BYTES = 4 << 20
PART_BYTES = 64 << 20

LARGEST_COLUMN = 2**31 - 1  # Maximum size in bytes of a batch's column: Arrow's `string` has 32-bit offsets
SCORE = "score:"  # Prefix of score column names


BEFORE: Mapping[Side, str] = {"source": "before:source", "target": "before:target"}
"""Names of the columns with the repeated segments before a pair in its document: a list of texts per side."""

WORDS: Mapping[Side, str] = {"source": "words:source", "target": "words:target"}
"""Names of the columns with the words that ``limits.tokens`` counted, so that later stages need not make them again."""


def score_column(name: str) -> str:
    """Returns the column name of a score."""
    return f"{SCORE}{name}"


def part_schema(columns: Iterable[str] = (), *, rows: bool = True) -> pa.Schema:
    """Returns a part's columns.

    ``row`` is a pair's position in its corpus before any pair was dropped. ``document`` names the pair's document,
    or is null for a pair without document; consecutive rows with the same name are a document, in the order of ``row``.
    ``score:<name>`` are the scores that came with the corpus, null for a pair without score.

    Args:
        columns: keys of the columns in the config, sorted.
        rows: True for a column ``row``.
    """
    return pa.schema(
        [
            pa.field("source", pa.string(), nullable=False),
            pa.field("target", pa.string(), nullable=False),
            pa.field("corpus", pa.dictionary(pa.int32(), pa.string()), nullable=False),
            *([pa.field("row", pa.int64(), nullable=False)] if rows else []),
            *(pa.field(key.replace("scores.", SCORE), column_type(key)) for key in columns),
        ]
    )


@dataclass(frozen=True)
class PairFile:
    """A file of pairs. Sizes and digests that are not known are None, and are left out in JSON."""

    file: str  # in manifests and results of tasks, the path relative to a directory of the stage
    pairs: int
    corpus: str
    bytes: int | None = None  # UTF-8 bytes of both sides
    source_bytes: int | None = None  # UTF-8 bytes of the source lines, with one byte for the end of each line
    target_bytes: int | None = None  # likewise of the target lines
    sha256: str | None = None
    reversed: Literal[True] | None = None  # true if the sides are exchanged on reading: the corpus's other direction

    @property
    def path(self) -> Path:
        return Path(self.file)

    @property
    def text_bytes(self) -> int:
        """UTF-8 bytes of both sides, without line ends, or 0 if unknown."""
        if self.bytes is not None or self.source_bytes is None or self.target_bytes is None:
            return self.bytes or 0
        return self.source_bytes + self.target_bytes - 2 * self.pairs

    def words(self) -> dict[Side, str]:
        """Returns the columns with the words of each side, or with its text if the file has no such words."""
        names = () if self.reversed else schema_of(self.path).names
        return {side: name if name in names else side for side, name in WORDS.items()}

    def below(self, directory: Path) -> PairFile:
        """Returns the file with its path below a directory, or beside it if the path begins with ``../``."""
        if self.file.startswith("../"):  # the directory itself need not exist
            return replace(self, file=self.file[3:]).below(directory.parent)
        return replace(self, file=str(directory / self.file))

    def reverse(self, corpus: str) -> PairFile:
        """Returns the file for the opposite direction, which counts as a corpus with the given name."""
        flag: Literal[True] | None = None if self.reversed else True
        source, target = self.source_bytes, self.target_bytes
        return replace(self, corpus=corpus, source_bytes=target, target_bytes=source, reversed=flag)

    def batches(
        self, row_groups: Iterable[int] | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Reads the file as :func:`iter_pairs` does, with the sides and its direction's corpus."""
        if not self.reversed:
            yield from iter_pairs(self.path, row_groups, columns)
            return
        exchanged = {"source": "target", "target": "source"}
        exchanged |= {BEFORE["source"]: BEFORE["target"], BEFORE["target"]: BEFORE["source"]}
        wanted = None if columns is None else [exchanged.get(name, name) for name in columns]
        for batch in iter_pairs(self.path, row_groups, wanted):
            names = [exchanged.get(name, name) for name in batch.schema.names]
            found = dict(zip(names, batch.columns, strict=True))
            if "corpus" in found:
                found["corpus"] = pa.DictionaryArray.from_arrays(found["corpus"].indices, pa.array([self.corpus]))
            names.sort(key=lambda name: SIDES.index(name) if name in SIDES else len(SIDES))
            yield pa.record_batch([found[name] for name in names], names=names)

    @model_serializer(mode="wrap")
    def _known(self, as_mapping: Callable[[PairFile], dict[str, object]]) -> dict[str, object]:
        return {name: value for name, value in as_mapping(self).items() if value is not None}


def write_parts(
    batches: Iterable[PairBatch], corpus: str, directory: Path, prefix: str, sides: int = 2
) -> list[PairFile]:
    """Writes pairs to ``<directory>/<prefix>-<number, 5 digits>.parquet``, and publishes each part when it is whole.

    Either all batches have rows or none has; all have the same columns, and text on one or two sides.
    """
    groups = (_joined(held, corpus) for held in _row_groups(batches, corpus))
    parts: list[PairFile] = []
    group = next(groups, None)
    while group is not None:
        name = f"{prefix}-{len(parts):05d}.parquet"
        pairs = size = 0
        with atomic_write(directory / name) as beside, part_writer(beside, group.schema) as writer:
            while group is not None and size < PART_BYTES * sides // 2:
                writer.write_batch(group, row_group_size=len(group))
                pairs += len(group)
                size += text_bytes(group.column("source")) + text_bytes(group.column("target"))
                group = None  # groups of very short lines are large: free this one before collecting the next
                group = next(groups, None)
        parts.append(PairFile(name, pairs, corpus, size, sha256=sha256_of(directory / name)))
    return parts


def write_line_parts(
    batches: Iterable[PairBatch],
    corpus: str,
    directory: Path,
    prefix: str,
    files: Mapping[Side, TextFile],
    *,
    has_rows: bool,
    strip_returns: bool,
) -> list[PairFile]:
    """Writes ``<directory>/<prefix>-<number, 5 digits>.json``, with the row groups and parts of ``write_parts``.

    The pairs have rows and places. Divides a row group that takes more than 16 MiB in a file because of lines that are
    not pairs.
    """
    written: list[PairFile] = []
    groups: list[LineGroup] = []
    size = 0

    def publish() -> None:
        name = f"{prefix}-{len(written):05d}{line_parts.SUFFIX}"
        part = LinePart.of(corpus, files, groups, has_rows=has_rows, strip_returns=strip_returns)
        pairs, digest = sum(group.pairs for group in groups), save_part(part, directory / name)
        written.append(PairFile(name, pairs, corpus, size, sha256=digest))

    for group, text in (pair for held in _row_groups(batches, corpus) for pair in line_parts.groups_of(held)):
        groups.append(group)
        size += text
        if size >= PART_BYTES * len(files) // 2:
            publish()
            groups, size = [], 0
    if groups:
        publish()
    return written


KEPT = ".kept"
"""Suffix of a part that consists of some pairs from another part."""


@dataclass(frozen=True)
class KeptGroup:
    """A row group from another part, without some of its pairs."""

    number: int  # number of the row group in the other part
    pairs: int
    left_out: tuple[int, ...]  # runs of the other pairs, as `LineGroup` has runs of lines


@dataclass(frozen=True)
class KeptPart:
    """The content of a part that consists of some pairs from another part."""

    part: str  # the other part, relative to the directory of this one
    groups: tuple[KeptGroup, ...]

    @classmethod
    def of(cls, part: str, sizes: Iterable[int], kept: npt.NDArray[np.bool_]) -> Self:
        """Makes a part, given the sizes of the other one's row groups, and True for the pairs to keep."""
        groups, first = list[KeptGroup](), 0
        for number, size in enumerate(sizes):
            chosen = kept[first : first + size]
            first += size
            if chosen.any():
                groups.append(KeptGroup(number, int(chosen.sum()), runs_without(chosen)))
        return cls(part, tuple(groups))

    @classmethod
    def load(cls, path: Path) -> Self:
        return parse_json_as(cls, parse_json(path.read_bytes()))

    def read(
        self, path: Path, numbers: Iterable[int] | None, columns: Sequence[str] | None
    ) -> Iterator[pa.RecordBatch]:
        """Yields the batches of row groups as :func:`iter_pairs` does."""
        groups = self.groups if numbers is None else [self.groups[number] for number in numbers]
        kept = np.concatenate([np.empty(0, np.bool_), *(without(group.left_out, group.pairs) for group in groups)])
        first = 0
        for batch in iter_pairs(path.parent / self.part, [group.number for group in groups], columns):
            chosen = kept[first : first + len(batch)]
            first += len(batch)
            if chosen.any():
                yield batch if chosen.all() else batch.filter(pa.array(chosen))
        if first != len(kept):
            raise ValueError(f"{self.part} has {first:,} pairs instead of {len(kept):,}")


class BatchFile(ExitStack):
    """A Parquet file of kept or rejected pairs, with a row group for each batch that is not empty.

    The first batch creates the file, so that there are no empty files. A file that is read once and deleted need not be
    compressed.
    """

    def __init__(self, path: Path, *, compressed: bool = True) -> None:
        super().__init__()
        self.path = path
        self._compressed = compressed
        self.pairs = 0  # number of pairs written so far
        self._writer: pq.ParquetWriter | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Adds a row group."""
        if not len(batch):
            return
        if self._writer is None:
            beside = self.enter_context(atomic_write(self.path))
            self._writer = self.enter_context(part_writer(beside, batch.schema, compressed=self._compressed))
        self._writer.write_batch(batch, row_group_size=len(batch))
        self.pairs += len(batch)


class PartFile(BatchFile):
    """A file of pairs that is a part."""

    def __init__(self, path: Path, corpus: str, *, compressed: bool = True) -> None:
        super().__init__(path, compressed=compressed)
        self._corpus, self._bytes = corpus, [0, 0]

    def write(self, batch: pa.RecordBatch) -> None:
        super().write(batch)
        for number, side in enumerate(SIDES):
            self._bytes[number] += text_bytes(batch.column(side)) + len(batch)

    def made(self) -> PairFile | None:
        """Returns the file after it is closed, with a digest if it is compressed; None if there were no pairs."""
        if not self.pairs:
            return None
        digest = sha256_of(self.path) if self._compressed else None
        source, target = self._bytes
        return PairFile(name_of(self.path), self.pairs, self._corpus, None, source, target, digest)


def name_of(path: Path) -> str:
    """Returns the path of a part, relative to the directory of its stage."""
    return f"{path.parent.name}/{path.name}"


def part_writer(path: Path, schema: pa.Schema, *, compressed: bool = True) -> AbstractContextManager[pq.ParquetWriter]:
    """Opens a file for writing with the compression and encodings of parts."""
    names = [f"{each.name}.list.element" if pa.types.is_list(each.type) else each.name for each in schema]
    zstd = [name for name in names if compressed and name not in WORDS.values()]  # words are read most often
    return parquet_writer(
        path,
        schema,
        compression=dict.fromkeys(zstd, "zstd"),
        compression_level=dict.fromkeys(zstd, 1),
        use_dictionary=[name for name in ("corpus", "document", "rule", "kept_corpus") if name in schema.names],
        column_encoding={"row": "DELTA_BINARY_PACKED"},
        write_statistics=False,
    )


def row_groups(path: str | os.PathLike[str]) -> list[int]:
    """Returns the pair count of each row group in a part."""
    path = Path(path)
    with _reading(path):
        if path.suffix == KEPT:
            return [group.pairs for group in KeptPart.load(path).groups]
        if path.suffix == line_parts.SUFFIX:
            return [group.pairs for group in LinePart.load(path).groups]
        metadata = pq.read_metadata(path)
    return [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]


def iter_pairs(
    path: str | os.PathLike[str], row_groups: Iterable[int] | None = None, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Reads a part one row group at a time, as batches of :func:`part_schema`. Several threads may read parts at once.

    A batch has at most :data:`~nmt_prep.base.columns.LINES_PER_CHUNK` pairs, however short they are.

    Args:
        path: the part.
        row_groups: numbers of the row groups, in the order to read them; None for all.
        columns: names of the columns to read; None for all.

    Raises:
        CorpusError: the part or a file with its lines is damaged, has changed, or cannot be read.
    """
    path = Path(path)
    with _reading(path):
        if path.suffix == KEPT:
            yield from KeptPart.load(path).read(path, row_groups, columns)
            return
        if path.suffix == line_parts.SUFFIX:
            for batch in _named_lines(path, row_groups, columns):
                yield from (batch[at : at + LINES_PER_CHUNK] for at in range(0, len(batch), LINES_PER_CHUNK))
            return
        with pq.ParquetFile(path) as part:
            for number in range(part.num_row_groups) if row_groups is None else row_groups:
                table = part.read_row_group(number, columns, use_threads=False).combine_chunks()
                yield from table.to_batches(max_chunksize=LINES_PER_CHUNK)


def other_columns(path: Path) -> dict[str, pa.DataType]:
    """Returns the names and types of a part's columns, except text, corpus and row.

    A dictionary column is listed with the type of its values.
    """
    own = (*SIDES, "corpus", "row", *BEFORE.values(), *WORDS.values())
    others = [column for column in schema_of(path) if column.name not in own]
    return {
        column.name: column.type.value_type if pa.types.is_dictionary(column.type) else column.type for column in others
    }


def schema_of(path: Path) -> pa.Schema:
    """Returns the columns of a part."""
    if path.suffix == line_parts.SUFFIX:
        return part_schema()
    with _reading(path):
        return schema_of(path.parent / KeptPart.load(path).part) if path.suffix == KEPT else pq.read_schema(path)


def _named_lines(path: Path, numbers: Iterable[int] | None, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    """Yields row groups from a part that names lines in files."""
    part = LinePart.load(path)
    schema = part_schema(rows=part.has_rows)
    wanted = [name for name in schema.names if columns is None or name in columns]
    for group, text in part.read(path, numbers, [side for side in SIDES if side in wanted]):
        arrays: dict[str, pa.Array] = dict(text.items())
        if "corpus" in wanted:
            zeros = np.zeros(group.pairs, np.int32)
            arrays["corpus"] = pa.DictionaryArray.from_arrays(zeros, pa.array([part.corpus]))
        if "row" in wanted:
            arrays["row"] = pa.array(group.rows())
        chosen = pa.schema([schema.field(name) for name in wanted])
        yield pa.record_batch([arrays[name] for name in wanted], schema=chosen)


def scores_of(batch: pa.RecordBatch) -> dict[str, npt.NDArray[np.float64]]:
    """Returns the scores in a batch of a part by name: float64, shape ``[pairs]``; NaN for a pair without score."""
    columns = {name: batch.column(name) for name in batch.schema.names if name.startswith(SCORE)}
    return {name[len(SCORE) :]: column.to_numpy(zero_copy_only=False) for name, column in columns.items()}


def _row_groups(batches: Iterable[PairBatch], corpus: str) -> Iterator[list[PairBatch]]:
    """Yields row groups as lists of batches, each as short as possible with :data:`ROW_GROUP_BYTES`, except the last.

    The texts are Arrow ``string`` arrays, whose offsets take half the memory.
    """
    held: list[PairBatch] = []
    sides, size = np.zeros(2, np.int64), 0
    for batch in batches:
        ends = np.cumsum(batch.sizes())
        first = taken = 0
        while first < len(batch):
            last = int(np.searchsorted(ends, taken + ROW_GROUP_BYTES - size))
            piece = batch[first : last + 1]
            sides += text_bytes(piece.source), text_bytes(piece.target)
            if sides.max() > LARGEST_COLUMN:
                raise CorpusError(
                    f"corpus {corpus}: a line has 2 GiB or more, which no part can hold; remove or split it"
                )
            held.append(replace(piece, source=piece.source.cast(pa.string()), target=piece.target.cast(pa.string())))
            first += len(piece)
            if last < len(batch):
                yield held
                held, size, taken = [], 0, int(ends[last])
                sides = np.zeros(2, np.int64)
            else:
                size += int(ends[-1]) - taken
    if held:
        yield held


def _joined(held: list[PairBatch], corpus: str) -> pa.RecordBatch:
    """Returns a row group's batches as one batch with :func:`part_schema`, and empties the list."""
    columns: list[pa.Array] = [pa.concat_arrays([pairs.side(side) for pairs in held]) for side in SIDES]
    columns.append(pa.DictionaryArray.from_arrays(np.zeros(len(columns[0]), np.int32), pa.array([corpus])))
    if rows := [pairs.rows for pairs in held if pairs.rows is not None]:
        columns.append(pa.array(np.concatenate(rows)))
    keys = sorted(held[0].columns)
    columns += [joined_column([pairs.columns[key] for pairs in held]) for key in keys]
    held.clear()
    return pa.record_batch(columns, schema=part_schema(keys, rows=bool(rows)))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Converts the errors of reading a part, including lines that differ from its description."""
    try:
        yield
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        raise CorpusError(
            f"cannot read the compiled part {path}: {error}; run again with --verify to make it again"
        ) from error
