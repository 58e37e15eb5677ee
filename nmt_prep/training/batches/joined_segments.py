"""Examples from records with documents: windows of consecutive segments, segments with context, and single segments.

The examples in a run of blocks are a pure function of its index, (seed, epoch) and the settings, so they are the same
for all processes and workers. In each epoch, each segment is the target of one example. A draw for each document says
whether its segments are joined, and how long its first window is. A repeated segment, which cleaning dropped as a
duplicate, is context only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nmt_prep.base.columns import Ragged
from nmt_prep.base.digests import seed_of
from nmt_prep.base.errors import ArgumentError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.subwords.frame import frame_sizes
from nmt_prep.training.batches.cutting import PlannedWindow
from nmt_prep.training.batches.epoch import EpochOrder, SplitIndex, Window
from nmt_prep.training.batches.options import BatchRule, Options
from nmt_prep.training.batches.vectors import Int64s, spans, sums_before
from nmt_prep.training.records.dataset_json import DatasetInfo, DocumentsInfo, Histogram
from nmt_prep.training.records.document_index import Repeated
from nmt_prep.training.records.record_columns import SATURATED
from nmt_prep.training.records.shard_reader import PairColumns


@dataclass(frozen=True)
class Examples:
    """Examples with consecutive segments, in the order of their targets."""

    first: dict[Side, Int64s]  # per side, index of each example's first segment, context included: int64
    target: Int64s  # int64, index of the first segment after the context
    end: Int64s  # int64, index after the last segment
    targets: Int64s  # int64, number of segments after the context, without repeated ones
    lengths: dict[Side, Int64s]  # per side, ID count of each example: int64

    def __len__(self) -> int:
        return len(self.end)

    def __getitem__(self, chosen: slice | Int64s) -> Examples:
        first, lengths = ({side: columns[side][chosen] for side in SIDES} for columns in (self.first, self.lengths))
        return Examples(first, self.target[chosen], self.end[chosen], self.targets[chosen], lengths)

    def mean(self, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Returns the mean value over each example's targets; ``values`` has 0 for repeated segments: float32."""
        sums = np.concatenate([[0], np.cumsum(values, dtype=np.float64)])
        means: npt.NDArray[np.float32] = ((sums[self.end] - sums[self.target]) / self.targets).astype("f4")
        return means


