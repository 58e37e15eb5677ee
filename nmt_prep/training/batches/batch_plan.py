"""The plan for a process's epoch, which decides each batch's pairs for any loader.

A plan is a pure function of the dataset and the options. It lists the epoch's windows, and counts each window's batches
from the shards' indexes. A loader reads the windows of :meth:`BatchPlan.planned_windows`, divides them with
`cut_window`, copies the IDs of the pairs, and stops after ``plan.batches_left``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import pack_rounds, pack_sequences

from nmt_prep.base.errors import ArgumentError, RecordsError
from nmt_prep.base.sides import SIDES
from nmt_prep.config.training import TrainingSettings
from nmt_prep.training.batches import vectors
from nmt_prep.training.batches.cutting import WHOLE, DivisionPlan, PlannedWindow, Split, sizes_of_batches, split_into
from nmt_prep.training.batches.epoch import (
    WINDOW_PAIRS,
    EpochOrder,
    SplitIndex,
    Window,
    corpus_mix,
    pair_groups,
    pair_numbers,
)
from nmt_prep.training.batches.joined_segments import Joining, Segments
from nmt_prep.training.batches.options import BatchRule, EqualBatches, Options
from nmt_prep.training.batches.row_stream import stream_of_records
from nmt_prep.training.batches.staged import StagedOrder, training_of
from nmt_prep.training.batches.vectors import Int64s
from nmt_prep.training.records.causal_rows import causal_encoder
from nmt_prep.training.records.check import check_records
from nmt_prep.training.records.dataset_json import DatasetInfo, load_dataset_info, records_in
from nmt_prep.training.records.record_columns import SATURATED
from nmt_prep.training.records.shard_reader import PairColumns, read_span
from nmt_prep.training.records.text_records import TextEncoder


@dataclass(frozen=True, kw_only=True)
class BatchPlan(DivisionPlan):
    """The windows of a process's epoch, and their batches."""

    info: DatasetInfo  # content of `dataset.json`
    skip_batches: int = 0  # number of batches to skip at the start
    equal_batches: EqualBatches = False  # see `Options`
    # batches per process, if `equal_batches` is not False; None for the number that fits all processes in this epoch
    batches_wanted: int | None = None
    encoder: TextEncoder | None = None  # makes the IDs for records with layout `text`; None for other layouts
    training: TrainingSettings = field(default_factory=TrainingSettings)  # stages, modifiers and subwords
    joining: Joining | None = None  # how the segments of documents are joined; None for single segments
    # int64, shape `[corpora]`: each corpus's index among the split's `language_pairs` in `dataset.json`; None in a run
    # with one language pair
    language_pairs: Int64s | None = None

    def at_epoch(self, epoch: int) -> BatchPlan:
        mix = None if self.mix is None else self.mix.after(epoch - self.order.epoch)
        return replace(self, order=replace(self.order, epoch=epoch), mix=mix)

    @property
    def fresh(self) -> bool:
        """True if a pair's IDs differ from epoch to epoch, so that their number is known only after encoding."""
        return self.staged or (self.encoder is not None and (self.rule.causal or bool(self.encoder.subwords)))

    @property
    def _lengths_matter(self) -> bool:
        """False if the batch count follows from the pair count."""
        rule = self.rule
        by_pairs = rule.pairs is not None and rule.buckets is None and rule.row_length is None and not rule.causal
        return not by_pairs or self.joining is not None or (rule.max_length is not None and rule.too_long == "drop")

    @property
    def staged(self) -> bool:
        """True if stages order the pairs, or modifiers change them."""
        return isinstance(self.order, StagedOrder)

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """The windows, none of them empty."""
        return tuple(self.order.windows())

    def read(self, runs: Int64s, epoch: int) -> PairColumns:
        """Reads the pairs of some runs, in order, as they are in an epoch."""
        if isinstance(self.order, StagedOrder):
            return self.order.read(runs, epoch)
        index, table = self.order.index, self.order.index.runs
        parts = []
        for run in runs.tolist():
            shard, start, first = (int(column[run]) for column in (table.shard, table.start, table.first_pair))
            if self.encoder is None:
                parts.append(read_span(index.paths[shard], start, int(index.run_ends[run]), self.info.layout))
            else:
                parts.append(self.encoder.pairs(index.text_of(run), index.pairs_before[shard] + first, epoch))
        return PairColumns.joined(parts)

    def batches(self) -> Iterator[int]:
        """Counts each window's batches from the indexes, in about a second for 100 million pairs.

        If subwords are sampled, lengths differ from the lengths in the indexes, so the windows are encoded first.
        """
        counts = map(self._batches, self.windows)
        return (count + self._splits.get(number, (0, WHOLE))[0] for number, count in enumerate(counts))

    @cached_property
    def total(self) -> int:
        """The process's batch count in the epoch."""
        return sum(self.batches()) if self.batches_of_all is None else self.batches_of_all

    @cached_property
    def pairs(self) -> int:
        """The process's pair count (row count, if packed) in the epoch."""
        return sum(int(self._lengths(window).sum()) for window in self.windows)

    @cached_property
    def batches_of_all(self) -> int | None:
        """Batch count per process in an epoch; None if the processes may have different numbers."""
        # Each process counts for all others, so that they agree without communication: orders differ in rank alone.
        if not self.equal_batches:
            return None
        if self.fresh and self.order.world_size == 1 and self.batches_wanted is None:
            return None  # counting would require encoding the epoch
        if self.batches_wanted is not None:
            return self.batches_wanted
        orders = (replace(self.order, rank=rank) for rank in range(self.order.world_size))
        counts = (sum(replace(self, order=order, equal_batches=False).batches()) for order in orders)
        return max(counts) if self.equal_batches == "split" else min(counts)

    def planned_windows(self) -> Iterator[PlannedWindow]:
        """Yields the windows to read, from :attr:`start` on."""
        first, done = self.start
        shift = np.empty(0, np.int64) if self.mix is None else self.mix.shift
        for number, window in enumerate(self.windows[first:], first):
            split = self._splits.get(number, (0, WHOLE))[1]
            key, epoch = np.int64(self.order.key or 0), np.int64(self.order.epoch)
            yield PlannedWindow(number, *window, done, split, key, shift, epoch)
            done = 0

    @cached_property
    def _splits(self) -> dict[int, tuple[int, Split]]:
        """Window index -> how many batches are added to reach the wanted number, and the split that adds them."""
        # The last windows are split first and as far as needed, so most of the epoch keeps full batches. A window of n
        # pairs in b batches can give up to n - b more: then each batch is a single pair.
        if self.equal_batches != "split" or self.batches_of_all is None:
            return {}
        missing = self.batches_of_all - sum(map(self._batches, self.windows))
        if missing < 0:
            raise ArgumentError(
                f"epoch {self.order.epoch} has {-missing} batches more than the {self.batches_of_all} planned from the "
                "first one; set epochs to a number"
            )
        splits = {}
        for number in range(len(self.windows) - 1, -1, -1):
            if not missing:
                break
            sizes = sizes_of_batches(self._lengths(self.windows[number]), self.rule)
            added = min(missing, int(sizes.sum()) - len(sizes))
            splits[number] = added, split_into(sizes, len(sizes) + added)
            missing -= added
        if missing:
            raise ArgumentError(
                f"process {self.order.rank} of {self.order.world_size} has too few pairs for the "
                f"{self.batches_of_all} batches that each gets; make batches larger, or set equal_batches to True"
            )
        return splits

    @cached_property
    def batches_left(self) -> int | None:
        """Number of batches from :attr:`start` on; None for all."""
        return None if self.batches_of_all is None else self.batches_of_all - self.skip_batches

    @cached_property
    def start(self) -> tuple[int, int]:
        """Index of the window with which the epoch starts or resumes, and how many of its batches are skipped.

        If all batches are skipped, this is the index after the last window.
        """
        if self.batches_of_all is not None and self.skip_batches > self.batches_of_all:
            raise self._too_many(self.batches_of_all)
        left = self.skip_batches
        if not left:
            return 0, 0
        for number, count in enumerate(self.batches()):
            if left < count:
                return number, left
            left -= count
        if left:
            raise self._too_many(self.skip_batches - left)
        return len(self.windows), 0

    def _too_many(self, batches: int) -> ArgumentError:
        return ArgumentError(
            f"skip_batches is {self.skip_batches}, but this epoch has {batches} batches; give the options with which "
            "the skipped batches were counted, or begin the next epoch with skip_batches=0"
        )

    def _batches(self, window: Window) -> int:
        return len(sizes_of_batches(self._lengths(window), self.rule))

    def _lengths(self, window: Window) -> Int64s:
        """Counts a window's pairs by length: int64, shape ``[groups, lengths]``.

        There is one group, or one per language pair if a batch has only one. Packed rows count as of length 0.
        """
        # This must give the histogram of exactly what `cut_window` divides: the same pairs, copies, joined segments and
        # limits. Unless IDs are resampled, it reads only the index, so a resumed loader does not read the epoch up to
        # its position. An index entry of `SATURATED` stands for all longer lengths too.
        index = self.order.index
        if index.packed:
            return np.array([[window.take]])
        mine = slice(None) if self.staged else slice(window.skip, window.skip + window.take)
        if self._lengths_matter or self.staged:
            pairs = self.entries(window.runs)
        else:
            pairs = index.pairs_of(window.runs)
            pairs[:, :2] = 0
        copies = None
        if self.mix is not None:
            copies = self.mix.copies(pairs[:, 2], window.runs, index.runs.pairs[window.runs], vectors)[mine]
        if self.joining is None:
            corpora = pairs[mine, 2]
            source, target = (np.ascontiguousarray(side) for side in pairs[mine, :2].T)
        else:
            segments = Segments.read(index, window.runs, pairs)
            examples = self.joining.examples_of(window, segments, self.order.epoch)
            corpora = segments.entries[examples.target, 2]
            source, target = (np.minimum(examples.lengths[side], SATURATED) for side in SIDES)
        if self.rule.causal:
            (kept,) = source.nonzero()
            source, target, corpora = source[kept], np.zeros_like(kept), corpora[kept]
            copies = None if copies is None else copies[kept]
        longer = np.maximum(source, target)
        if self.rule.max_length is None and longer.max(initial=0) == SATURATED:
            raise RecordsError(
                f"a pair is longer than {SATURATED - 1:,} IDs, the limit of an index, so batches cannot be counted; "
                "set max_length"
            )
        if self.rule.row_length is not None:
            return np.array([[self._packed_rows(source, target, longer, copies)]])
        group = np.zeros(len(longer), np.int64) if self.groups is None else self.groups[corpora]
        groups = 1 if self.groups is None else int(self.groups.max()) + 1
        width = int(longer.max(initial=0)) + 1
        counts = np.bincount(group * width + longer, copies, minlength=groups * width)
        return self.rule.limited(counts.astype(np.int64).reshape(-1, width))

    def entries(self, runs: Int64s, pairs: PairColumns | None = None) -> npt.NDArray[np.uint16]:
        """Returns the index entries of some runs as they are in the epoch: lengths and corpora."""
        if not self.fresh:
            return self.order.index.pairs_of(runs)
        pairs = pairs or self.read(runs, self.order.epoch)
        assert pairs.corpora is not None
        columns = np.column_stack([pairs.inputs.lengths, pairs.targets.lengths, pairs.corpora])
        entries: npt.NDArray[np.uint16] = np.minimum(columns, SATURATED).astype(np.uint16)
        return entries

    def _packed_rows(self, source: Int64s, target: Int64s, longer: Int64s, copies: Int64s | None) -> int:
        kept = np.arange(len(longer)) if copies is None else np.repeat(np.arange(len(longer)), copies)
        length, most = self.rule.row_length or 0, self.rule.max_length or 0
        if self.rule.too_long == "drop":
            kept = kept[longer[kept] <= most]
        sources, targets = (np.minimum(side[kept], most).astype(np.int32) for side in (source, target))
        if self.rule.causal:
            return int(pack_sequences(sources, length).max(initial=-1)) + 1
        return int(np.count_nonzero(np.bincount(pack_rounds(sources, targets, length))))


