from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base.errors import DownloadError
from nmt_prep.corpora.sources.hub_files import (
    HubConfig,
    HubFile,
    Listing,
    _config,
    files_of_split,
    read_listing,
    vocabulary_file,
)
from tests.corpora.sources.fetching import Scene, sha256
from tests.hub import Hub, running_hub
from tests.server import WebServer

ADDRESS = "hf:o/n"


def listing(*paths: str, configs: tuple[HubConfig, ...] = ()) -> Listing:
    return Listing("hf://datasets/o/n", "a" * 40, None, configs, tuple(HubFile(path, 1) for path in sorted(paths)))


def config(
    name: str, files: dict[str, tuple[str, ...]] | None, folder: str = "", *, default: bool = False
) -> HubConfig:
    return HubConfig(name, default, files, folder)


def chosen(found: Listing, split: str = "train", name: str | None = None) -> list[str]:
    return [file.path for file in files_of_split(found, name, split, ADDRESS)]


def refused(found: Listing, split: str = "train", name: str | None = None) -> str:
    with pytest.raises(DownloadError) as caught:
        files_of_split(found, name, split, ADDRESS)
    return str(caught.value)


@pytest.mark.parametrize(
    ("paths", "split", "expected"),
    [
        (["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet", "data/x.parquet"], "train", [0, 1]),
        (["data/validation-00000-of-00001.parquet", "data/test-00000-of-00001.parquet"], "dev", [0]),
        (["data/clean.en-00000-of-00001.parquet"], "clean.en", [0]),
        (["train.parquet", "dev.parquet", "test.parquet"], "dev", [1]),
        (["train.parquet", "my_valid_file-2.parquet"], "validation", [1]),
        (["train/0.parquet", "train/1.parquet", "test/train.parquet"], "test", [2]),
        (["corpus-a.parquet", "latest.parquet"], "train", [0, 1]),
        (["train.parquet", "train.csv", "README.md"], "train", [0]),
        (["train/a-test.parquet", "valid/train.parquet"], "train", [0]),
        (["train/dev/a.parquet", "test.parquet"], "dev", [0]),
        (["train/dev/a.parquet", "test.parquet"], "train", [0]),
        (["train/a.parquet", "train/._a.parquet", ".x/train/b.parquet", "__pycache__/train/c.parquet"], "train", [0]),
        (["a.parquet", ".test.parquet", "__test/a.parquet"], "train", [0]),
        (["a/train/0.parquet", "b/train/1.parquet"], "train", [0, 1]),
        (["test.parquet", "eval.parquet"], "test", [0, 1]),
    ],
)
def test_splits_in_paths(paths: list[str], split: str, expected: list[int]) -> None:
    assert chosen(listing(*paths), split) == [paths[number] for number in expected]


def test_a_folder_without_a_card_is_a_config() -> None:
    found = listing("en-de/train-00000-of-00001.parquet", "en-zh/train-00000-of-00001.parquet", "README.md")
    assert chosen(found, name="en-zh") == ["en-zh/train-00000-of-00001.parquet"]
    assert refused(found, name="en-zt") == (
        "hf:o/n: there is no config 'en-zt' (did you mean 'en-zh'? there is en-de, en-zh)"
    )


CARD = (
    config("en-de", {"train": ("en-de/train-*.parquet",), "test": ("en-de/test-*",)}),
    config("en-zh", {"train": ("b/*.parquet", "a/**/*.parquet")}, "data"),
    config("text", {"train": ("*.txt",), "test": ("none*",)}),
    config("folder", None, "folder"),
)
CARD_PATHS = (
    "en-de/train-00000.parquet",
    "en-de/test-00000.parquet",
    "data/a/x/1.parquet",
    "data/a/2.parquet",
    "data/b/3.parquet",
    "train.txt",
    "folder/dev.parquet",
    "folder/train.parquet",
)


@pytest.mark.parametrize(
    ("name", "split", "expected"),
    [
        ("en-de", "train", ["en-de/train-00000.parquet"]),
        ("en-de", "test", ["en-de/test-00000.parquet"]),
        ("en-zh", "train", ["data/b/3.parquet", "data/a/2.parquet", "data/a/x/1.parquet"]),
        ("folder", "dev", ["folder/dev.parquet"]),
    ],
)
def test_a_card_decides(name: str, split: str, expected: list[str]) -> None:
    assert chosen(listing(*CARD_PATHS, configs=CARD), split, name) == expected


