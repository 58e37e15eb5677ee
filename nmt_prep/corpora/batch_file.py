"""A Parquet file of record batches that is created with its first batch, so that there are no empty files."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from nmt_prep.artefacts import atomic_write


class BatchFile:
    """Writes batches with the columns of a part or of rejected pairs, one row group each; empty ones are left out.

    Attributes:
        pairs: the number of pairs written so far.
    """

    def __init__(self, path: Path) -> None:
        """Stores the path; creates nothing."""
        self.path = path
        self.pairs = 0
        self._stack = ExitStack()
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> BatchFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def write(self, batch: pa.RecordBatch) -> None:
        """Adds a row group.

        Raises:
            OutputError: the file cannot be written.
        """
        if not len(batch):
            return
        if self._writer is None:
            beside = self._stack.enter_context(atomic_write(self.path))
            self._writer = self._stack.enter_context(part_writer(beside, batch.schema))
        self._writer.write_batch(batch, row_group_size=len(batch))
        self.pairs += len(batch)


def part_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """Returns a writer with the compression and encodings of parts."""
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=[name for name in ("corpus", "rule", "kept_corpus") if name in schema.names],
        column_encoding={"row": "DELTA_BINARY_PACKED"},
        write_statistics=False,
    )