def plan_batches(
    run_dir: str | Path,
    split: str,
    options: Options,
    check: Literal["full", "quick"] = "full",
    *,
    causal: bool = False,
) -> BatchPlan:
    """Plans a process's epoch over a run's shards, with pairs or causal language model sequences."""
    records_dir = records_in(run_dir)
    _check_layout(load_dataset_info(records_dir), options, causal)
    info = check_records(records_dir, split, check)
    index = SplitIndex.load(records_dir, info, split)
    if options.packed is False:
        index = replace(index, packed=False)
    joining = Joining.of(info, split, options.seed) if options.documents else None
    lengths = None if joining is None else partial(joining.lengths, index)
    rule = BatchRule.of(info, split, options, lengths, causal=causal)
    if joining is not None:
        joining.check(options, rule)
    seed = options.seed if options.shuffle else None
    training, base_dir = training_of(Path(run_dir), split, options)
    plan = BatchPlan(
        EpochOrder(index, seed, options.epoch, options.rank, options.world_size, WINDOW_PAIRS),
        rule,
        corpus_mix(info, split, index, options),
        options.pad_to is not None,
        pair_groups(info, split, options, packed=rule.row_length is not None),
        info=info,
        skip_batches=options.skip_batches,
        equal_batches=options.equal_batches,
        joining=joining,
        training=training,
        language_pairs=pair_numbers(info, split),
    )
    plan = _of_text(plan, records_dir, split, base_dir)
    _check_cut(plan)
    return replace(plan, rule=rule.for_any_length()) if plan.fresh else plan


