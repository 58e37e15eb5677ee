"""The batches in an epoch: one plan that every loader carries out, and the loaders for NumPy arrays."""

from nmt_prep.training.batches.batch_plan import BatchPlan, plan_batches
from nmt_prep.training.batches.batch_reader import IdBatch, read_batches, read_records
from nmt_prep.training.batches.cutting import cut_window
from nmt_prep.training.batches.options import Options
from nmt_prep.training.batches.source import BatchSource
from nmt_prep.training.records.dataset_json import too_long_pairs

__all__ = [
    "BatchPlan",
    "BatchSource",
    "IdBatch",
    "Options",
    "cut_window",
    "plan_batches",
    "read_batches",
    "read_records",
    "too_long_pairs",
]
