"""Which directories of a run were made by nmt_prep: only those are ever replaced.

A stage's manifest lists the files of its directory. ``.nmt_prep/made/<directory>.json`` lists them too. That note is on
the disk before the directory gets its place and before a manifest is removed, so that a run that is killed at any point
can tell its own output from a directory that the user made.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
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
    """Puts the marker file into a run's directory that has nothing in it yet; the caller holds the run's lock.

    Raises:
        OutputError: it cannot be written.
    """
    root = workspace.root
    with writing(root):
        there = [path for path in root.iterdir() if path != workspace.private]
        if all(map(is_partial, there)):
            for path in there:  # of a run that was killed here
                path.unlink()
            with atomic_write(root / MARKER) as beside:
                beside.write_text(_MARKER_TEXT, encoding="utf-8")


def note_made(private: Path, directory: str, files: Iterable[str]) -> None:
    """Notes which files are, or are about to be, in a stage's directory; the note is on the disk on return.

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
        for above in (private, private.parent):  # their entries may be as new as the note
            flush(above)


def check_places(workspace: Workspace, stages: Sequence[AnyStage]) -> None:
    """Refuses to work where a stage's place is taken by something that nmt_prep did not make.

    Stages that only add to their directory may share it with files of the user, and are not checked.

    Raises:
        OutputError: such places, all of them.
    """
    foreign = [path for stage in stages if not stage.keeps and (path := _foreign(workspace, stage)) is not None]
    if foreign:
        places = "\n".join(f"  {path}" for path in foreign)
        advice = "move them away, or set output_dir to another directory"
        if (workspace.root / MARKER).exists():
            advice += "; if an earlier run made them, and its .nmt_prep was deleted, delete them too"
        raise OutputError(
            f"a run would replace these, and nothing shows that nmt_prep made them:\n{places}\n{advice}; "
            "they were left as they are"
        )


def _foreign(workspace: Workspace, stage: AnyStage) -> Path | None:
    """A stage's place, if something is there that would be lost and that no manifest or note tells of."""
    path = workspace.root / stage.directory
    if not os.path.lexists(path) or _holds_no_file(path):
        return None
    names = {*_noted(workspace.private, stage.directory), *_listed(workspace.manifest(stage.name))}
    return None if any(os.path.lexists(path / name) for name in names) else path


def _holds_no_file(path: Path) -> bool:
    """Returns whether a path is a directory, and no link to one, with nothing but empty directories below."""
    if path.is_symlink() or not path.is_dir():
        return False
    with writing(path):
        return all(is_partial(below) or (below.is_dir() and not below.is_symlink()) for below in path.rglob("*"))


def _listed(manifest: Path) -> Iterable[str]:
    """The files of a manifest; none where it cannot be read, which is an error elsewhere."""
    with suppress(OutputError):
        found = read_manifest(manifest)
        if found is not None:
            return found.files
    return ()


def _noted(private: Path, directory: str) -> list[str]:
    """The files that :func:`note_made` noted; none where the note is damaged."""
    with suppress(OSError, ValueError, TypeError, LookupError):
        return [str(name) for name in parse_json(_note(private, directory).read_bytes())["files"]]
    return []


def _note(private: Path, directory: str) -> Path:
    return private / "made" / f"{directory}.json"
