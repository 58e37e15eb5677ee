"""Publishing to a data set of a stand-in for the Hugging Face Hub."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import nmt_prep
from nmt_prep.base.digests import digest_of
from nmt_prep.base.errors import ConfigError
from nmt_prep.runs.runner import run
from tests.corpus import corpus_config, tree, write_corpus
from tests.hub import Hub

constants = pytest.importorskip("huggingface_hub.constants", reason="the extra huggingface is not installed")

# huggingface_hub uploads with a deprecated argument of its HTTP library
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

MANIFEST = "nmt_prep-manifest.json"
OUTPUTS = [{"kind": "huggingface", "name": "text"}]
SPLITS = {
    "train": [{"name": "x", "url": "train.tgz", "source": "t/x.en", "target": "t/x.zh", "licence": "CC BY 4.0"}],
    "dev": [
        {"name": "y", "url": "dev.tgz", "source": "d/x.en.sgm", "target": "d/x.zh.sgm", "licence": "a |\n<b>mine</b>"},
        {"name": "z", "url": "dev.tgz", "source": "d/x.en.sgm", "target": "d/x.zh.sgm"},
    ],
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("finished")
    write_corpus(place, pairs=60, dev=5)
    run(corpus_config(place / "run", outputs=OUTPUTS, splits=SPLITS))
    return place


def publish(place: Path, url: str, **more: Any) -> None:
    config = corpus_config(place / "run", outputs=OUTPUTS, splits=SPLITS, publish={"url": url, **more})
    run(config, workers=1)


@pytest.fixture
def hub(running_hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Hub:
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True, raising=False)
    return running_hub


def test_a_run_is_published_with_a_card_and_fetched(hub: Hub, finished: Path, tmp_path: Path) -> None:
    repository = hub.dataset("owner/name")
    publish(finished, "hf://datasets/owner/name")
    published = repository.head()
    expected = {
        name: digest
        for name, digest in tree(finished / "run").items()
        if name.startswith(("records/", "report/", "vocab/", "outputs/"))
    }
    assert published.keys() == {".gitattributes", "README.md", MANIFEST, *expected}
    assert repository.messages == ["files", f"Publish {len(expected) + 1} files"]

    _, header, text = published["README.md"].decode().split("---\n", 2)
    files = {name: digest for name, digest in expected.items() if name.startswith("outputs/text/")}
    content = digest_of({name.removeprefix("outputs/"): digest for name, digest in files.items()})[:16]
    assert yaml.safe_load(header) == {
        "language": ["en", "zh"],
        "license": ["cc-by-4.0", "other", "unknown"],
        "multilinguality": ["translation"],
        "task_categories": ["translation"],
        "size_categories": ["n<1K"],
        "configs": [
            {
                "config_name": "text",
                "description": f"content {content}",
                "data_files": [
                    {"split": "train", "path": "outputs/text/train-*.parquet"},
                    {"split": "dev", "path": "outputs/text/dev-*.parquet"},
                ],
            }
        ],
    }
    summary = json.loads((finished / "run" / "report" / "summary.json").read_bytes())
    assert f"Signature: `{summary['signature']}`" in text
    assert "| train | x | 60 | CC BY 4.0 |" in text
    assert "| train | all | 60 | |" in text
    assert "| dev | y | 5 | a \\| \\<b\\>mine\\</b\\> |\n| dev | z | 5 | not stated |\n" in text
    assert "nmt-prep fetch hf://datasets/owner/name DIRECTORY" in text
    assert 'make_dataset(fetch_run("hf://datasets/owner/name", "DIRECTORY"), "train")' in text
    assert 'load_dataset("owner/name", "text")' in text

    hub.stored.clear()
    fetched = tree(nmt_prep.fetch_run("hf://datasets/owner/name", tmp_path / "copy"))
    assert {name: digest for name, digest in fetched.items() if "/" in name} == expected
    assert {authorization for _, authorization in hub.stored} == {None}


def test_a_branch_a_directory_and_other_stages(hub: Hub, finished: Path) -> None:
    repository = hub.dataset("owner/name")
    repository.commit({}, "v2")
    publish(finished, "hf://datasets/owner/name@v2/enzh", stages=["vocab"])
    names = repository.head("v2")
    assert {name.split("/")[1] for name in names} == {"README.md", MANIFEST, "vocab"}
    card = names["enzh/README.md"].decode()
    assert "viewer: false" in card
    assert "make_dataset" not in card
    assert "`enzh/nmt_prep-manifest.json` lists all files" in card


def test_urls_that_cannot_be_published_to(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="hf://owner/name is no data set: publish to hf://datasets/<owner>/<name>"):
        corpus_config(tmp_path / "run", publish={"url": "hf://owner/name"})
