"""The command ``nmt-prep check`` on repositories of a stand-in for the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.program import Ended, nmt_prep
from tests.hub import TOKEN, Hub
from tests.stages.download.test_hub_corpus import FILES
from tests.stages.runs import settings_of


@pytest.fixture
def hub(running_hub: Hub) -> Hub:
    running_hub.dataset("owner/name", FILES, private=True)
    return running_hub


def check(place: Path, vocab: str | None = None, **corpus: Any) -> Ended:
    corpus = {"name": "c", "url": "hf:owner/name/en-zh", **corpus}
    data = settings_of(place, corpus, splits={"dev": [corpus]})
    config = place / "c.yaml"
    data |= {"vocab": {"from": vocab}} if vocab else {}
    config.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return nmt_prep("check", config)


def test_a_data_set_is_looked_at_without_fetching_it(hub: Hub, tmp_path: Path) -> None:
    hub.model("owner/model", {"tokenizer.json": b"{}"})
    commit = hub.repositories["datasets/owner/name"].branches["main"]
    ended = check(tmp_path, vocab="hf:owner/model")
    sizes = [len(FILES[f"en-zh/{name}"]) for name in ("train-00000-of-00002.parquet", "train-00001-of-00002.parquet")]
    assert ended.stdout.splitlines()[:5] == [
        "train/c: parquet",
        f"  hf://datasets/owner/name at commit {commit}, {sum(sizes) / 1000:.1f} kB, 2 files of a repository, remote",
        f"    en-zh/train-00000-of-00002.parquet, {sizes[0]} bytes",
        f"    en-zh/train-00001-of-00002.parquet, {sizes[1]} bytes",
        "  not seen: the pairs, before the files are fetched",
    ]
    assert "dev/c: parquet" in ended.stdout
    assert "en-zh/validation-00000-of-00001.parquet" in ended.stdout
    assert "vocab.from: hf://owner/model at commit" in ended.stdout
    assert "\nwarning: public corpora such as c may contain test sets, but are not compared with any" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "2 corpora, 0 problems, 1 warning"
    assert ended.returncode == 0
    assert [authorization for _, authorization in hub.stored] == [None, None]
    assert TOKEN not in ended.stdout + ended.stderr


def test_problems(hub: Hub, tmp_path: Path) -> None:
    ended = check(tmp_path, split="dve", vocab="hf:owner/none")
    problem = "hf:owner/name/en-zh: there is no split 'dve' (there is train, validation)"
    assert ended.stdout.count(problem) == 4  # below both corpora, and repeated at the end
    assert "vocab.from: hf://owner/none: there is no model owner/none on" in ended.stdout
    assert ended.returncode == 1
    fields = {"source": "translation.en", "target": "translations.zh"}
    assert (
        "problem: hf:owner/name/en-zh: en-zh/train-00000-of-00002.parquet: there is no field 'translations.zh' (did "
        "you mean 'translation'? at this level there is 'translation'); correct fields in the config"
    ) in check(tmp_path, fields=fields).stdout