def _check_cut(plan: BatchPlan) -> None:
    """Checks by the first run that most sequences have something that counts for the loss after they are cut."""
    most = plan.rule.max_length
    if not plan.rule.causal or plan.rule.too_long == "drop" or most is None or plan.staged:
        return
    bounds = plan.read(np.arange(len(plan.order.index.runs.pairs))[:1], plan.order.epoch).targets
    begins = np.median(np.append(bounds.values[bounds.offsets[:-1][bounds.lengths > 0]], 0))
    if begins >= most:
        raise ArgumentError(
            f'too_long="truncate" leaves only prompts: half of them have {begins:,.0f} IDs or more, and sequences are '
            f"cut to {most:,}; raise row_length or max_length, or shorten the prompt"
        )


def _check_layout(info: DatasetInfo, options: Options, causal: bool) -> None:
    if not causal and info.layout == "causal":
        raise ArgumentError('records of layout causal hold language model sequences; pass features="causal"')
    if causal and info.layout != "causal" and (info.layout != "text" or info.causal is None):
        found = "text without a prompt" if info.layout == "text" else info.layout
        raise ArgumentError(
            'features="causal" needs records of layout causal, or text with records.prompt or records.template, not '
            f"{found}; set records.layout to causal and run again"
        )
    if causal and options.documents and info.documents is not None:
        raise ArgumentError(
            'features="causal" has documents as turns only in records of layout causal; set records.layout to causal '
            "and run again, or pass documents=False for single pairs"
        )


