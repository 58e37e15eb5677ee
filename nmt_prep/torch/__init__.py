"""Batches for training with PyTorch. Importing this package imports PyTorch.

Without PyTorch, the import raises a ``MissingPackageError``, which is an ``ImportError`` too.
"""

from nmt_prep.runtime import needed_extra

needed_extra("torch", "torch", "nmt_prep.torch")

from nmt_prep.torch.batches import Batches  # noqa: E402  (the modules need PyTorch)
from nmt_prep.torch.tensors import BatchedInput  # noqa: E402

__all__ = ["BatchedInput", "Batches"]
