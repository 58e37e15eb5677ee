from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base import artefacts
from nmt_prep.base.errors import OutputError
from nmt_prep.pipeline.draft import (
    MARKER,
    Draft,
    check_places,
    drafts_of,
    empty_trash,
    empty_trash_behind,
    mark_output_directory,
    note_made,
)
from nmt_prep.pipeline.drivers import Share
from nmt_prep.pipeline.manifest import Counts, Manifest, Workspace
from nmt_prep.runs.runner import plan, run, run_share
from nmt_prep.stages import STAGES
from nmt_prep.stages.download import Download
from nmt_prep.stages.report import Report
from tests.corpus import corpus_config, tree, write_corpus

FIRST, SECOND = "1" * 64, "2" * 64
FILES = {"records": ["file-0", "file-1", "file-2"]}


class Killed(BaseException):
    """Simulates SIGKILL; nothing may handle it."""


class Listing(Iterator[os.DirEntry[str]]):
    """As os.scandir returns it: an iterator, and a context that gives itself. Versions of Python use either."""

    def __init__(self, entries: Iterable[os.DirEntry[str]]) -> None:
        self.entries = iter(entries)

    def __next__(self) -> os.DirEntry[str]:
        return next(self.entries)

    def __enter__(self) -> Iterator[os.DirEntry[str]]:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@contextmanager
def killed_at(number: int, monkeypatch: pytest.MonkeyPatch, *, backwards: bool) -> Iterator[None]:
    """Dies at the number-th change of the file system; lists directories in either order."""
    count = 0

    def counting(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count >= number:
                raise Killed
            return function(*arguments, **options)

        return wrapped

    scandir = os.scandir

    def ordered(*arguments: Any) -> Listing:
        with scandir(*arguments) as entries:
            return Listing(sorted(entries, key=lambda entry: entry.name, reverse=backwards))

    with monkeypatch.context() as patch:
        for name in ("rename", "replace", "unlink", "rmdir", "mkdir", "fsync"):
            patch.setattr(os, name, counting(getattr(os, name)))
        patch.setattr(os, "scandir", ordered)
        yield


def fill(draft: Draft) -> None:
    """Simulates a task: writes a file, then its note."""
    for number in range(3):
        (draft.output / f"file-{number}").write_text("x")
        (draft.notes / f"task-{number}.json").write_text("{}")


def filled(private: Path, directory: str, fingerprint: str = FIRST, beside: Iterable[str] = ()) -> Draft:
    draft = Draft(private, directory, fingerprint, beside)
    draft.open()
    fill(draft)
    return draft


def assert_no_note_without_its_file(draft: Draft) -> None:
    draft.discard_others()
    draft.open()
    for number in range(3):
        if (draft.notes / f"task-{number}.json").exists():
            assert (draft.output / f"file-{number}").exists()


def test_a_draft_is_resumed_only_with_the_same_fingerprint(tmp_path: Path) -> None:
    draft = Draft(tmp_path, "records", FIRST)
    assert not drafts_of(tmp_path, "records").exists()
    draft.open()
    fill(draft)
    Draft(tmp_path, "records", FIRST).open()
    assert len(list(draft.output.iterdir())) == len(list(draft.notes.iterdir())) == 3
    other = Draft(tmp_path, "records", SECOND)
    other.open()
    assert list(other.output.iterdir()) == list(other.notes.iterdir()) == []
    assert len(list(draft.notes.iterdir())) == 3


def test_drafts_for_other_fingerprints_are_deleted(tmp_path: Path) -> None:
    draft, other = filled(tmp_path, "records"), filled(tmp_path, "records", SECOND)
    draft.discard_others()
    assert not other.output.exists()
    assert len(list(draft.output.iterdir())) == 3


def test_publishing_renames_the_output_and_leaves_no_draft(tmp_path: Path) -> None:
    draft = filled(tmp_path / "private", "records")
    draft.install(tmp_path / "records", FILES)
    assert sorted(path.name for path in (tmp_path / "records").iterdir()) == FILES["records"]
    assert not drafts_of(tmp_path / "private", "records").exists()
    empty_trash_behind(tmp_path / "private")
    assert list((tmp_path / "private" / "trash").iterdir()) == []
    empty_trash(tmp_path / "private")
    assert not (tmp_path / "private" / "trash").exists()


def test_files_of_a_repeated_task_do_not_stay_in_the_published_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = filled(tmp_path / "private", "records")
    begun = draft.output / ".file-0.0123456789abcdef.partial"
    begun.touch()
    flushed: list[str] = []

    def flushing(path: Path) -> None:
        flushed.append(path.name)

    with monkeypatch.context() as patch:
        patch.setattr(artefacts, "flush", flushing)
        draft.install(tmp_path / "records", FILES)
    assert begun.name not in flushed
    assert sorted(path.name for path in (tmp_path / "records").iterdir()) == FILES["records"]


def test_publishing_replaces_all_files_even_if_the_old_output_cannot_be_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "records" / "old").mkdir(parents=True)
    draft = filled(tmp_path / "private", "records")
    with monkeypatch.context() as patch:
        patch.setattr(os, "rmdir", failing)
        draft.install(tmp_path / "records", FILES)
    assert sorted(path.name for path in (tmp_path / "records").iterdir()) == FILES["records"]
    empty_trash(tmp_path / "private")
    assert [path.name for path in tmp_path.iterdir() if path.name != "records"] == ["private"]
    assert sorted(path.name for path in (tmp_path / "private").iterdir()) == ["drafts", "made"]


