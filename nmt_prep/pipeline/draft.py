"""A stage's unfinished output, with the notes of its finished tasks.

A draft belongs to one fingerprint, and processes on several machines may open it at once. It changes by renames, which
are atomic if the process is killed. To delete a draft, it is first moved to the trash as a whole, so no draft ever has
notes of files that it lacks.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

from nmt_prep.artefacts import flush, flush_tree, remove_partial, writing
from nmt_prep.pipeline.ownership import note_made


class Draft:
    """The draft of one stage for one fingerprint; it need not exist.

    Attributes:
        output: directory that the stage writes to.
        notes: directory with the results of its tasks.
        scratch: directory for files that only later tasks read; deleted with the draft.
    """

    def __init__(self, private: Path, directory: str, fingerprint: str) -> None:
        """Computes the paths; creates nothing.

        Args:
            private: the run's private directory.
            directory: directory of the stage.
            fingerprint: fingerprint of the stage.
        """
        self._private = private
        self._all = drafts_of(private, directory)
        self._root = self._all / fingerprint[:32]
        self.output = self._root / "output"
        self.notes = self._root / "tasks"
        self.scratch = self._root / "scratch"

    def open(self) -> None:
        """Opens the draft that an interrupted run or other processes left, or creates an empty one.

        Raises:
            OutputError: it cannot be created.
        """
        with writing(self._root):
            self.notes.mkdir(parents=True, exist_ok=True)
            self.output.mkdir(exist_ok=True)
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

    def install(self, final: Path, files: Iterable[str]) -> None:
        """Replaces the stage's directory by the draft's output; the draft is then gone.

        A worker that was given up may still run a task; it then finds no draft, and its unfinished files are deleted.
        If the process is killed meanwhile, the stage's directory holds the old output, the new one, or none. The note
        of what nmt_prep made is updated after the old output is moved away and before the new one is installed, so the
        note always matches the directory.

        Args:
            final: directory of the stage; anything there must have been made by nmt_prep.
            files: files of the output, relative to it.

        Raises:
            OutputError: a rename or flush failed.
        """
        throw_away(self._private, self.notes)
        flush_tree(self.output)
        throw_away(self._private, final)
        note_made(self._private, final.name, files)
        with writing(final):
            self.output.rename(final)
            flush(final.parent)
        remove_partial(final)
        throw_away(self._private, self._all)


def drafts_of(private: Path, directory: str) -> Path:
    """Returns the directory with a stage's drafts for all fingerprints."""
    return private / "drafts" / directory


def throw_away(private: Path, path: Path) -> None:
    """Moves a file or directory, if it exists, to the trash and empties the trash; links are not followed.

    Raises:
        OutputError: it cannot be moved.
    """
    if os.path.lexists(path):
        trash = _trash(private)
        with writing(path):
            trash.mkdir(parents=True, exist_ok=True)
            path.rename(trash / f"{path.name}-{time.time_ns()}")
            flush(path.parent)
        empty_trash(private)


def empty_trash(private: Path) -> None:
    """Deletes the content of the trash; ignores errors, since a later call tries again."""
    shutil.rmtree(_trash(private), ignore_errors=True)


def _trash(private: Path) -> Path:
    return private / "trash"
