"""Reads the first pairs of a corpus, or all pairs of a small one, with the reader of its format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.archives.contents import Beginning
from nmt_prep.config import Corpus, Languages
from nmt_prep.corpora import PairBatch, format_of, open_corpus, reader_of, strip_lines
from nmt_prep.errors import CorpusError, InvalidTextError
from nmt_prep.inspection.beginnings import make_readable
from nmt_prep.sides import SIDES, Side
from nmt_prep.stages.compile_slices import CorpusFiles

LINES = 1000
"""Pairs whose languages are looked at."""

SMALL = 16 << 20
"""Bytes of the files of a corpus up to which all of its pairs are read."""


@dataclass
class FirstPairs:
    """The pairs that were read of a corpus.

    Attributes:
        lines: the first lines of each side, at most :data:`LINES`, of pairs with text on both sides.
        pairs: number of such pairs; None if not all were read.
        problem: the error of the reader; empty if there was none.
        unseen: why no pairs can be read from the beginning of the files; empty if some can.
    """

    lines: dict[Side, pa.Array] = field(default_factory=lambda: dict.fromkeys(SIDES, pa.array([], pa.large_string())))
    pairs: int | None = None
    problem: str = ""
    unseen: str = ""


def first_pairs(
    split: str,
    corpus: Corpus,
    groups: Sequence[Mapping[str, Beginning]],
    names: Mapping[Path, str],
    languages: Languages,
    *,
    complete: bool,
) -> FirstPairs:
    """Reads the first pairs of a corpus, and all of them if its files are whole and small.

    Args:
        split: its split.
        corpus: its entry in the config.
        groups: its files by part, for each group of files.
        names: of the files as the config calls them, for messages.
        languages: of the config.
        complete: true if there are no other files.
    """
    reader = reader_of(format_of(corpus))
    whole = complete and all(each.whole for group in groups for each in group.values())
    for each in (each for group in groups for each in group.values() if not each.whole):
        if not make_readable(each.path, reader):
            return FirstPairs(unseen=f"format {format_of(corpus)} cannot be read from its beginning alone")
    files = [{part: each.path for part, each in group.items()} for group in groups]
    sizes = {path: path.stat().st_size for group in files for path in group.values()}
    counting = whole and sum(sizes.values()) <= 2 * SMALL
    found = FirstPairs(pairs=0)
    try:
        _read(found, open_corpus(corpus, files, languages).pairs(), counting=counting)
    except CorpusError as error:
        read = len(found.lines["source"])
        found.pairs = None
        if whole or (isinstance(error, InvalidTextError) and not read):
            found.problem = str(CorpusFiles(split, 0, corpus, files, sizes, names).explained(error))
        elif not read:
            found.unseen = "no pair could be read from the beginning of the files"
        return found
    if not found.pairs and whole and corpus.role != "vocab" and not found.problem:
        found.problem = f"splits.{split}.{corpus.name}: no pair has text on both sides; check its format and options"
    if not counting:
        found.pairs = None
    return found


def _read(found: FirstPairs, batches: Iterator[PairBatch], *, counting: bool) -> None:
    """Reads pairs: all if they are counted, else enough to look at."""
    assert found.pairs is not None
    for batch in map(_with_text, batches):
        found.pairs += len(batch)
        wanted = LINES - len(found.lines["source"])
        if wanted > 0:
            for side in SIDES:
                found.lines[side] = pa.concat_arrays([found.lines[side], batch.side(side)[:wanted]])
        elif not counting:
            return


def _with_text(batch: PairBatch) -> PairBatch:
    """Returns the pairs without fault that have text on both sides."""
    pairs = batch.sound()
    empty = [pc.equal(pc.binary_length(strip_lines(pairs.side(side))), 0) for side in SIDES]
    either = np.asarray(pc.or_(*empty).to_numpy(zero_copy_only=False), np.bool_)
    return pairs.filter(~either) if either.any() else pairs
