"""Reads the first pairs of a corpus, or all pairs of a small one, with the reader of its format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from nmt_prep.base.errors import CorpusError, InvalidTextError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.config import Corpus, Languages
from nmt_prep.corpora import PairBatch, format_of, open_corpus, reader_of
from nmt_prep.corpora.archives.contents import Beginning
from nmt_prep.corpora.blocks import blank_lines
from nmt_prep.corpora.formats.markup import XmlReader
from nmt_prep.stages.compile.compile_tasks import without_blanks
from nmt_prep.stages.compile.slices import CorpusFiles

LINES = 1000  # Number of pairs whose languages are identified
SMALL = 16 << 20  # Maximum number of bytes of a side for all pairs of a corpus to be read


@dataclass
class FirstPairs:
    """The first pairs of a corpus."""

    # the first lines of each side, at most `LINES`, of pairs with text on both sides
    lines: dict[Side, pa.Array] = field(default_factory=lambda: dict.fromkeys(SIDES, pa.array([], pa.large_string())))
    read: int | None = None  # number of pairs, as a run counts them; None if not all pairs were read
    pairs: int | None = None  # number of pairs with text on both sides; None if not all pairs were read
    problem: str = ""  # the error of the reader; empty if there was none
    unseen: str = ""  # the reason why no pairs can be read from the beginning of the files; empty if some can be read


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
        complete: true if the groups have all files of the corpus.
    """
    reader = reader_of(format_of(corpus))
    beginnings = [file for group in groups for file in group.values()]
    whole = complete and all(file.whole for file in beginnings)
    for file in beginnings:
        if not file.whole and reader.lines_apart:
            _cut_to_lines(file.path)
        elif not file.whole and not issubclass(reader, XmlReader):
            return FirstPairs(unseen=f"format {format_of(corpus)} cannot be read from its beginning alone")
    files = [{part: file.path for part, file in group.items()} for group in groups]
    sizes = {path: path.stat().st_size for group in files for path in group.values()}
    counting = whole and sum(sizes.values()) <= 2 * SMALL
    first, failure = FirstPairs(read=0, pairs=0), None
    try:
        _read(first, open_corpus(corpus, files, languages).pairs(), counting=counting)
    except CorpusError as error:
        failure = error
    if failure is not None and (whole or (isinstance(failure, InvalidTextError) and not first.pairs)):
        first.problem = str(CorpusFiles(split, 0, corpus, files, sizes, names).explained(failure))
    elif not first.pairs and not whole:
        first.unseen = "no pair could be read from the beginning of the files"
    elif not first.pairs and corpus.role != "vocab":
        first.problem = f"splits.{split}.{corpus.name}: no pair has text on both sides; check its format and options"
    if failure is not None or not counting:
        first.read = first.pairs = None
    return first


def _read(first: FirstPairs, batches: Iterator[PairBatch], *, counting: bool) -> None:
    """Reads all pairs if they are counted, otherwise the first :data:`LINES`."""
    assert first.read is not None
    assert first.pairs is not None
    for every in batches:
        first.read += len(without_blanks(every))
        batch = _with_text(every)
        first.pairs += len(batch)
        wanted = LINES - len(first.lines["source"])
        if wanted > 0:
            for side in SIDES:
                first.lines[side] = pa.concat_arrays([first.lines[side], batch.side(side)[:wanted]])
        elif not counting:
            return


def _with_text(batch: PairBatch) -> PairBatch:
    """Returns the pairs of a batch that have no fault, and text on both sides."""
    pairs = batch.sound()
    either = blank_lines(pairs.source) | blank_lines(pairs.target)
    return pairs.filter(~either) if either.any() else pairs


def _cut_to_lines(path: Path) -> None:
    """Removes the last line of a temporary file, which may be cut within the line."""
    data = path.read_bytes()
    path.write_bytes(data[: data.rfind(b"\n") + 1])
