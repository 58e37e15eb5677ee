"""The steps of :func:`~nmt_prep.input.dataset.make_dataset` in the graph, from the records of a window to batches."""

from __future__ import annotations

from typing import Literal, NamedTuple

import tensorflow as tf

from nmt_prep.batches import BatchPlan, cut_window
from nmt_prep.batches.window import WindowPairs
from nmt_prep.input import tensors
from nmt_prep.input.batching import Column, pack, select_rows, truncate_rows
from nmt_prep.input.packing import packed_batches
from nmt_prep.input.padding import PackedPairs, padded_batches, shift_right
from nmt_prep.input.parsing import parse
from nmt_prep.input.windows import WindowRecords


class CutWindow(NamedTuple):
    """A window's pairs in batch order, with consecutive ids.

    Attributes:
        source: the sources.
        target: the targets.
        row_pairs: int64, shape ``[rows]``: pairs in each row; None if they are not packed.
        sizes: int64, shape ``[batches]``: pairs (rows, if packed) in each batch.
        widths: int64, shape ``[batches]``: ids that each batch is padded to; None for the length of its longest row.
    """

    source: Column
    target: Column
    row_pairs: tf.Tensor | None
    sizes: tf.Tensor
    widths: tf.Tensor | None


class WindowSteps(NamedTuple):
    """The steps for one window, in the order of the methods.

    Attributes:
        plan: the plan of the batches.
        sos: id that begins ``target_input``.
        features: as in :func:`~nmt_prep.input.dataset.make_dataset`.
    """

    plan: BatchPlan
    sos: int
    features: Literal["nmt", "t2t"]

    def cut(self, window: WindowRecords) -> CutWindow:
        """Parses a window, and cuts it into batches."""
        pairs = parse(window.records, self.plan.info.layout)
        read = WindowPairs(*window[:-1], pairs.source.lengths, pairs.target.lengths, pairs.corpora, pairs.row_pairs)
        batches = cut_window(self.plan, read, tensors)
        source, target = (
            pack(select_rows(truncate_rows(side, self.plan.rule.max_length), batches.pairs))
            for side in (pairs.source, pairs.target)
        )
        return CutWindow(source, target, *batches[1:])

    def batches(self, cut: CutWindow) -> tf.data.Dataset:
        """Returns the batches of a window, padded."""
        paddings, shape = self.plan.info.vocab.padding_ids, self._static_shape()
        if cut.row_pairs is not None:
            length = self.plan.rule.row_length or 0
            batches = packed_batches(cut.source, cut.target, cut.row_pairs, cut.sizes, length, paddings)
        else:
            pairs = PackedPairs(
                source=cut.source.values,
                target_input=shift_right(cut.target, self.sos),
                target_output=cut.target.values,
                source_lengths=tf.cast(cut.source.lengths, tf.int32),
                target_lengths=tf.cast(cut.target.lengths, tf.int32),
                sizes=cut.sizes,
            )
            batches = padded_batches(pairs, *paddings, widths=cut.widths)
            if self.features == "t2t":
                batches = batches.map(lambda batch: {"inputs": batch.source, "targets": batch.target_output})
        if shape is None:
            return batches
        return batches.map(lambda batch: tf.nest.map_structure(lambda field: _ensured(field, shape), batch))

    def _static_shape(self) -> tuple[int | None, int] | None:
        """Returns rows and columns of the batches; None if not all batches have the same."""
        rule = self.plan.rule
        if not rule.drop_remainder:
            return None
        if rule.row_length is not None:
            return rule.pairs, rule.row_length
        if not self.plan.pad_to_limits or rule.buckets is None or len(rule.buckets.limits) > 1:
            return None
        return rule.buckets.capacities[0], rule.buckets.limits[0]


def _ensured(field: tf.Tensor | None, shape: tuple[int | None, int]) -> tf.Tensor | None:
    return None if field is None else tf.ensure_shape(field, shape[: field.shape.rank])
