from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from nmt_prep.base.errors import DownloadError, OutputError
from nmt_prep.base.progress import Progress
from nmt_prep.config import Config
from nmt_prep.pipeline.engines import LocalEngine
from nmt_prep.pipeline.manifest import Counts, read_manifest
from nmt_prep.pipeline.pipeline import Pipeline
from nmt_prep.pipeline.stage import AnyStage, HealthWarning, Job, NoOutput, Result, Stage, Warnings
from tests.stages.runs import config_of


class Read(Stage[NoOutput, None]):
    """Copies a local file in upper case."""

    name: ClassVar[str] = "read"
    directory: ClassVar[str] = "reads"

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        return ()

    def settings(self, config: Config) -> dict[str, object]:
        return {"languages.source": config.languages.source}

    def local_files(self, config: Config) -> dict[str, Path]:
        return {"input.txt": config.base_dir / "input.txt"}

    def finish(self, job: Job, made: None) -> Result[NoOutput]:
        text = (job.config.base_dir / "input.txt").read_text().upper()
        (job.directory / "text").write_text(text)
        return Result(NoOutput(), Counts(pairs_in=len(text), pairs_out=len(text)))


@dataclass(frozen=True)
class CountOutput:
    length: int


class Count(Stage[CountOutput, None]):
    """Writes the length of the text times the size of the vocabulary."""

    name: ClassVar[str] = "count"
    directory: ClassVar[str] = "counts"
    output: ClassVar[type[CountOutput]] = CountOutput

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        return (Read,)

    def settings(self, config: Config) -> dict[str, object]:
        return {"vocab.size": config.vocab.size}

    def finish(self, job: Job, made: None) -> Result[CountOutput]:
        text = (job.directory_of(Read) / "text").read_text()
        (job.directory / "count").write_text(str(len(text) * job.config.vocab.size))
        return Result(CountOutput(len(text)))


@dataclass(frozen=True)
class Letters:
    """Observations of :class:`Noticing`."""

    a: int = 0


class Noticing(Read):
    """Reads the text and counts the letter A, times the number of shards."""

    observed: ClassVar[type[Letters]] = Letters

    def settings(self, config: Config) -> dict[str, object]:
        return {"shards": config.shards("train")}

    def finish(self, job: Job, made: None) -> Result[NoOutput]:
        text = (job.config.base_dir / "input.txt").read_text().upper()
        (job.directory / "text").write_text(text)
        return Result(NoOutput(), observed=Letters(text.count("A") * job.config.shards("train")))


class Telling(Stage[NoOutput, None]):
    """Writes what :class:`Noticing` observed."""

    name: ClassVar[str] = "telling"
    directory: ClassVar[str] = "told"
    observes: ClassVar[bool] = True
    reads: ClassVar[tuple[type[AnyStage], ...]] = (Noticing,)

    def settings(self, config: Config) -> dict[str, object]:
        return {}

    def finish(self, job: Job, made: None) -> Result[NoOutput]:
        seen: Letters = job.observed(Noticing)
        (job.directory / "a").write_text(str(seen.a))
        return Result(NoOutput())


class Sorted(Stage[NoOutput, None]):
    """Writes the lines of the text that begin with A, and the others to a directory of their own."""

    name: ClassVar[str] = "sorted"
    directory: ClassVar[str] = "kept"
    beside: ClassVar[tuple[str, ...]] = ("left",)
    reads: ClassVar[tuple[type[AnyStage], ...]] = (Read,)

    def settings(self, config: Config) -> dict[str, object]:
        return {}

    def finish(self, job: Job, made: None) -> Result[NoOutput]:
        lines = (job.directory_of(Read) / "text").read_text().splitlines()
        (job.directory / "lines").write_text(" ".join(line for line in lines if line[0] == "A"))
        (job.beside("left") / "lines").write_text(" ".join(line for line in lines if line[0] != "A"))
        return Result(NoOutput())


def config(directory: Path, **changes: Any) -> Config:
    return config_of(directory, {"name": "c", "url": "x.tgz", "source": "a", "target": "b"}, **changes)


def pipeline(directory: Path, **changes: Any) -> Pipeline:
    return Pipeline([Read(), Count()], config(directory, **changes), Progress())


def ran(directory: Path, force: tuple[str, ...] = (), until: str | None = None, **changes: Any) -> list[str]:
    outcomes = pipeline(directory, **changes).run(LocalEngine(1), force=force, until=until)
    return [outcome.stage for outcome in outcomes if outcome.ran]


