"""From the records of a window to batches: the steps of :func:`~nmt_prep.input.dataset.make_dataset` in the graph."""

from __future__ import annotations

from typing import Literal, NamedTuple

import tensorflow as tf

from nmt_prep.input.batched_input import BatchedInput
from nmt_prep.input.batching import Column, truncate_rows
from nmt_prep.input.mixed import mixed_copies
from nmt_prep.input.packing import pack_rows, packed_batches, select_packed_rows
from nmt_prep.input.padding import PackedPairs, padded_batches, shift_right
from nmt_prep.input.parsing import Pairs, parse
from nmt_prep.input.token_batches import cut_window, shuffled_range
from nmt_prep.input.windows import WindowRecords
from nmt_prep.records import Layout
from nmt_prep.records.batch_rules import BatchRule
from nmt_prep.records.worker import WorkerEpoch


class CutPairs(NamedTuple):
    """A window's pairs in the order of their batches, and int64 ``[batches]``, the limit of each one's bucket."""

    pairs: PackedPairs
    limits: tf.Tensor


class CutRows(NamedTuple):
    """A window's packed rows in the order of their batches.

    Attributes:
        source: the sources, row after row.
        target: the targets.
        sizes: int64, shape ``[rows]``: pairs in each row.
        starts: int64, shape ``[batches]``: first row of each batch.
    """

    source: Column
    target: Column
    sizes: tf.Tensor
    starts: tf.Tensor


class PairSteps(NamedTuple):
    """For batches of pairs.

    Attributes:
        layout: of the records.
        worker: what is cut into batches, and how.
        seed: decides, with a window's number, the order of its batches and of pairs that are alike; None for none.
        paddings: ids that pad source and target.
        sos: id that begins ``target_input``.
        features: as in :func:`~nmt_prep.input.dataset.make_dataset`.
        pad_to_limits: whether batches are padded to the limits of their buckets.
    """

    layout: Layout
    worker: WorkerEpoch
    seed: int | None
    paddings: tuple[int, int]
    sos: int
    features: Literal["nmt", "t2t"]
    pad_to_limits: bool

    def cut(self, window: WindowRecords) -> CutPairs:
        """Parses a window, and sorts and cuts it."""
        pairs = admitted_pairs(parse(window.records, self.layout), window, self.worker)
        cut = cut_window(
            pairs.source, pairs.target, self.worker.rule, window_seed(self.seed, window.number), window.done
        )
        packed = PackedPairs(
            source=cut.source.values,
            target_input=shift_right(cut.target, self.sos),
            target_output=cut.target.values,
            source_lengths=tf.cast(cut.source.lengths, tf.int32),
            target_lengths=tf.cast(cut.target.lengths, tf.int32),
            sizes=cut.sizes,
        )
        return CutPairs(packed, cut.limits)

    def batches(self, cut: CutPairs) -> tf.data.Dataset:
        """The batches, padded."""
        widths = cut.limits if self.pad_to_limits else None
        batches = padded_batches(cut.pairs, *self.paddings, widths=widths)
        shape = self._static_shape()
        if shape is not None:
            batches = batches.map(lambda batch: BatchedInput(None, *(_reshaped(field, shape) for field in batch[1:])))
        if self.features == "t2t":
            batches = batches.map(lambda batch: {"inputs": batch.source, "targets": batch.target_output})
        return batches

    def _static_shape(self) -> tuple[int, int] | None:
        """Rows and columns of all batches, where they are the same for all."""
        rule = self.worker.rule
        if not self.pad_to_limits or rule.buckets is None or len(rule.buckets.limits) > 1 or not rule.drop_remainder:
            return None
        return rule.buckets.capacities[0], rule.buckets.limits[0]


