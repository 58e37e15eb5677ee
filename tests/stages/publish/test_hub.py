from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base.errors import OutputError
from nmt_prep.config import PublishSettings
from nmt_prep.corpora.sources.transfers import Clock
from nmt_prep.stages.publish.hub import HubPublisher, hub_url_problem
from nmt_prep.stages.publish.publication import PublishedFile
from tests.hub import LARGE, TOKEN, Hub, Repository

huggingface_hub = pytest.importorskip("huggingface_hub", reason="the extra huggingface is not installed")
constants = pytest.importorskip("huggingface_hub.constants")

# huggingface_hub uploads with a deprecated argument of its HTTP library
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

MANIFEST = "nmt_prep-manifest.json"
FILES = {"records/a": b"a" * LARGE, "records/b": b"b" * LARGE, "vocab/c": b"small"}


class Scene:
    """A data set to publish to, and a directory with the files."""

    def __init__(self, directory: Path, hub: Hub) -> None:
        self.directory = directory
        self.hub = hub
        self.repository: Repository = hub.dataset("owner/name")

    def publisher(self, url: str = "hf://datasets/owner/name") -> HubPublisher:
        return HubPublisher(PublishSettings(url=url))

    def publish(self, files: dict[str, bytes], url: str = "hf://datasets/owner/name", **more: bytes) -> list[str]:
        """Publishes files, as the stage does; returns the names of those that were to be uploaded."""
        paths = {name: self.directory / name for name in files}
        for name, content in files.items():
            paths[name].parent.mkdir(parents=True, exist_ok=True)
            paths[name].write_bytes(content)
        all_files = {**files, **more}
        wanted = {name: PublishedFile(len(each), hashlib.sha256(each).hexdigest()) for name, each in all_files.items()}
        number, missing = self.publisher(url).announce("f", wanted)
        for name in missing:
            if name in paths:
                assert self.publisher(url).upload(paths[name], name, lambda size: None) == wanted[name].sha256
        assert self.publisher(url).is_current(number, "f", wanted)
        self.publisher(url).complete(number, "f", wanted, {**paths, **more})
        return missing

    def there(self, branch: str = "main") -> dict[str, bytes]:
        return {name: each for name, each in self.repository.head(branch).items() if name != ".gitattributes"}

    def number(self) -> int:
        number: int = json.loads(self.there()[MANIFEST])["number"]
        return number

    def sent(self) -> list[str]:
        """Returns the digests of the files that were sent to the storage since the last call."""
        sent = [asked.rpartition("/")[2] for asked, _ in self.hub.stored if asked.startswith("PUT ")]
        self.hub.stored.clear()
        return sent


@pytest.fixture
def scene(running_hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True, raising=False)
    return Scene(tmp_path, running_hub)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_one_commit_has_all_files(scene: Scene) -> None:
    scene.publish(FILES, **{"README.md": b"---\nlanguage: [en]\n---\n"})
    there = scene.there()
    facts = {name: {"size": len(each), "sha256": digest(each)} for name, each in there.items() if name != MANIFEST}
    assert json.loads(there.pop(MANIFEST)) == {"format": 1, "number": 1, "files": facts}
    assert there == {**FILES, "README.md": b"---\nlanguage: [en]\n---\n"}
    assert scene.repository.messages == ["files", "Publish 4 files"]
    assert {authorization for _, authorization in scene.hub.stored} == {None}
    assert sorted(scene.sent()) == sorted(map(digest, (FILES["records/a"], FILES["records/b"])))
    assert set(scene.hub.tokens) == {f"Bearer {TOKEN}"}


def test_only_changes_are_uploaded_and_old_files_deleted(scene: Scene) -> None:
    scene.publish(FILES)
    scene.sent()
    changed = {"records/a": FILES["records/a"], "records/x": b"x" * LARGE, "vocab/c": b"other"}
    assert scene.publish(changed) == ["records/x", "vocab/c"]
    assert scene.sent() == [digest(changed["records/x"])]
    assert scene.there().keys() == {*changed, MANIFEST}
    assert scene.number() == 2
    assert scene.publish(changed) == []
    assert scene.repository.messages == ["files", "Publish 3 files", "Publish 3 files"]


def test_a_branch_and_a_directory(scene: Scene) -> None:
    scene.repository.commit({"other.txt": b"mine", "enzh.txt": b"mine"}, "v2")
    scene.publish(FILES, "hf://datasets/owner/name@v2/enzh")
    there = scene.there("v2")
    assert there.keys() == {"other.txt", "enzh.txt", f"enzh/{MANIFEST}", *(f"enzh/{name}" for name in FILES)}
    assert scene.there() == {}