def reasons(directory: Path, verify: bool = False, **changes: Any) -> dict[str, str]:
    return {step.stage: step.reason for step in pipeline(directory, **changes).plan(verify=verify)}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "input.txt").write_text("text")
    return tmp_path


def test_first_run_makes_everything_and_the_second_nothing(place: Path) -> None:
    assert reasons(place) == {"read": "never run here", "count": "follows read"}
    assert not (place / "run").exists()
    assert ran(place) == ["read", "count"]
    assert (place / "run" / "counts" / "count").read_text() == str(4 * 8192)
    assert ran(place) == []
    assert reasons(place) == {"read": "nothing changed", "count": "nothing changed"}


def test_a_changed_setting_reruns_its_stage_and_says_so(place: Path) -> None:
    ran(place)
    changed = {"vocab": {"size": 4096}}
    assert reasons(place, **changed) == {"read": "nothing changed", "count": "config vocab.size changed 8192 → 4096"}
    assert ran(place, **changed) == ["count"]
    assert (place / "run" / "counts" / "count").read_text() == str(4 * 4096)


def test_later_stages_run_only_if_their_inputs_changed(place: Path) -> None:
    ran(place)
    changed = {"languages": {"source": "de", "target": "zh"}}
    assert reasons(place, **changed)["count"] == "follows read"
    assert ran(place, **changed) == ["read"]


def test_touching_a_local_file_reruns_nothing_and_changing_it_does(place: Path) -> None:
    ran(place)
    os.utime(place / "input.txt", (1, 1))
    assert ran(place) == []
    (place / "input.txt").write_text("other")
    assert reasons(place)["read"] == "file input.txt changed"
    assert ran(place) == ["read", "count"]
    assert (place / "run" / "counts" / "count").read_text() == str(5 * 8192)


def test_a_missing_local_file_is_named(place: Path) -> None:
    (place / "input.txt").unlink()
    with pytest.raises(DownloadError, match=r"input\.txt.*No such file.*relative to the config file"):
        reasons(place)


def test_damaged_outputs_are_detected_and_rebuilt(place: Path) -> None:
    ran(place)
    output = place / "run" / "counts" / "count"
    output.unlink()
    assert reasons(place)["count"] == f"{output} is missing"
    assert ran(place) == ["count"]
    output.write_text("7")
    assert reasons(place)["count"] == f"{output} was changed after it was made"
    assert ran(place) == ["count"]
    assert output.read_text() == str(4 * 8192)


def test_verify_reads_again_files_that_look_unchanged(place: Path) -> None:
    ran(place)
    output = place / "run" / "reads" / "text"
    times = output.stat()
    assert reasons(place, verify=True)["read"] == "nothing changed"
    output.write_text("TEXU")
    os.utime(output, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert reasons(place, verify=True)["read"] == f"{output} was changed after it was made"


def test_force_and_until(place: Path) -> None:
    assert ran(place, until="read") == ["read"]
    assert not (place / "run" / "counts").exists()
    assert ran(place, force=("count",)) == ["count"]
    assert {step.stage: step.reason for step in pipeline(place).plan(force=("read",))} == {
        "read": "requested by --force",
        "count": "follows read",
    }


def test_a_new_version_of_a_stage_reruns_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(place)
    monkeypatch.setattr(Count, "version", 2)
    assert reasons(place)["count"] == "nmt_prep makes version 2 of this stage, not 1"


def test_a_failure_keeps_finished_stages_and_counts_as_an_interruption(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Count, job: Job, made: None) -> Result[CountOutput]:
        raise OutputError("disk")

    with monkeypatch.context() as patch:
        patch.setattr(Count, "finish", fail)
        with pytest.raises(OutputError, match="disk"):
            ran(place)
    assert reasons(place) == {"read": "nothing changed", "count": "was interrupted"}
    assert ran(place) == ["count"]


@pytest.mark.parametrize("damage", ["{}", "", "[" * 200_000, "files", "counts", "version", "details"])
def test_a_damaged_manifest_is_named(place: Path, damage: str) -> None:
    ran(place)
    manifest = place / "run" / ".nmt_prep" / "manifests" / "read.json"
    fields = json.loads(manifest.read_bytes())
    manifest.write_text(json.dumps({**fields, damage: ["x"]}) if damage in fields else damage)
    with pytest.raises(OutputError, match=r"read\.json is not a valid manifest.*delete it"):
        ran(place)


def test_two_runs_of_one_config_write_the_same_bytes(tmp_path: Path) -> None:
    trees = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "input.txt").write_text("text")
        ran(tmp_path / name)
        root = tmp_path / name / "run"
        trees.append({str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()})
    assert trees[0] == trees[1]
    assert "reads/text" in trees[0]


