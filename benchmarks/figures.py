"""Figures of benchmarks: what each measured, ours and the peer's, written where ``python -m benchmarks`` collects them.

A benchmark calls :func:`record` beside what it prints. Figures are kept only if the environment variable
``BENCHMARK_FIGURES`` names a file: one JSON object a line.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

VARIABLE = "BENCHMARK_FIGURES"


class Spent(NamedTuple):
    """Seconds by the clock, and of processors: of all threads and, for programs, of all their processes."""

    clock: float
    processor: float

    def times(self, factor: float) -> Spent:
        """Returns the time of that many times the work."""
        return Spent(self.clock * factor, self.processor * factor)


class Epoch(NamedTuple):
    """Counts and time of an epoch of a loader; ``pairs`` is 0 where they are not counted."""

    tokens: int
    cells: int
    spent: Spent
    pairs: int = 0

    @property
    def padding(self) -> str:
        """Returns the share of cells without a token, for the first column of the table."""
        return f"padding {100 - 100 * self.tokens / self.cells:.2g} %"


@dataclass(frozen=True)
class Figure:
    """A row of the tables in README and docs/benchmarks.md.

    Attributes:
        what: what was done, on which text, with how many threads, and whether results were identical; with several
            times, what each is (``first call / later calls``).
        unit: of the speed, such as ``MB/s``; ``s`` for a time.
        ours: times of nmt_prep.
        peer: name and version of the other program; empty if there is none.
        theirs: times of the peer for as much work, as many as ours.
        amount: work done in each time, in the unit without ``/s``; 1 for times.
    """

    what: str
    unit: str
    ours: Sequence[Spent]
    peer: str = ""
    theirs: Sequence[Spent] = ()
    amount: float = 1

    def ratios(self) -> list[Spent]:
        """Returns how many times as fast nmt_prep is, by the clock and by processor time."""
        pairs = zip(self.ours, self.theirs, strict=True) if self.theirs else ()
        return [Spent(b.clock / a.clock, b.processor / a.processor) for a, b in pairs]

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Figure:
        """Returns the figure that :func:`record` wrote."""
        spent = {side: [Spent(*each) for each in values[side]] for side in ("ours", "theirs")}
        return cls(**{**values, **spent})


def record(figure: Figure) -> None:
    """Appends a figure to the file that the environment names; does nothing if it names none."""
    if path := os.environ.get(VARIABLE):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(figure), ensure_ascii=False) + "\n")


def with_version(package: str) -> str:
    """Returns the name of an installed package with its version."""
    return f"{package} {version(package)}"


class Stopwatch:
    """Seconds of the block that a :func:`stopwatch` surrounds."""

    spent: Spent


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Measures a block, by the clock and by the processor time of this process."""
    watch = Stopwatch()
    clock, processor = time.perf_counter(), time.process_time()
    yield watch
    watch.spent = Spent(time.perf_counter() - clock, time.process_time() - processor)


def best(times: Sequence[Spent]) -> Spent:
    """Returns the shortest time by the clock, and the shortest processor time."""
    return Spent(min(each.clock for each in times), min(each.processor for each in times))
