"""Models that the threads of a process share."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from threading import Lock

from nmt_prep.align.model import Model
from nmt_prep.errors import AlignmentModelError

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
