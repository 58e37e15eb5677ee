"""A stage's unfinished output, with the notes of its finished tasks.

A draft belongs to one fingerprint, and processes on several machines may open it at once. It changes by renames, which
are atomic if the process is killed. To delete a draft, it is first moved to the trash as a whole, so no draft ever has
notes of files that it lacks.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from nmt_prep.artefacts import flush, flush_tree, remove_partial, writing
from nmt_prep.pipeline.ownership import note_made


class Draft:
    """The draft of one stage for one fingerprint; it need not exist.

    Attributes:
        output: directory that the stage writes to; installed as the stage's directory.
        beside: directories that the stage also writes to, by the names that they are installed under.
        notes: directory with the results of its tasks.
        scratch: directory for files that only later tasks read; deleted with the draft.
    """

    def __init__(self, private: Path, directory: str, fingerprint: str, beside: Iterable[str] = ()) -> None:
        """Computes the paths; creates nothing.

        Args:
            private: the run's private directory.
            directory: directory of the stage.
            fingerprint: fingerprint of the stage.
            beside: names of the other directories of the stage.
        """
        self._private = private
        self._all = drafts_of(private, directory)
        self._root = self._all / fingerprint[:32]
        self.output = self._root / "output"
        self.beside = {name: self._root / name for name in beside}
        self.notes = self._root / "tasks"
        self.scratch = self._root / "scratch"

    def open(self) -> None:
        """Opens the draft that an interrupted run or other processes left, or creates an empty one.

        Raises:
            OutputError: it cannot be created.
        """
        with writing(self._root):
            self.notes.mkdir(parents=True, exist_ok=True)
            for directory in (self.output, *self.beside.values()):
                directory.mkdir(exist_ok=True)
            self.scratch.mkdir(exist_ok=True)

    def discard_others(self) -> None:
        """Deletes the stage's drafts for other fingerprints; no process may be using them.

        Raises:
            OutputError: one cannot be moved.
        """
        if self._all.is_dir():
            for root in sorted(self._all.iterdir()):
                if root != self._root:
                    throw_away(self._private, root)

    def install(self, final: Path, files: Mapping[str, Iterable[str]]) -> None:
        """Replaces the stage's directories by the draft's output; the draft is then gone.

        A worker that was given up may still run a task; it then finds no draft, and its unfinished files are deleted.
        If the process is killed meanwhile, each directory holds the old output, the new one, or none. The note of what
        nmt_prep made is updated after the old output is moved away and before the new one is installed, so the note
        always matches the directory. What was replaced, and the rest of the draft, is then in the trash.

        Args:
            final: directory of the stage; anything there must have been made by nmt_prep. The other directories of the
                stage are beside it.
            files: files of each directory by its name, relative to it.

        Raises:
            OutputError: a rename or flush failed.
        """
        _to_trash(self._private, self.notes)
        outputs = {final.name: self.output, **self.beside}
        for output in outputs.values():
            flush_tree(output)
        for name, output in outputs.items():
            place = final.with_name(name)
            _to_trash(self._private, place)
            note_made(self._private, name, files[name])
            with writing(place):
                output.rename(place)
                flush(place.parent)
            remove_partial(place)
        _to_trash(self._private, self._all)


def drafts_of(private: Path, directory: str) -> Path:
    """Returns the directory with a stage's drafts for all fingerprints."""
    return private / "drafts" / directory


def throw_away(private: Path, path: Path) -> None:
    """Moves a file or directory, if it exists, to the trash and empties the trash; links are not followed.

    Raises:
        OutputError: it cannot be moved.
    """
    _to_trash(private, path)
    empty_trash(private)


def _to_trash(private: Path, path: Path) -> None:
    if os.path.lexists(path):
        trash = _trash(private)
        with writing(path):
            trash.mkdir(parents=True, exist_ok=True)
            path.rename(trash / f"{path.name}-{time.time_ns()}")
            flush(path.parent)


def empty_trash(private: Path) -> None:
    """Deletes the content of the trash; ignores errors, since a later call tries again."""
    shutil.rmtree(_trash(private), ignore_errors=True)


def empty_trash_behind(private: Path) -> None:
    """Deletes what is in the trash now, while other threads may move more to it."""
    with suppress(OSError):
        for path in sorted(_trash(private).iterdir()):
            shutil.rmtree(path, ignore_errors=True)


def _trash(private: Path) -> Path:
    return private / "trash"
