"""The fast way from a run's shards to batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import tensorflow as tf

from nmt_prep.errors import RecordsError
from nmt_prep.input.autograph import without_autograph
from nmt_prep.input.batched_input import BatchedInput, batches_or_tensors
from nmt_prep.input.choices import (
    BUCKETING,
    FEATURES,
    Bucketing,
    Features,
    batch_rule,
    corpus_mix,
    key_of,
    padding_of,
    row_length_of,
)
from nmt_prep.input.window_steps import PackedSteps, PairSteps
from nmt_prep.input.windows import read_windows
from nmt_prep.records import DatasetInfo, check_records, load_dataset_info
from nmt_prep.records.arguments import (
    ArgumentError,
    check_at_least,
    check_at_most_one,
    check_choice,
    check_job_shard,
    check_positive,
)
from nmt_prep.records.batch_rules import TOO_LONG, TooLong
from nmt_prep.records.epoch import EpochOrder, SplitIndex
from nmt_prep.records.worker import WorkerEpoch

DEFAULT_MAX_LENGTH = 256
DEFAULT_BUCKETS = 16
WINDOW_PAIRS = 131_072

_BATCHES_AHEAD = 16


@without_autograph
def make_dataset(
    run_dir: str | Path,
    split: str,
    *,
    batch_tokens: int | None = None,
    batch_size: int | None = None,
    max_length: int | None = DEFAULT_MAX_LENGTH,
    too_long: TooLong = "drop",
    bucketing: Bucketing = "window",
    num_buckets: int = DEFAULT_BUCKETS,
    pad_to: Sequence[int] | None = None,
    drop_remainder: bool = False,
    packed: bool = False,
    features: Features = "nmt",
    weights: Mapping[str, float] | None = None,
    temperature: float | None = None,
    shuffle: bool = True,
    seed: int = 0,
    epoch: int = 0,
    skip_batches: int = 0,
    num_shards: int = 1,
    shard_index: int = 0,
    equal_batches: bool = False,
    sos_id: int | None = None,
    check: Literal["full", "quick"] = "full",
) -> tf.data.Dataset | BatchedInput:
    """Batches of one epoch of a split, from the shards that a run wrote.

    The batches are a pure function of the shards and the arguments. Windows of up to 131,072 pairs are cut into
    batches, and the batches of a window are shuffled; which pairs a window holds is another choice in every epoch. The
    workers of a data-parallel job get disjoint parts of the epoch, whose numbers of pairs (of rows, in layout
    ``packed``) differ by at most one (their numbers of batches may differ by more), and which together are every pair
    that ``max_length`` admits, once.

    The rows of ``source`` and ``target_output`` are those of the shards: they end in the eos id. ``target_input`` is
    ``target_output`` shifted right: it begins with the sos id, and lacks eos. Where the vocabulary has no sos, as
    Tensor2Tensor's, it begins with the padding id, as Tensor2Tensor does. Padding is the vocabulary's pad id, or
    its eos id where it has none; the lengths count neither.

    Args:
        run_dir: directory of the run, which holds ``records``.
        split: name of the split.
        batch_tokens: the most that pairs times the longest row of either side may be in a batch; a longer pair is a
            batch of its own. Default 4,096.
        batch_size: pairs in a batch (rows, where they are packed), instead of ``batch_tokens``.
        max_length: pairs with a longer side, eos included, are left out, see :func:`too_long_pairs`; None takes all. In
            layout ``packed`` the length of the rows takes its place.
        too_long: ``truncate`` cuts such pairs to their first ``max_length`` ids instead, so that they lack eos.
        bucketing: how pairs of like length come together: ``window`` sorts each window by length; ``optimal`` makes the
            ``num_buckets`` buckets that pad the split the least; ``t2t`` makes those of Tensor2Tensor.
        num_buckets: buckets of ``optimal``.
        pad_to: lengths, ascending, which are the limits of the buckets: a batch is padded, on both sides, to the first
            of them that all its pairs fit in. The last one stands for any larger ``max_length``.
        drop_remainder: whether batches that are not full are left out: with ``pad_to``, shapes are then as many as
            lengths, and static where there is one.
        packed: whether several pairs are packed into each row of ``max_length`` ids; needs ``features="t2t"``. Records
            of layout ``packed`` always are.
        features: ``nmt`` gives :class:`BatchedInput`; ``t2t`` gives dictionaries with ``inputs`` and ``targets``, and
            with ``inputs_segmentation``, ``inputs_position`` and the same of the targets where pairs are packed.
        weights: how often each pair of a corpus is in an epoch, by the corpus's name; 1 for those not named. Needs
            layout ``chunk``.
        temperature: instead of ``weights``: shares like sizes to the power 1 / temperature, in an epoch of as many
            pairs as the split has.
        shuffle: False reads the shards in order, and gives the longest batches of each window first.
        seed: decides, with ``epoch``, the order.
        epoch: number of the epoch; each has an order of its own.
        skip_batches: batches that were delivered before: the dataset goes on as if it had delivered them.
        num_shards: workers of a data-parallel job.
        shard_index: which of them this is, from 0.
        equal_batches: whether each worker stops at the number of batches that all of them have.
        sos_id: the id that begins ``target_input``, instead of the vocabulary's.
        check: how thoroughly the shards are checked first, see :func:`nmt_prep.records.check_records`.

    Returns:
        In TensorFlow 2, a dataset of batches. In a TensorFlow 1 graph, the tensors of the next one, with an
        initializer; ``features="t2t"`` is for TensorFlow 2.

    Raises:
        RecordsError: shards are missing, damaged, or not those of ``dataset.json``.
        ArgumentError: an argument is out of its range, or does not go with another one.
    """
    check_positive(batch_tokens=batch_tokens, batch_size=batch_size, max_length=max_length, num_buckets=num_buckets)
    check_at_least(0, skip_batches=skip_batches)
    check_choice(TOO_LONG, too_long=too_long)
    check_choice(BUCKETING, bucketing=bucketing)
    check_choice(FEATURES, features=features)
    check_job_shard(num_shards, shard_index)
    check_at_most_one("a batch is bounded", batch_tokens=batch_tokens, batch_size=batch_size)
    check_at_most_one("the corpora are mixed", weights=weights, temperature=temperature)
    if features == "t2t" and not tf.compat.v1.executing_eagerly_outside_functions():
        raise ArgumentError('features="t2t" has no place for the initializer of a TensorFlow 1 graph; use "nmt"')
    records_dir = Path(run_dir) / "records"
    info = check_records(records_dir, split, check)
    row_length = row_length_of(info, packed, features, max_length, pad_to, too_long)
    rule = batch_rule(
        info,
        split,
        batch_tokens=batch_tokens,
        batch_size=batch_size,
        max_length=max_length,
        too_long=too_long,
        bucketing=bucketing,
        num_buckets=num_buckets,
        pad_to=pad_to,
        drop_remainder=drop_remainder,
        row_length=row_length,
    )
    index = SplitIndex.load(records_dir, info, split)
    order = EpochOrder(index, seed if shuffle else None, epoch, num_shards, shard_index, WINDOW_PAIRS)
    mix = corpus_mix(info, split, index, weights, temperature, seed, epoch)
    worker = WorkerEpoch(order, rule, mix, row_length)

    window_seed = key_of(seed, epoch, f"windows of {shard_index}") if shuffle else None
    steps = _window_steps(info, worker, window_seed, sos_id, features, pad_to_limits=pad_to is not None)
    windows = read_windows(index, worker.windows, *worker.place(skip_batches))
    batches = windows.map(steps.cut, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True).flat_map(steps.batches)
    if equal_batches:
        batches = batches.take(max(min(worker.batches_of_each()) - skip_batches, 0))
    return batches_or_tensors(batches.prefetch(_BATCHES_AHEAD))


def _window_steps(
    info: DatasetInfo,
    worker: WorkerEpoch,
    seed: int | None,
    sos_id: int | None,
    features: Features,
    *,
    pad_to_limits: bool,
) -> PackedSteps | PairSteps:
    paddings = padding_of(info.vocab.source), padding_of(info.vocab.target)
    if worker.row_length is not None:
        return PackedSteps(info.layout, worker, seed, paddings)
    sos = next(choice for choice in (sos_id, info.vocab.target.bos_id, paddings[1]) if choice is not None)
    return PairSteps(info.layout, worker, seed, paddings, sos, features, pad_to_limits)


def too_long_pairs(run_dir: str | Path, split: str, max_length: int) -> int:
    """Number of pairs of a split that have a side longer than ``max_length`` ids, eos included.

    These are what :func:`make_dataset` leaves out, or cuts. Only ``dataset.json`` is read.

    Raises:
        RecordsError: ``dataset.json`` cannot be read, or has no such split.
    """
    directory = Path(run_dir) / "records"
    info = load_dataset_info(directory)
    if split not in info.splits:
        raise RecordsError(f"{directory}: has no split {split!r}, only {', '.join(sorted(info.splits))}")
    return sum(count for length, count in info.splits[split].max_lengths if length > max_length)
