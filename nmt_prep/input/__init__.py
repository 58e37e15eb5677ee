"""Batches for training code, through ``tf.data``. Importing this package imports TensorFlow."""

from nmt_prep.errors import ArgumentError
from nmt_prep.input.batching import BatchedInput
from nmt_prep.input.dataset import make_dataset, too_long_pairs
from nmt_prep.input.iterator import get_infer_iterator, get_iterator
from nmt_prep.input.vocabulary import check_vocab, vocab_tables

__all__ = [
    "ArgumentError",
    "BatchedInput",
    "check_vocab",
    "get_infer_iterator",
    "get_iterator",
    "make_dataset",
    "too_long_pairs",
    "vocab_tables",
]
