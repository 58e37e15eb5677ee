"""Writes and reads the file ``dataset.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from nmt_prep.artefacts import write_json
from nmt_prep.errors import RecordsError
from nmt_prep.records.dataset_json import DatasetInfo

DATASET_FILE = "dataset.json"
FORMAT = 1


def write_dataset_info(records_dir: str | Path, dataset: DatasetInfo) -> Path:
    """Writes ``dataset.json`` atomically and returns its path; equal content gives equal bytes.

    Raises:
        OutputError: it cannot be written.
    """
    path = Path(records_dir) / DATASET_FILE
    write_json(path, dataset.model_dump(mode="json"))
    return path


def load_dataset_info(records_dir: str | Path) -> DatasetInfo:
    """Reads ``dataset.json``; :func:`~nmt_prep.records.check.check_records` also checks the shards against it.

    Raises:
        RecordsError: it is missing, not JSON, of a later format, incomplete, or its counts do not add up.
    """
    path = Path(records_dir) / DATASET_FILE
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RecordsError(
            f"{path}: cannot be read: {error.strerror or error}; give the directory that the encode stage wrote, "
            "or run the encode stage"
        ) from error
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RecordsError(f"{path}: not JSON: {error}; delete it and run the encode stage again") from error
    found = tree.get("format") if isinstance(tree, Mapping) else None
    if isinstance(found, int) and found > FORMAT:
        raise RecordsError(f"{path}: format {found}, this version reads up to {FORMAT}; install a later nmt_prep")
    try:
        return DatasetInfo.model_validate_json(content)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, problem['loc'])) or 'the file'}: {problem['msg']}" for problem in error.errors()
        )
        raise RecordsError(f"{path}: {problems}. Delete it and run the encode stage again") from error
