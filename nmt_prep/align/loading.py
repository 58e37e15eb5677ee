"""Models that the threads of a process share, and whether they suit a text."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from threading import Lock

from nmt_prep.align.model import Model
from nmt_prep.columns import TextColumn
from nmt_prep.config import SIDES
from nmt_prep.errors import AlignmentModelError

LEAST_KNOWN = 0.4
"""Least share of the words of a side that a model must know."""

_loading = Lock()


def shared_model(path: Path) -> Model:
    """Returns the model in a file. The threads of a process share the model that was read last.

    Raises:
        AlignmentModelError: the file cannot be read, or is not a model.
    """
    try:
        with _loading:
            status = path.stat()
            return _loaded(path, status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise AlignmentModelError(f"cannot read the model {path}: {error.strerror or error}; check the path") from error


@lru_cache(maxsize=1)
def _loaded(path: Path, size: int, changed: int) -> Model:
    del size, changed
    return Model.load(path)


def check_known(model: Model, path: Path, source: TextColumn, target: TextColumn) -> None:
    """Checks that a model suits a text.

    Args:
        model: the model.
        path: file with the text, for messages.
        source: some source lines.
        target: some target lines.

    Raises:
        AlignmentModelError: the model knows few of the words of a side.
    """
    for side, known in zip(SIDES, model.known(source, target), strict=True):
        if known < LEAST_KNOWN:
            raise AlignmentModelError(
                f"the model knows {known:.0%} of the {side} words of {path}; it was learned from other languages, from "
                "the other direction, or from other text: use one for this text, or learn one"
            )
