"""The round that reads the documents of corpora into shards."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from nmt_prep.base.errors import CorpusError, InvalidTextError
from nmt_prep.cleaning.sentences.document_texts import MOST_TIMES, Raw, read_documents
from nmt_prep.config.documents import Documents
from nmt_prep.corpora.blocks import TextPolicy
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round
from nmt_prep.stages.sentences.shards import write_table

SHARD_BYTES = 2 << 20  # Bytes of text of a shard, both sides together; a longer document is alone in its shard


@dataclass(frozen=True)
class ReadTask:
    """The documents of a corpus to read."""

    key: str  # name of the task
    where: str  # key of the corpus in the config, for messages
    # names of documents, and their files by side; or the files that hold all of them
    files: tuple[tuple[str, dict[str, Path]], ...]
    names: dict[Path, str]  # names of the files in messages, if they differ from their paths
    options: Documents  # how the documents are stored
    policies: dict[str, TextPolicy]  # how the bytes of each file become lines
    directory: Path  # directory for the shards


@dataclass(frozen=True)
class RawShard:
    """A file of documents, and the bytes of their text."""

    file: Path
    bytes: int


@dataclass(frozen=True)
class ReadDocuments:
    """The shards of a corpus; documents that are left out, each with the reason."""

    shards: tuple[RawShard, ...]
    refused: tuple[tuple[str, str], ...]


def read_shards(task: ReadTask, tick: Tick) -> ReadDocuments:
    """Writes the documents of a corpus to shards. Ticks are documents."""
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
                        f"document {document[0]!r} holds a lone surrogate, which is not text; correct it"
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
    """Returns the bytes of text of the documents that were read."""
    return sum(shard.bytes for result in results for shard in result.shards)
