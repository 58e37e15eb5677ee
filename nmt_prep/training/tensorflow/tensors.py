"""The operations of :mod:`nmt_prep.training.batches.vectors` on TensorFlow tensors, in the graph.

Shared code compares with ``tf.equal``, since ``==`` compares identity of tensors in a TensorFlow 1 graph.
"""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.errors import VocabularyError
from nmt_prep.subwords import load_tokenizer
from nmt_prep.training.batches.vectors import PackedRows, Scalar
from nmt_prep.training.records.dataset_json import VocabularyInfo, load_dataset_info, records_in

__all__ = ["pack_rows"]

take = tf.gather
choose = tf.where
minimum = tf.minimum
maximum = tf.maximum
greatest = tf.reduce_max
total = tf.reduce_sum


def size(vector: tf.Tensor, /) -> tf.Tensor:
    """Same as the function with this name in `vectors`; so are all functions in this module."""
    return tf.size(vector, tf.int64)


def span(start: Scalar, stop: Scalar, step: int = 1, /) -> tf.Tensor:
    return tf.range(start, stop, step, dtype=tf.int64)


def repeat(vector: tf.Tensor, counts: tf.Tensor, /) -> tf.Tensor:
    # tf.repeat adds some fifty operations to the graph.
    places = tf.range(tf.reduce_sum(counts))
    indices = tf.raw_ops.UpperBound(sorted_inputs=[tf.cumsum(counts)], values=[places], out_type=tf.int64)
    return tf.gather(vector, tf.squeeze(indices, 0))


def spans(starts: tf.Tensor, sizes: tf.Tensor, /) -> tf.Tensor:
    ranges = tf.raw_ops.RaggedRange(starts=starts, limits=starts + sizes, deltas=tf.constant(1, tf.int64))
    return ranges.rt_dense_values


def where(mask: tf.Tensor, /) -> tf.Tensor:
    return tf.where(mask)[:, 0]


def sums_before(vector: tf.Tensor, /) -> tf.Tensor:
    return tf.cumsum(vector, exclusive=True)


def counts(numbers: tf.Tensor, size: Scalar, /) -> tf.Tensor:
    ones = tf.constant([], tf.int64)  # stands for a weight of 1 each
    return tf.raw_ops.DenseBincount(input=numbers, size=tf.cast(size, tf.int64), weights=ones)


def first_at_least(ascending: tf.Tensor, values: tf.Tensor, /) -> tf.Tensor:
    return tf.searchsorted(ascending, values, out_type=tf.int64)


def argsort(vector: tf.Tensor, /) -> tf.Tensor:
    descending = tf.raw_ops.TopKV2(input=tf.bitwise.invert(vector), k=tf.size(vector))  # equal values keep their order
    return tf.cast(descending.indices, tf.int64)


def inverse(permutation: tf.Tensor, /) -> tf.Tensor:
    count = tf.size(permutation, tf.int64)
    return tf.scatter_nd(permutation[:, tf.newaxis], tf.range(count), count[tf.newaxis])


def random(key: Scalar, number: Scalar, size: Scalar, /) -> tf.Tensor:
    seed = tf.stack([tf.convert_to_tensor(key, tf.int64), number])
    # Same as tf.random.stateless_uniform with alg="philox", which scrambles the seed in some forty operations.
    return tf.raw_ops.StatelessRandomUniformFullInt(shape=[size], seed=seed, dtype=tf.int64)


def shuffled(key: Scalar, number: Scalar, size: Scalar, /) -> tf.Tensor:
    return argsort(random(key, number, size))


