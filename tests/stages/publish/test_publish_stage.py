from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base.errors import ConfigError, OutputError
from nmt_prep.config import Config, PublishSettings
from nmt_prep.corpora.sources.objects import ObjectStore
from nmt_prep.pipeline.drivers import RoundState, Share
from nmt_prep.runs.runner import plan, run, run_share, tasks
from nmt_prep.stages.publish.publication import Publication, PublishedFile, StorePublisher
from tests.corpus import corpus_config, tree

fsspec = pytest.importorskip("fsspec", reason="the extra cloud is not installed")

MANIFEST, UNFINISHED = "nmt_prep-manifest.json", "nmt_prep-unfinished.json"


class Killed(BaseException):
    """Simulates SIGKILL; nothing may handle it."""


class Scene:
    """A run, and an in-memory bucket to publish to."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.output = place / "run"
        self.system = fsspec.filesystem("memory")

    def config(self, **publish: Any) -> Config:
        records = {"shards": {"train": publish.pop("shards", 3)}}
        settings = {"url": "memory://bucket/enzh", **publish}
        return corpus_config(self.output, records=records, publish=settings)

    def run(self, **publish: Any) -> None:
        run(self.config(**publish), workers=1)

    def there(self) -> dict[str, bytes]:
        prefix = "/bucket/enzh/"
        return {path.removeprefix(prefix): self.system.cat_file(path) for path in self.system.find(prefix)}

    def reason(self, **publish: Any) -> str:
        return plan(self.config(**publish))[-1].reason


@pytest.fixture
def scene(finished: Path, tmp_path: Path) -> Iterator[Scene]:
    shutil.copytree(finished, tmp_path / "place")
    scene = Scene(tmp_path / "place")
    yield scene
    scene.system.store.clear()
    scene.system.pseudo_dirs[:] = [""]


def assert_all_that_a_manifest_names_is_there(there: dict[str, bytes]) -> None:
    """Asserts what readers rely on at any time."""
    if MANIFEST in there:
        for name, facts in json.loads(there[MANIFEST])["files"].items():
            content = there[name]
            assert (len(content), hashlib.sha256(content).hexdigest()) == (facts["size"], facts["sha256"])


def published_files(output: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(output)): path.read_bytes()
        for stage in ("records", "report", "vocab")
        for path in (output / stage).rglob("*")
        if path.is_file() and path.name != "run.json"
    }


def assert_published(scene: Scene) -> None:
    there = scene.there()
    assert_all_that_a_manifest_names_is_there(there)
    number = json.loads(there[MANIFEST])["number"]
    files = published_files(scene.output)
    assert {name: content for name, content in there.items() if name != MANIFEST} == files
    digests = {
        name: {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)} for name, content in files.items()
    }
    assert json.loads(there[MANIFEST]) == {"format": 1, "number": number, "files": digests}
    noted = json.loads((scene.output / "publish" / "published.json").read_bytes())
    assert noted == {"url": "memory://bucket/enzh", "files": digests}


def spied(monkeypatch: pytest.MonkeyPatch, scene: Scene, before: Callable[[str, str], None]) -> None:
    """Calls ``before`` with each request that changes the bucket: ``write`` or ``remove``, and the object's name."""
    for method, kind in (("_open", "write"), ("rm_file", "remove")):
        original = getattr(type(scene.system), method)

        def wrapped(system: Any, path: str, *args: Any, _kind: str = kind, _to: Any = original, **options: Any) -> Any:
            if _kind == "remove" or "wb" in (*args, options.get("mode")):
                before(_kind, path.removeprefix("/bucket/enzh/"))
            return _to(system, path, *args, **options)

        monkeypatch.setattr(type(scene.system), method, wrapped)


@contextmanager
def killed_if(monkeypatch: pytest.MonkeyPatch, scene: Scene, stop: Callable[[str, str], bool]) -> Iterator[None]:
    """Kills the publication at the first request for which ``stop`` returns true."""

    def before(kind: str, name: str) -> None:
        if stop(kind, name):
            raise Killed

    with monkeypatch.context() as patch:
        spied(patch, scene, before)
        with pytest.raises(Killed):
            yield


