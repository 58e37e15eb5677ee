"""Tensor2Tensor's training input (``data_reader``), one pair at a time through ``tf.data``: slow and simple."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from nmt_prep.training.batches.options import t2t_buckets


def reference_t2t_batches(files: list[str], batch_tokens: int, max_length: int, buffer: int = 1024) -> Any:
    """Returns a dataset of {"inputs", "targets"}, padded with 0, from files of Examples."""

    def parsed(record: Any) -> Any:
        feature = tf.io.VarLenFeature(tf.int64)
        example = tf.io.parse_single_example(record, {"inputs": feature, "targets": feature})
        return {name: tf.cast(tf.sparse.to_dense(value), tf.int32) for name, value in example.items()}

    def length(example: Any) -> Any:
        return tf.maximum(tf.size(example["inputs"]), tf.size(example["targets"]))

    buckets = t2t_buckets(max_length, batch_tokens)
    pairs = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files), 1)
    pairs = pairs.interleave(tf.data.TFRecordDataset, cycle_length=8, num_parallel_calls=4, deterministic=False)
    pairs = pairs.map(parsed, num_parallel_calls=4).filter(lambda example: length(example) <= max_length)
    return (
        pairs.shuffle(buffer, 1)
        .bucket_by_sequence_length(length, [limit + 1 for limit in buckets.limits[:-1]], list(buckets.capacities))
        .prefetch(2)
    )