@pytest.mark.parametrize(
    ("folder", "patterns", "paths", "expected"),
    [
        ("test-sets", None, "test-sets/dev.parquet test-sets/train.parquet", "train:1 validation:0"),
        ("d", None, "d/data/a.b-00000-of-00001.parquet d/train.parquet", "a.b:0"),
        ("d", None, "d/x.parquet d/.train.parquet d/__test/a.parquet train.parquet", "train:0"),
        (".d", None, ".d/test.parquet .d/.train.parquet", "test:0"),
        (
            "d",
            "**",
            "d/x.parquet d/README.md d/config.json d/.h.parquet d/__x/a.parquet d/LICENSE d/y/z.parquet",
            "train:06",
        ),
        ("d", "__x/.*", "d/__x/.a.parquet d/__x/b.parquet", "train:0"),
        ("", "./*/**", "d/x.parquet d/.e/x.parquet", "train:0"),
    ],
)  # the same as in datasets 5.2.0
def test_hidden_files_and_folders_of_a_card(folder: str, patterns: str | None, paths: str, expected: str) -> None:
    files = paths.split()
    card = (config("c", {"train": (patterns,)} if patterns else None, folder),)
    for split in ("train", "validation", "test", "a.b"):
        indices = dict(item.split(":") for item in expected.split()).get(split)
        if indices is None:
            assert "there is no split" in refused(listing(*files, configs=card), split)
        else:
            assert chosen(listing(*files, configs=card), split) == [files[int(index)] for index in indices]


def test_the_folder_of_a_card() -> None:
    folders = {"./a/": "a", "/a": "a", ".a": ".a", ".": "", "a/../b": "b"}
    assert {given: _config({"data_dir": given}).folder for given in folders} == folders


def test_refusals_by_a_card() -> None:
    found = listing(*CARD_PATHS, configs=CARD)
    assert refused(found) == (
        "hf:o/n: the data set has 4 configs; name one, such as hf:o/n/en-de (there is en-de, en-zh, text, folder)"
    )
    assert refused(found, name="en-dr") == (
        "hf:o/n: there is no config 'en-dr' (did you mean 'en-de'? there is en-de, en-zh, folder, text)"
    )
    assert refused(found, "tset", "en-de") == (
        "hf:o/n: there is no split 'tset' (did you mean 'test'? there is test, train); set the key split of the corpus"
    )
    conversion = "use the hub's conversion, hf:o/n@refs/convert/parquet, or name files as hf://datasets/o/n/<path>"
    assert refused(found, name="text") == f"hf:o/n: the split train has train.txt, which is not Parquet; {conversion}"
    assert refused(found, "test", "text") == f"hf:o/n: the split test has no file; {conversion}"


def test_the_default_config() -> None:
    paths = ("a/train.parquet", "b/train.parquet")
    a, b = ({"train": (path,)} for path in paths)
    assert chosen(listing(*paths, configs=(config("a", a), config("b", b, default=True)))) == ["b/train.parquet"]
    assert chosen(listing(*paths, configs=(config("a", a), config("default", b)))) == ["b/train.parquet"]
    assert chosen(listing(*paths, configs=(config("a", a),))) == ["a/train.parquet"]


CONVERTED = ("en-de/train/0000.parquet", "en-zh/partial-train/0000.parquet", "en-zh/test/0000.parquet")


def test_the_hubs_conversion() -> None:
    found = listing(".gitattributes", "en-zh/test/0001.parquet", *CONVERTED)
    assert chosen(found, "test", "en-zh") == ["en-zh/test/0000.parquet", "en-zh/test/0001.parquet"]
    assert chosen(found, "partial-train", "en-zh") == ["en-zh/partial-train/0000.parquet"]
    assert refused(found, "train", "en-zh") == (
        "hf:o/n: the hub has converted only the beginning of the split train to Parquet; to use it, set split: "
        "partial-train, or name files of the data set as hf://datasets/…"
    )
    assert "name one, such as hf:o/n/en-de" in refused(found)


