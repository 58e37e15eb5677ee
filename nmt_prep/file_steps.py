"""Steps of files: blocks of equal size with their hashes, by which later passes divide and check a file."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from _nmt_prep_core import block_hash


@dataclass(frozen=True)
class FileSteps:
    """Facts about each step of a file, collected while it is digested, so that later passes can divide and check it.

    Attributes:
        size: size of the file in bytes.
        step: size of a step in bytes; the last one may be shorter.
        newlines: number of newlines in each step.
        hashes: a hash of 64 bits of each step, which shows that the step has not changed.
        unended: true if the file ends in a line without a newline.
    """

    size: int
    step: int
    newlines: tuple[int, ...]
    hashes: tuple[int, ...]
    unended: bool

    def of_range(self, start: int, end: int) -> StepRange:
        """Returns the hashes of the steps that contain the bytes from ``start`` to ``end``."""
        first = start // self.step
        return StepRange(self.step, first, self.hashes[first : -(-end // self.step)])


@dataclass(frozen=True)
class StepRange:
    """The hashes of consecutive steps of a file: the size of a step, the number of the first one, and the hashes."""

    step: int
    first: int
    hashes: tuple[int, ...]

    def containing(self, begin: int, end: int) -> StepRange:
        """Returns those of the steps that contain a range of bytes."""
        first = begin // self.step
        return StepRange(self.step, first, self.hashes[first - self.first : -(-end // self.step) - self.first])


def checked_steps(path: Path, steps: StepRange) -> Iterator[tuple[int, memoryview]]:
    """Yields offset and bytes of consecutive steps of a file. The bytes are a view that the next step overwrites.

    Raises:
        OSError: the file cannot be read.
        ValueError: a step is not what it was when the file was digested.
    """
    with path.open("rb", buffering=0) as file:
        file.seek(steps.first * steps.step)
        blocks = steps_of(file, steps.step)
        for number, expected in enumerate(steps.hashes, steps.first):
            block = next(blocks, None)
            if block is None or block_hash(block) != expected:
                raise ValueError(f"{path} has changed")
            yield number * steps.step, block


def steps_of(file: io.FileIO, size: int) -> Iterator[memoryview]:
    """Yields the bytes of a file in steps of ``size`` bytes. The buffer is reused."""
    buffer = memoryview(bytearray(size))
    filled = 0
    while count := file.readinto(buffer[filled:]):
        filled += count
        if filled == size:
            yield buffer
            filled = 0
    if filled:
        yield buffer[:filled]
