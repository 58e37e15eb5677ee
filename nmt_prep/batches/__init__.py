"""The batches of an epoch: one plan that every loader carries out, and the loaders of NumPy arrays."""

from nmt_prep.batches.cutting import cut_window
from nmt_prep.batches.options import Options
from nmt_prep.batches.plan import BatchPlan, plan_batches
from nmt_prep.batches.reader import IdBatch, read_batches, read_records
from nmt_prep.batches.source import BatchSource

__all__ = [
    "BatchPlan",
    "BatchSource",
    "IdBatch",
    "Options",
    "cut_window",
    "plan_batches",
    "read_batches",
    "read_records",
]
