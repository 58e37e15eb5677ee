"""The batches of an epoch: one plan that every loader carries out, and the loader of NumPy arrays."""

from nmt_prep.batches.cutting import cut_window
from nmt_prep.batches.options import BatchOptions, EpochOptions, MixOptions, Options, ShardOptions
from nmt_prep.batches.plan import BatchPlan, plan_batches
from nmt_prep.batches.reader import IdBatch, read_batches, read_records
from nmt_prep.batches.source import BatchSource

__all__ = [
    "BatchOptions",
    "BatchPlan",
    "BatchSource",
    "EpochOptions",
    "IdBatch",
    "MixOptions",
    "Options",
    "ShardOptions",
    "cut_window",
    "plan_batches",
    "read_batches",
    "read_records",
]
