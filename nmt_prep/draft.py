"""A stage's output while it is being made, with the notes of the tasks that have ended.

A draft belongs to one fingerprint. It comes and goes by renames, each of which a kill leaves done or not done: what is
thrown away first moves to the trash as a whole, so that no draft ever has notes of files that it lacks.
"""

from __future__ import annotations

import json
import shutil
import time
from contextlib import suppress
from pathlib import Path

from nmt_prep.artefacts import flush, publish_directory, publish_json, writing


class Draft:
    """The draft of one stage; there need not be one.

    Attributes:
        output: where the stage writes.
        notes: where the results of its tasks are noted.
    """

    def __init__(self, private: Path, directory: str) -> None:
        """Names the place; nothing is made.

        Args:
            private: the run's private directory.
            directory: the stage's.
        """
        self._private = private
        self._root = private / "drafts" / directory
        self._owner = self._root / "fingerprint.json"
        self.output = self._root / "output"
        self.notes = self._root / "tasks"

    def exists(self) -> bool:
        """Whether an interrupted run left something."""
        return self._root.exists()

    def open(self, fingerprint: str) -> None:
        """Takes up the draft that an interrupted run left for this fingerprint, or starts an empty one.

        Raises:
            OutputError: it cannot be made.
        """
        if self._belongs_to(fingerprint):
            return
        self.discard()
        with writing(self._root):
            self.output.mkdir(parents=True)
            self.notes.mkdir()
        publish_json(self._owner, fingerprint)

    def discard(self) -> None:
        """Throws the draft away.

        Raises:
            OutputError: it cannot be moved.
        """
        self._throw_away(self._root)

    def publish(self, final: Path) -> None:
        """Puts the output in its place; from then on there is no draft.

        Raises:
            OutputError: a rename or flush failed.
        """
        self._throw_away(self.notes)
        publish_directory(self.output, final)
        self.discard()

    def _belongs_to(self, fingerprint: str) -> bool:
        with suppress(OSError, ValueError):
            return json.loads(self._owner.read_bytes()) == fingerprint and self.notes.is_dir()
        return False

    def _throw_away(self, path: Path) -> None:
        if path.exists():
            trash = _trash(self._private)
            with writing(path):
                trash.mkdir(parents=True, exist_ok=True)
                path.rename(trash / f"{path.name}-{time.time_ns()}")
                flush(path.parent)
            empty_trash(self._private)


def empty_trash(private: Path) -> None:
    """Deletes what was thrown away; what cannot be deleted now may be later."""
    shutil.rmtree(_trash(private), ignore_errors=True)


def _trash(private: Path) -> Path:
    return private / "trash"