def test_files_that_training_reads_are_published(scene: Scene) -> None:
    scene.run()
    assert_published(scene)
    assert {name.partition("/")[0] for name in scene.there()} == {MANIFEST, "records", "report", "vocab"}
    assert scene.reason() == "nothing changed"


def test_publishing_to_a_directory_and_publishing_further_stages(scene: Scene, tmp_path: Path) -> None:
    scene.run(url=f"file://{tmp_path}/there", stages=["report", "compile"])
    expected = {name: digest for name, digest in tree(scene.output).items() if name.startswith(("report", "compiled"))}
    found = tree(tmp_path / "there")
    del found[MANIFEST]
    assert found == expected


def test_files_that_no_publication_put_there_are_never_overwritten(scene: Scene, tmp_path: Path) -> None:
    there = tmp_path / "there"
    for name in ("vocab/vocab.json", "report/summary.txt", "report/mine.txt", "records/dataset.json", "vocab/freq.tsv"):
        (there / name).parent.mkdir(parents=True, exist_ok=True)
        (there / name).write_text("mine")
    before = tree(there)
    with pytest.raises(OutputError) as raised:
        scene.run(url=f"file://{there}")
    assert str(raised.value) == (
        f"file://{there} contains files that were not published by nmt_prep and would be overwritten: "
        "records/dataset.json, report/summary.txt, vocab/vocab.json; publish to another url, or move them away"
    )
    assert tree(there) == before
    (there / "vocab" / "vocab.json").unlink()
    shutil.rmtree(there / "records")
    (there / "report" / "summary.txt").unlink()
    scene.run(url=f"file://{there}")
    assert (there / "report" / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("linked", ["records", "report/summary.txt"])
def test_files_behind_symbolic_links_are_never_overwritten(scene: Scene, tmp_path: Path, linked: str) -> None:
    there, behind = tmp_path / "there", tmp_path / "behind"
    scene.run(url=f"file://{there}")
    (there / linked).rename(behind)
    (there / linked).symlink_to(behind)
    before = {name: (there / name).read_bytes() for name in published_files(scene.output)}
    with pytest.raises(
        OutputError,
        match=f"^file://{there}/{linked} is a symbolic link, and files behind it would be overwritten; remove the link",
    ):
        scene.run(url=f"file://{there}", shards=2)
    assert {name: (there / name).read_bytes() for name in before} == before
    (there / linked).unlink()
    scene.run(url=f"file://{there}", shards=2)
    published = published_files(scene.output)
    assert published != before
    assert {name: (there / name).read_bytes() for name in published} == published


def test_error_names_some_of_many_conflicting_files(scene: Scene) -> None:
    scene.run()
    for name in (MANIFEST, UNFINISHED):
        scene.system.store.pop(f"/bucket/enzh/{name}", None)
    with pytest.raises(
        OutputError, match=r"would be overwritten: records/.*, records/.*, records/.*, and 1\d more; publish to"
    ):
        run(scene.config(), force=["publish"])


def test_after_a_kill_while_the_unfinished_manifest_is_replaced_its_files_are_still_known(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    with killed_if(monkeypatch, scene, lambda kind, name: (kind, name) == ("write", MANIFEST)):
        scene.run(shards=2)
    unfinished = scene.there()[UNFINISHED]
    scene.system.pipe_file(f"/bucket/enzh/{UNFINISHED}", unfinished[: len(unfinished) // 2])
    scene.run(shards=2)
    assert_published(scene)


def test_a_publication_completed_by_another_process_is_found(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.run()
    there = scene.there()
    wanted = {name: PublishedFile(**facts) for name, facts in json.loads(there[MANIFEST])["files"].items()}
    scene.system.rm_file(f"/bucket/enzh/{MANIFEST}")
    unfinished = Publication(1, dict.fromkeys(wanted), "f" * 64).as_bytes()
    scene.system.pipe_file(f"/bucket/enzh/{UNFINISHED}", unfinished)
    original = ObjectStore.read

    def completing(store: ObjectStore, name: str) -> bytes | None:
        content = original(store, name)
        if name == MANIFEST and content is None:
            scene.system.pipe_file(f"/bucket/enzh/{MANIFEST}", there[MANIFEST])
            scene.system.rm_file(f"/bucket/enzh/{UNFINISHED}")
        return content

    monkeypatch.setattr(ObjectStore, "read", completing)
    settings = PublishSettings(url="memory://bucket/enzh")
    assert StorePublisher(settings).announce("f" * 64, wanted) == (1, [])
    assert scene.there() == there


def test_publishing_again_sends_only_changes_and_deletes_removed_files(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.run()
    before = scene.there()
    scene.system.pipe_file("/bucket/enzh/notes.txt", b"of somebody else")
    requests: list[tuple[str, str]] = []
    spied(monkeypatch, scene, lambda *request: requests.append(request))
    scene.run(shards=2)
    assert scene.system.cat_file("/bucket/enzh/notes.txt") == b"of somebody else"
    monkeypatch.undo()
    scene.system.rm_file("/bucket/enzh/notes.txt")
    assert_published(scene)
    after = scene.there()
    del before[MANIFEST], after[MANIFEST]
    changed = [("write", name) for name in sorted(after) if before.get(name) != after[name]]
    gone = [("remove", name) for name in sorted(before.keys() - after.keys())]
    assert requests[:2] == [("write", UNFINISHED), ("remove", MANIFEST)]
    assert sorted(requests[2 : 2 + len(changed)]) == changed
    assert requests[2 + len(changed) :] == [("write", MANIFEST), *gone, ("remove", UNFINISHED)]
    assert (len(changed), len(gone)) == (8, 6)
    assert not any(name.startswith("vocab/") for _, name in changed)


def test_a_current_publication_is_left_unchanged(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.run()
    shutil.rmtree(scene.output / "publish")
    spied(monkeypatch, scene, lambda *_: pytest.fail("nothing there must change"))
    scene.run()
    assert_published(scene)


def test_vanished_objects_are_sent_again_with_force(scene: Scene) -> None:
    scene.run()
    scene.system.rm_file("/bucket/enzh/report/summary.txt")
    assert scene.reason() == "nothing changed"
    run(scene.config(), force=["publish"])
    assert_published(scene)


@pytest.mark.parametrize(
    ("older", "step"),
    [(None, 4), (2, 3), pytest.param(None, 1, marks=pytest.mark.slow), pytest.param(2, 1, marks=pytest.mark.slow)],
)
def test_after_a_kill_at_any_request_it_resumes_and_readers_never_miss_a_file(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, older: int | None, step: int
) -> None:
    if older is not None:
        scene.run(shards=older)
    saved, run_before = dict(scene.system.store), scene.place / "before"
    shutil.copytree(scene.output, run_before)
    last = 0
    for number in range(1, 100, step):
        scene.system.store.clear()
        scene.system.store.update(saved)
        shutil.rmtree(scene.output)
        shutil.copytree(run_before, scene.output)
        requests = 0

        def counted(kind: str, name: str, number: int = number) -> None:
            nonlocal requests
            requests += 1
            assert_all_that_a_manifest_names_is_there(scene.there())
            if requests == number:
                raise Killed

        with monkeypatch.context() as patch:
            spied(patch, scene, counted)
            try:
                scene.run()
                last = number
            except Killed:
                pass
        assert_all_that_a_manifest_names_is_there(scene.there())
        scene.run()
        assert_published(scene)
        if last:
            break
    assert last > 15


@pytest.mark.parametrize("number", [1, 9, 12, *(pytest.param(each, marks=pytest.mark.slow) for each in [2, 3, 10])])
def test_a_config_that_is_changed_back_after_a_kill_is_published_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    scene.run()
    requests = count(1)
    with killed_if(monkeypatch, scene, lambda *_: next(requests) == number):
        scene.run(shards=2)
    scene.run()
    assert_published(scene)


def test_a_killed_run_does_not_claim_a_later_publication_of_another(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    with killed_if(monkeypatch, scene, lambda kind, name: (kind, name) == ("write", MANIFEST)):
        scene.run()
    other = Scene(scene.place)
    other.output = scene.place / "other"
    shutil.copytree(scene.output, other.output, ignore=shutil.ignore_patterns("drafts"))
    other.run(shards=2)
    assert_published(other)
    scene.run()
    assert_published(scene)
    assert json.loads(scene.there()[MANIFEST])["number"] == 3


def test_two_runs_publishing_to_one_url_detect_each_other(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def other_begins(kind: str, name: str) -> None:
        if name == "report/summary.txt":
            unfinished = json.loads(scene.there()[UNFINISHED])
            other = json.dumps({**unfinished, "fingerprint": "f" * 64}).encode()
            scene.system.store["/bucket/enzh/" + UNFINISHED] = type(scene.system.store["/bucket/enzh/" + UNFINISHED])(
                scene.system, "/bucket/enzh/" + UNFINISHED, other
            )

    with monkeypatch.context() as patch:
        spied(patch, scene, other_begins)
        with pytest.raises(OutputError, match=r"^memory://bucket/enzh: another run publishes to the same url"):
            scene.run()
    scene.run()
    assert_published(scene)


def test_uploads_in_shares(scene: Scene) -> None:
    for number in (2, 0, 2):
        run_share(scene.config(), Share("publish", number, 3))
    (state,) = tasks(scene.config())[-1].rounds
    assert (state.round, state.done, len(state.tasks)) == ("publish", 10, 15)
    there = scene.there()
    assert MANIFEST not in there
    assert len(there) == 1 + 10
    scene.run()
    assert_published(scene)


def test_listing_tasks_does_not_change_the_store(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    spied(monkeypatch, scene, lambda *_: pytest.fail("nothing there must change"))
    assert tasks(scene.config())[-1].rounds == (RoundState("publish", None),)


def test_a_file_changed_after_its_stage(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def change(kind: str, name: str) -> None:
        if name == "report/summary.txt":
            (scene.output / name).write_text("forged")

    with monkeypatch.context() as patch:
        spied(patch, scene, change)
        with pytest.raises(OutputError, match=r"summary\.txt was changed after it was made; run again with --verify"):
            scene.run()
    run(scene.config(), verify=True)
    assert_published(scene)


def test_foreign_manifests(scene: Scene) -> None:
    scene.system.pipe_file("/bucket/enzh/" + MANIFEST, b'{"format": 7}')
    with pytest.raises(
        OutputError, match=r"^memory://bucket/enzh/nmt_prep-manifest.json was not written by this version"
    ):
        scene.run()


@pytest.mark.parametrize(
    ("publish", "problem"),
    [
        ({"url": "/a/path"}, "publish.url"),
        ({"url": "s3://user:password@bucket/x"}, "hf://datasets/owner/name, without user and password"),
        (
            {"options": {"client_kwargs": {"aws_secret_access_key": "x"}}},
            "leave aws_secret_access_key out of the config",
        ),
        ({"options": {"key": "x"}}, "leave key out of the config"),
        ({"stages": ["download"]}, "publish.stages"),
        ({"stages": []}, "publish.stages"),
        ({"stages": ["outputs"]}, "publish.stages: names outputs, but the config does not include that stage"),
    ],
)
def test_invalid_publish_sections(tmp_path: Path, publish: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        corpus_config(tmp_path / "run", publish={"url": "memory://bucket/enzh", **publish})


def test_without_the_section_there_is_no_stage(scene: Scene) -> None:
    steps = plan(corpus_config(scene.output))
    assert [step.stage for step in steps if not step.fresh] == []
    assert steps[-1].stage == "report"