def test_directories_beside_the_output_are_installed_with_it(tmp_path: Path) -> None:
    draft = filled(tmp_path / "private", "records", beside=["rejected"])
    (draft.beside["rejected"] / "new").touch()
    (tmp_path / "rejected").mkdir()
    (tmp_path / "rejected" / "old").touch()
    draft.install(tmp_path / "records", {**FILES, "rejected": ["new"]})
    assert sorted(path.name for path in (tmp_path / "records").iterdir()) == FILES["records"]
    assert [path.name for path in (tmp_path / "rejected").iterdir()] == ["new"]
    notes = tmp_path / "private" / "made"
    assert json.loads((notes / "rejected.json").read_text()) == {"files": ["new"]}
    assert sorted(path.name for path in notes.iterdir()) == ["records.json", "rejected.json"]


def failing(*_: object, **__: object) -> None:
    raise OSError(errno.EIO, "failed")


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("number", range(1, 40))
def test_a_kill_while_deleting_never_leaves_notes_of_missing_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, backwards: bool
) -> None:
    draft, other = (Draft(tmp_path / "private", "records", fingerprint) for fingerprint in (FIRST, SECOND))
    draft.open()
    fill(draft)
    with killed_at(number, monkeypatch, backwards=backwards):
        try:
            other.discard_others()
            other.open()
            fill(other)
            other.install(tmp_path / "records", FILES)
        except Killed:
            pass
    for fingerprint in (FIRST, SECOND, FIRST):
        assert_no_note_without_its_file(Draft(tmp_path / "private", "records", fingerprint))


def test_trash_of_a_killed_run_is_emptied(tmp_path: Path) -> None:
    (tmp_path / "trash" / "old").mkdir(parents=True)
    empty_trash(tmp_path)
    assert list(tmp_path.iterdir()) == []


