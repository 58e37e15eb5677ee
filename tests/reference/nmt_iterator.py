"""tensorflow/nmt's training and inference input, one pair at a time through ``tf.data``: slow and simple."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

CHARACTERS_PER_WORD = 50


def words_of(line: Any) -> Any:
    return tf.raw_ops.StringSplit(input=[line], delimiter=" ", skip_empty=True).values


def word_bytes(words: Any) -> Any:
    """Returns 50 IDs per word: begin, at most 48 bytes, end, padding; each is shifted by one."""

    def one(word: Any) -> Any:
        ids = tf.cast(tf.io.decode_raw(word, tf.uint8), tf.int32)[: CHARACTERS_PER_WORD - 2]
        fill = tf.fill([CHARACTERS_PER_WORD - 2 - tf.size(ids)], 260)
        return tf.ensure_shape(tf.concat([[258], ids, [259], fill], 0) + 1, [CHARACTERS_PER_WORD])

    signature = tf.TensorSpec([CHARACTERS_PER_WORD], tf.int32)
    return tf.reshape(tf.map_fn(one, words, fn_output_signature=signature), [-1])


def reference_iterator(
    src_dataset: Any,
    tgt_dataset: Any,
    src_vocab_table: Any,
    tgt_vocab_table: Any,
    batch_size: int,
    sos: str,
    eos: str,
    random_seed: int | None,
    num_buckets: int,
    src_max_len: int | None = None,
    tgt_max_len: int | None = None,
    num_parallel_calls: int = 4,
    output_buffer_size: int | None = None,
    skip_count: int | None = None,
    num_shards: int = 1,
    shard_index: int = 0,
    reshuffle_each_iteration: bool = True,
    use_char_encode: bool = False,
) -> Any:
    """Returns padded batches of (source, target_input, target_output, source length, target length)."""
    buffer_size = output_buffer_size or batch_size * 1000

    def mapped(dataset: Any, function: Any) -> Any:
        return dataset.map(function, num_parallel_calls=num_parallel_calls).prefetch(buffer_size)

    def source_ids(words: Any) -> Any:
        return word_bytes(words) if use_char_encode else tf.cast(src_vocab_table.lookup(words), tf.int32)

    def source_length(ids: Any) -> Any:
        return tf.size(ids) // CHARACTERS_PER_WORD if use_char_encode else tf.size(ids)

    tgt_sos = tf.cast(tgt_vocab_table.lookup(tf.constant(sos)), tf.int32)
    tgt_eos = tf.cast(tgt_vocab_table.lookup(tf.constant(eos)), tf.int32)
    src_eos = 257 if use_char_encode else tf.cast(src_vocab_table.lookup(tf.constant(eos)), tf.int32)

    pairs = tf.data.Dataset.zip((src_dataset, tgt_dataset)).shard(num_shards, shard_index)
    if skip_count is not None:
        pairs = pairs.skip(skip_count)
    pairs = pairs.shuffle(buffer_size, random_seed, reshuffle_each_iteration)
    pairs = mapped(pairs, lambda src, tgt: (words_of(src), words_of(tgt)))
    pairs = pairs.filter(lambda src, tgt: (tf.size(src) > 0) & (tf.size(tgt) > 0))
    if src_max_len:
        pairs = mapped(pairs, lambda src, tgt: (src[:src_max_len], tgt))
    if tgt_max_len:
        pairs = mapped(pairs, lambda src, tgt: (src, tgt[:tgt_max_len]))
    pairs = mapped(pairs, lambda src, tgt: (source_ids(src), tf.cast(tgt_vocab_table.lookup(tgt), tf.int32)))
    pairs = mapped(pairs, lambda src, tgt: (src, tf.concat([[tgt_sos], tgt], 0), tf.concat([tgt, [tgt_eos]], 0)))
    pairs = mapped(pairs, lambda src, inp, out: (src, inp, out, source_length(src), tf.size(inp)))

    def padded(dataset: Any) -> Any:
        return dataset.padded_batch(
            batch_size,
            padded_shapes=([None], [None], [None], [], []),
            padding_values=(src_eos, tgt_eos, tgt_eos, 0, 0),
        )

    if num_buckets <= 1:
        return padded(pairs)
    width = (src_max_len + num_buckets - 1) // num_buckets if src_max_len else 10

    def bucket(_src: Any, _inp: Any, _out: Any, src_len: Any, tgt_len: Any) -> Any:
        return tf.cast(tf.minimum(num_buckets, tf.maximum(src_len // width, tgt_len // width)), tf.int64)

    return pairs.group_by_window(bucket, lambda _key, window: padded(window), window_size=batch_size)


def reference_infer_iterator(
    src_dataset: Any,
    src_vocab_table: Any,
    batch_size: int,
    eos: str,
    src_max_len: int | None = None,
    use_char_encode: bool = False,
) -> Any:
    """Returns padded batches of (source, source length) in the order of the lines."""
    src_eos = 257 if use_char_encode else tf.cast(src_vocab_table.lookup(tf.constant(eos)), tf.int32)

    def encoded(line: Any) -> Any:
        words = words_of(line)[: src_max_len or None]
        ids = word_bytes(words) if use_char_encode else tf.cast(src_vocab_table.lookup(words), tf.int32)
        return ids, tf.size(words)

    return src_dataset.map(encoded).padded_batch(batch_size, ([None], []), (src_eos, 0))
