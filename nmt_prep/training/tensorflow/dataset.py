"""``make_dataset``: batches from a run's shards through ``tf.data``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, Unpack, get_args

import tensorflow as tf

from nmt_prep.base.errors import ArgumentError
from nmt_prep.training.batches import BatchPlan, Options, cut_window, plan_batches
from nmt_prep.training.batches.cutting import WindowPairs
from nmt_prep.training.batches.options import Keywords, check_choice, check_positive
from nmt_prep.training.tensorflow import tensors
from nmt_prep.training.tensorflow.batching import (
    BatchedInput,
    CutWindow,
    batches_or_tensors,
    pack,
    packed_batches,
    padded_batches,
    truncate_rows,
    without_autograph,
)
from nmt_prep.training.tensorflow.sequences import sequence_batches
from nmt_prep.training.tensorflow.windows import (
    WindowRecords,
    corpora_of,
    parse,
    read_windows,
    windows_of_epoch,
    windows_of_passes,
)

_COLUMNS = ("corpora", "weights", "segments", "context", "ignored", "language_pairs")

Features: TypeAlias = Literal["nmt", "t2t", "causal"]

_BATCHES_AHEAD = 16
_WINDOWS_CUT = 2  # number of windows that are cut at once
_MORE_PER_WINDOW, _BATCHES_PER_MORE = 4, 200  # for the spare batches of endless epochs


class WindowSteps(NamedTuple):
    """The steps for one window, in the order of the methods; features and corpus_ids as in :func:`make_dataset`."""

    plan: BatchPlan
    sos: int  # ID that begins `target_input`
    features: Features
    corpus_ids: bool

    def cut(self, read: WindowRecords) -> CutWindow:
        pairs, window = parse(read.records, self.plan.info.layout), read.window
        contents = WindowPairs(pairs.source.lengths, pairs.target.lengths, pairs.corpora, pairs.row_pairs)
        batches = cut_window(self.plan, window, contents, tensors)
        columns = dict(pairs.columns)
        if self.corpus_ids or self.plan.language_pairs is not None:
            corpora = corpora_of(read.columns["entries"]) if pairs.corpora is None else pairs.corpora
            columns |= {"corpora": corpora} if self.corpus_ids else {}
            if self.plan.language_pairs is not None:
                columns["language_pairs"] = tf.gather(self.plan.language_pairs, corpora)
        if "weight" in read.columns:
            joined = tf.strings.reduce_join(read.columns["weight"])
            columns["weights"] = tf.io.decode_raw(joined, tf.float32, little_endian=True)
        for name, column in columns.items():
            chosen = tf.gather(column, batches.pairs)
            columns[name] = chosen if name == "weights" else tf.cast(chosen, tf.int32)
        source, target = (
            pack(truncate_rows(side, self.plan.rule.max_length), batches.pairs) for side in (pairs.source, pairs.target)
        )
        ignored = None if pairs.ignored is None else pack(pairs.ignored, batches.pairs)
        return CutWindow(source, target, *batches[1:], columns, ignored)

    def batches(self, cut: CutWindow) -> tf.data.Dataset:
        paddings = self.plan.info.vocab.padding_ids
        if cut.row_pairs is not None:
            return packed_batches(cut, self.plan.rule.row_length or 0, paddings, self._finish)
        return padded_batches(cut, self.sos, paddings, self._finish)

    def _finish(self, batch: Any) -> Any:
        """Returns a batch as the features that were asked for, with static shapes if all batches have the same."""
        if self.features == "t2t" and not isinstance(batch, dict):
            fields = batch._asdict()
            columns = {name: fields[name] for name in _COLUMNS if fields.get(name) is not None}
            batch = {"inputs": batch.source, "targets": batch.target_output, **columns}
        shape = self.static_shape()
        return batch if shape is None else _with_shape(batch, shape)

    def static_shape(self) -> tuple[int | None, int] | None:
        """Returns rows and columns of the batches; None if not all batches have the same."""
        rule = self.plan.rule
        if not rule.drop_remainder:
            return None
        if rule.row_length is not None:
            return rule.pairs, rule.row_length
        if not self.plan.pad_to_limits or rule.buckets is None or len(rule.buckets.limits) > 1:
            return None
        return rule.buckets.capacities[0], rule.buckets.limits[0]


def _with_shape(batch: Any, shape: tuple[int | None, int]) -> Any:
    """Returns a batch with static shapes, except for the field ``ignored`` and columns of packed rows."""
    fields = batch if isinstance(batch, dict) else batch._asdict()
    free = _COLUMNS if "inputs_segmentation" in fields else ("ignored",)
    shaped = {
        name: field if field is None or name in free else tf.ensure_shape(field, shape[: field.shape.rank])
        for name, field in fields.items()
    }
    return shaped if isinstance(batch, dict) else type(batch)(**shaped)


@without_autograph
def make_dataset(
    run_dir: str | Path,
    split: str,
    *,
    features: Features = "nmt",
    sos_id: int | None = None,
    epochs: int | None = 1,
    corpus_ids: bool = False,
    check: Literal["full", "quick"] = "full",
    **options: Unpack[Keywords],
) -> tf.data.Dataset | BatchedInput:
    """Returns the batches for one epoch of a split, from the shards that a run wrote.

    The batches are a pure function of the shards and the options. Windows of up to 131,072 pairs are cut into batches,
    and a window's batches are shuffled; each epoch divides the pairs into different windows. The processes of a
    data-parallel job get disjoint parts of the epoch. Their pair counts (row counts, in layout ``packed``) differ by at
    most one; their batch counts may differ by more. Together the parts hold every pair that ``max_length`` admits,
    once.

    The rows of ``source`` and ``target_output`` are the same as in the shards: they end in the eos ID. ``target_input``
    is ``target_output`` shifted right: it begins with the sos ID and lacks eos. If the vocabulary has no sos, like
    Tensor2Tensor's, it begins with the padding ID, as in Tensor2Tensor. Padding is the vocabulary's pad ID, or its eos
    ID if it has none; lengths do not count padding.

    Args:
        run_dir: directory of the run, which holds ``records``, or the directory ``records``.
        split: name of the split.
        features: ``nmt`` gives :class:`BatchedInput`; ``t2t`` gives dictionaries with ``inputs`` and ``targets`` and,
            for packed pairs, ``inputs_segmentation``, ``inputs_position`` and the same for targets; packed pairs
            need ``t2t``. ``causal`` gives sequences for causal language models, as :func:`nmt_prep.read_records` does,
            but int32; a Python function makes the batches. ``t2t`` and ``causal`` are for TensorFlow 2.
        sos_id: overrides the ID that begins ``target_input``.
        epochs: epoch count. Each pass over the dataset gives the next epoch, starting with ``epoch``; after the last
            epoch comes the first one again. None gives a new epoch in each pass. Unless ``epochs`` is 1, last batches
            are split so that all passes have the same batch count, which ``cardinality()`` returns. A Python function
            then computes the order of each pass.
        corpus_ids: also return each pair's corpus index in ``dataset.json``: int32, a last field ``corpora`` of shape
            ``[rows]``; with packed pairs of shape ``[rows, maximum pairs per row]``, padded with -1. In a run with
            several language pairs, batches also have ``language_pairs`` of the same shape: each pair's index
            in the split's ``language_pairs`` in ``dataset.json``.
        check: how thoroughly the shards are checked first, see :func:`nmt_prep.training.records.check_records`.
        options: attributes of :class:`~nmt_prep.training.batches.Options`.

    Returns:
        In TensorFlow 2, a dataset of batches, with static shapes if all are the same. In a TensorFlow 1 graph, the
        tensors of the next batch, with an initializer.

    Raises:
        RecordsError: shards are missing, damaged, or do not belong to ``dataset.json``.
        ArgumentError: an option is out of range, or conflicts with another one.
    """
    check_choice(get_args(Features), features=features)
    check_positive(epochs=epochs)
    if features != "nmt" and not tf.compat.v1.executing_eagerly_outside_functions():
        raise ArgumentError(f'features="{features}" cannot hold the initializer of a TensorFlow 1 graph; use "nmt"')
    if features == "causal" and sos_id is not None:
        raise ArgumentError('sos_id begins the input of a decoder, which features="causal" lacks; remove it')
    plan = plan_batches(run_dir, split, Options.of(make_dataset, options), check, causal=features == "causal")
    if plan.rule.row_length is not None and features == "nmt":
        raise ArgumentError('packed rows need segments and positions, which BatchedInput lacks; set features="t2t"')
    vocabulary = plan.info.vocab.target
    sos = next(choice for choice in (sos_id, vocabulary.bos_id, vocabulary.padding_id) if choice is not None)
    steps = WindowSteps(plan, sos, features, corpus_ids)
    wanted, plan_of = plan_passes(plan, epochs) if epochs != 1 else (plan.batches_left, None)
    if features == "causal":
        batches = sequence_batches(plan, plan_of or (lambda _: plan), steps.static_shape(), corpus_ids)
    else:
        windows = windows_of_epoch(plan) if plan_of is None else windows_of_passes(plan_of)
        with_entries = plan.info.layout == "example" and (corpus_ids or plan.language_pairs is not None)
        read = read_windows(plan, windows, with_entries)
        batches = read.map(steps.cut, num_parallel_calls=_WINDOWS_CUT, deterministic=True).flat_map(steps.batches)
        if wanted is not None:
            batches = batches.take(wanted)
    batches = batches.prefetch(_BATCHES_AHEAD)
    return batches_or_tensors(
        batches if epochs == 1 else batches.apply(tf.data.experimental.assert_cardinality(wanted))
    )


def plan_passes(plan: BatchPlan, epochs: int | None) -> tuple[int, Callable[[int], BatchPlan]]:
    """Returns the batch count for each pass over a dataset, and a function from a pass's index to its plan.

    Epochs divide pairs into different windows, so their numbers of batches differ a little. All passes get the number
    of the longest epoch, and in the others the last batches are split; where batches must not be split (with
    ``drop_remainder``, or ``equal_batches=True``), all get the number of the shortest.
    """
    # Endless epochs cannot all be counted: each gets the number of the first one, and some to spare.
    if plan.skip_batches:
        raise ArgumentError("skip_batches resumes within one epoch; begin several epochs at the start of one, by epoch")
    leave_out = plan.equal_batches is True or plan.rule.drop_remainder
    first = plan.order.epoch
    if epochs is None:
        wanted = _batches_of_any(plan, leave_out)
    else:
        counts = (plan.at_epoch(first + number).total for number in range(epochs))
        wanted = min(counts) if leave_out else max(counts)

    def plan_of(number: int) -> BatchPlan:
        epoch = plan.at_epoch(first + (number if epochs is None else number % epochs))
        return replace(epoch, equal_batches=True if leave_out else "split", batches_wanted=wanted)

    return wanted, plan_of


def _batches_of_any(plan: BatchPlan, leave_out: bool) -> int:
    """Returns a batch count for all epochs: the first epoch's count, and some to spare if epochs can differ."""
    total, processes = plan.total, plan.order.world_size
    if len(plan.windows) == 1 and plan.mix is None and plan.joining is None and processes == 1 and not plan.fresh:
        return total
    # Numbers of windows can differ by one between processes, but the result must not.
    windows = 2 + int(plan.order.index.runs.pairs.sum()) // (processes * plan.order.window_pairs)
    spare = _MORE_PER_WINDOW * windows + total // _BATCHES_PER_MORE
    if not leave_out:
        return total + spare if processes > 1 else min(total + spare, plan.pairs)
    if total <= spare:
        raise ArgumentError(f"an epoch has only {total} batches, too few to skip some; set epochs to a number")
    return total - spare
