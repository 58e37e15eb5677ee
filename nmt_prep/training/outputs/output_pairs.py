"""The pairs in an output's shard, in shuffled order: IDs from the records, or text from spill files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.base.columns import Ragged, TextColumn, concatenated
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.subwords import segmented
from nmt_prep.subwords.facts import BuiltVocabulary
from nmt_prep.training.records.record_columns import ShardIndex
from nmt_prep.training.records.shard_reader import PairColumns, loss_mask, read_span
from nmt_prep.training.records.shuffle_plan import Layout, ShardPlan
from nmt_prep.training.records.text_records import TextEncoder, read_text, split_columns
from nmt_prep.training.records.writer import shard_buckets

_READ_BYTES = 2 << 20
_TEXT_BYTES = 4 << 20


@dataclass(frozen=True)
class IdBatch:
    """Consecutive pairs of IDs."""

    sources: Ragged  # source IDs, or row IDs, as in the records
    targets: Ragged  # target IDs, or the bounds of the row spans that count, as in the records
    corpora: npt.NDArray[np.int32]  # corpus index of each pair: int32, shape `[pairs]`
    # weight of each pair, float32; None if the run has no weights, or for consecutive pairs of the records, which store
    # weights
    weights: npt.NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.sources)

    def rows(self) -> IdBatch:
        """Returns the causal language model rows, without rows that are part of another row."""
        return self.taken(np.flatnonzero(self.sources.lengths))

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """True for each ID of rows that counts for the loss."""
        return loss_mask(PairColumns(self.sources, self.targets, None, np.empty(0, np.int32)))

    def taken(self, numbers: npt.NDArray[np.int64]) -> IdBatch:
        weights = None if self.weights is None else self.weights[numbers]
        return IdBatch(self.sources.taken(numbers), self.targets.taken(numbers), self.corpora[numbers], weights)


@dataclass(frozen=True)
class TextBatch:
    """Consecutive pairs of text."""

    sources: pa.Array  # lines of the source side, a `large_string` array
    targets: pa.Array  # lines of the target side, a `large_string` array
    corpora: npt.NDArray[np.int32]  # corpus index of each pair: int32, shape `[pairs]`
    # links of each pair's pieces, such as `0-0 1-2`, or its rejected translation, empty for none: a `large_string`
    # array; None for no links
    links: pa.Array | None = None
    weights: npt.NDArray[np.float32] | None = None  # as in `IdBatch`
    context: pa.Array | None = None  # lines of context before the targets; None if the targets contain their context
    before: pa.Array | None = None  # what precedes the sources in their documents; None if the sources contain it
    # number of pairs that lack the links of long words; the first batch of a shard may count all of the split
    cut: int = 0

    def __len__(self) -> int:
        return len(self.sources)

    def parts(self, pairs: int) -> Iterator[TextBatch]:
        """Yields the pairs in batches of up to ``pairs``."""
        for first in range(0, len(self), pairs):
            yield self.taken(np.arange(first, min(first + pairs, len(self)))) if len(self) > pairs else self

    def taken(self, numbers: npt.NDArray[np.int64]) -> TextBatch:
        columns = (self.sources, self.targets, self.links, self.context, self.before)
        sources, targets, links, context, before = (
            None if lines is None else lines.take(pa.array(numbers)) for lines in columns
        )
        weights = None if self.weights is None else self.weights[numbers]
        return TextBatch(sources, targets, self.corpora[numbers], links, weights, context, before, self.cut)


@dataclass(frozen=True)
class IdPairs:
    """A range of a split's pairs, in the order of its records."""

    layout: Layout  # format of the records
    records: tuple[tuple[Path, int], ...]  # the shards of the records with the range, and their numbers of pairs
    start: int  # index of the first pair, counted from the start of the first of these shards
    count: int  # number of pairs
    encoder: TextEncoder | None = None  # makes the IDs for records with layout `text`; None for other layouts

    def batches(self) -> Iterator[IdBatch]:
        """Yields the pairs in batches of a few MiB."""
        before = 0
        for path, pairs in self.records:
            low, high = max(self.start - before, 0), min(self.start + self.count - before, pairs)
            if low < high:
                yield from _range_of(path, self.layout, low, high, self.encoder)
            before += pairs


