from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import ConfigError, DownloadError, OutputError
from nmt_prep.cli.app import run_app
from nmt_prep.runs.runner import run
from nmt_prep.training.batches import read_records
from tests.corpus import corpus_config, tree

fsspec = pytest.importorskip("fsspec", reason="the extra cloud is not installed")

URL = "memory://bucket/enzh"
MANIFEST = "nmt_prep-manifest.json"


class Scene:
    """A run that has published, and a directory to download to."""

    def __init__(self, place: Path, directory: Path) -> None:
        self.place = place
        self.directory = directory
        self.system = fsspec.filesystem("memory")

    def publish(self, shards: int = 3, name: str = "run") -> None:
        config = corpus_config(self.place / name, records={"shards": {"train": shards}}, publish={"url": URL})
        run(config, workers=1)

    def expected(self, name: str = "run") -> dict[str, str]:
        return {
            file: digest
            for file, digest in tree(self.place / name).items()
            if file.startswith(("records/", "report/", "vocab/"))
        }

    def fetched(self) -> dict[str, str]:
        files = tree(nmt_prep.fetch_run(URL, self.directory))
        del files[MANIFEST]
        return files


@pytest.fixture
def scene(finished: Path, tmp_path: Path) -> Iterator[Scene]:
    shutil.copytree(finished, tmp_path / "place")
    scene = Scene(tmp_path / "place", tmp_path / "copy")
    scene.publish()
    yield scene
    scene.system.store.clear()
    scene.system.pseudo_dirs[:] = [""]


def test_a_publication_arrives_and_can_be_read(scene: Scene) -> None:
    assert scene.fetched() == scene.expected()
    batches = [
        [batch.source.values.tolist() for batch in read_records(run_dir, "train")]
        for run_dir in (scene.place / "run", scene.directory)
    ]
    assert batches[0] == batches[1] != []


def test_only_what_is_missing_or_damaged_is_fetched(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.fetched()
    (scene.directory / "report" / "summary.txt").unlink()
    (scene.directory / "vocab" / "vocab.json").write_text("damaged")
    (scene.directory / "records" / ".x.0123456789abcdef.partial").write_text("from a killed process")
    opened: list[str] = []
    original = type(scene.system)._open

    def spy(system: Any, path: str, *arguments: Any, **options: Any) -> Any:
        opened.append(path.removeprefix("/bucket/enzh/"))
        return original(system, path, *arguments, **options)

    monkeypatch.setattr(type(scene.system), "_open", spy)
    assert scene.fetched() == scene.expected()
    assert sorted(opened) == ["report/summary.txt", "vocab/vocab.json"]
    opened.clear()
    scene.fetched()
    assert opened == []


def test_a_newer_publication_replaces_an_older_one(scene: Scene) -> None:
    scene.fetched()
    (scene.directory / "mine.txt").write_text("kept")
    scene.publish(shards=2)
    assert scene.fetched() == {**scene.expected(), "mine.txt": tree(scene.directory)["mine.txt"]}


def test_files_that_were_not_fetched_are_never_overwritten(scene: Scene) -> None:
    mine = {"report/summary.txt": b"my summary", "vocab/vocab.json": b"my vocabulary"}
    for name, content in mine.items():
        (scene.directory / name).parent.mkdir(parents=True)
        (scene.directory / name).write_bytes(content)
    before = tree(scene.directory)
    with pytest.raises(OutputError) as raised:
        nmt_prep.fetch_run(URL, scene.directory)
    assert str(raised.value) == (
        f"{scene.directory} contains files that were not fetched and would be overwritten: report/summary.txt, "
        "vocab/vocab.json; fetch into another directory, or move them away"
    )
    assert tree(scene.directory) == before
    for name in mine:
        (scene.directory / name).unlink()
    (scene.directory / "report" / "summary.txt").symlink_to("nowhere")
    with pytest.raises(OutputError, match=r"would be overwritten: report/summary\.txt; fetch into another directory"):
        nmt_prep.fetch_run(URL, scene.directory)
    assert (scene.directory / "report" / "summary.txt").readlink() == Path("nowhere")


def test_files_equal_to_the_published_ones_count_as_fetched(scene: Scene) -> None:
    shutil.copytree(scene.place / "run" / "vocab", scene.directory / "vocab")
    assert scene.fetched() == scene.expected()


def test_local_files_with_names_of_a_newer_publication_are_not_overwritten(scene: Scene) -> None:
    scene.fetched()
    scene.publish(shards=2)
    name = next(name for name in scene.expected() if name.endswith("-00001-of-00002"))
    (scene.directory / name).write_text("mine")
    before = tree(scene.directory)
    with pytest.raises(OutputError, match=f"would be overwritten: {name}; fetch into another directory"):
        scene.fetched()
    assert tree(scene.directory) == before
    (scene.directory / name).unlink()
    assert scene.fetched() == scene.expected()


def test_nothing_remains_of_partly_fetched_publications(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.fetched()
    for shards in (2, 4, 5):
        scene.publish(shards=shards)
        with monkeypatch.context() as patch:
            patch.setattr("nmt_prep.stages.publish.publication.ObjectStore.download", broken)
            with pytest.raises(DownloadError, match="broken"):
                nmt_prep.fetch_run(URL, scene.directory)
    assert scene.fetched() == scene.expected()
    assert not (scene.directory / "nmt_prep-unfinished.json").exists()


def broken(*_: object) -> None:
    raise DownloadError("broken")


def test_an_interrupted_fetch_leaves_no_manifest_and_resumes(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.fetched()
    scene.publish(shards=2)
    with monkeypatch.context() as patch:
        original = type(scene.system)._open

        def failing(system: Any, path: str, *arguments: Any, **options: Any) -> Any:
            if path.endswith("-00001-of-00002"):
                raise ConnectionResetError(104, "Connection reset by peer")
            return original(system, path, *arguments, **options)

        patch.setattr(type(scene.system), "_open", failing)
        with pytest.raises(
            DownloadError, match=r"-00001-of-00002: the request failed \(ConnectionResetError: Connection"
        ):
            nmt_prep.fetch_run(URL, scene.directory)
    assert not (scene.directory / MANIFEST).exists()
    assert scene.fetched() == scene.expected()


def test_an_object_that_differs_from_the_manifest(scene: Scene) -> None:
    scene.system.pipe_file("/bucket/enzh/report/summary.txt", b"forged")
    with pytest.raises(
        DownloadError, match=r"summary\.txt: expected SHA-256 \w{64}, found \w{64}; if a run is publishing"
    ):
        nmt_prep.fetch_run(URL, scene.directory)
    assert not (scene.directory / "report" / "summary.txt").exists()
    assert not (scene.directory / MANIFEST).exists()


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "", "a//b"])
def test_a_manifest_that_names_files_elsewhere(scene: Scene, name: str) -> None:
    content = {"format": 1, "number": 1, "files": {name: {"size": 1, "sha256": "0" * 64}}}
    scene.system.pipe_file(f"/bucket/enzh/{MANIFEST}", json.dumps(content).encode())
    with pytest.raises(DownloadError, match=r"was not written by this version of nmt_prep \(the name "):
        nmt_prep.fetch_run(URL, scene.directory)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ({"files": {"a": {"size": "x", "sha256": "0" * 64}}}, "size: Input should be a valid integer"),
        ({"files": {"a": {"size": 1, "sha256": 5}}}, "sha256: Input should be a valid string"),
        ({"files": {"a": 5}}, "Input should be a dictionary"),
        ({"files": {"\ud800": {"size": 1, "sha256": "0" * 64}}}, "surrogates not allowed"),
        ({"files": {MANIFEST: {"size": 1, "sha256": "0" * 64}}}, f"the name '{MANIFEST}'"),
        ({"files": [], "number": 1e999}, "object has no attribute"),
        ({"files": {}, "number": 1e999}, "Input should be a finite number"),
    ],
)
def test_malformed_manifest(scene: Scene, content: dict[str, Any], fault: str) -> None:
    text = json.dumps({"format": 1, "number": 1, **content})
    for directory in (f"/bucket/enzh/{MANIFEST}", "/bucket/enzh/nmt_prep-unfinished.json"):
        scene.system.pipe_file(directory, text.encode())
    with pytest.raises(DownloadError, match=rf"was not written by this version of nmt_prep \(.*{fault}"):
        nmt_prep.fetch_run(URL, scene.directory)


