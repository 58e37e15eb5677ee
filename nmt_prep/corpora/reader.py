"""What every reader of a parallel corpus offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from nmt_prep.config import Corpus, Side


@dataclass(frozen=True, slots=True)
class PairBatch:
    """Some pairs: pair i is ``source[i]`` and ``target[i]``.

    Attributes:
        source: ``large_string`` array without nulls.
        target: the same, of the same length.
    """

    source: pa.Array
    target: pa.Array

    def __len__(self) -> int:
        return len(self.source)

    def side(self, side: Side) -> pa.Array:
        """One of the two columns."""
        return self.source if side == "source" else self.target


class Reader(ABC):
    """Reads one corpus of one format, in bounded memory, as often as asked.

    Attributes:
        parts: the names of the files it reads: ``("both",)`` or ``("source", "target")``.
    """

    parts: ClassVar[tuple[str, ...]]

    def __init__(self, corpus: Corpus, files: Mapping[str, Path]) -> None:
        self.corpus = corpus
        self.files = files

    @abstractmethod
    def pairs(self) -> Iterator[PairBatch]:
        """The pairs in the order of the corpus, in batches of a few megabytes of text.

        Raises:
            AlignmentError: the sides do not pair up.
            InvalidTextError: a file is not UTF-8.
            CorpusError: a file is malformed or cannot be read.
        """

    def lines(self, side: Side) -> Iterator[pa.Array]:
        """One side as ``large_string`` arrays, in the order of the corpus.

        Raises:
            CorpusError: as :meth:`pairs`.
        """
        return (batch.side(side) for batch in self.pairs())

    def size_in_bytes(self, side: Side) -> int | None:
        """Size of the file that holds one side's lines and nothing else; None for a format with no such file."""
        return None
