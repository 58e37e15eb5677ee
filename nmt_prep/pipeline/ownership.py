"""Tracks which directories of a run nmt_prep made, since only those may be replaced.

A stage's manifest lists the files of its directory, and so does ``.nmt_prep/made/<directory>.json``. That note is
flushed before the directory is installed and before a manifest is removed. So even after a kill at any point, a run can
tell its own output from a directory that the user made.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from nmt_prep.artefacts import atomic_write, flush, is_partial, parse_json, write_json, writing
from nmt_prep.errors import OutputError
from nmt_prep.pipeline.manifest import Workspace, read_manifest
from nmt_prep.pipeline.stage import AnyStage

MARKER = ".nmt_prep-output"
"""Name of the file that marks an output directory that nmt_prep made."""

_MARKER_TEXT = """\
nmt-prep made this directory for its output. Runs replace the directories of their stages (compiled, records, report
and so on) as a whole, with all that is in them: keep your own files elsewhere.
"""


def mark_output_directory(workspace: Workspace) -> None:
    """Writes the marker file into a run's directory if that is empty; the caller holds the run's lock.

    Raises:
        OutputError: it cannot be written.
    """
    root = workspace.root
    with writing(root):
        there = [path for path in root.iterdir() if path != workspace.private]
        if all(map(is_partial, there)):
            for path in there:  # left by a run that was killed here
                path.unlink()
            with atomic_write(root / MARKER) as beside:
                beside.write_text(_MARKER_TEXT, encoding="utf-8")


def note_made(private: Path, directory: str, files: Iterable[str]) -> None:
    """Notes the current or imminent files of a stage's directory; flushes the note before it returns.

    Args:
        private: the run's private directory.
        directory: the stage's.
        files: paths relative to the stage's directory.

    Raises:
        OutputError: the note cannot be written.
    """
    note = _note(private, directory)
    write_json(note, {"files": sorted(files)})
    with writing(note):
        for above in (private, private.parent):  # they may be as new as the note
            flush(above)


def check_places(workspace: Workspace, stages: Sequence[AnyStage]) -> None:
    """Raises if a stage's directory exists and nmt_prep did not make it.

    Stages that only add to their directory may share it with the user's files, and are not checked.

    Raises:
        OutputError: lists all such directories.
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
    """Yields the directories of a stage that have content that would be lost and is in no manifest or note."""
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
    """Returns the files of a manifest in one directory; none if it cannot be read, which is reported elsewhere."""
    with suppress(OutputError):
        found = read_manifest(manifest)
        if found is not None:
            return found.files_in(beside)
    return ()


def _noted(private: Path, directory: str) -> list[str]:
    """Returns the files that :func:`note_made` noted; none if the note is damaged."""
    with suppress(OSError, ValueError, TypeError, LookupError):
        return [str(name) for name in parse_json(_note(private, directory).read_bytes())["files"]]
    return []


def _note(private: Path, directory: str) -> Path:
    return private / "made" / f"{directory}.json"