def test_a_stage_may_own_several_directories(tmp_path: Path) -> None:
    (tmp_path / "input.txt").write_text("apple\nbanana\n")
    stages = Pipeline([Read(), Sorted()], config(tmp_path), Progress())

    def ran() -> list[str]:
        return [outcome.stage for outcome in stages.run(LocalEngine(1)) if outcome.ran]

    root = tmp_path / "run"
    assert ran() == ["read", "sorted"]
    assert [(root / name / "lines").read_text() for name in ("kept", "left")] == ["APPLE", "BANANA"]
    manifest = read_manifest(stages.workspace.manifest("sorted"))
    assert manifest is not None
    assert list(manifest.files) == ["../left/lines", "lines"]
    assert ran() == []
    (root / "left" / "lines").write_text("mine")
    assert stages.plan()[1].reason == f"{root}/left/lines was changed after it was made"
    assert ran() == ["sorted"]
    assert (root / "left" / "lines").read_text() == "BANANA"


def test_no_directory_of_a_stage_replaces_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "input.txt").write_text("apple\n")
    stages = Pipeline([Read(), Sorted()], config(tmp_path), Progress())
    mine = tmp_path / "run" / "left" / "thesis.txt"
    mine.parent.mkdir(parents=True)
    mine.touch()
    with pytest.raises(OutputError, match="/run/left\n"):
        stages.plan()
    with pytest.raises(OutputError, match="/run/left\n"):
        stages.run(LocalEngine(1))
    assert mine.exists()
    mine.unlink()
    stages.run(LocalEngine(1))
    stages.run(LocalEngine(1), force=["sorted"])


def test_what_a_stage_observes_renews_only_the_stages_that_read_it(place: Path) -> None:
    (place / "input.txt").write_text("aba")

    def stages_run(shards: int) -> list[str]:
        settings = config(place, records={"shards": {"train": shards}})
        stages = [Noticing(), Count(), Telling()]
        outcomes = Pipeline(stages, settings, Progress()).run(LocalEngine(1))
        return [outcome.stage for outcome in outcomes if outcome.ran]

    assert stages_run(1) == ["read", "count", "telling"]
    assert (place / "run" / "told" / "a").read_text() == "2"
    assert stages_run(3) == ["read", "telling"]
    assert (place / "run" / "told" / "a").read_text() == "6"
    assert stages_run(3) == []


def test_a_manifest_of_an_earlier_version_without_observations_is_read(place: Path) -> None:
    settings = config(place)
    Pipeline([Noticing()], settings, Progress()).run(LocalEngine(1))
    path = place / "run" / ".nmt_prep" / "manifests" / "read.json"
    stored = json.loads(path.read_text())
    assert stored["observed"] == {"a": 0}
    del stored["observed"]
    path.write_text(json.dumps(stored))
    Pipeline([Noticing(), Telling()], settings, Progress()).run(LocalEngine(1))
    assert (place / "run" / "told" / "a").read_text() == "0"


class Noting(Read):
    """Warns that there is text."""

    observed: ClassVar[type[Warnings]] = Warnings

    def finish(self, job: Job, made: None) -> Result[NoOutput]:
        return Result(NoOutput(), observed=Warnings((HealthWarning("text", "there is text", "c", "train"),)))


class Outside(Stage[NoOutput, None]):
    """Changes something outside of the directory of the run."""

    name: ClassVar[str] = "outside"
    directory: ClassVar[str] = "out"
    outside: ClassVar[bool] = True
    reads: ClassVar[tuple[type[AnyStage], ...]] = (Noting,)

    def settings(self, config: Config) -> dict[str, object]:
        return {}

    def finish(self, job: Job, made: None) -> Result[NoOutput]:
        return Result(NoOutput())


def test_warnings_keep_a_strict_run_from_changing_what_is_outside(place: Path) -> None:
    stages = Pipeline([Noting(), Outside()], config(place), Progress())
    strict = stages.run(LocalEngine(1), strict=True)
    assert [(outcome.stage, [str(warning) for warning in outcome.warnings]) for outcome in strict] == [
        ("read", ["train/c: there is text"])
    ]
    assert [outcome.stage for outcome in stages.run(LocalEngine(1))] == ["read", "outside"]
