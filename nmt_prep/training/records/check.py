"""Checking a records directory against its ``dataset.json`` before the first batch."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, NamedTuple

from nmt_prep.base.digests import DigestCache, sha256_of
from nmt_prep.base.errors import RecordsError
from nmt_prep.training.records.dataset_json import (
    DATASET_FILE,
    DatasetInfo,
    ShardInfo,
    VocabularyInfo,
    load_dataset_info,
)
from nmt_prep.training.records.record_columns import column_path, index_path
from nmt_prep.training.records.shard_reader import iter_shard
from nmt_prep.training.records.shuffle_plan import Layout
from nmt_prep.training.records.text_records import pairs_in


def check_records(
    records_dir: str | Path, split: str | None = None, level: Literal["full", "quick"] = "full"
) -> DatasetInfo:
    """Checks that the shards and vocabularies are those that ``dataset.json`` describes.

    Both levels find missing shards, shards of another size (truncated, even between records, or with extra bytes),
    shards that do not belong to the dataset, and changed indexes, columns and vocabularies. ``full`` reads every byte,
    on all cores, and finds any other change; digests are cached outside the directory (see
    :class:`~nmt_prep.base.digests.DigestCache`), so that the next check of unchanged files is instant.

    Args:
        split: the split to check; None checks all.

    Returns:
        The content of ``dataset.json``.
    """
    if level not in ("full", "quick"):
        raise ValueError(f"level is 'full' or 'quick', got {level!r}")
    directory = Path(records_dir)
    dataset = load_dataset_info(directory)
    if split is not None and split not in dataset.splits:
        raise RecordsError(
            f"{directory / DATASET_FILE}: has no split {split!r}, only {', '.join(sorted(dataset.splits))}"
        )
    names = sorted(dataset.splits) if split is None else [split]
    shards = [shard for name in names for shard in dataset.splits[name].shards]
    for vocabulary in (dataset.vocab.source, dataset.vocab.target):
        _check_vocabulary(directory, vocabulary)
    for name in names:
        _check_no_strays(directory, f"{dataset.name}-{name}", dataset.splits[name].shards)
    files = [file for shard in shards for file in _files_of(directory, shard, dataset.layout)]
    for file in files:
        _check_size(file)
    _check_content(directory, [file for file in files if level == "full" or file.path.parent != directory])
    return dataset


def _check_vocabulary(directory: Path, vocabulary: VocabularyInfo) -> None:
    path = directory / vocabulary.file
    try:
        actual = sha256_of(path)
    except OSError as error:
        raise RecordsError(
            f"{path}: the vocabulary that the records were encoded with cannot be read: "
            f"{error.strerror or error}; restore it, or run the encode stage again"
        ) from error
    if actual != vocabulary.sha256:
        raise RecordsError(
            f"{path}: not the vocabulary that the records were encoded with: sha256 {actual}, expected "
            f"{vocabulary.sha256}; restore that file, or run the encode stage again"
        )


def _check_no_strays(directory: Path, stem: str, shards: Iterable[ShardInfo]) -> None:
    expected = {shard.file for shard in shards}
    pattern = re.compile(re.escape(stem) + r"-\d{5}-of-\d{5}")
    strays = sorted(
        path.name for path in directory.iterdir() if pattern.fullmatch(path.name) and path.name not in expected
    )
    if strays:
        raise RecordsError(
            f"{directory / strays[0]}: not a shard of this dataset ({len(strays)} such file(s), named like its "
            f"{len(expected)} shards); remove the files of other runs"
        )


class _File(NamedTuple):
    """A file that ``dataset.json`` describes, and a function that describes it for error messages."""

    path: Path
    bytes: int
    sha256: str
    describe: Callable[[], str]


def _files_of(directory: Path, shard: ShardInfo, layout: Layout) -> Iterator[_File]:
    path = directory / shard.file
    yield _File(path, shard.bytes, shard.sha256, lambda: _describe(path, shard, layout))
    yield _File(index_path(path), shard.index.bytes, shard.index.sha256, lambda: f"the index of {shard.file}")
    for name, column in shard.columns.items():
        yield _File(column_path(path, name), column.bytes, column.sha256, lambda: f"a column of {shard.file}")


def _check_size(file: _File) -> None:
    _same(file, file.bytes, lambda: file.path.stat().st_size, "{} bytes, expected {}")


def _check_content(directory: Path, files: Sequence[_File]) -> None:
    cache = DigestCache(directory.parent)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(
            lambda file: _same(file, file.sha256, lambda: cache.digest(file.path), "sha256 {}, expected {}"), files
        ):
            pass
    cache.save()


def _same(file: _File, expected: object, measure: Callable[[], object], message: str) -> None:
    try:
        actual = measure()
    except OSError as error:
        raise RecordsError(
            f"{file.path}: the shard cannot be read: {error.strerror or error}; restore it, or run the encode stage "
            "again"
        ) from error
    if actual != expected:
        raise RecordsError(
            f"{file.path}: {message.format(actual, expected)} ({file.describe()}); restore it, or run the encode stage "
            "again"
        )


def _describe(path: Path, shard: ShardInfo, layout: Layout) -> str:
    try:
        actual = pairs_in(path) if layout == "text" else sum(len(pairs.inputs) for pairs in iter_shard(path, layout))
    except RecordsError as error:
        return str(error).removeprefix(f"{path}: ").partition(";")[0]
    if actual != shard.pairs:
        return f"{actual} complete pairs, expected {shard.pairs}"
    return "all its records are complete, so it is from another run"
