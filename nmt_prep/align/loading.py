"""Models that the threads of a process share, and whether they suit a text."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from threading import Lock

from nmt_prep.align.model import Model
from nmt_prep.align.vocabulary import words_of
from nmt_prep.columns import TextColumn
from nmt_prep.errors import AlignmentModelError
from nmt_prep.sides import SIDES

LEAST_KNOWN = 0.4
"""Least share of the words of a side that a model must know."""

_LEAST_WORDS = 10
"""Least number of words of a side that tell whether a model suits a text; a few names may all be unknown."""

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


def tells(model: Model, source: TextColumn, target: TextColumn) -> bool:
    """Returns true if lines have enough words on both sides to tell whether a model suits them."""
    pretokenized = model.settings.pretokenized
    return all(len(words_of(lines, pretokenized=pretokenized).begins) >= _LEAST_WORDS for lines in (source, target))


def check_known(model: Model, path: Path, source: TextColumn, target: TextColumn) -> None:
    """Checks that a model suits a text. A text of a few words suits every model.

    Args:
        model: the model.
        path: file with the text, for messages.
        source: some source lines.
        target: some target lines.

    Raises:
        AlignmentModelError: the model knows few of the words of a side.
    """
    if not tells(model, source, target):
        return
    for side, known in zip(SIDES, model.known(source, target), strict=True):
        if known < LEAST_KNOWN:
            raise AlignmentModelError(
                f"the model knows {known:.0%} of the {side} words of {path}; it was learned from other languages, from "
                "the other direction, or from other text: use one for this text, or learn one"
            )
