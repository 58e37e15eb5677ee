"""The round that reads the documents of corpora into shards."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.errors import CorpusError, InvalidTextError
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.sentences.aligner import Level, Texts
from nmt_prep.cleaning.sentences.document_texts import MOST_TIMES, Raw, joined, read_documents
from nmt_prep.cleaning.sentences.search import Beads, BeadTotals
from nmt_prep.config.documents import Documents
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round
from nmt_prep.text.blocks import TextPolicy


@dataclass(frozen=True)
class Shard:
    """Aligned documents."""

    file: Path  # the sentences of the documents
    beads: Path  # the beads of each document
    pairs: Path  # the text of the beads, in the same order; a sentence without counterpart has an empty one
    count: int  # number of beads
    sentences: int  # number of source sentences
    totals: BeadTotals  # numbers of beads
    level: Level = field(default_factory=Level)  # the scores of its beads; without scores before a model is learned

    @property
    def files(self) -> tuple[Path, ...]:
        return self.file, self.beads, self.pairs


def write_shard(
    file: Path,
    key: str,
    number: int,
    texts: Sequence[Texts],
    paths: Sequence[Beads],
    languages: tuple[str, str],
    directory: Path | None = None,
) -> Shard:
    """Writes the beads of a shard and their text."""
    where = directory or file.parent
    beads, pairs = (where / f"{key}-{number:05d}.{what}.parquet" for what in ("beads", "pairs"))
    lists = pa.array([path.ravel() for path in paths], pa.large_list(pa.int64()))
    write_table(beads, pa.table([lists], ["beads"]))
    text = [joined(sides, path, languages) for sides, path in zip(texts, paths, strict=True)]
    columns = [pa.chunked_array(side) for side in zip(*text, strict=True)]
    write_table(pairs, pa.table(columns, list(SIDES)))
    return Shard(file, beads, pairs, sum(map(len, paths)), sum(len(sides[0]) for sides in texts), BeadTotals.of(paths))


def lists_of(columns: Sequence[pa.Array]) -> pa.Array:
    """Returns a column with a list for each array."""
    offsets = np.cumsum([0, *map(len, columns)])
    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), pa.concat_arrays(columns))


def read_shard(shard: Shard) -> tuple[list[str], list[Texts], list[Beads]]:
    """Returns a shard's document names, their sentences, and their previous beads."""
    table = pq.read_table(shard.file, use_threads=False).combine_chunks()
    sides = [table.column(side).combine_chunks() for side in ("source", "target")]
    texts = [(sides[0][row].values, sides[1][row].values) for row in range(len(table))]
    beads = pq.read_table(shard.beads, use_threads=False).column("beads")
    paths = [np.asarray(row.values.to_numpy(), np.int64).reshape(-1, 4) for row in beads]
    return table.column("name").to_pylist(), texts, paths


def rows_of(path: Path) -> Iterator[Mapping[str, str]]:
    """Yields a table's rows, holding a few in memory."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(64, use_threads=False):
            yield from batch.to_pylist()


def write_table(path: Path, table: pa.Table) -> None:
    """Writes a table to a Parquet file."""
    with atomic_write(path) as beside:
        pq.write_table(table, beside, compression="zstd", compression_level=1, write_statistics=False)


SHARD_BYTES = 2 << 20  # Bytes of text per shard, both sides together; a longer document is alone in its shard


@dataclass(frozen=True)
class ReadTask:
    """A corpus's documents to read."""

    key: str
    where: str  # key of the corpus in the config, for messages
    # names of documents, and their files by side; or the files that hold all of them
    files: tuple[tuple[str, dict[str, Path]], ...]
    names: dict[Path, str]  # names of the files in messages, if they differ from their paths
    options: Documents  # how the documents are stored
    policies: dict[str, TextPolicy]  # how the bytes of each file become lines
    directory: Path  # directory for the shards


@dataclass(frozen=True)
class RawShard:
    """A file of documents, and the size of their text in bytes."""

    file: Path
    bytes: int


@dataclass(frozen=True)
class ReadDocuments:
    """A corpus's shards; documents that are left out, each with the reason."""

    shards: tuple[RawShard, ...]
    refused: tuple[tuple[str, str], ...]


def read_shards(task: ReadTask, tick: Tick) -> ReadDocuments:
    """Writes a corpus's documents to shards. Ticks are documents."""
    shards: list[RawShard] = []
    refused: list[tuple[str, str]] = []
    held: list[Raw] = []
    seen: set[bytes] = set()
    size = 0

    def write() -> None:
        file = task.directory / f"{task.key}-{len(shards):05d}.parquet"
        columns = [pa.array(column, pa.large_string()) for column in zip(*held, strict=True)]
        held.clear()
        write_table(file, pa.table(columns, ["name", "source", "target"]))
        shards.append(RawShard(file, size))

    try:
        for name, files in task.files:
            for document in read_documents(name, files, task.options, task.policies):
                tick(1)
                try:
                    _, *encoded = (text.encode() for text in document)
                except UnicodeEncodeError as error:
                    raise InvalidTextError(
                        f"document {document[0]!r} contains a lone surrogate, which is not text; correct it"
                    ) from error
                if (reason := _fault(encoded[0], encoded[1], seen)) is not None:
                    refused.append((document[0], reason))
                    continue
                length = sum(map(len, encoded))
                if held and size + length > SHARD_BYTES:
                    write()
                    size = 0
                held.append(document)
                size += length
    except CorpusError as error:
        message = str(error)
        for path, shown in task.names.items():
            message = message.replace(str(path), shown)
        raise type(error)(f"{task.where}: {message}") from error
    if held:
        write()
    if not shards:
        reasons = ", ".join(sorted({reason for _, reason in refused})) or "there are none"
        raise CorpusError(
            f"{task.where}: no document can be aligned ({reasons}); correct the url, or remove the corpus"
        )
    return ReadDocuments(tuple(shards), tuple(refused))


def _fault(source: bytes, target: bytes, seen: set[bytes]) -> str | None:
    """Returns the reason to leave out a document, or None. ``seen`` has digests of the documents so far."""
    if not source.strip() or not target.strip():
        return "empty"
    sizes = len(source), len(target)
    if max(sizes) >= MOST_TIMES * min(sizes) and max(sizes) > MOST_TIMES * 10:
        return "unequal"
    digest = hashlib.sha256(source + b"\0" + target).digest()
    if digest in seen:
        return "repeated"
    seen.add(digest)
    return None


READ = Round(
    "documents",
    read_shards,
    ReadDocuments,
    unit="documents",
    words="reading documents",
    made=lambda _, result: [shard.file for shard in result.shards],
)


def total_bytes(results: Iterable[ReadDocuments]) -> int:
    """Returns the text size of the documents that were read, in bytes."""
    return sum(shard.bytes for result in results for shard in result.shards)
