"""Every n-th line of files, up to a number of characters, without decoding the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import LineSampler

from nmt_prep.corpora.chunks import UTF8_MARK, changed, unreadable
from nmt_prep.errors import InvalidTextError

READ_BYTES = 1 << 20


def sampled_lines(files: Sequence[Path], stride: int, budget: int) -> Iterator[tuple[memoryview, int]]:
    r"""Yields every n-th line of UTF-8 files, stripped, until the lines use up a budget of characters.

    The lines are those with the numbers ``stride``, ``2 * stride`` and so on, counted from 1 through all files. Byte
    order marks are removed. Lines that are not taken are not checked.

    Args:
        files: the files, in order.
        stride: n, 1 or more.
        budget: in characters, 1 or more; the line that uses it up is taken too.

    Yields:
        Lines, each followed by ``\n``, as a view that the next step overwrites, and their number.

    Raises:
        CorpusError: a file cannot be read, or is not UTF-8 any more.
    """
    sampler = LineSampler(stride, budget)
    lines = 0
    for path in files:
        for block, last in _blocks(path):
            try:
                taken = sampler.feed(block, last)
            except InvalidTextError as error:
                raise changed(path) from error
            yield taken.data, sampler.lines - lines
            lines = sampler.lines
            if sampler.done:
                return


def _blocks(path: Path) -> Iterator[tuple[npt.NDArray[np.uint8], bool]]:
    """Yields the bytes of a file after its byte order mark, and whether they are the last. The buffer is reused."""
    buffer = np.empty(READ_BYTES, np.uint8)
    try:
        with path.open("rb", buffering=0) as file:
            begin = len(UTF8_MARK) if file.read(len(UTF8_MARK)) == UTF8_MARK else 0
            file.seek(begin)
            while count := file.readinto(buffer.data):
                yield buffer[:count], False
            yield buffer[:0], True
    except OSError as error:
        raise unreadable(path, error) from error
