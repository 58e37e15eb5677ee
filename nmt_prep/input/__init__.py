"""Batches for training code, through ``tf.data``. Importing this package imports TensorFlow."""

from nmt_prep.input.arguments import ArgumentError
from nmt_prep.input.batched_input import BatchedInput
from nmt_prep.input.iterator import get_infer_iterator, get_iterator

__all__ = ["ArgumentError", "BatchedInput", "get_infer_iterator", "get_iterator"]
