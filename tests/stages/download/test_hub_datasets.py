"""Exchanges data with the library datasets, through a stand-in for the Hugging Face Hub."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import DownloadError
from nmt_prep.corpora.sources.hub_files import HubFile, Listing, files_of_split
from tests.corpus import corpus_config, write_corpus
from tests.hub import TOKEN, Hub, running_hub
from tests.stages.download.test_hub_corpus import pairs
from tests.stages.runs import config_of, manifest, run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("datasets") is None, reason="the library datasets is not installed"),
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),
]

PUSH = """
from datasets import Dataset, DatasetDict, Features, Translation
features = Features({"translation": Translation(["en", "zh"])})
rows = [{"en": f"line {number}", "zh": f"行{number}"} for number in range(7)]
data = Dataset.from_dict({"translation": rows}, features=features)
splits = DatasetDict(train=data, validation=data.select([3, 4]))
splits.push_to_hub("owner/name", "en-zh", num_shards={"train": 2, "validation": 1})
DatasetDict(train=data.select([0])).push_to_hub("owner/name", "zh-en")
"""

LOAD = """
from datasets import load_dataset
data = load_dataset("owner/name", "text")
print("RESULT", {split: len(rows) for split, rows in data.items()}, sorted(data["train"][0]["translation"]))
"""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    with running_hub() as running:
        running.dataset("owner/name")
        environment = {"HF_ENDPOINT": running.url, "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": TOKEN}
        for name, value in {**environment, "HF_HUB_DISABLE_XET": "1", "no_proxy": "*"}.items():
            monkeypatch.setenv(name, value)
        yield running


def python(program: str) -> str:
    """Runs a program, which reads the address of the hub when it imports its libraries."""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_data_set_that_the_library_has_pushed(hub: Hub, tmp_path: Path) -> None:
    python(PUSH)
    corpus: dict[str, Any] = {"name": "c", "url": "hf:owner/name/en-zh"}
    config = config_of(tmp_path, corpus, splits={"dev": [corpus]})
    run(config, until="compile")
    assert pairs(config) == [(f"line {number}", f"行{number}") for number in range(7)]
    assert pairs(config, "dev") == [("line 3", "行3"), ("line 4", "行4")]
    assert manifest(config, "download").counts.other["files"] == 4  # the list, two shards of train, one of validation


def test_the_library_loads_what_is_published(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    constants = pytest.importorskip("huggingface_hub.constants", reason="the extra huggingface is not installed")
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True, raising=False)
    write_corpus(tmp_path, pairs=60, dev=5)
    outputs = [{"kind": "huggingface", "name": "text"}]
    config = corpus_config(tmp_path / "run", outputs=outputs, publish={"url": "hf://datasets/owner/name"})
    nmt_prep.run(config, workers=1)
    assert python(LOAD).splitlines()[-1] == "RESULT {'train': 60, 'dev': 5} ['en', 'zh']"


WORDS = [
    "train",
    "test",
    "dev",
    "valid",
    "val",
    "eval",
    "training",
    "foo",
    "en-zh",
    "dataset",
    "train2",
    "latest",
    "my_train",
]


def test_splits_in_paths_are_those_of_the_library(new_directory: Callable[[], Path]) -> None:
    library = pytest.importorskip("datasets.data_files")
    draw = random.Random(7)
    for _ in range(100):
        paths = set()
        for _ in range(draw.randint(1, 5)):
            folders = [draw.choice(WORDS) for _ in range(draw.choice([0, 0, 1, 1, 2]))]
            name = draw.choice("-_. ").join(draw.choice(WORDS) for _ in range(draw.randint(1, 2)))
            shard = f"-{draw.randint(0, 3):05d}-of-00004" if draw.random() < 0.3 else ""
            paths.add("/".join([*folders, f"{name}{shard}.parquet"]))
        place = new_directory()
        for path in paths:
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).touch()
        found = library.DataFilesDict.from_patterns(library.get_data_patterns(str(place)), base_path=str(place))
        expected = {
            str(split): {str(Path(path).relative_to(place)) for path in files} for split, files in found.items()
        }
        listing = Listing("hf://datasets/o/n", "a" * 40, None, (), tuple(HubFile(path, 1) for path in sorted(paths)))
        for split in ("train", "validation", "test"):
            try:
                files = {file.path for file in files_of_split(listing, None, split, "hf:o/n")}
            except DownloadError:
                files = set()
            assert files == expected.get(split, set()), paths
