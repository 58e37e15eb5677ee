from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base.errors import DownloadError
from nmt_prep.corpora.sources.hub_files import HubFile, Listing, read_listing
from tests.corpora.sources.fetching import Scene, sha256
from tests.hub import Hub, running_hub
from tests.server import WebServer

ADDRESS = "hf://datasets/owner/name"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with running_hub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


def listing(scene: Scene, address: str = ADDRESS) -> Listing:
    return read_listing(scene.fetch(address).path)


def test_files_with_sizes_and_digests(hub: Hub, scene: Scene) -> None:
    repository = hub.dataset("owner/name", {"data/train.parquet": b"rows", "a.txt": b"text"})
    found = listing(scene)
    assert (found.repository, found.commit) == (ADDRESS, repository.branches["main"])
    assert found.files == (
        HubFile(".gitattributes", 21),
        HubFile("a.txt", 4),
        HubFile("data/train.parquet", 4, sha256(b"rows")),
    )


def test_a_list_of_several_pages(hub: Hub, scene: Scene) -> None:
    hub.dataset("owner/name", {f"data/{number}.parquet": b"%d" % number for number in range(9)})
    whole, hub.page = listing(scene), 4
    assert listing(scene) == whole
    assert next(each for each in hub.asked if "cursor" in each).endswith("?recursive=true&cursor=4")


@pytest.mark.parametrize(
    ("data_files", "expected"),
    [
        ("*.parquet", {"train": ("*.parquet",)}),
        (["a", "b"], {"train": ("a", "b")}),
        (
            [{"split": "train", "path": "a"}, {"split": "test", "path": ["b", "c"]}],
            {"train": ("a",), "test": ("b", "c")},
        ),
        ({"dev": "a"}, {"dev": ("a",)}),
        (None, None),
    ],
)
def test_what_the_card_says(hub: Hub, scene: Scene, data_files: Any, expected: Any) -> None:
    config = {"config_name": "en-zh", "data_files": data_files, "data_dir": "./x/", "default": True}
    header = json.dumps({"license": ["mit", "cc-by-4.0"], "configs": [config]})
    hub.dataset("owner/name", {"README.md": f"---\n{header}\n---\ntext".encode(), "x.parquet": b""})
    found = listing(scene)
    assert found.licence == "mit, cc-by-4.0"
    [config_found] = found.configs
    assert (config_found.name, config_found.default, config_found.folder) == ("en-zh", True, "x")
    assert config_found.files == expected


def test_without_parquet_the_conversion_of_the_hub_is_used(hub: Hub, scene: Scene) -> None:
    repository = hub.dataset("owner/name", {"train.csv": b"a,b"})
    converted = repository.commit({"default/train/0000.parquet": b"rows"}, "refs/convert/parquet")
    found = listing(scene)
    assert found.commit == converted
    assert [file.path for file in found.files] == ["default/train/0000.parquet"]


def test_without_parquet_and_conversion(hub: Hub, scene: Scene) -> None:
    repository = hub.dataset("owner/name", {"train.csv": b"a,b"})
    assert listing(scene).commit == repository.branches["main"]


def test_a_revision_stands_for_itself(hub: Hub, scene: Scene) -> None:
    repository = hub.dataset("owner/name", {"train.csv": b"a,b"})
    repository.commit({"default/train/0000.parquet": b"rows"}, "refs/convert/parquet")
    assert listing(scene, f"{ADDRESS}@main").commit == repository.branches["main"]


INFO, TREE = "/api/datasets/owner/name", f"/api/datasets/owner/name/tree/{'a' * 40}?recursive=true"


@pytest.mark.parametrize(
    ("info", "tree"),
    [
        (b"{", b"[]"),
        (b"[]", b"[]"),
        (b"{}", b"[]"),
        (b'{"sha": "main"}', b"[]"),
        (b'{"sha": "%s"}' % (b"a" * 40), b'{"x": 1}'),
        (b'{"sha": "%s"}' % (b"a" * 40), b'[{"type": "file", "path": "a"}]'),
        (b'{"sha": "%s"}' % (b"a" * 40), b'[{"type": "file", "path": "a", "size": 1, "lfs": 3}]'),
    ],
)
def test_malformed_answers(
    server: WebServer, scene: Scene, monkeypatch: pytest.MonkeyPatch, info: bytes, tree: bytes
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    server.give(INFO, info)
    server.give(TREE, tree)
    with pytest.raises(DownloadError, match=r"^hf://datasets/owner/name: the hub's answer is not a list of files"):
        scene.fetch(ADDRESS)


def test_a_damaged_list(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_bytes(b"{}")
    with pytest.raises(DownloadError, match=r"list.json is not a list of files \(repository: Field required\)"):
        read_listing(tmp_path / "list.json")