def _of_text(plan: BatchPlan, records_dir: Path, split: str, base_dir: Path) -> BatchPlan:
    """Adds the encoder for records with layout ``text``, and the stages and modifiers."""
    settings, info, order = plan.training, plan.info, plan.order
    if info.layout != "text":
        if settings.subwords or not settings.is_plain:
            raise ArgumentError(
                f"stages, modifiers and subwords need records of layout text, not {info.layout}; set records.layout to "
                "text and run again"
            )
        return plan
    seed = order.seed or 0
    encoder = TextEncoder.of(records_dir, info, split, settings.subwords, seed)
    if plan.rule.causal:
        encoder = causal_encoder(encoder, records_dir, info, split)
    plan = replace(plan, encoder=encoder)
    if settings.is_plain:
        return plan
    if order.seed is None:
        raise ArgumentError("shuffle=False cannot be combined with stages and modifiers; pass training=None with it")
    if plan.mix is not None or plan.groups is not None or plan.joining is not None:
        raise ArgumentError(
            "weights, temperature, batches with one language pair and documents cannot be combined with stages and "
            "modifiers; pass training=None, or documents=False"
        )
    stream = stream_of_records(records_dir, info, split, settings, seed, base_dir)
    names = tuple(corpus.name for corpus in info.corpora[split])
    return replace(plan, order=StagedOrder.of(order, stream, encoder, names))
