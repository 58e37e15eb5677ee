"""Pairs for outputs of a run with documents: segments are joined as loaders join them in epoch 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.base.columns import Ragged, concatenated, joined_items
from nmt_prep.base.sides import Side
from nmt_prep.training.outputs.output_pairs import IdBatch, IdPairs, TextBatch, TextPairs
from nmt_prep.training.records.dataset_json import load_dataset_info
from nmt_prep.training.records.record_columns import Column

if TYPE_CHECKING:
    from nmt_prep.training.batches.joined_segments import Examples, Joining, Segments
    from nmt_prep.training.batches.vectors import Int64s

B = TypeVar("B", IdBatch, TextBatch)


@dataclass(frozen=True)
class Windows:
    """The examples in a range of a split's pairs; examples that cross the ends of the range are cut there."""

    records: Path
    split: str
    seed: int
    epochs: int  # number of epochs, from 0 on
    start: int  # number of the first pair
    stop: int  # number after the last pair

    def joined(
        self, batches: Callable[[], Iterator[B]], part_of: Callable[[Sequence[B], slice], B]
    ) -> Iterator[tuple[Joining, B, Examples, Segments, npt.NDArray[np.float32] | None]]:
        """Yields, for each run of blocks, the pairs, the examples, the segments, and the weights.

        A window ends where a repeated segment is left out, because a line cannot mark parts that are no target.
        """
        from nmt_prep.training.batches.epoch import SplitIndex  # noqa: PLC0415  (loads numpy)
        from nmt_prep.training.batches.joined_segments import Joining, Segments  # noqa: PLC0415  (loads numpy)

        info = load_dataset_info(self.records)
        joining = Joining.of(info, self.split, self.seed)
        assert joining is not None
        index = SplitIndex.load(self.records, info, self.split)
        # Loaders join segments run by run. The range may begin and end inside of a run: `here` is the part of a run
        # that is in the range, counted from the start of the run.
        starts = index.starts_of(np.arange(len(index.runs.pairs)))
        lows, highs = np.maximum(starts, self.start), np.minimum(starts + index.runs.pairs, self.stop)
        runs = np.flatnonzero(lows < highs)
        for epoch in range(self.epochs):
            sizes = iter((highs - lows)[runs].tolist())
            for run, pairs in zip(runs.tolist(), _in_sizes(batches(), sizes, part_of), strict=True):
                here, this = slice(lows[run] - starts[run], highs[run] - starts[run]), np.array([run])
                entries, continues = index.pairs_of(this)[here], index.column_of("document", this)[here]
                if (repeated := index.repeated_of(this)) is not None:
                    continues &= ~np.isin(np.arange(here.start, here.stop), repeated.pairs)
                segments = Segments(entries, continues, np.arange(lows[run], highs[run]), np.zeros(1, np.int64))
                examples = joining.examples(segments, epoch)
                weights = examples.mean(index.column_of("weight", this)[here]) if "weight" in info.columns else None
                yield joining, pairs, examples, segments, weights


def _in_sizes(batches: Iterator[B], sizes: Iterator[int], joined: Callable[[Sequence[B], slice], B]) -> Iterator[B]:
    """Divides batches again: yields batches of the given sizes."""
    held: list[B] = []
    for size in sizes:
        while sum(map(len, held)) < size:
            held.append(next(batches))
        yield joined(held, slice(0, size))
        held = [joined(held, slice(size, None))]


def part_of_ids(batches: Sequence[IdBatch], part: slice) -> IdBatch:
    """Returns a part of several batches as one."""
    corpora = np.concatenate([batch.corpora for batch in batches])
    low, high, _ = part.indices(len(corpora))
    sources, targets = (Ragged.joined([getattr(batch, side) for batch in batches]) for side in ("sources", "targets"))
    return IdBatch(sources.part(low, high), targets.part(low, high), corpora[part])


def part_of_text(batches: Sequence[TextBatch], part: slice) -> TextBatch:
    """Returns a part of several batches as one."""
    source, target = (pa.concat_arrays([getattr(batch, side) for batch in batches]) for side in ("sources", "targets"))
    links = [batch.links for batch in batches if batch.links is not None]
    corpora = np.concatenate([batch.corpora for batch in batches])[part]
    return TextBatch(source[part], target[part], corpora, pa.concat_arrays(links)[part] if links else None)


