"""Ragged columns of pairs in the ``tf.data`` graph: selects rows, forms batches, and pads them for training code.

A column has flat ``values`` and a start and a length for each row. Dropping, reordering and truncating rows only edits
these two small vectors; the values are copied once, when the rows are in batch order.

Launching operations costs more than processing the IDs. So as much as possible is computed for many batches at once,
and each batch only needs a slice and a padding operation per field.

Tensors are compared with ``tf.equal``, since ``==`` compares identity in a TensorFlow 1 graph.
"""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Iterable, Iterator
from threading import Condition
from typing import Any, NamedTuple, ParamSpec, TypeVar

import tensorflow as tf

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class Column(NamedTuple):
    """ID rows with different lengths."""

    values: tf.Tensor  # int32, shape `[n]`
    starts: tf.Tensor  # int64, shape `[rows]`: offset of each row in `values`
    lengths: tf.Tensor  # int64, shape `[rows]`


def packed_column(values: tf.Tensor, lengths: tf.Tensor) -> Column:
    """Returns a column whose rows are consecutive in ``values``, without gaps."""
    return Column(values, tf.cumsum(lengths, exclusive=True), lengths)


def truncate_rows(column: Column, max_length: int | None) -> Column:
    """Truncates each row to its first ``max_length`` IDs; None and 0 change nothing."""
    if not max_length:
        return column
    return column._replace(lengths=tf.minimum(column.lengths, tf.cast(max_length, tf.int64)))


def pack(column: Column, rows: tf.Tensor) -> Column:
    """Copies rows of a column, in the given order, so that they are consecutive; ``rows`` may repeat."""
    bounds = tf.reshape(tf.stack([column.starts, column.starts + column.lengths], 1), [-1])
    copied = tf.raw_ops.RaggedGather(
        params_nested_splits=[tf.concat([[0], bounds], 0)],
        params_dense_values=column.values,
        indices=2 * rows + 1,  # each gap is a row too
        OUTPUT_RAGGED_RANK=1,
    )
    ends = copied.output_nested_splits[0]
    starts = ends[:-1]
    return Column(copied.output_dense_values, starts, ends[1:] - starts)


