"""Reading vocabulary files of any dialect."""

from __future__ import annotations

import os
from pathlib import Path

from nmt_prep.errors import VocabularyError

_MAX_BYTES = 1 << 28


def read_vocabulary(path: Path) -> bytes:
    """Returns the bytes of a vocabulary file.

    Raises:
        VocabularyError: the file cannot be read, or is larger than 256 MiB.
    """
    try:
        with path.open("rb") as file:
            too_large = os.fstat(file.fileno()).st_size > _MAX_BYTES
            data = b"" if too_large else file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise VocabularyError(
            f"cannot read the vocabulary {path}: {error.strerror or error}; check the path"
        ) from error
    if too_large or len(data) > _MAX_BYTES:
        raise VocabularyError(
            f"{path} is larger than {_MAX_BYTES >> 20} MiB, too large for a vocabulary; check the path"
        )
    return data
