"""Every n-th line of files, up to a number of characters, without decoding the other lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from _nmt_prep_core import LineSampler

from nmt_prep.digests import StepRange
from nmt_prep.errors import InvalidTextError
from nmt_prep.lines.chunks import UTF8_MARK, changed, checked, unreadable

READ_BYTES = 1 << 20


def sampled_lines(
    files: Sequence[Path], stride: int, budget: int, steps: Mapping[Path, StepRange] = MappingProxyType({})
) -> Iterator[tuple[memoryview, int]]:
    r"""Yields every n-th line of UTF-8 files, stripped, until the lines use up a budget of characters.

    Takes the lines ``stride``, ``2 * stride`` and so on, counted from 1 through all files. Byte order marks are
    removed. Lines that are not taken are not checked.

    Args:
        files: the files, in order.
        stride: n, 1 or more.
        budget: characters, 1 or more; the line that uses up the budget is taken too.
        steps: all steps of a file, for files whose bytes are to be checked.

    Yields:
        Lines, each followed by ``\n``, and their number. The next step overwrites the bytes of the lines.

    Raises:
        CorpusError: a file cannot be read, has changed, or is no longer UTF-8.
    """
    sampler = LineSampler(stride, budget)
    lines = 0
    for path in files:
        for block, last in _with_end(_blocks(path) if path not in steps else _checked(path, steps[path])):
            try:
                taken = sampler.feed(block, last)
            except InvalidTextError as error:
                raise changed(path) from error
            yield taken.data, sampler.lines - lines
            lines = sampler.lines
            if sampler.done:
                return


def _with_end(blocks: Iterator[memoryview]) -> Iterator[tuple[memoryview, bool]]:
    """Yields blocks with False, then an empty one with True."""
    for block in blocks:
        yield block, False
    yield memoryview(b""), True


def _checked(path: Path, steps: StepRange) -> Iterator[memoryview]:
    """Yields the bytes of a file after its byte order mark, checked. The buffer is reused."""
    for at, block in checked(path, steps):
        yield block if at or block[: len(UTF8_MARK)] != UTF8_MARK else block[len(UTF8_MARK) :]


def _blocks(path: Path) -> Iterator[memoryview]:
    """Yields the bytes of a file after its byte order mark. The buffer is reused."""
    buffer = memoryview(bytearray(READ_BYTES))
    try:
        with path.open("rb", buffering=0) as file:
            begin = len(UTF8_MARK) if file.read(len(UTF8_MARK)) == UTF8_MARK else 0
            file.seek(begin)
            while count := file.readinto(buffer):
                yield buffer[:count]
    except OSError as error:
        raise unreadable(path, error) from error