class PackedSteps(NamedTuple):
    """For batches of rows that hold several pairs each; the attributes are those of :class:`PairSteps`."""

    layout: Layout
    worker: WorkerEpoch
    seed: int | None
    paddings: tuple[int, int]

    def cut(self, window: WindowRecords) -> CutRows:
        """Parses a window, packs it where the records are not, and shuffles the rows."""
        pairs = parse(window.records, self.layout)
        if self.layout == "packed":
            source, target, sizes = self._rows_of_records(pairs, window)
        else:
            pairs = admitted_pairs(pairs, window, self.worker)
            packed = pack_rows(pairs.source.lengths, pairs.target.lengths, self._row_length)
            ordered = pairs.select(packed.pairs)
            source, target, sizes = ordered.source, ordered.target, packed.sizes
        rows = tf.cast(shuffled_range(tf.size(sizes), window_seed(self.seed, window.number)), tf.int64)
        source, target, sizes = select_packed_rows(source, target, sizes, rows)
        count = tf.size(sizes, tf.int64)
        stop = count - count % self._batch if self.worker.rule.drop_remainder else count
        return CutRows(
            source,
            target,
            sizes,
            tf.range(window.done * self._batch, tf.maximum(stop, window.done * self._batch), self._batch),
        )

    def batches(self, cut: CutRows) -> tf.data.Dataset:
        """The batches, as Tensor2Tensor's features."""
        batches = packed_batches(*cut, self._row_length, self._batch, self.paddings)
        if self.worker.rule.drop_remainder:
            shape = self._batch, self._row_length
            batches = batches.map(lambda batch: {name: _reshaped(field, shape) for name, field in batch.items()})
        return batches

    def _rows_of_records(self, pairs: Pairs, window: WindowRecords) -> tuple[Column, Column, tf.Tensor]:
        """The worker's part of the rows that the records hold; those of a pair longer than a row do not count."""
        sizes = pairs.row_pairs
        longer = tf.maximum(pairs.source.lengths, pairs.target.lengths)
        first = tf.gather(longer, tf.cumsum(sizes, exclusive=True))
        rows = tf.boolean_mask(tf.range(tf.size(sizes, tf.int64)), first <= self._row_length)
        rows = rows[window.skip : window.skip + window.take]
        return select_packed_rows(pairs.source, pairs.target, sizes, rows)

    @property
    def _row_length(self) -> int:
        return self.worker.row_length or 0

    @property
    def _batch(self) -> int:
        return self.worker.rule.pairs or 1


def window_seed(seed: int | None, number: tf.Tensor) -> tf.Tensor | None:
    """Seed of what is drawn for a window: int64, shape ``[2]``; the next one's differ by 2 in their second part."""
    return None if seed is None else tf.stack([tf.constant(seed, tf.int64), 2 * number])


def admitted_pairs(pairs: Pairs, window: WindowRecords, worker: WorkerEpoch) -> Pairs:
    """The worker's pairs of a window, as often as they are in the epoch, without those that are too long."""
    rows = tf.range(window.skip, window.skip + window.take)
    if worker.mix is not None:
        run_pairs = tf.gather(tf.constant(worker.order.index.runs.pairs), window.runs)
        copies = mixed_copies(worker.mix, pairs.corpora, window.runs, run_pairs)
        rows = tf.repeat(rows, tf.gather(copies, rows))
    rule: BatchRule = worker.rule
    if rule.max_length is not None and rule.too_long == "drop":
        longer = tf.maximum(pairs.source.lengths, pairs.target.lengths)
        rows = tf.boolean_mask(rows, tf.gather(longer, rows) <= rule.max_length)
    chosen = pairs.select(rows)
    if rule.max_length is not None and rule.too_long == "truncate":
        source, target = (truncate_rows(side, rule.max_length) for side in (chosen.source, chosen.target))
        chosen = chosen._replace(source=source, target=target)
    return chosen


def _reshaped(field: tf.Tensor, shape: tuple[int, int]) -> tf.Tensor:
    return tf.ensure_shape(field, shape[: field.shape.rank])
