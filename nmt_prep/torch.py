"""Batches for training with PyTorch. Importing this package imports PyTorch.

Without PyTorch, the import raises a ``MissingPackageError``, which is an ``ImportError`` too.
"""

from nmt_prep.base.runtime import needed_extra

needed_extra("torch", "torch", "nmt_prep.torch")

from nmt_prep.training.torch_batches import BatchedInput, Batches  # noqa: E402  (the module needs PyTorch)

__all__ = ["BatchedInput", "Batches"]
