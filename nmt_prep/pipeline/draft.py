"""A stage's output while it is being made, with the notes of the tasks that have ended.

A draft belongs to one fingerprint, and is found by it: processes on several machines may open the same one at once. It
goes by renames, each of which a kill leaves done or not done: what is thrown away first moves to the trash as a whole,
so that no draft ever has notes of files that it lacks.
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
    """The draft of one stage for one fingerprint; there need not be one.

    Attributes:
        output: where the stage writes.
        notes: where the results of its tasks are noted.
        scratch: where tasks write what only later tasks read; it goes with the draft.
    """

    def __init__(self, private: Path, directory: str, fingerprint: str) -> None:
        """Names the place; nothing is made.

        Args:
            private: the run's private directory.
            directory: the stage's.
            fingerprint: the stage's.
        """
        self._private = private
        self._all = drafts_of(private, directory)
        self._root = self._all / fingerprint[:32]
        self.output = self._root / "output"
        self.notes = self._root / "tasks"
        self.scratch = self._root / "scratch"

    def open(self) -> None:
        """Takes up what an interrupted run or other processes left of this draft, or starts an empty one.

        Raises:
            OutputError: it cannot be made.
        """
        with writing(self._root):
            self.notes.mkdir(parents=True, exist_ok=True)
            self.output.mkdir(exist_ok=True)
            self.scratch.mkdir(exist_ok=True)

    def discard_others(self) -> None:
        """Throws away the stage's drafts for other fingerprints; nobody may be working on them.

        Raises:
            OutputError: one cannot be moved.
        """
        if self._all.is_dir():
            for root in sorted(self._all.iterdir()):
                if root != self._root:
                    throw_away(self._private, root)

    def install(self, final: Path, files: Iterable[str]) -> None:
        """Puts the output in the place of an older one; from then on there is no draft.

        A worker that was given up and does a task once more finds no draft any more; what it had begun goes.
        A kill in between leaves one of the two in the place, or none. The note of what is made is renewed while
        neither is there, so that it never tells of another output than the one in the place.

        Args:
            final: the place; whatever is there must have been made by nmt_prep.
            files: the output's, relative to it.

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
    """Where the drafts of a stage are, whatever their fingerprints."""
    return private / "drafts" / directory


def throw_away(private: Path, path: Path) -> None:
    """Moves a file or directory to the trash, if it is there, and empties that; of a link, the link alone.

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
    """Deletes what was thrown away; what cannot be deleted now may be later."""
    shutil.rmtree(_trash(private), ignore_errors=True)


def _trash(private: Path) -> Path:
    return private / "trash"
