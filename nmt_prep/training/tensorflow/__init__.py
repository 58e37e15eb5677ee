"""Batches for training code, through ``tf.data``. Importing this package imports TensorFlow.

Without TensorFlow, the import raises a ``MissingPackageError``, which is an ``ImportError`` too.
"""

from nmt_prep.base.errors import ArgumentError
from nmt_prep.base.runtime import needed_extra

needed_extra("tensorflow", "tensorflow", "the loader for TensorFlow")

from nmt_prep.training.records.dataset_json import too_long_pairs  # noqa: E402
from nmt_prep.training.tensorflow.batching import BatchedInput  # noqa: E402  (the modules need TensorFlow)
from nmt_prep.training.tensorflow.dataset import make_dataset  # noqa: E402
from nmt_prep.training.tensorflow.iterator import get_infer_iterator, get_iterator  # noqa: E402
from nmt_prep.training.tensorflow.tensors import check_vocab, vocab_tables  # noqa: E402

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
