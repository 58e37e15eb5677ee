"""``make_dataset``: batches from a run's shards through ``tf.data``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias, Unpack, get_args

import tensorflow as tf

from nmt_prep.batches import Options, plan_batches
from nmt_prep.batches.arguments import check_choice
from nmt_prep.batches.epoch import WINDOW_PAIRS
from nmt_prep.batches.options import Keywords
from nmt_prep.errors import ArgumentError, RecordsError
from nmt_prep.input.autograph import without_autograph
from nmt_prep.input.batched_input import BatchedInput, batches_or_tensors
from nmt_prep.input.window_steps import WindowSteps
from nmt_prep.input.windows import read_windows
from nmt_prep.records import load_dataset_info

Features: TypeAlias = Literal["nmt", "t2t"]

_BATCHES_AHEAD = 16


@without_autograph
def make_dataset(
    run_dir: str | Path,
    split: str,
    *,
    features: Features = "nmt",
    sos_id: int | None = None,
    check: Literal["full", "quick"] = "full",
    **options: Unpack[Keywords],
) -> tf.data.Dataset | BatchedInput:
    """Returns the batches of one epoch of a split, from the shards that a run wrote.

    The batches are a pure function of the shards and, for packed pairs, ``inputs_segmentation``, ``inputs_position``
    and the same of the targets; packed pairs need ``t2t``.
        sos_id: overrides the id that begins ``target_input``.
        check: how thoroughly the shards are checked first, see :func:`nmt_prep.records.check_records`.
        options: attributes of :class:`~nmt_prep.BatchOptions` (``batch_tokens``, ``batch_size``, ``max_length``,
            ``too_long``, ``bucketing``, ``num_buckets``, ``pad_to``, ``drop_remainder``, ``packed``),
            :class:`~nmt_prep.MixOptions` (``weights``, ``temperature``), :class:`~nmt_prep.EpochOptions` (``shuffle``,
            ``seed``, ``epoch``, ``skip_batches``) and :class:`~nmt_prep.ShardOptions` (``num_shards``,
            ``shard_index``, ``equal_batches``), or instances of these as ``batching``, ``mixing``, ``order`` and
            ``sharding``.

    Returns:
        In TensorFlow 2, a dataset of batches, with static shapes if all are the same. In a TensorFlow 1 graph, the
        tensors of the next batch, with an initializer; ``features="t2t"`` is for TensorFlow 2.

    Raises:
        RecordsError: shards are missing, damaged, or not those of ``dataset.json``.
        ArgumentError: an option is out of range, or conflicts with another one.
    """
    check_choice(get_args(Features), features=features)
    if features == "t2t" and not tf.compat.v1.executing_eagerly_outside_functions():
        raise ArgumentError('features="t2t" has no place for the initializer of a TensorFlow 1 graph; use "nmt"')
    plan = plan_batches(run_dir, split, Options.of(options), check, WINDOW_PAIRS)
    if plan.rule.row_length is not None and features != "t2t":
        raise ArgumentError('packed rows need segments and positions, which BatchedInput lacks; set features="t2t"')
    vocabulary = plan.info.vocab.target
    sos = next(choice for choice in (sos_id, vocabulary.bos_id, vocabulary.padding_id) if choice is not None)
    steps = WindowSteps(plan, sos, features)
    windows = read_windows(plan).map(steps.cut, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    batches = windows.flat_map(steps.batches)
    if plan.batches_left is not None:
        batches = batches.take(plan.batches_left)
    return batches_or_tensors(batches.prefetch(_BATCHES_AHEAD))


def too_long_pairs(run_dir: str | Path, split: str, max_length: int) -> int:
    """Returns the number of pairs of a split that have a side longer than ``max_length`` ids, including eos.

    :func:`make_dataset` drops or truncates these pairs. Only ``dataset.json`` is read.

    Raises:
        RecordsError: ``dataset.json`` cannot be read, or has no such split.
    """
    directory = Path(run_dir) / "records"
    info = load_dataset_info(directory)
    if split not in info.splits:
        raise RecordsError(f"{directory}: has no split {split!r}, only {', '.join(sorted(info.splits))}")
    return sum(count for length, count in info.splits[split].max_lengths if length > max_length)