def jumps(widths: tf.Tensor, /) -> tf.Tensor:
    # The number of known places doubles in each round: a step of the walk at a time would be thousands of operations.
    count = tf.size(widths, tf.int64)
    after = tf.concat([tf.minimum(tf.range(count) + widths, count), [count]], 0)

    def double(places: tf.Tensor, after: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.concat([places, tf.gather(after, places)], 0), tf.gather(after, after)

    vector = tf.TensorShape([None])
    places, _ = tf.while_loop(
        lambda places, _: places[-1] < count,
        double,
        (tf.zeros([1], tf.int64), after),
        shape_invariants=(vector, vector),
    )
    places = tf.boolean_mask(places, places < count)
    return tf.concat([places[1:], [count]], 0)[: tf.size(places)] - places


def pack_rows(source: tf.Tensor, target: tf.Tensor, length: int) -> PackedRows:
    """Packs pairs, given by the int64 lengths of their sides; no side is longer than ``length``.

    Pairs are sorted by their longer side, longest first. In each round every row gets one of the longest remaining
    pairs; the emptiest row gets the longest. A pair that does not fit is tried again in the next round, but pairs
    before the first pair that fits are postponed until all other pairs are in rows. New rows are then added for them,
    somewhat more than their larger side fills. A round is a few vector operations, so this is fast in a graph.
    ``pack_rounds`` of the native core does the same to count the rows beforehand; ``pack_best_fit`` wastes less space
    if there are few rows.
    """
    tokens = tf.stack([source, target], 1)
    order = tf.argsort(tf.maximum(source, target), direction="DESCENDING", stable=True)

    def open_rows(put_off: tf.Tensor, filled: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        most = tf.reduce_max(tf.reduce_sum(tf.gather(tokens, put_off), 0))
        more = tf.maximum((most * 1003 + 1000 * length - 1) // (1000 * length), 1)
        return put_off, put_off[:0], tf.concat([filled, tf.zeros([more, 2], tf.int64)], 0)

    def put(
        waiting: tf.Tensor, put_off: tf.Tensor, filled: tf.Tensor, row_of: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        waiting, put_off, filled = tf.cond(
            tf.equal(tf.size(waiting), 0), lambda: open_rows(put_off, filled), lambda: (waiting, put_off, filled)
        )
        rows = tf.argsort(tf.reduce_max(filled, 1), stable=True)[: tf.size(waiting)]
        pairs, others = waiting[: tf.size(rows)], waiting[tf.size(rows) :]
        fits = tf.reduce_max(tf.gather(filled, rows) + tf.gather(tokens, pairs), 1) <= length
        put_pairs, put_rows = tf.boolean_mask(pairs, fits)[:, tf.newaxis], tf.boolean_mask(rows, fits)
        filled = tf.tensor_scatter_nd_add(filled, put_rows[:, tf.newaxis], tf.gather_nd(tokens, put_pairs))
        row_of = tf.tensor_scatter_nd_update(row_of, put_pairs, put_rows)
        tried = tf.cumsum(tf.cast(fits, tf.int32)) > 0
        put_off = tf.concat([put_off, tf.boolean_mask(pairs, ~tried)], 0)
        return tf.concat([tf.boolean_mask(pairs, tried & ~fits), others], 0), put_off, filled, row_of

    vector, matrix = tf.TensorShape([None]), tf.TensorShape([None, 2])
    _, _, _, row_of = tf.while_loop(
        lambda waiting, put_off, filled, row_of: tf.size(waiting) + tf.size(put_off) > 0,
        put,
        (order[:0], order, tf.zeros([0, 2], tf.int64), tf.zeros_like(order)),
        shape_invariants=(vector, vector, matrix, vector),
    )
    sizes = tf.math.bincount(row_of, dtype=tf.int64)
    return PackedRows(tf.cast(tf.argsort(row_of, stable=True), tf.int64), tf.boolean_mask(sizes, sizes > 0))


UNK, SOS, EOS = "<unk>", "<s>", "</s>"  # The first words of a tensorflow/nmt vocabulary, in order

_UNKNOWN_ID = -1
_ASCII_SPACE = b" \t\r\v\f"


# Lookup tables for `get_iterator`, and tensorflow/nmt's check of vocabulary files.


def vocab_tables(run_dir: str | Path) -> tuple[tf.lookup.StaticHashTable, tf.lookup.StaticHashTable]:
    """Returns lookup tables from pieces, as in the lines of the output ``text``, to their IDs.

    Other words map to the vocabulary's unknown ID, or to -1 if it has none (like Tensor2Tensor's, which can encode
    everything); -1 fails in an embedding lookup instead of training on wrong IDs.

    Args:
        run_dir: directory of the run, which holds ``records/dataset.json`` and the vocabularies that it names.

    Returns:
        Source and target table, string to int64. In a TensorFlow 1 graph run ``tf.compat.v1.tables_initializer()``.

    Raises:
        RecordsError: ``dataset.json`` cannot be read.
        VocabularyError: a vocabulary cannot be read.
    """
    records_dir = records_in(run_dir)
    vocab = load_dataset_info(records_dir).vocab
    return _table(records_dir, vocab.source), _table(records_dir, vocab.target)


def _table(records_dir: Path, vocabulary: VocabularyInfo) -> tf.lookup.StaticHashTable:
    tokenizer = load_tokenizer(records_dir / vocabulary.file, id_layout=vocabulary.id_layout)
    pieces = tf.constant(tokenizer.words(), tf.string)  # as in the lines of outputs
    initializer = tf.lookup.KeyValueTensorInitializer(pieces, tf.range(len(tokenizer), dtype=tf.int64))
    unknown = _UNKNOWN_ID if tokenizer.unk_id is None else tokenizer.unk_id
    return tf.lookup.StaticHashTable(initializer, default_value=unknown)


def check_vocab(
    vocab_file: str | Path,
    out_dir: str | Path,
    check_special_token: bool = True,
    sos: str | None = None,
    eos: str | None = None,
    unk: str | None = None,
) -> tuple[int, str]:
    r"""Checks that a plain vocabulary file begins with the special words, like tensorflow/nmt's ``check_vocab``.

    A file that does not is copied to ``out_dir``, under its own name, with the three words prepended. A line ends at
    ``\n`` only, and ASCII white space around a word is stripped; upstream also treats other Unicode separators
    as line ends and white space.

    Args:
        vocab_file: the vocabulary, one word per line.
        out_dir: directory for the new file, if one is needed.
        check_special_token: False only counts the words.
        sos: begin of sentence; None for ``<s>``.
        eos: end of sentence; None for ``</s>``.
        unk: unknown word; None for ``<unk>``.

    Returns: Word count, and the path of the file to use.

    Raises:
        VocabularyError: the file cannot be read, or has fewer than three words.
        OutputError: the new file cannot be written.
    """
    path = Path(vocab_file)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise VocabularyError(f"{path}: the vocabulary cannot be read: {error.strerror or error}") from error
    words = [line.strip(_ASCII_SPACE) for line in content.removesuffix(b"\n").split(b"\n")] if content else []
    if not check_special_token:
        return len(words), str(vocab_file)
    if len(words) < 3:
        raise VocabularyError(f"{path}: {len(words)} words; a vocabulary has at least 3, one per line")
    special = [word.encode() for word in (unk or UNK, sos or SOS, eos or EOS)]
    if words[:3] == special:
        return len(words), str(vocab_file)
    words = special + words
    new_path = Path(out_dir) / path.name
    with atomic_write(new_path) as beside:
        beside.write_bytes(b"".join(word + b"\n" for word in words))
    return len(words), str(new_path)