def without_autograph(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Decorates a function so that AutoGraph does not rewrite the functions that it passes to ``tf.data``.

    They have no Python control flow on tensors, and rewriting them would take a third of the time to the first batch.
    """
    unconverted: Callable[_Arguments, _Result] = tf.autograph.experimental.do_not_convert(function)
    return unconverted


class _Calls:
    """Counts the calls of Python functions by TensorFlow's threads, and waits for them before the interpreter ends.

    A thread that returns to Python later is ended there, and the iterator that waits for it never ends.
    """

    def __init__(self) -> None:
        self._under_way, self._ended, self._change = 0, False, Condition()
        atexit.register(self._end)

    def counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            with self._change:
                if self._ended:
                    raise tf.errors.OutOfRangeError(None, None, "the program ends")  # which TensorFlow does not log
                self._under_way += 1
            try:
                return function(*arguments)
            finally:
                with self._change:
                    self._under_way -= 1
                    self._change.notify_all()

        return call

    def _end(self) -> None:
        with self._change:
            self._ended = True
            self._change.wait_for(lambda: not self._under_way)
        time.sleep(_SECONDS_TO_RETURN)


_SECONDS_TO_RETURN = 0.1
_CALLS = _Calls()


def python_step(function: Callable[..., Any], arguments: Any, types: Any, *, stateful: bool = True) -> Any:
    """Same as ``tf.numpy_function``, but the interpreter waits for the function before it ends."""
    return tf.numpy_function(_CALLS.counted(function), arguments, types, stateful=stateful)


def counted_steps(items: Iterator[_Result]) -> Iterator[_Result]:
    """Yields items whose iterator a thread of TensorFlow runs; the interpreter waits for it before it ends."""
    step = _CALLS.counted(lambda: next(items, None))
    while (item := step()) is not None:
        yield item


def map_inline(dataset: tf.data.Dataset, function: Callable[..., Any]) -> tf.data.Dataset:
    """Maps a dataset's elements, like ``tf.data.Dataset.map``, in the thread that asks for an element.

    ``tf.data.Dataset.map`` gives each operation to a pool of threads, which costs more time than the small operations
    of one batch take themselves.

    Args:
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


class BatchedInput(NamedTuple):
    """One batch of pairs (TensorFlow 2), or the tensors that the next ``Session.run`` fills (a TensorFlow 1 graph).

    ``rows`` is the pair count in the batch. All IDs and lengths are int32.

    Attributes:
        initializer: operation that starts an epoch in a TensorFlow 1 graph; None in TensorFlow 2.
        source: IDs, shape ``[rows, longest source]``.
        target_input: IDs that the decoder reads, shape ``[rows, longest target_input]``.
        target_output: IDs that the decoder should predict, same shape as ``target_input``.
        source_sequence_length: shape ``[rows]``.
        target_sequence_length: length of each row in ``target_input`` and ``target_output``, shape ``[rows]``.

    The three target fields are None in inference.
    """

    initializer: tf.Operation | None
    source: tf.Tensor
    target_input: tf.Tensor | None
    target_output: tf.Tensor | None
    source_sequence_length: tf.Tensor
    target_sequence_length: tf.Tensor | None

    def _from_compatible_tensor_list(self, tensors: list[tf.Tensor]) -> BatchedInput:
        """Returns a batch with these tensors; ``self`` is the structure of the batches.

        An eager iterator calls this method if there is one, and otherwise builds each batch from its structure, field
        by field, which takes longer than everything else about a batch.
        """
        return BatchedInput(*_fields(self, tensors))


def _fields(batches: Iterable[Any], tensors: list[tf.Tensor]) -> Iterator[tf.Tensor | None]:
    """Yields a batch's tensors, and None for the fields that its structure does not have."""
    left = iter(tensors)
    return (next(left) if isinstance(spec, tf.TensorSpec) else None for spec in batches)


class BatchedInputWithColumns(NamedTuple):
    """The fields of :class:`BatchedInput`, and the pairs' columns as in `IdBatch`."""

    initializer: tf.Operation | None
    source: tf.Tensor
    target_input: tf.Tensor
    target_output: tf.Tensor
    source_sequence_length: tf.Tensor
    target_sequence_length: tf.Tensor
    # int32, shape `[rows]`: corpus index of each pair in `dataset.json`; None unless asked for
    corpora: tf.Tensor | None = None
    weights: tf.Tensor | None = None  # float32, shape `[rows]`: weight of each pair in the loss; None without weights
    # int32, shape `[rows]`: target count among each row's segments; None for single pairs
    segments: tf.Tensor | None = None
    # int32, shape `[rows]`: how many IDs at the start of `target_output` do not count as target; None without
    # context
    context: tf.Tensor | None = None
    # int32, shape `[rows, 2 * most parts]`: begins and ends of the parts of `target_output` that do not count as
    # target, padded with 0; None without repeated segments
    ignored: tf.Tensor | None = None
    # int32, shape `[rows]`: language-pair index of each pair in `language_pairs` of the split in `dataset.json`; None
    # in a run with one language pair
    language_pairs: tf.Tensor | None = None

    def _from_compatible_tensor_list(self, tensors: list[tf.Tensor]) -> BatchedInputWithColumns:
        return BatchedInputWithColumns(*_fields(self, tensors))


def batches_or_tensors(batches: tf.data.Dataset) -> tf.data.Dataset | BatchedInput:
    """Returns the input functions' result for a dataset of :class:`BatchedInput`.

    The result is the dataset itself in TensorFlow 2, and in a TensorFlow 1 graph the tensors of its next batch, with
    their initializer. TensorFlow's automatic tuning, which measures each element's time in each step, is off,
    since all numbers of threads and buffers are set. Its optimizations of the graph are off too, since they find little
    and take a third of the start.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.apply_default_optimizations = False
    batches = batches.with_options(options)
    if tf.compat.v1.executing_eagerly_outside_functions():
        return batches
    iterator = tf.compat.v1.data.make_initializable_iterator(batches)
    return iterator.get_next()._replace(initializer=iterator.initializer)


class CutWindow(NamedTuple):
    """A window's pairs in batch order, with consecutive IDs."""

    source: Column
    target: Column
    row_pairs: tf.Tensor | None  # int64, shape `[rows]`: pairs in each row; None if they are not packed
    sizes: tf.Tensor  # int64, shape `[batches]`: pairs (rows, if packed) in each batch, none of them 0
    # int64, shape `[batches]`: IDs to which the rows of each batch are padded, on both sides; None for the longest row
    # of each side
    widths: tf.Tensor | None
    columns: dict[str, tf.Tensor]  # columns of the pairs, shape `[pairs]`, int32, and weights float32
    ignored: Column | None  # the bounds of the parts of each target that do not count, or None


class _Span(NamedTuple):
    """Arguments for ``tf.slice`` to take a part of a vector: int64, shape ``[1]`` each."""

    begin: tf.Tensor
    size: tf.Tensor


def row_splits(lengths: tf.Tensor, width: int = 1) -> tf.Tensor:
    """Returns the row offsets, int64 ``[rows + 1]``; each item of a row takes ``width`` IDs."""
    return tf.concat([[0], tf.cumsum(tf.cast(lengths, tf.int64) * width)], 0)


def pad(
    values: tf.Tensor, splits: tf.Tensor, padding: tf.Tensor | int, width: tf.Tensor | int | None = None
) -> tf.Tensor:
    """Pads flat rows to a matrix: int32, shape ``[rows, width]``; a width of None means the longest row's length."""
    shape = tf.constant([-1, -1], tf.int64) if width is None else tf.stack([-1, tf.cast(width, tf.int64)])
    matrix = tf.raw_ops.RaggedTensorToTensor(
        shape=shape,
        values=values,
        default_value=padding,
        row_partition_tensors=[splits],
        row_partition_types=["ROW_SPLITS"],
    )
    matrix.set_shape([None, None])
    return matrix


def shift_right(target: Column, sos: tf.Tensor | int) -> tf.Tensor:
    """Returns the values of a packed column with each (non-empty) row shifted right: ``sos`` added, last ID dropped."""
    shifted = tf.roll(target.values, 1, 0)
    begins = tf.fill(tf.shape(target.starts), sos)
    return tf.tensor_scatter_nd_update(shifted, target.starts[:, tf.newaxis], begins)


def padded_batches(
    window: CutWindow, sos: int, paddings: tuple[int, int], finish: Callable[[Any], Any]
) -> tf.data.Dataset:
    """Returns the batches in a window of unpacked pairs."""
    # All batches of the window are prepared at once: offsets of rows and IDs at the bounds of batches (`bounds`). What
    # is left for each batch is a slice and a padding per field, in `batch`.
    source_lengths, target_lengths = (tf.cast(side.lengths, tf.int32) for side in (window.source, window.target))
    target_input = shift_right(window.target, sos)
    source_splits, target_splits = row_splits(source_lengths), row_splits(target_lengths)
    ignored_splits = None if window.ignored is None else row_splits(window.ignored.lengths)
    rows = row_splits(window.sizes)
    bounds = tf.stack([rows, tf.gather(source_splits, rows), tf.gather(target_splits, rows)], 1)
    begins = bounds[:-1]

    def batch(begins: tf.Tensor, sizes: tf.Tensor, width: tf.Tensor | None = None) -> Any:
        rows, source, target = map(_Span, tf.split(begins, 3), tf.split(sizes, 3))
        of_sources = tf.slice(source_splits, rows.begin, rows.size + 1) - source.begin
        of_targets = tf.slice(target_splits, rows.begin, rows.size + 1) - target.begin
        fields = BatchedInput(
            initializer=None,
            source=pad(tf.slice(window.source.values, *source), of_sources, paddings[0], width),
            target_input=pad(tf.slice(target_input, *target), of_targets, paddings[1], width),
            target_output=pad(tf.slice(window.target.values, *target), of_targets, paddings[1], width),
            source_sequence_length=tf.slice(source_lengths, *rows),
            target_sequence_length=tf.slice(target_lengths, *rows),
        )
        columns = {name: tf.slice(column, *rows) for name, column in window.columns.items()}
        if window.ignored is not None:
            splits = tf.slice(ignored_splits, rows.begin, rows.size + 1)
            columns["ignored"] = pad(window.ignored.values[splits[0] : splits[-1]], splits - splits[0], 0)
        return finish(BatchedInputWithColumns(*fields, **columns) if columns else fields)

    columns = (begins, bounds[1:] - begins, *([] if window.widths is None else [window.widths]))
    return map_inline(tf.data.Dataset.from_tensor_slices(columns), batch)


class _Side(NamedTuple):
    """One side's flat int32 vectors, and each row's offset in them."""

    ids: tf.Tensor
    segmentation: tf.Tensor
    position: tf.Tensor
    splits: tf.Tensor


def packed_batches(
    window: CutWindow, length: int, paddings: tuple[int, int], finish: Callable[[Any], Any]
) -> tf.data.Dataset:
    """Returns batches of rows as Tensor2Tensor's features: int32, shape ``[rows, length]`` each.

    ``inputs`` and ``targets`` hold the IDs, ``*_segmentation`` the number of the pair in its row, from 1, and
    ``*_position`` the position in its sentence, from 0; both are 0 for padding. Columns, if the window has them, have
    the shape ``[rows, most pairs]``; ``corpora`` and ``language_pairs`` are padded with -1, the others with 0.
    ``ignored`` has the bounds in the row.
    """
    row_pairs, sizes, ignored = window.row_pairs, window.sizes, window.ignored
    first = tf.cumsum(row_pairs, exclusive=True)
    segment = tf.range(tf.reduce_sum(row_pairs)) - tf.repeat(first, row_pairs) + 1
    bounds = row_splits(row_pairs)
    sides = [_side(column, tf.cast(segment, tf.int32), bounds) for column in window[:2]]
    if ignored is not None:
        begins = window.target.starts - tf.repeat(tf.gather(window.target.starts, first), row_pairs)
        moved = ignored.values + tf.cast(tf.repeat(begins, ignored.lengths), tf.int32)
        ignored_splits = tf.gather(row_splits(ignored.lengths), bounds)

    def features(start: tf.Tensor, size: tf.Tensor) -> Any:
        fields = {}
        for name, side, padding in zip(("inputs", "targets"), sides, paddings, strict=True):
            splits = side.splits[start : start + size + 1]
            for suffix, values, fill in (
                ("", side.ids, padding),
                ("_segmentation", side.segmentation, 0),
                ("_position", side.position, 0),
            ):
                matrix = pad(values[splits[0] : splits[-1]], splits - splits[0], fill, length)
                matrix.set_shape([None, length])
                fields[name + suffix] = matrix
        splits = bounds[start : start + size + 1]
        for name, column in window.columns.items():
            fill = tf.cast(-1 if name in ("corpora", "language_pairs") else 0, column.dtype)
            fields[name] = pad(column[splits[0] : splits[-1]], splits - splits[0], fill)
        if ignored is not None:
            splits = ignored_splits[start : start + size + 1]
            fields["ignored"] = pad(moved[splits[0] : splits[-1]], splits - splits[0], 0)
        return finish(fields)

    return map_inline(tf.data.Dataset.from_tensor_slices((tf.cumsum(sizes, exclusive=True), sizes)), features)


def _side(column: Column, segment: tf.Tensor, bounds: tf.Tensor) -> _Side:
    places = tf.range(tf.size(column.values)) - tf.repeat(tf.cast(column.starts, tf.int32), column.lengths)
    return _Side(
        column.values, tf.repeat(segment, column.lengths), places, tf.gather(row_splits(column.lengths), bounds)
    )
