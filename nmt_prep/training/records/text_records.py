"""Records with layout ``text``: pairs as text, in the order of the global shuffle, which loaders encode to IDs.

A shard is an Arrow IPC file, whose record batches of 256 pairs have the columns ``source``, ``target``, ``corpus`` (its
number) and the other columns of the corpora, such as ``links`` and ``score:<name>``; null where a corpus has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import Bucket

from nmt_prep.base.columns import Ragged, TextColumn, concatenated
from nmt_prep.base.digests import seed_of
from nmt_prep.base.errors import ArgumentError, EncodeError, RecordsError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.subwords.facts import BuiltVocabulary, VocabularyFacts
from nmt_prep.subwords.frame import Frame
from nmt_prep.training.records.dataset_json import DatasetInfo, VocabularyInfo
from nmt_prep.training.records.shard_reader import PairColumns
from nmt_prep.training.records.shuffle_plan import PAIRS_PER_BLOCK

Columns: TypeAlias = "tuple[tuple[str, str], ...]"
"""Names and Arrow types of the columns other than ``source``, ``target`` and ``corpus``."""

Subwords: TypeAlias = "Mapping[Side, Mapping[Any, float]]"
"""Options of subword sampling for each side, such as ``{"source": {"alpha": 0.5}, "target": {"dropout": 0.1}}``."""

LINKS = "links"  # Column for word links, such as `0-0 1-2`

_TEXT_BYTES = 4 << 20
_LENGTHS = ("source_ids", "target_ids")


# Spill files know two texts per pair. Further columns travel in the target, after line ends: a line has none itself, so
# the split is exact. An absent value is empty text, and becomes null again in `_batches_of`.
def joined_columns(target: pa.Array, columns: Iterable[pa.Array]) -> pa.Array:
    """Returns lines, each followed by its other columns, so that spill files keep them together; null is empty."""
    texts = (pc.fill_null(column.cast(pa.large_string()), "") for column in columns)
    return concatenated(target, *texts, between="\n")


def split_columns(lines: pa.Array, count: int) -> list[pa.Array]:
    """Returns the lines and the ``count`` columns that :func:`joined_columns` joined, as text."""
    if not count:
        return [lines]
    parts = pc.list_flatten(pc.split_pattern(lines, "\n"))
    return [parts.take(pa.array(np.arange(first, len(parts), count + 1))) for first in range(count + 1)]


def text_schema(columns: Columns) -> pa.Schema:
    """Returns a shard's schema."""
    own = [("source", "string"), ("target", "string"), ("corpus", "int32")]
    return pa.schema(
        [pa.field(name, kind, nullable=False) for name, kind in own] + [pa.field(*pair) for pair in columns]
    )


def blocks_of(buckets: Iterable[Bucket], columns: Columns) -> Iterator[tuple[pa.RecordBatch, npt.NDArray[np.int64]]]:
    """Yields a shard's record batches, and their pairs' index: int64, shape ``[pairs, 3]``.

    A pair's index is its ID count on each side, and its corpus.
    """
    # Buckets end anywhere, but all blocks except the last have 256 pairs: `read_text` finds a pair by division.
    left: list[pa.RecordBatch] = []
    for batch in (batch for bucket in buckets for batch in _batches_of(bucket, columns)):
        table = pa.Table.from_batches([*left, batch]).combine_chunks()
        left = []
        for block in table.to_batches(max_chunksize=PAIRS_PER_BLOCK):
            if len(block) == PAIRS_PER_BLOCK:
                yield _indexed(block)
            else:
                left.append(block)
    yield from map(_indexed, left)


def _batches_of(bucket: Bucket, columns: Columns) -> Iterator[pa.RecordBatch]:
    schema = text_schema(columns)
    lengths = [(name, "int64") for name in _LENGTHS]
    schema = pa.schema([*schema, *(pa.field(*pair) for pair in lengths)])
    first = 0
    while first < len(bucket):
        sources, source_offsets, targets, target_offsets, corpora = bucket.text(first, _TEXT_BYTES)
        source = TextColumn(sources, source_offsets).to_arrow()
        target, *others = split_columns(TextColumn(targets, target_offsets).to_arrow(), len(_LENGTHS) + len(columns))
        named = {"source": source.cast(pa.string()), "target": target.cast(pa.string()), "corpus": pa.array(corpora)}
        for (name, kind), column in zip((*lengths, *columns), others, strict=True):
            absent = pc.equal(column, "")
            named[name] = pc.if_else(absent, pa.scalar(None, column.type), column).cast(kind)
        yield pa.RecordBatch.from_pydict(named, schema)
        first += len(corpora)


def _indexed(block: pa.RecordBatch) -> tuple[pa.RecordBatch, npt.NDArray[np.int64]]:
    numbers = [block.column(name).to_numpy().astype(np.int64) for name in (*_LENGTHS, "corpus")]
    return block.drop_columns(list(_LENGTHS)), np.stack(numbers, axis=1)