@dataclass(frozen=True)
class TextPairs:
    """A shard's pairs as text, or as piece lines with links."""

    plan: ShardPlan  # plan of the spill files
    shard: int  # number of the shard
    spills: tuple[Path, ...]  # the spill files of the split
    # True if each line of the target side is followed by its links, as `joined_columns` joins them
    linked: bool = False
    cut: int = 0  # number of pairs that lack the links of long words, to count with this shard

    def batches(self, path: Path) -> Iterator[TextBatch]:
        """Yields the pairs in batches of a few MiB; ``path`` is the file to write, for messages."""
        cut = self.cut
        for bucket in shard_buckets(path, self.plan, self.shard, self.spills):
            first = 0
            while first < len(bucket):
                sources, source_offsets, targets, target_offsets, corpora = bucket.text(first, _TEXT_BYTES)
                lines, *links = split_columns(TextColumn(targets, target_offsets).to_arrow(), int(self.linked))
                read = TextColumn(sources, source_offsets).to_arrow()
                yield TextBatch(read, lines, corpora, links[0] if links else None, cut=cut)
                first, cut = first + len(corpora), 0


@dataclass(frozen=True)
class EncodedPairs(IdPairs):
    """A shard's pairs that are encoded while they are read, in the order of their text."""

    text: TextPairs | None = None

    def batches(self) -> Iterator[IdBatch]:
        assert self.text is not None
        assert self.encoder is not None
        for batch in self.text.batches(self.text.spills[0]):
            columns = [batch.sources, batch.targets, pa.array(batch.corpora)]
            made = self.encoder.pairs(pa.record_batch(columns, names=["source", "target", "corpus"]), 0, 0, threads=1)
            yield IdBatch(made.inputs, made.targets, batch.corpora)


@dataclass(frozen=True)
class SegmentedPairs(TextPairs):
    """A shard's pairs as piece lines, where text without an ID stays as it is."""

    vocabularies: Mapping[Side, BuiltVocabulary] = field(default_factory=dict)
    tags: Mapping[Side, tuple[str, ...]] = field(default_factory=dict)  # the first piece of each corpus, empty for none

    def batches(self, path: Path) -> Iterator[TextBatch]:
        for batch in super().batches(path):
            source, target = (self._pieces(side, batch) for side in SIDES)
            yield replace(batch, sources=source, targets=target)

    def _pieces(self, side: Side, batch: TextBatch) -> pa.Array:
        tokenizer = self.vocabularies[side].load()
        lines = batch.sources if side == "source" else batch.targets
        pieces = segmented(tokenizer, lines, 1)
        assert pieces is not None
        pieces = pc.utf8_trim(pieces, " ")  # Moses leaves a space after some quotes, and deleted bars leave theirs
        if not any(self.tags.get(side, ())):
            return pieces
        tags = pa.array([f"{tag} " if tag else "" for tag in self.tags[side]], pa.large_string())
        return concatenated(tags.take(pa.array(batch.corpora)), pieces)


def id_pairs(
    layout: Layout, records: Sequence[tuple[Path, int]], start: int, stop: int, encoder: TextEncoder | None = None
) -> IdPairs:
    """Returns a range of a split's pairs, given all record shards and their pair counts."""
    held: list[tuple[Path, int]] = []
    before = first = 0
    for path, pairs in records:
        if before < stop and before + pairs > start:
            first = first if held else before
            held.append((path, pairs))
        before += pairs
    return IdPairs(layout, tuple(held), start - first, stop - start, encoder)


def _range_of(path: Path, layout: Layout, start: int, stop: int, encoder: TextEncoder | None) -> Iterator[IdBatch]:
    index = ShardIndex.load(path)
    offsets, pairs_of = index.blocks[:, 0], index.blocks[:, 2]
    ends = np.append(offsets[1:], path.stat().st_size)
    last_pairs = np.cumsum(pairs_of)
    block = int(np.searchsorted(last_pairs, start, side="right"))
    while block < len(offsets) and last_pairs[block] - pairs_of[block] < stop:
        until = max(int(np.searchsorted(ends, offsets[block] + _READ_BYTES, side="right")), block + 1)
        first = int(last_pairs[block] - pairs_of[block])
        if encoder is None:
            columns = read_span(path, int(offsets[block]), int(ends[until - 1]), layout)
        else:
            columns = encoder.pairs(read_text(path, first, int(last_pairs[until - 1]) - first), 0, 0, threads=1)
        low, high = max(start - first, 0), min(stop - first, len(columns))
        yield IdBatch(
            columns.inputs.part(low, high),
            columns.targets.part(low, high),
            index.pairs[first + low : first + high, 2].astype(np.int32),
        )
        block = until
