"""A stage's unfinished output with the results of its finished tasks, and the record of directories that nmt_prep made.

A draft belongs to one fingerprint, and processes on several machines may open it at once. It changes by renames, which
are atomic if the process is killed. To delete a draft, it is first moved to the trash as a whole, so no draft ever has
results whose files are missing.

Only directories that nmt_prep made may be replaced. A stage's manifest lists its directory's files, and so does
``.nmt_prep/made/<directory>.json``. This record is flushed before the directory is installed and before a manifest is
removed. So even after a kill at any point, a run can tell its own output from a directory that the user made.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from nmt_prep.base.artefacts import (
    flush,
    flush_tree,
    is_partial,
    parse_json,
    remove_partial,
    write_bytes,
    write_json,
    writing,
)
from nmt_prep.base.errors import OutputError
from nmt_prep.pipeline.manifest import Workspace, read_manifest
from nmt_prep.pipeline.stage import AnyStage


class Draft:
    """The draft of one stage for one fingerprint; it need not exist."""

    def __init__(self, private: Path, directory: str, fingerprint: str, beside: Iterable[str] = ()) -> None:
        """Computes the paths; creates nothing."""
        self._private = private
        self._all = drafts_of(private, directory)
        self._root = self._all / fingerprint[:32]
        self.output = self._root / "output"  # directory that the stage writes to; installed as the stage's directory
        # directories that the stage also writes to, by the names that they are installed under
        self.beside = {name: self._root / name for name in beside}
        self.notes = self._root / "tasks"  # directory with the results of its tasks
        self.scratch = self._root / "scratch"  # directory for files that only later tasks read; deleted with the draft

    def open(self) -> None:
        """Opens the draft that an interrupted run or other processes left, or creates an empty one."""
        with writing(self._root):
            self.notes.mkdir(parents=True, exist_ok=True)
            for directory in (self.output, *self.beside.values()):
                directory.mkdir(exist_ok=True)
            self.scratch.mkdir(exist_ok=True)

    def discard_others(self) -> None:
        """Deletes the stage's drafts for other fingerprints; no process may be using them."""
        if self._all.is_dir():
            for root in sorted(self._all.iterdir()):
                if root != self._root:
                    throw_away(self._private, root)

    def install(self, final: Path, files: Mapping[str, Iterable[str]]) -> None:
        """Replaces the stage's directories by the draft's output; the draft is then gone.

        An abandoned worker may still run a task; the task then finds no draft, and its unfinished files are deleted. If
        the process is killed meanwhile, each directory holds the old output, the new one, or none. The record of what
        nmt_prep made is updated after the old output is moved away and before the new one is installed, so the record
        always matches the directory. The replaced files and the rest of the draft are then in the trash.

        Args:
            files: files of each directory by its name, relative to it.
        """
        # First, so that a kill from here on cannot leave results of tasks without their files.
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
    """Moves a file or directory, if it exists, to the trash and empties the trash; links are not followed."""
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
    """Deletes the trash's content; ignores errors, since a later call tries again."""
    shutil.rmtree(_trash(private), ignore_errors=True)


def empty_trash_behind(private: Path) -> None:
    """Deletes the current content of the trash; other threads may move more files to it meanwhile."""
    with suppress(OSError):
        for path in sorted(_trash(private).iterdir()):
            shutil.rmtree(path, ignore_errors=True)


def _trash(private: Path) -> Path:
    return private / "trash"


MARKER = ".nmt_prep-output"  # Name of the file that marks an output directory that nmt_prep made

_MARKER_TEXT = """\
nmt-prep made this directory for its output. Runs replace the directories of their stages (compiled, records, report
and so on) as a whole, with all that is in them: keep your own files elsewhere.
"""


def mark_output_directory(workspace: Workspace) -> None:
    """Writes the marker file into a run's directory if the directory is empty; the caller holds the run's lock."""
    root = workspace.root
    with writing(root):
        there = [path for path in root.iterdir() if path != workspace.private]
        if all(map(is_partial, there)):
            for path in there:  # left by a run that was killed here
                path.unlink()
            write_bytes(root / MARKER, _MARKER_TEXT.encode())


def note_made(private: Path, directory: str, files: Iterable[str]) -> None:
    """Records the current or imminent files of a stage's directory, and flushes the record."""
    note = _note(private, directory)
    write_json(note, {"files": sorted(files)}, compact=True)
    with writing(note):
        for above in (private, private.parent):  # may be new directories, too
            flush(above)


def check_places(workspace: Workspace, stages: Sequence[AnyStage]) -> None:
    """Raises if a stage's directory exists and nmt_prep did not make it.

    Stages that only add to their directory may share it with the user's files, and are not checked.
    """
    foreign = [path for stage in stages if not stage.keeps for path in _foreign(workspace, stage)]
    if foreign:
        places = "\n".join(f"  {path}" for path in foreign)
        advice = "move them away, or set output_dir to another directory"
        if (workspace.root / MARKER).exists():
            advice += "; if an earlier run made them, and its .nmt_prep was deleted, delete them too"
        raise OutputError(
            f"a run would replace these, and nothing shows that nmt_prep made them:\n{places}\n{advice}; "
            "they were left as they are"
        )


def _foreign(workspace: Workspace, stage: AnyStage) -> Iterator[Path]:
    """Yields the directories of a stage whose content is in no manifest or record, and would be lost."""
    for directory in stage.directories():
        path = workspace.root / directory
        if not os.path.lexists(path) or _holds_no_file(path):
            continue
        listed = _listed(workspace.manifest(stage.name), directory if directory in stage.beside else "")
        names = {*_noted(workspace.private, directory), *listed}
        if not any(os.path.lexists(path / name) for name in names):
            yield path


def _holds_no_file(path: Path) -> bool:
    """Returns True if a path is a directory, not a link, that contains at most empty directories."""
    if path.is_symlink() or not path.is_dir():
        return False
    with writing(path):
        return all(is_partial(below) or (below.is_dir() and not below.is_symlink()) for below in path.rglob("*"))


def _listed(manifest: Path, beside: str) -> Iterable[str]:
    """Returns a manifest's files in one directory, or no files if the manifest is unreadable (reported elsewhere)."""
    with suppress(OutputError):
        found = read_manifest(manifest)
        if found is not None:
            return found.files_in(beside)
    return ()


def _noted(private: Path, directory: str) -> list[str]:
    """Returns the files that :func:`note_made` recorded; none if the record is damaged."""
    with suppress(OSError, ValueError, TypeError, LookupError):
        return [str(name) for name in parse_json(_note(private, directory).read_bytes())["files"]]
    return []


def _note(private: Path, directory: str) -> Path:
    return private / "made" / f"{directory}.json"