def test_a_manifest_that_is_nested_too_deeply(scene: Scene) -> None:
    scene.fetched()
    scene.system.pipe_file(f"/bucket/enzh/{MANIFEST}", b"[" * 200_000)
    with pytest.raises(DownloadError, match=r"was not written by this version of nmt_prep \(nested too deeply\)"):
        nmt_prep.fetch_run(URL, scene.directory)
    with pytest.raises(OutputError, match=r"was not written by this version of nmt_prep \(nested too deeply\)"):
        scene.publish(shards=2)
    scene.system.store.clear()
    scene.publish(shards=4)
    (scene.directory / MANIFEST).write_bytes(b"[" * 200_000)
    with pytest.raises(OutputError, match=r"was not written by this version of nmt_prep \(nested too deeply\)"):
        nmt_prep.fetch_run(URL, scene.directory)


def test_places_without_a_publication(scene: Scene) -> None:
    with pytest.raises(DownloadError, match=r"^memory://bucket/other has no nmt_prep-manifest\.json; check the url"):
        nmt_prep.fetch_run("memory://bucket/other", scene.directory)
    scene.system.rm_file(f"/bucket/enzh/{MANIFEST}")
    scene.system.pipe_file("/bucket/enzh/nmt_prep-unfinished.json", b"{}")
    with pytest.raises(DownloadError, match=r"^memory://bucket/enzh: a publication is in progress or was interrupted"):
        nmt_prep.fetch_run(URL, scene.directory)
    with pytest.raises(ConfigError, match=r"cannot be opened"):
        nmt_prep.fetch_run("nowhere://x", scene.directory)


def test_on_the_command_line(scene: Scene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(
        "sys.argv", ["nmt-prep", "fetch", URL, str(scene.directory), "--option", "skip_instance_cache=1"]
    )
    assert run_app() == 0
    assert capsys.readouterr().out.endswith(f"published files: {scene.directory}\n")
    assert {name: digest for name, digest in tree(scene.directory).items() if name != MANIFEST} == scene.expected()
    monkeypatch.setattr("sys.argv", ["nmt-prep", "fetch", URL, str(scene.directory), "--option", "x"])
    assert run_app() == 2
