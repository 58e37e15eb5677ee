"""Maps a dataset without handing operations to other threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def map_inline(dataset: tf.data.Dataset, function: Callable[..., Any]) -> tf.data.Dataset:
    """Maps the elements of a dataset, like ``tf.data.Dataset.map``, in the thread that asks for an element.

    ``tf.data.Dataset.map`` gives each operation to a pool of threads, which costs more time than the small operations
    of one batch take themselves.

    Args:
        dataset: the dataset.
        function: returns an element in any structure; fields may be None.
    """
    spec = dataset.element_spec
    compute = tf.function(function, autograph=False).get_concrete_function(*(spec if type(spec) is tuple else (spec,)))
    mapped = tf.raw_ops.MapDataset(
        input_dataset=tf.data.experimental.to_variant(dataset),
        other_arguments=compute.captured_inputs,
        f=compute,
        output_types=[output.dtype for output in compute.outputs],
        output_shapes=[output.shape for output in compute.outputs],
        use_inter_op_parallelism=False,
        preserve_cardinality=True,
    )
    nothing = tf.data.Dataset.from_tensors((0, None)).element_spec[1]
    structure = tf.nest.map_structure(
        lambda field: nothing if field is None else tf.TensorSpec(field.shape, field.dtype), compute.structured_outputs
    )
    return tf.data.experimental.from_variant(mapped, structure)