def test_an_interrupted_publication_resumes(scene: Scene) -> None:
    scene.hub.broken["/commit/"] = 500
    with pytest.raises(OutputError, match=r"the request failed \(status 500\); check the network, and run again"):
        scene.publish(FILES)
    assert scene.there() == {}
    scene.hub.broken.clear()
    assert len(scene.sent()) == 2
    scene.publish(FILES)
    assert scene.there().keys() == {*FILES, MANIFEST}
    assert scene.sent() == []


def test_a_failed_commit_is_tried_again(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.corpora.sources.objects.RETRIES", 1)
    scene.hub.broken["/commit/"] = 503
    clock = Clock(sleep=lambda seconds: scene.hub.broken.clear())
    publisher = HubPublisher(PublishSettings(url="hf://datasets/owner/name"), clock)
    publisher.complete(1, "f", {"vocab/c": PublishedFile(1, digest(b"c"))}, {"vocab/c": b"c"})
    assert scene.there().keys() == {"vocab/c", MANIFEST}


def test_a_commit_whose_answer_is_lost_is_not_made_twice(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    original = huggingface_hub.HfApi.create_commit

    def lost(self: Any, *args: Any, **options: Any) -> Any:
        original(self, *args, **options)
        raise ConnectionResetError

    monkeypatch.setattr(huggingface_hub.HfApi, "create_commit", lost)
    scene.publish(FILES)
    assert scene.repository.messages == ["files", "Publish 3 files"]


def test_files_of_others_are_not_overwritten(scene: Scene) -> None:
    scene.repository.commit({"records/a": b"mine"})
    with pytest.raises(OutputError) as caught:
        scene.publish(FILES)
    assert str(caught.value) == (
        "hf://datasets/owner/name contains files that were not published by nmt_prep and would be overwritten: "
        "records/a; publish to another url, or move them away"
    )


def test_a_publication_in_between_is_noticed(scene: Scene) -> None:
    scene.publish(FILES)
    wanted = {"vocab/d": PublishedFile(1, digest(b"d"))}
    number, _ = scene.publisher().announce("f", wanted)
    scene.publish({"vocab/c": b"another run"})
    assert not scene.publisher().is_current(number, "f", wanted)
    with pytest.raises(OutputError, match="another run publishes to the same url; give each run its own"):
        scene.publisher().complete(number, "f", wanted, {"vocab/d": b"d"})
    assert scene.there()["vocab/c"] == b"another run"


def test_a_commit_at_the_last_moment_is_noticed(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    original = huggingface_hub.HfApi.create_commit

    def other_first(self: Any, *args: Any, **options: Any) -> Any:
        scene.repository.commit({"other": b"mine"})
        return original(self, *args, **options)

    monkeypatch.setattr(huggingface_hub.HfApi, "create_commit", other_first)
    with pytest.raises(OutputError, match="another run publishes to the same url"):
        scene.publish(FILES)
    assert scene.there() == {"other": b"mine"}


def test_a_changed_file_is_noticed(scene: Scene) -> None:
    with pytest.raises(OutputError, match=r"vocab/c was changed after it was made \(SHA-256 [0-9a-f]{64}\)"):
        scene.publisher().complete(1, "f", {"vocab/c": PublishedFile(1, digest(b"c"))}, {"vocab/c": b"x"})


@pytest.mark.parametrize(
    ("url", "token", "error"),
    [
        (
            "hf://datasets/owner/none",
            TOKEN,
            r"there is no data set owner/none on http://.* that the token of this machine may see; create it first",
        ),
        ("hf://datasets/owner/name@v9", TOKEN, "the data set has no revision v9; http://.* lists them"),
        (
            "hf://datasets/owner/name",
            "hf_reader",
            "access denied; set HF_TOKEN to a token that may write to owner/name",
        ),
    ],
)
def test_refusals(scene: Scene, monkeypatch: pytest.MonkeyPatch, url: str, token: str, error: str) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(OutputError, match=error) as caught:
        scene.publish(FILES, url)
    assert token not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("hf://datasets/owner/name@main/a/b", ""),
        ("hf://owner/name", "is no data set: publish to hf://datasets/<owner>/<name>[@<branch>][/<path>]"),
        ("hf://datasets/name", "is no data set: publish to hf://datasets/<owner>/<name>[@<branch>][/<path>]"),
        (f"hf://datasets/o/n@{'a' * 40}", "is a commit, which never changes; name a branch"),
    ],
)
def test_urls(url: str, problem: str) -> None:
    assert hub_url_problem(url) == (f"{url} {problem}" if problem else "")