THESIS = {"report/thesis.txt": "years of work", "records/r.csv": "1,2", "sample/s.wav": "RIFF"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Returns a directory with a corpus, and with files of the user at the paths where stages write."""
    write_corpus(tmp_path)
    for name, text in THESIS.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    return tmp_path


def refused(workspace: Workspace) -> bool:
    try:
        check_places(workspace, [Report()])
    except OutputError:
        return True
    return False


def report_manifest(*files: str) -> Manifest:
    return Manifest("report", 1, "0" * 64, {}, {}, dict.fromkeys(files, "0" * 64), Counts(), {})


def test_directories_of_the_user_are_refused_together_before_any_work(project: Path) -> None:
    before = tree(project)
    with pytest.raises(OutputError) as caught:
        run(corpus_config(project).within(project))
    assert str(caught.value) == (
        "a run would replace these, and nothing shows that nmt_prep made them:\n"
        f"  {project}/sample\n  {project}/records\n  {project}/report\n"
        "move them away, or set output_dir to another directory; they were left as they are"
    )
    assert tree(project) == before
    assert not (project / ".nmt_prep").exists()


def test_plan_and_shares_refuse_them_too(project: Path) -> None:
    with pytest.raises(OutputError, match=r"(?s)/sample\n.*/records\n.*/report\n"):
        plan(corpus_config(project).within(project))
    with pytest.raises(OutputError, match=r"(?s)/sample\n.*/records\n"):
        run_share(corpus_config(project).within(project), Share("encode", 0, 1))
    assert not (project / ".nmt_prep").exists()


def test_directories_of_stages_that_do_not_run_are_not_checked(project: Path) -> None:
    run(corpus_config(project).within(project), until="compile")
    assert (project / "compiled").is_dir()
    assert (project / "report" / "thesis.txt").read_text() == "years of work"


def test_after_the_directories_are_moved_the_run_works_and_repeats(project: Path) -> None:
    config = corpus_config(project).within(project)
    for name in ("report", "records", "sample"):
        (project / name).rename(project / f"my-{name}")
    run(config)
    first = tree(project)
    run(config, force=["report", "sample"])
    assert tree(project) == first
    assert not (project / MARKER).exists()
    assert (project / "my-report" / "thesis.txt").read_text() == "years of work"


def test_a_directory_created_during_the_run_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_corpus(tmp_path)
    config, thesis = corpus_config(tmp_path / "run"), tmp_path / "run" / "report" / "thesis.txt"

    def too_early(stage: Report, job: object, made: object) -> object:
        thesis.parent.mkdir()
        thesis.write_text("years of work")
        return original(stage, job, made)

    original: Callable[..., object] = Report.finish
    with monkeypatch.context() as patch:
        patch.setattr(Report, "finish", too_early)
        with pytest.raises(OutputError, match="/run/report\n"):
            run(config)
    assert thesis.read_text() == "years of work"
    thesis.parent.rename(tmp_path / "mine")
    assert [outcome.stage for outcome in run(config) if outcome.ran] == ["report"]


def test_runs_of_versions_without_notes_continue(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    config = corpus_config(tmp_path / "run")
    run(config)
    whole = tree(tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / ".nmt_prep" / "made")
    run(config, force=[stage.name for stage in STAGES if stage.applies(config)])
    assert tree(tmp_path / "run") == whole


@pytest.mark.parametrize("damage", ["", "[" * 200_000, '{"files": 1}', '{"files": [[]]}', "null", "{}"])
def test_a_damaged_note_proves_nothing(tmp_path: Path, damage: str) -> None:
    workspace = Workspace(tmp_path)
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "summary.txt").touch()
    note_made(workspace.private, "report", ["summary.txt"])
    assert not refused(workspace)
    (workspace.private / "made" / "report.json").write_text(damage)
    assert refused(workspace)
    report_manifest("summary.txt").write(workspace.manifest("report"))
    assert not refused(workspace)


def test_a_directory_that_replaced_ours_is_not_ours(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    note_made(workspace.private, "report", ["summary.txt"])
    report_manifest("summary.txt").write(workspace.manifest("report"))
    assert not refused(workspace)
    (tmp_path / "report" / "empty").mkdir(parents=True)
    assert not refused(workspace)
    (tmp_path / "report" / "empty" / "thesis.txt").touch()
    assert refused(workspace)


def test_a_file_or_link_at_the_path_of_a_stage_is_refused(tmp_path: Path) -> None:
    workspace, place = Workspace(tmp_path), tmp_path / "report"
    place.touch()
    assert refused(workspace)
    place.unlink()
    place.symlink_to(tmp_path / "nowhere")
    assert refused(workspace)
    (tmp_path / "nowhere").mkdir()
    assert refused(workspace)


def test_of_a_linked_stage_directory_only_the_link_is_replaced(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    config, report = corpus_config(tmp_path / "run"), tmp_path / "run" / "report"
    run(config)
    report.rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "mine").touch()
    report.symlink_to(tmp_path / "elsewhere")
    run(config, force=["report"])
    assert not report.is_symlink()
    names = sorted(path.name for path in (tmp_path / "elsewhere").iterdir())
    assert names == ["index.html", "mine", "run.json", "summary.json", "summary.txt"]


def test_stores_keep_their_files(project: Path) -> None:
    for name in ("report", "records", "sample"):
        shutil.rmtree(project / name)
    kept = ["downloads/.incoming/mine", "downloads/.notes/mine", "downloads/.mine.partial", "extracted/.mine.partial"]
    for name in kept:
        (project / name).parent.mkdir(exist_ok=True, parents=True)
        (project / name).write_text("mine")
    run(corpus_config(project).within(project))
    run(corpus_config(project).within(project), force=["download", "extract"])
    assert [(project / name).read_text() for name in kept] == ["mine"] * 4
    check_places(Workspace(project), [Download()])


def test_an_empty_output_directory_is_marked(tmp_path: Path) -> None:
    root = tmp_path / "run"
    (root / ".nmt_prep").mkdir(parents=True)
    (root / f".{MARKER}.0123456789abcdef.partial").touch()
    mark_output_directory(Workspace(root))
    assert sorted(path.name for path in root.iterdir()) == [".nmt_prep", MARKER]
    assert "Runs replace the directories of their stages" in (root / MARKER).read_text()
    mark_output_directory(Workspace(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_marked_directory_without_notes_is_refused_with_an_explanation(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    run(corpus_config(tmp_path / "run"))
    shutil.rmtree(tmp_path / "run" / ".nmt_prep")
    with pytest.raises(OutputError, match=r"its \.nmt_prep was deleted, delete them too"):
        run(corpus_config(tmp_path / "run"))


@pytest.mark.parametrize("number", range(1, 40))
def test_after_a_kill_our_directory_is_recognised_and_the_users_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    workspace, place = Workspace(tmp_path), tmp_path / "report"
    place.mkdir()
    (place / "old").touch()
    note_made(workspace.private, "report", ["old"])
    draft = filled(workspace.private, "report", SECOND if number % 2 else FIRST)
    with killed_at(number, monkeypatch, backwards=False), suppress(Killed):
        draft.install(place, {"report": FILES["records"]})
    assert not refused(workspace)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / "thesis.txt").touch()
    assert refused(workspace)
