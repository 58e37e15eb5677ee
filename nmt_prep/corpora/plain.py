"""Two files, line i of one beside line i of the other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import pyarrow as pa

from nmt_prep.config import Side
from nmt_prep.corpora.lines import iter_lines
from nmt_prep.corpora.reader import PairBatch, Reader
from nmt_prep.errors import AlignmentError


class PlainReader(Reader):
    """Reads a file a side."""

    parts = ("source", "target")

    def pairs(self) -> Iterator[PairBatch]:
        """The pairs; the sides' blocks are cut to the same numbers of lines.

        Raises:
            AlignmentError: the files have different numbers of lines.
            CorpusError: a file is not UTF-8 or cannot be read.
        """
        sources, targets = self.lines("source"), self.lines("target")
        source, target = next(sources, None), next(targets, None)
        paired = 0
        while source is not None and target is not None:
            count = min(len(source), len(target))
            yield PairBatch(source[:count], target[:count])
            paired += count
            source = source[count:] if count < len(source) else next(sources, None)
            target = target[count:] if count < len(target) else next(targets, None)
        more = [_count(source, sources), _count(target, targets)]
        if any(more):
            raise AlignmentError(
                f"{self.files['source']} has {paired + more[0]} lines, but {self.files['target']} has "
                f"{paired + more[1]}; each pair is a line in both: check that the files belong together and are whole"
            )

    def lines(self, side: Side) -> Iterator[pa.Array]:
        """The lines of one file; the other one is not read."""
        return iter_lines(self.files[side])

    def size_in_bytes(self, side: Side) -> int:
        """Size of one file."""
        return self.files[side].stat().st_size


def _count(first: pa.Array | None, rest: Iterator[pa.Array]) -> int:
    """Lines that are left of a side."""
    return sum(len(lines) for lines in chain([first] if first is not None else [], rest))
