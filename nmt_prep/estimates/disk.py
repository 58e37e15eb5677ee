"""How fast the file system is below a directory."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

from nmt_prep.artefacts import flush, published
from nmt_prep.estimates.calibration import Disk

_FILE_BYTES = 256 << 20
_STEP_BYTES = 4 << 20
_SMALL_FILES = 25
_REPEATS = 3


def measure_disk(directory: Path) -> Disk:
    """Writes a file to the disk, reads it back from there, and publishes small ones.

    The best of three large files counts, and the median of the small ones.

    Raises:
        OutputError: the directory cannot be written.
    """
    path = directory / "disk"
    written = min(_write_seconds(path) for _ in range(_REPEATS))
    read = min(_read_seconds(path) for _ in range(_REPEATS))
    small = statistics.median(_publish_seconds(directory / f"small-{number}") for number in range(_SMALL_FILES))
    return Disk(write_rate=_FILE_BYTES / written, read_rate=_FILE_BYTES / read, file_seconds=small)


def _write_seconds(path: Path) -> float:
    step = os.urandom(_STEP_BYTES)  # what no disk can compress
    started = time.perf_counter()
    with published(path) as beside, beside.open("wb") as file:
        for _ in range(_FILE_BYTES // _STEP_BYTES):
            file.write(step)
    return time.perf_counter() - started


def _read_seconds(path: Path) -> float:
    flush(path)
    handle = os.open(path, os.O_RDONLY)
    try:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        started = time.perf_counter()
        while os.read(handle, _STEP_BYTES):
            pass
        return time.perf_counter() - started
    finally:
        os.close(handle)


def _publish_seconds(path: Path) -> float:
    started = time.perf_counter()
    with published(path) as beside:
        beside.write_bytes(b"{}\n")
    return time.perf_counter() - started