def read_text(path: str | Path, first: int, pairs: int) -> pa.RecordBatch:
    """Returns consecutive pairs from a shard with layout ``text``; ``first`` is the first pair's index."""
    end = first + pairs
    blocks = range(first // PAIRS_PER_BLOCK, -(-end // PAIRS_PER_BLOCK))
    try:
        with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as shard:
            table = pa.Table.from_batches([shard.get_batch(block) for block in blocks], shard.schema)
        table = table.slice(first - blocks.start * PAIRS_PER_BLOCK, pairs).combine_chunks()
        table.validate(full=True)
        (batch,) = table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
        own = text_schema(())
        if list(batch.schema)[: len(own)] != list(own) or any(batch.column(name).null_count for name in own.names):
            raise pa.ArrowInvalid("it lacks the columns or values of the layout text")
        if len(batch) != pairs:
            raise pa.ArrowInvalid(f"it has {len(batch)} of {pairs} pairs from {first} on")
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise RecordsError(f"{path}: cannot be read: {error}; restore the file or encode again") from error
    return batch


def pairs_in(path: str | Path) -> int:
    """Returns the pair count of a shard with layout ``text``."""
    try:
        with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as shard:
            return sum(shard.get_batch(number).num_rows for number in range(shard.num_record_batches))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise RecordsError(f"{path}: {error}; restore the file or encode again") from error


@dataclass(frozen=True)
class TextEncoder:
    """Encodes the text of a split's pairs to IDs."""

    vocabularies: Mapping[Side, BuiltVocabulary]  # the vocabulary of each side
    frames: Mapping[Side, tuple[Frame, ...]]  # the frame of each corpus, per side
    subwords: Subwords = field(default_factory=dict)  # empty for the IDs that the `encode` stage counted
    seed: int = 0  # seed of subword sampling

    @classmethod
    def of(
        cls,
        records_dir: Path,
        info: DatasetInfo,
        split: str,
        subwords: Subwords | None = None,
        seed: int = 0,
        base_dir: Path | None = None,
    ) -> Self:
        """Loads the vocabularies, and checks the options of subword sampling.

        ``base_dir`` is the same as for :class:`BuiltVocabulary`.
        """
        described: dict[Side, VocabularyInfo] = {"source": info.vocab.source, "target": info.vocab.target}
        names = [facts.name for facts in fields(VocabularyFacts)]
        vocabularies = {
            side: BuiltVocabulary(
                records_dir / facts.file, VocabularyFacts(**{name: getattr(facts, name) for name in names}), base_dir
            )
            for side, facts in described.items()
        }
        bare = info.causal is not None and info.causal.template is not None  # a chat template has all other IDs
        frames = {
            side: tuple(
                Frame() if bare else Frame.parse(vocabularies[side].load(), described[side].frame, corpus.tag.get(side))
                for corpus in info.corpora[split]
            )
            for side in SIDES
        }
        if not isinstance(subwords, Mapping | None):
            raise ArgumentError(f"subwords is {subwords!r}; give a mapping such as {{'source': {{'alpha': 0.5}}}}")
        encoder = cls(vocabularies, frames, subwords or {}, seed)
        for side, options in encoder.subwords.items():
            encoder.check(side, options)
        return encoder

    def check(self, side: Side, options: Mapping[Any, float]) -> None:
        if side not in SIDES:
            raise ArgumentError(f"subwords names the side {side!r}; the sides are source and target")
        if not isinstance(options, Mapping) or not options.keys() <= {"alpha", "nbest", "dropout"} or not options:
            raise ArgumentError(f"subwords.{side} is {options!r}; give a mapping with alpha, nbest or dropout")
        try:
            self.ids(side, pa.array([""]), 0, 0, 1)
        except (EncodeError, TypeError, ValueError) as error:
            kind = self.vocabularies[side].facts.kind
            reason = f"a vocabulary of kind {kind} has no such option" if isinstance(error, TypeError) else error
            raise ArgumentError(f"subwords.{side}: {reason}") from error

    def pairs(self, text: pa.RecordBatch, first: int, epoch: int, threads: int | None = None) -> PairColumns:
        """Returns the IDs of pairs, each within its corpus's frame."""
        corpora = self.corpora_of(text)
        source, target = (
            _framed(self.ids(side, text.column(side), first, epoch, threads), self.frames[side], corpora)
            for side in SIDES
        )
        return PairColumns(source, target, corpora, np.empty(0, np.int32))

    def corpora_of(self, text: pa.RecordBatch) -> npt.NDArray[np.int32]:
        """Returns the corpus index of each pair, which ``dataset.json`` has."""
        corpora = np.asarray(text.column("corpus").to_numpy(zero_copy_only=False), np.int32)
        if corpora.max(initial=0) >= max(len(self.frames["source"]), 1) or corpora.min(initial=0) < 0:
            raise RecordsError("the records name a corpus that dataset.json lacks; encode again")
        return corpora

    def ids(self, side: Side, lines: pa.Array, first: int, epoch: int, threads: int | None = None) -> Ragged:
        """Returns the IDs of a side's lines, without frames; see :meth:`pairs`."""
        encode: Callable[..., Ragged] = self.vocabularies[side].load().encode_batch
        options: dict[str, Any] = dict(self.subwords.get(side, {}))
        if options:
            # The draws of a line depend on seed, epoch, side and its index in the split or stream alone: a resumed
            # loader, and one that only counts batches, get the same IDs.
            if "nbest" in options:
                options["nbest"] = int(options["nbest"])
            options |= {"seed": seed_of(f"{self.seed}\n{epoch}\nsubwords of {side}"), "first_line": first}
        return encode(lines, threads, **options)


def _framed(rows: Ragged, frames: Sequence[Frame], corpora: npt.NDArray[np.int32]) -> Ragged:
    if len(set(frames)) <= 1:
        return frames[0].around(rows) if frames else rows
    parts, places = [], []
    for frame in dict.fromkeys(frames):
        mine = np.flatnonzero(np.isin(corpora, [number for number, other in enumerate(frames) if other == frame]))
        parts.append(frame.around(rows.taken(mine)))
        places.append(mine)
    return Ragged.joined(parts).taken(np.argsort(np.concatenate(places)))
