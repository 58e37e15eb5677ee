"""One reader per format of parallel corpora; each yields pairs as Arrow columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nmt_prep.config.corpus import Corpus
from nmt_prep.config.section import Languages
from nmt_prep.corpora.lines import Fault, iter_lines, strip_lines
from nmt_prep.corpora.pairs import PairBuilder
from nmt_prep.corpora.parts import iter_pairs, row_groups
from nmt_prep.corpora.pieces import LineSlice
from nmt_prep.corpora.reader import PairBatch, Reader, SeveralFiles, Swapped
from nmt_prep.corpora.registry import format_of, parts_of, reader_of

__all__ = [
    "Fault",
    "LineSlice",
    "PairBatch",
    "PairBuilder",
    "Reader",
    "format_of",
    "iter_lines",
    "iter_pairs",
    "open_corpus",
    "parts_of",
    "reader_of",
    "row_groups",
    "strip_lines",
]


def open_corpus(
    corpus: Corpus,
    files: Sequence[Mapping[str, Path]],
    languages: Languages,
    slices: Mapping[str, LineSlice] | None = None,
) -> Reader:
    """The reader of a corpus.

    Args:
        corpus: what the config says of it.
        files: the uncompressed files by the names that :func:`parts_of` lists; several where a part is several files.
        languages: of the config; the corpus may say otherwise.
        slices: the lines to read of each file, where a part is one file and not all lines of it are wanted.
    """
    kind = reader_of(format_of(corpus))
    readers = [kind(corpus, each, languages, slices) for each in files]
    reader = readers[0] if len(readers) == 1 else SeveralFiles(readers)
    return Swapped(reader) if corpus.swap else reader
