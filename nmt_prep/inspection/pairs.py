"""Reads the first pairs of a corpus, or all pairs of a small one, with the reader of its format."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.archives.contents import Beginning
from nmt_prep.config import Corpus, Languages
from nmt_prep.corpora import PairBatch, Reader, format_of, open_corpus, reader_of, strip_lines
from nmt_prep.corpora.markup import XmlReader
from nmt_prep.errors import CorpusError, InvalidTextError
from nmt_prep.sides import SIDES, Side
from nmt_prep.stages.compile.slices import CorpusFiles

LINES = 1000
"""Number of pairs whose languages are identified."""

SMALL = 16 << 20
"""Number of bytes of a side up to which all pairs of a corpus are read."""


@dataclass
class FirstPairs:
    """The first pairs of a corpus.

    Attributes:
        lines: the first lines of each side, at most :data:`LINES`, of pairs with text on both sides.
        pairs: number of pairs with text on both sides; None if not all pairs were read.
        problem: the error of the reader; empty if there was none.
        unseen: the reason why no pairs can be read from the beginning of the files; empty if some can.
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
        split: name of the split.
        corpus: the corpus in the config.
        groups: the groups of files that are read together, by part.
        names: names of the files in the config, for messages.
        languages: the languages of the config.
        complete: true if the groups have all files of the corpus.
    """
    reader = reader_of(format_of(corpus))
    beginnings = [file for group in groups for file in group.values()]
    whole = complete and all(file.whole for file in beginnings)
    for file in beginnings:
        if not file.whole and not make_readable(file.path, reader):
            return FirstPairs(unseen=f"format {format_of(corpus)} cannot be read from its beginning alone")
    files = [{part: file.path for part, file in group.items()} for group in groups]
    sizes = {path: path.stat().st_size for group in files for path in group.values()}
    counting = whole and sum(sizes.values()) <= 2 * SMALL
    first = FirstPairs(pairs=0)
    try:
        _read(first, open_corpus(corpus, files, languages).pairs(), counting=counting)
    except CorpusError as error:
        read = len(first.lines["source"])
        first.pairs = None
        if whole or (isinstance(error, InvalidTextError) and not read):
            first.problem = str(CorpusFiles(split, 0, corpus, files, sizes, names).explained(error))
        elif not read:
            first.unseen = "no pair could be read from the beginning of the files"
        return first
    if not first.pairs and whole and corpus.role != "vocab" and not first.problem:
        first.problem = f"splits.{split}.{corpus.name}: no pair has text on both sides; check its format and options"
    if not counting:
        first.pairs = None
    return first


def _read(first: FirstPairs, batches: Iterator[PairBatch], *, counting: bool) -> None:
    """Reads all pairs if they are counted, otherwise the first :data:`LINES`."""
    assert first.pairs is not None
    for batch in map(_with_text, batches):
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
    empty = [pc.equal(pc.binary_length(strip_lines(pairs.side(side))), 0) for side in SIDES]
    either = np.asarray(pc.or_(*empty).to_numpy(zero_copy_only=False), np.bool_)
    return pairs.filter(~either) if either.any() else pairs


def make_readable(path: Path, reader: type[Reader]) -> bool:
    """Shortens a file that was cut at any byte so that its reader can read it.

    Returns false if the format does not allow that.

    Args:
        path: a temporary file, which is changed.
        reader: the reader of its format.
    """
    data = path.read_bytes()
    if reader.lines_apart:
        end = data.rfind(b"\n") + 1
        path.write_bytes(data[:end])
        return end > 0
    if issubclass(reader, XmlReader):
        closed = closed_markup(data)
        if closed is not None:
            path.write_bytes(closed)
        return closed is not None
    return False


def closed_markup(data: bytes) -> bytes | None:
    """Returns an XML document cut after its last end tag, with end tags added for all open elements.

    Returns None if the document has no end tag, declares entities, or is not in an encoding like ASCII.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    parser = expat.ParserCreate()
    names: list[str] = []
    cut, still_open, inside = 0, list[str](), True

    def start(name: str, _: object) -> None:
        nonlocal inside
        names.append(name)
        inside = False

    def text(_: str) -> None:
        nonlocal inside
        inside = True

    def end(_: str) -> None:
        nonlocal cut, still_open, inside
        names.pop()
        at = parser.CurrentByteIndex  # the byte after an empty element, the first byte of an end tag
        empty = not inside and data[at - 2 : at] == b"/>"
        cut, still_open, inside = at if empty else data.index(b">", at) + 1, names.copy(), True

    def refuse(*_: object) -> None:
        raise ValueError("declares an entity")

    parser.StartElementHandler = start
    parser.CharacterDataHandler = text
    parser.EndElementHandler = end
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, False)
    except expat.ExpatError:  # text before the error can be read
        pass
    except (ValueError, LookupError):
        return None
    if not cut:
        return None
    return data[:cut] + b"".join(f"</{name}>".encode() for name in reversed(still_open))