def test_no_parquet_at_all() -> None:
    assert refused(listing(".gitattributes", "train.csv", "x/test.csv")) == (
        "hf:o/n: the data set has no Parquet file, and the hub has not converted it; name files of it as "
        "hf://datasets/o/n/<path> (there is train.csv, x/test.csv)"
    )
    with pytest.raises(DownloadError) as caught:
        files_of_split(listing("train.csv"), None, "train", "hf:o/n@v1")
    assert str(caught.value) == (
        "hf:o/n@v1: the data set has no Parquet file at this revision; use the hub's conversion, "
        "hf:o/n@refs/convert/parquet, or name files of it as hf://datasets/o/n/<path> (there is train.csv)"
    )


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("**/*.parquet", "a.parquet", True),
        ("**/*.parquet", "a/b/c.parquet", True),
        ("*.parquet", "a/b.parquet", False),
        ("train-[0-9].parquet", "train-3.parquet", True),
        ("train-[!0-9].parquet", "train-3.parquet", False),
        ("train-?.parquet", "train-x.parquet", True),
        ("train-[9-0].parquet", "train-5.parquet", False),
        ("./a.parquet", "a.parquet", True),
    ],
)
def test_patterns_of_cards(pattern: str, path: str, matches: Any) -> None:
    found = listing(path, configs=(config("default", {"train": (pattern,)}),))
    assert (chosen(found) == [path]) if matches else ("has no file" in refused(found))


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["tokenizer.json", "spiece.model", "tokenizer.model"], "tokenizer.json"),
        (["sentencepiece.bpe.model", "tokenizer.model"], "sentencepiece.bpe.model"),
        (["spiece.model", "a.model"], "spiece.model"),
        (["tokenizer.model", "a.model"], "tokenizer.model"),
        (["a.model", "x/b.model", "model.bin"], "a.model"),
    ],
)
def test_vocabularies(paths: list[str], expected: str) -> None:
    assert vocabulary_file(listing(*paths), ADDRESS).path == expected


def test_no_vocabulary_or_several() -> None:
    with pytest.raises(DownloadError) as caught:
        vocabulary_file(listing("config.json", ".gitattributes"), ADDRESS)
    assert str(caught.value) == (
        "hf:o/n: the repository has no tokenizer.json and no .model file (there is config.json); name the file, "
        "such as hf://datasets/o/n/tokenizer.json"
    )
    with pytest.raises(DownloadError, match=r"has several vocabulary files \(there is a.model, b.spm\); name the file"):
        vocabulary_file(listing("a.model", "b.spm"), ADDRESS)


def test_the_vocabularies_of_a_marian_model() -> None:
    with pytest.raises(DownloadError) as caught:
        vocabulary_file(replace(listing("source.spm", "target.spm", "vocab.json"), repository="hf://o/n"), ADDRESS)
    assert str(caught.value) == (
        "hf:o/n: the repository has a vocabulary for each side, numbered by vocab.json; set vocab to {from: {source: "
        "'hf://o/n/source.spm', target: 'hf://o/n/target.spm'}, ids: 'hf://o/n/vocab.json'}"
    )


LISTED = "hf://datasets/owner/name"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with running_hub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


def listed(scene: Scene, address: str = LISTED) -> Listing:
    return read_listing(scene.fetch(address).path)


def test_files_with_sizes_and_digests(hub: Hub, scene: Scene) -> None:
    repository = hub.dataset("owner/name", {"data/train.parquet": b"rows", "a.txt": b"text"})
    found = listed(scene)
    assert (found.repository, found.commit) == (LISTED, repository.branches["main"])
    assert found.files == (
        HubFile(".gitattributes", 21),
        HubFile("a.txt", 4),
        HubFile("data/train.parquet", 4, sha256(b"rows")),
    )


def test_a_list_of_several_pages(hub: Hub, scene: Scene) -> None:
    hub.dataset("owner/name", {f"data/{number}.parquet": b"%d" % number for number in range(9)})
    whole, hub.page = listed(scene), 4
    assert listed(scene) == whole
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
    found = listed(scene)
    assert found.licence == "mit, cc-by-4.0"
    [config_found] = found.configs
    assert (config_found.name, config_found.default, config_found.folder) == ("en-zh", True, "x")
    assert config_found.files == expected


def test_without_parquet_the_conversion_of_the_hub_is_used(hub: Hub, scene: Scene) -> None:
    repository = hub.dataset("owner/name", {"train.csv": b"a,b"})
    converted = repository.commit({"default/train/0000.parquet": b"rows"}, "refs/convert/parquet")
    found = listed(scene)
    assert found.commit == converted
    assert [file.path for file in found.files] == ["default/train/0000.parquet"]


def test_without_parquet_and_conversion(hub: Hub, scene: Scene) -> None:
    repository = hub.dataset("owner/name", {"train.csv": b"a,b"})
    assert listed(scene).commit == repository.branches["main"]


def test_a_revision_stands_for_itself(hub: Hub, scene: Scene) -> None:
    repository = hub.dataset("owner/name", {"train.csv": b"a,b"})
    repository.commit({"default/train/0000.parquet": b"rows"}, "refs/convert/parquet")
    assert listed(scene, f"{LISTED}@main").commit == repository.branches["main"]


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
        scene.fetch(LISTED)


def test_a_damaged_list(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_bytes(b"{}")
    with pytest.raises(DownloadError, match=r"list.json is not a list of files \(repository: Field required\)"):
        read_listing(tmp_path / "list.json")