@dataclass(frozen=True)
class JoinedIds(IdPairs):
    """Examples as IDs."""

    windows: Windows | None = None

    def batches(self) -> Iterator[IdBatch]:
        """Yields the examples in each run of blocks."""
        assert self.windows is not None
        for joining, pairs, examples, segments, weights in self.windows.joined(super().batches, part_of_ids):
            joined = joining.joined(pairs.sources, pairs.targets, examples, segments)
            assert joined.corpora is not None
            yield IdBatch(joined.inputs, joined.targets, joined.corpora, weights)


@dataclass(frozen=True)
class JoinedText(TextPairs):
    """Examples as text."""

    windows: Windows | None = None
    separator: str = " "  # text between two segments
    apart: bool = False  # True for targets without their context, which is given separately
    context_field: bool = False  # True for sources without their context, which is given separately on lines
    # for each side the tag that each line of a corpus begins with, empty for none, by corpus index
    tags: Mapping[Side, tuple[str, ...]] = field(default_factory=dict)

    def batches(self, path: Path) -> Iterator[TextBatch]:
        """Yields the examples in each run of blocks; ``path`` is the file to write, for messages."""
        assert self.windows is not None
        for _, pairs, examples, segments, weights in self.windows.joined(lambda: self.segments(path), part_of_text):
            begin, before = examples.first["source"], None
            if self.context_field:
                before = replace(self, separator="\n")._lines("source", pairs, begin, examples.target)
                begin = examples.target
            source = self._lines("source", pairs, begin, examples.end)
            first, context = examples.first["target"], None
            if self.apart and (first < examples.target).any():
                first, context = examples.target, self._lines("target", pairs, first, examples.target)
            target = self._lines("target", pairs, first, examples.end)
            corpora = segments.entries[examples.target, 2].astype(np.int32)
            yield TextBatch(source, target, corpora, weights=weights, context=context, before=before)

    def segments(self, path: Path) -> Iterator[TextBatch]:
        """Yields the segments one by one; ``path`` is the file to write, for messages."""
        return super().batches(path)

    def _lines(self, side: Side, pairs: TextBatch, first: Int64s, end: Int64s) -> pa.Array:
        """Returns lines with several segments each, with the first segment's tag only."""
        from nmt_prep.training.batches.vectors import spans  # noqa: PLC0415  (loads numpy)

        lines, places = pairs.sources if side == "source" else pairs.targets, spans(first, end - first)
        offsets = np.concatenate([[0], np.cumsum(end - first)])
        if any(tags := self.tags.get(side, ())):
            # Lines twice: with tags, then without. The first segment of an example points to the first half, all
            # others to the second.
            untagged = lines
            for number in np.flatnonzero([*map(len, tags)]).tolist():
                cut = pc.utf8_slice_codeunits(untagged, len(tags[number]) + 1)
                untagged = pc.if_else(pa.array(pairs.corpora == number), cut, untagged)
            inner = np.ones(len(places), np.bool_)
            inner[offsets[:-1][first < end]] = False
            lines, places = pa.concat_arrays([lines, untagged]), places + len(lines) * inner
        return joined_items(lines.take(pa.array(places)), offsets, self.separator)


@dataclass(frozen=True)
class DocumentLines(TextPairs):
    """Segments as text, with an empty line before each document but the first of a shard."""

    records: tuple[tuple[Path, int], ...] = ()  # the shards of the records, and their numbers of pairs

    def batches(self, path: Path) -> Iterator[TextBatch]:
        """Yields the segments; ``path`` is the file to write, for messages."""
        column, position, begun = Column(self.records, "document"), self.plan.shard_range(self.shard).start, False
        for batch in super().batches(path):
            continues = column.values(position, position + len(batch)).astype(np.bool_)
            if not begun:
                continues[:1], begun = True, len(batch) > 0
            breaks = pc.if_else(pa.array(continues), "", "\n")
            source, target = (concatenated(breaks, lines) for lines in (batch.sources, batch.targets))
            yield TextBatch(source, target, batch.corpora)
            position += len(batch)
