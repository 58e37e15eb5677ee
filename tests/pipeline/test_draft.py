from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base import artefacts
from nmt_prep.pipeline.draft import Draft, drafts_of, empty_trash, empty_trash_behind

FIRST, SECOND = "1" * 64, "2" * 64
FILES = {"records": ["file-0", "file-1", "file-2"]}


class Killed(BaseException):
    """Simulates SIGKILL; nothing may handle it."""


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

    @contextmanager
    def ordered(*arguments: Any) -> Iterator[Iterator[os.DirEntry[str]]]:
        with scandir(*arguments) as entries:
            yield iter(sorted(entries, key=lambda entry: entry.name, reverse=backwards))

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
    draft, other = Draft(tmp_path, "records", FIRST), Draft(tmp_path, "records", SECOND)
    for each in (draft, other):
        each.open()
        fill(each)
    draft.discard_others()
    assert not other.output.exists()
    assert len(list(draft.output.iterdir())) == 3


def test_publishing_renames_the_output_and_leaves_no_draft(tmp_path: Path) -> None:
    draft = Draft(tmp_path / "private", "records", FIRST)
    draft.open()
    fill(draft)
    draft.install(tmp_path / "records", FILES)
    assert sorted(path.name for path in (tmp_path / "records").iterdir()) == ["file-0", "file-1", "file-2"]
    assert not drafts_of(tmp_path / "private", "records").exists()
    empty_trash_behind(tmp_path / "private")
    assert list((tmp_path / "private" / "trash").iterdir()) == []
    empty_trash(tmp_path / "private")
    assert not (tmp_path / "private" / "trash").exists()


def test_files_of_a_repeated_task_do_not_stay_in_the_published_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = Draft(tmp_path / "private", "records", FIRST)
    draft.open()
    fill(draft)
    begun = draft.output / ".file-0.0123456789abcdef.partial"
    begun.touch()
    flushed: list[str] = []

    def flushing(path: Path) -> None:
        flushed.append(path.name)

    with monkeypatch.context() as patch:
        patch.setattr(artefacts, "flush", flushing)
        draft.install(tmp_path / "records", FILES)
    assert begun.name not in flushed
    assert sorted(path.name for path in (tmp_path / "records").iterdir()) == ["file-0", "file-1", "file-2"]


def test_publishing_replaces_all_files_even_if_the_old_output_cannot_be_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "records" / "old").mkdir(parents=True)
    draft = Draft(tmp_path / "private", "records", FIRST)
    draft.open()
    fill(draft)
    with monkeypatch.context() as patch:
        patch.setattr(os, "rmdir", failing)
        draft.install(tmp_path / "records", FILES)
    assert sorted(path.name for path in (tmp_path / "records").iterdir()) == ["file-0", "file-1", "file-2"]
    empty_trash(tmp_path / "private")
    assert [path.name for path in tmp_path.iterdir() if path.name != "records"] == ["private"]
    assert sorted(path.name for path in (tmp_path / "private").iterdir()) == ["drafts", "made"]


def test_directories_beside_the_output_are_installed_with_it(tmp_path: Path) -> None:
    draft = Draft(tmp_path / "private", "records", FIRST, ["rejected"])
    draft.open()
    fill(draft)
    (draft.beside["rejected"] / "new").touch()
    (tmp_path / "rejected").mkdir()
    (tmp_path / "rejected" / "old").touch()
    draft.install(tmp_path / "records", {**FILES, "rejected": ["new"]})
    assert sorted(path.name for path in (tmp_path / "records").iterdir()) == ["file-0", "file-1", "file-2"]
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
