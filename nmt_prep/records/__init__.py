"""Writes pairs of ids as shuffled TFRecord shards, and reads them."""

from nmt_prep.records.check import check_records
from nmt_prep.records.dataset_json import (
    CorpusInfo,
    DatasetInfo,
    IndexInfo,
    InputInfo,
    LanguageCodes,
    PairStats,
    ShardInfo,
    SplitInfo,
    Vocabularies,
    VocabularyInfo,
    load_dataset_info,
    records_in,
    write_dataset_info,
)
from nmt_prep.records.index import ShardIndex, index_path
from nmt_prep.records.plan import GlobalShuffle, Layout, ShardPlan, shard_name
from nmt_prep.records.reader import iter_records, read_shard
from nmt_prep.records.shard_writer import write_buckets, write_shard, write_shards
from nmt_prep.records.writer import SpillWriter, shard_buckets

__all__ = [
    "CorpusInfo",
    "DatasetInfo",
    "GlobalShuffle",
    "IndexInfo",
    "InputInfo",
    "LanguageCodes",
    "Layout",
    "PairStats",
    "ShardIndex",
    "ShardInfo",
    "ShardPlan",
    "SpillWriter",
    "SplitInfo",
    "Vocabularies",
    "VocabularyInfo",
    "check_records",
    "index_path",
    "iter_records",
    "load_dataset_info",
    "read_shard",
    "records_in",
    "shard_buckets",
    "shard_name",
    "write_buckets",
    "write_dataset_info",
    "write_shard",
    "write_shards",
]