class Segments(NamedTuple):
    """Consecutive segments of a split, including repeated ones."""

    entries: npt.NDArray[np.uint16]  # index entries: uint16, shape `[segments, 3]`
    continues: npt.NDArray[np.uint8]  # the column `document`, uint8
    places: Int64s  # int64, each segment's index in the split; a repeated segment has the index of the segment after it
    breaks: Int64s  # int64, segments at which an example begins
    repeated: npt.NDArray[np.bool_] | None = None  # True for segments that are context only; None if no segment is
    found: Repeated | None = None  # the repeated segments, numbered by the runs' pairs; None if there is none

    @classmethod
    def read(cls, index: SplitIndex, runs: Int64s, entries: npt.NDArray[np.uint16]) -> Segments:
        starts, pairs = index.starts_of(runs), index.runs.pairs[runs]
        segments = cls(entries, index.column_of("document", runs), spans(starts, pairs), sums_before(pairs))
        found = index.repeated_of(runs)
        return segments if found is None else segments.with_repeated(found)

    def merged(self, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Returns pair values as segment values, 0 for repeated segments."""
        if self.repeated is None:
            return values
        all_values = np.zeros(len(self.repeated), np.float32)
        all_values[~self.repeated] = values
        return all_values

    def with_repeated(self, found: Repeated) -> Segments:
        """Returns the segments with repeated ones, each before its pair."""
        at = found.pairs
        if not len(at):
            return self
        lengths = [np.minimum(side.lengths, SATURATED) for side in (found.source, found.target)]
        added = np.column_stack([*lengths, self.entries[at, 2]]).astype(np.uint16)
        after = self.continues.copy()
        after[at] = 1
        return Segments(
            np.insert(self.entries, at, added, axis=0),
            np.insert(after, at, np.where(np.diff(at, prepend=-1) > 0, self.continues[at], 1)),
            np.insert(self.places, at, self.places[at]),
            self.breaks + np.searchsorted(at, self.breaks),
            np.insert(np.zeros(len(self.entries), np.bool_), at, True),
            found,
        )


@dataclass(frozen=True)
class Joining:
    """How a split's segments are joined."""

    info: DocumentsInfo  # settings of the records
    before: dict[Side, Int64s]  # per side, number of IDs that the frame puts before a row, by corpus index: int64
    after: dict[Side, Int64s]  # per side, number of IDs after a row, likewise
    drawn: bool  # True if the documents to join are drawn; False if all are joined, in windows as long as possible
    seed: int  # decides the draws, together with the epoch

    @classmethod
    def of(cls, dataset: DatasetInfo, split: str, seed: int) -> Joining | None:
        """Returns how a split's segments are joined; None for single segments."""
        if dataset.documents is None:
            return None
        frames = {"source": dataset.vocab.source.frame, "target": dataset.vocab.target.frame}
        corpora = dataset.corpora[split]
        sizes = {side: [frame_sizes(frames[side], corpus.tag.get(side)) for corpus in corpora] for side in SIDES}
        before, after = (
            {side: np.array([size[place] for size in sizes[side]], np.int64) for side in SIDES} for place in (0, 1)
        )
        return cls(dataset.documents, before, after, split == "train", seed)

    def separator(self, side: Side) -> int | None:
        """Returns the ID between two segments of a side; None if there is none."""
        return self.info.source_separator if side == "source" else self.info.target_separator

    def check(self, options: Options, rule: BatchRule) -> None:
        if (options.weights, options.temperature, options.language_pairs) != (None, None, None):
            raise ArgumentError("corpora of records with documents cannot be mixed or chosen; set documents to False")
        if rule.max_length is not None and rule.max_length < self.info.max_tokens and rule.too_long == "drop":
            raise ArgumentError(
                f"max_length {rule.max_length} would skip windows, which have up to {self.info.max_tokens} IDs; "
                "raise it, lower documents.max_tokens in the config, or set documents to False"
            )
        if rule.row_length is not None and self.info.context is not None:
            raise ArgumentError("segments with context are not packed; set packed to False")

    def lengths(self, index: SplitIndex) -> Histogram:
        """Returns a length histogram for sampled examples, up to the longest possible length."""
        if not len(index.runs.pairs):
            return ()
        longest = max([self.info.max_tokens, *(int(shard.pairs[:, :2].max(initial=0)) for shard in index.shards)])
        _, examples = self.first_examples(index)
        longer = np.append(np.maximum(*examples.lengths.values()), longest)
        return tuple(zip(*(column.tolist() for column in np.unique(longer, return_counts=True)), strict=True))

    def first_examples(self, index: SplitIndex) -> tuple[Segments, Examples]:
        """Returns the segments in the first 16,384 pairs or more, or in all, and their examples in epoch 0."""
        window = next(EpochOrder(index, None).windows())
        segments = Segments.read(index, window.runs, index.pairs_of(window.runs))
        return segments, self.examples_of(window, segments, 0)

    def examples_of(self, window: Window | PlannedWindow, segments: Segments, epoch: int) -> Examples:
        """Returns the examples whose targets are in a window."""
        bounds = np.array([window.skip, window.skip + window.take])
        if segments.repeated is not None:  # a pair brings the repeated segments before it
            bounds = np.append(0, np.flatnonzero(~segments.repeated) + 1)[bounds]
        examples = self.examples(segments, epoch)
        return examples[slice(*np.searchsorted(examples.target, bounds).tolist())]

    def examples(self, segments: Segments, epoch: int) -> Examples:
        """Returns the examples of segments; no example crosses a break, and none ends in a repeated segment."""
        # All documents at once, in vectors: `sums` are prefix sums of lengths, so the IDs of segments i to j - 1 number
        # `sums[j] - sums[i] + shared[i]`, and the first segment that still fits is found by binary search. With
        # windows, each segment belongs to one example. With context, each segment ends one example, and `heads` goes
        # back from it as far as the document, the context and `max_tokens` allow, for each side by itself.
        pairs, repeated = segments.entries, segments.repeated
        places = np.arange(len(pairs))
        starts = segments.continues == 0
        starts[segments.breaks] = True
        document, begins = np.cumsum(starts) - 1, np.flatnonzero(starts)
        of_documents, longest = self._draws(segments.places[begins], epoch)
        joined, sums, shared = of_documents[document], *self._sums(pairs)
        if self.info.context is None:
            most = np.full(len(pairs), self.info.max_segments)
            most[begins] = longest
            ends = np.append(begins[1:], len(pairs))[document]
            target, end = self._windows(joined, np.minimum(places + most, ends), sums, shared)
            heads = dict.fromkeys(SIDES, target)
        else:
            target, end, heads = places, places + 1, {}
            for side, before in zip(SIDES, self.info.context, strict=True):
                head = np.maximum(places - before, begins[document])
                least = sums[side][1:] + shared[side] - self.info.max_tokens
                head = np.maximum(head, np.searchsorted(sums[side], least, side="left"))
                heads[side] = np.where(joined, np.minimum(head, places), places)
        targets = end - target
        if repeated is not None:
            # Drops examples that have no pair of their own, and moves each end back behind the last own pair: the
            # running maximum of the places after own pairs. `once` counts the own pairs before each segment.
            once = np.concatenate([[0], np.cumsum(~repeated)])
            targets = once[end] - once[target]
            (kept,) = targets.nonzero()
            end = np.maximum.accumulate(np.where(repeated, 0, places + 1))[end - 1][kept]
            heads = {side: head[kept] for side, head in heads.items()}
            target, targets = target[kept], targets[kept]
        lengths = {side: sums[side][end] - sums[side][heads[side]] + shared[side][target] for side in SIDES}
        return Examples(heads, target, end, targets, lengths)

    def _sums(self, pairs: npt.NDArray[np.uint16]) -> tuple[dict[Side, Int64s], dict[Side, Int64s]]:
        """Returns the IDs before each segment, without frames, and the IDs that each row adds for its frame.

        A segment counts with the separator after it, so a row has one separator less than the sum.
        """
        corpora = pairs[:, 2].astype(np.int64)
        sums: dict[Side, Int64s] = {}
        shared: dict[Side, Int64s] = {}
        for side, lengths in zip(SIDES, pairs[:, :2].T.astype(np.int64), strict=True):
            between = int(self.separator(side) is not None)
            shared[side] = self.before[side][corpora] + self.after[side][corpora] - between
            sums[side] = np.concatenate([[0], np.cumsum(lengths - shared[side])])
        return sums, shared

    def _windows(
        self,
        joined: npt.NDArray[np.bool_],
        limits: Int64s,
        sums: Mapping[Side, Int64s],
        shared: Mapping[Side, Int64s],
    ) -> tuple[Int64s, Int64s]:
        """Returns each window's first segment and end; a segment that is not joined is a window of its own.

        Args:
            joined: True for each segment in a joined document.
        """
        (inside,) = joined.nonzero()
        reach = limits[inside]
        for side in SIDES:  # the longest window with at most max_tokens IDs
            most = sums[side][inside] + self.info.max_tokens - shared[side][inside]
            reach = np.minimum(reach, np.searchsorted(sums[side], most, side="right") - 1)
        end, begins = np.arange(1, len(joined) + 1), ~joined
        end[inside] = np.maximum(reach, inside + 1)
        begins[inside[_walk(np.append(0, np.cumsum(joined))[end[inside]])]] = True
        (target,) = begins.nonzero()
        return target, end[target]

    def _draws(self, places: Int64s, epoch: int) -> tuple[npt.NDArray[np.bool_], Int64s]:
        """Returns whether documents are joined, and the maximum segment count of their first windows."""
        if not self.drawn:
            return np.ones(len(places), np.bool_), np.full(len(places), self.info.max_segments)
        # One hash per document serves both draws: its high half decides whether to join, its low half the first window.
        # The key is a document's index in the split, so the draws do not depend on process, window or run.
        key = np.uint64(seed_of(f"nmt_prep documents 1\n{self.seed}\n{epoch}"))
        bits = _mixed(places.astype(np.uint64) + key)
        chance = (bits >> np.uint64(32)).astype(np.float64) / 2**32
        size = (bits & np.uint64(0xFFFFFFFF)) * np.uint64(self.info.max_segments) >> np.uint64(32)
        return chance < self.info.share, size.astype(np.int64) + 1

    def joined(self, source: Ragged, target: Ragged, examples: Examples, segments: Segments) -> PairColumns:
        corpora = segments.entries[examples.target, 2].astype(np.int64)
        sources = self._rows("source", source, examples, corpora)
        targets = self._rows("target", target, examples, corpora)
        return PairColumns(sources, targets, corpora.astype(np.int32), np.empty(0, np.int32))

    # Segments come with their frames, so joining removes the inner ones: the IDs after all segments of a row but the
    # last, and the IDs before all but the first. The common case needs no removal: with only eos as a frame, eos itself
    # becomes the separator. Windows are consecutive, so one slice replaces a copy per segment.
    def _rows(self, side: Side, segments: Ragged, examples: Examples, corpora: Int64s) -> Ragged:
        first = examples.first[side]
        sizes = examples.end - first
        if len(examples) and (first[1:] == examples.end[:-1]).all():
            offsets = segments.offsets[first[0] : examples.end[-1] + 1]
            values, offsets = segments.values[offsets[0] : offsets[-1]].copy(), offsets - offsets[0]
        else:
            copied = segments.taken(spans(first, sizes))
            values, offsets = copied.values, copied.offsets
        lasts = np.cumsum(sizes) - 1
        inner = np.ones(int(sizes.sum()), np.bool_)
        inner[lasts] = False
        separator = self.separator(side)
        ends = offsets[1:][inner]  # ends of the segments with another segment after them
        bounds = np.concatenate([[0], offsets[lasts + 1]])
        if separator is not None and not self.before[side].any() and (self.after[side] == 1).all():
            values[ends - 1] = separator  # replaces the last ID of a segment, its frame
            return Ragged(values, bounds)
        before, after = (np.repeat(sizes_of[side][corpora], sizes - 1) for sizes_of in (self.before, self.after))
        starts = offsets[:-1][1:][inner[:-1]]  # starts of the segments after these ends
        kept = np.ones(len(values), np.bool_)
        kept[spans(ends - after, after)] = False
        kept[spans(starts, before)] = False
        if separator is not None:
            place = ends - np.minimum(after, 1)
            values[place], kept[place] = separator, True
        places = np.concatenate([[0], np.cumsum(kept)])
        return Ragged(values if kept.all() else values[kept], places[bounds])

    def context(self, targets: Ragged, examples: Examples, segments: Segments) -> Int64s | None:
        """Returns how many context IDs each example's target starts with, or None for windows."""
        if self.info.context is None:
            return None
        before = self.before["target"][segments.entries[examples.target, 2]]
        counts = examples.lengths["target"] - targets.lengths[examples.target] + before
        return np.where(examples.first["target"] < examples.target, counts, 0)

    def ignored(self, targets: Ragged, examples: Examples, segments: Segments) -> Ragged | None:
        """Returns the bounds of repeated segments in each window's target, or None if there are none.

        A part ends where the next segment begins; the part of the first segment begins at the start of the row.
        """
        if segments.repeated is None or self.info.context is not None:
            return None
        sizes = examples.end - examples.target
        inside, of = spans(examples.target, sizes), np.repeat(np.arange(len(examples)), sizes)
        before, after = (side["target"][segments.entries[:, 2]] for side in (self.before, self.after))
        added = before + after - int(self.separator("target") is not None)
        sums = np.concatenate([[0], np.cumsum(targets.lengths - added)])
        chosen = segments.repeated[inside]
        inside, of = inside[chosen], of[chosen]
        first = examples.target[of]
        bounds = np.column_stack([sums[inside], sums[inside + 1]]) + (before[inside] - sums[first])[:, np.newaxis]
        bounds[inside == first, 0] = 0
        counts = np.bincount(of, minlength=len(examples))
        return Ragged(bounds.astype(np.int32).ravel(), np.concatenate([[0], np.cumsum(2 * counts)]))


def _walk(end: Int64s) -> Int64s:
    """Returns the first segments of consecutive windows, given each segment's window end."""
    # The only Python loop: each step needs the one before. Lists and a view of bytes are faster here than NumPy.
    steps, count, places, place = end.tolist(), len(end), np.empty(len(end), np.bool_), 0
    places[:] = False
    marks = places.view(np.uint8).data
    while place < count:
        marks[place] = 1
        place = steps[place]
    return np.flatnonzero(places)


def _mixed(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Returns numbers mixed as in SplitMix64."""
    state = (state + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    state ^= state >> np.uint64(27)
    state = state * np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    state = state * np.uint64(0xBF58476D1CE4E5B9)
    return state ^ (state >> np.uint64(30))
