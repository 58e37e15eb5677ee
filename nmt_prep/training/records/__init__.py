"""Writes pairs of IDs as shuffled TFRecord shards, and reads them."""

from nmt_prep.training.records.dataset_json import load_dataset_info

__all__ = ["load_dataset_info"]
