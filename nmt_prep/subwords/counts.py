"""Counts of distinct texts, from which vocabularies are trained: in memory, as columns, and as files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import ByteBPEWordCounter, T2TTokenCounter

from nmt_prep.artefacts import atomic_write
from nmt_prep.columns import Lines, TextColumn
from nmt_prep.errors import OutputError, TrainingError

NativeCounter = TypeVar("NativeCounter", T2TTokenCounter, ByteBPEWordCounter)


@dataclass(frozen=True, slots=True)
class CountColumns:
    """Distinct texts and how often each occurs.

    Attributes:
        texts: the distinct texts; none is empty.
        counts: number of occurrences of each text, 1 or more; int64, shape ``[texts]``.
    """

    texts: TextColumn
    counts: npt.NDArray[np.int64]


@runtime_checkable
class TextCounts(Protocol):
    """Distinct texts of a sample and how often each occurs, from which a dialect trains a vocabulary."""

    def add(self, lines: Lines, threads: int | None = None) -> None:
        """Counts the texts of lines.

        Raises:
            InvalidTextError: a line is null, holds a lone surrogate or is not UTF-8; discard the counts then.
        """

    def add_counted(self, columns: CountColumns) -> None:
        """Adds the counts of another process."""

    def columns(self) -> CountColumns:
        """Returns all texts and their counts, in no particular order."""
        ...

    def check_memory(self, memory: int | None) -> None:
        """Checks that training from these counts fits into ``memory`` bytes; None means no limit.

        Raises:
            TrainingError: training needs more memory.
        """


class NativeCounts(ABC, Generic[NativeCounter]):
    """Counts in the native core.

    Memory grows with the number of distinct texts, not with the size of the sample.

    Attributes:
        unit: name of the distinct texts, for messages.
        native: the counter.
    """

    unit: ClassVar[str]

    def __init__(self, native: NativeCounter) -> None:
        self.native: NativeCounter = native

    @property
    @abstractmethod
    def training_bytes(self) -> int:
        """Estimated memory for training, in bytes."""

    def add_counted(self, columns: CountColumns) -> None:
        """Adds the counts of another process.

        Raises:
            InvalidTextError: a text is not UTF-8.
            ValueError: a text is empty or its count is less than 1.
        """
        self.native.add_counted(columns.texts.data, columns.texts.offsets, columns.counts)

    def columns(self) -> CountColumns:
        """Returns all texts and their counts, in no particular order."""
        data, offsets, counts = self.native.columns()
        return CountColumns(TextColumn(data, offsets), counts)

    def check_memory(self, memory: int | None) -> None:
        """Checks that training needs no more than ``memory`` bytes; None means no limit.

        Raises:
            TrainingError: training needs more memory.
        """
        if memory is not None and self.training_bytes > memory:
            raise TrainingError(
                f"training from the distinct {self.unit} of these lines needs {-(-self.training_bytes // 10**6):,} MB "
                f"of memory, but {memory // 10**6:,} MB are allowed; allow more (engine.memory), or use fewer lines "
                "(sample.bytes_per_corpus)"
            )


def write_counts(path: Path, columns: CountColumns) -> None:
    """Writes counts as an Arrow file with the columns ``text`` and ``count``.

    Raises:
        OutputError: the file cannot be written.
    """
    texts = columns.texts
    buffers = [None, pa.py_buffer(texts.offsets), pa.py_buffer(texts.data)]
    column = pa.Array.from_buffers(pa.large_string(), len(texts), buffers)
    batch = pa.record_batch([column, pa.array(columns.counts)], names=["text", "count"])
    with (
        atomic_write(path) as beside,
        pa.OSFile(str(beside), "wb") as file,
        pa.ipc.new_file(file, batch.schema) as writer,
    ):
        writer.write_batch(batch)


def read_counts(path: Path) -> CountColumns:
    """Reads a file that :func:`write_counts` wrote, memory-mapped.

    Raises:
        OutputError: the file cannot be read.
    """
    try:
        with pa.memory_map(str(path)) as file:
            batch = pa.ipc.open_file(file).get_batch(0)
    except (OSError, pa.ArrowException) as error:
        raise OutputError(f"cannot read the counts in {path}: {error}; run again with --force vocab") from error
    return CountColumns(TextColumn.from_arrow(batch.column("text")), batch.column("count").to_numpy())
