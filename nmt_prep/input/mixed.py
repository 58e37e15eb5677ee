"""How often each pair of a window is in the epoch, in the graph; see :mod:`nmt_prep.records.mixing`."""

from __future__ import annotations

import tensorflow as tf

from nmt_prep.records.mixing import CorpusMix


def mixed_copies(mix: CorpusMix, corpora: tf.Tensor, runs: tf.Tensor, run_pairs: tf.Tensor) -> tf.Tensor:
    """As :meth:`nmt_prep.records.mixing.CorpusMix.copies`.

    Args:
        mix: of the epoch.
        corpora: int64, shape ``[pairs]``: number of each pair's corpus.
        runs: int64, shape ``[runs]``: numbers of the runs that the pairs come from, in order.
        run_pairs: int64, shape ``[runs]``: pairs in each.

    Returns:
        int64, shape ``[pairs]``.
    """
    kinds = len(mix.pairs)
    group = tf.repeat(tf.range(tf.size(runs, tf.int64)), run_pairs) * kinds + corpora
    order = tf.argsort(group, stable=True)
    sizes = tf.math.bincount(tf.cast(group, tf.int32), minlength=tf.size(runs) * kinds, dtype=tf.int64)
    sorted_rank = tf.range(tf.size(group, tf.int64)) - tf.repeat(tf.cumsum(sizes, exclusive=True), sizes)
    rank = tf.scatter_nd(order[:, tf.newaxis], sorted_rank, tf.shape(group, tf.int32))
    first = tf.reshape(tf.gather(tf.constant(mix.first_rank), runs), [-1])
    rank += tf.gather(first, group)
    pairs, draws, shift = (tf.gather(tf.constant(column), corpora) for column in (mix.pairs, mix.draws, mix.shift))
    return ((rank + 1) * draws + shift) // pairs - (rank * draws + shift) // pairs
