"""Batches of causal language model sequences as a TensorFlow dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import tensorflow as tf

from nmt_prep.training.batches import BatchPlan
from nmt_prep.training.batches.batch_reader import causal_arrays, read_batches
from nmt_prep.training.tensorflow.batching import counted_steps


def sequence_batches(
    plan: BatchPlan,
    plan_of: Callable[[int], BatchPlan],
    static_shape: tuple[int | None, int] | None,
    corpus_ids: bool,
) -> tf.data.Dataset:
    """Returns a dataset of causal batches; a Python function makes them, outside of the graph.

    Args:
        plan: the plan of the first pass.
        plan_of: returns the plan of a pass over the dataset, given its number from 0 on.
        static_shape: rows and columns in all batches, or None if they differ.
    """
    passes, padding = count(), plan.info.vocab.padding_ids[1]
    types = {"weights": tf.float32}

    def batches() -> Iterator[dict[str, tf.Tensor]]:
        for batch in counted_steps(read_batches(plan_of(next(passes)), corpus_ids=corpus_ids)):
            arrays = causal_arrays(padding, batch)
            yield {name: array.astype(types.get(name, tf.int32).as_numpy_dtype) for name, array in arrays.items()}

    packed = plan.rule.row_length is not None
    rows, width = static_shape or (None, plan.rule.row_length)
    matrices = ("input_ids", "labels", "position_ids" if packed else "attention_mask")
    shapes: dict[str, list[int | None]] = {name: [rows, width] for name in matrices}
    shapes |= {"cu_seqlens": [None]} if packed else {}
    columns = {"corpora": corpus_ids, "language_pairs": plan.language_pairs is not None}
    columns["weights"] = "weight" in plan.info.columns
    shapes |= {name: [rows, None] if packed else [rows] for name, given in columns.items() if given}
    signature = {name: tf.TensorSpec(shape, types.get(name, tf.int32)) for name, shape in shapes.items()}
    return tf.data.Dataset.from_generator(batches, output_signature=signature)
