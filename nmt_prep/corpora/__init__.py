"""Readers of parallel corpora, one per format. They yield pairs as Arrow columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nmt_prep.config.corpus import Corpus
from nmt_prep.config.section import Languages
from nmt_prep.corpora.parts import iter_pairs, row_groups
from nmt_prep.corpora.reader import Divided, PairBatch, PairBuilder, Reader, SeveralFiles, Swapped
from nmt_prep.corpora.registry import column_files, format_of, parts_of, reader_of, rows_are_lines
from nmt_prep.text.blocks import Fault, iter_lines, strip_lines
from nmt_prep.text.chunks import LineSlice

__all__ = [
    "Fault",
    "LineSlice",
    "PairBatch",
    "PairBuilder",
    "Reader",
    "column_files",
    "format_of",
    "iter_lines",
    "iter_pairs",
    "open_corpus",
    "parts_of",
    "reader_of",
    "row_groups",
    "rows_are_lines",
    "strip_lines",
]


def open_corpus(
    corpus: Corpus,
    files: Sequence[Mapping[str, Path]],
    languages: Languages,
    slices: Mapping[str, LineSlice] | None = None,
) -> Reader:
    """Returns a corpus's reader.

    Args:
        corpus: entry of the corpus in the config.
        files: the uncompressed files by the names that :func:`parts_of` gives; one mapping for each file group.
        languages: languages of the config; the corpus may have others.
        slices: the lines to read of each file; None for all. Only for a single group of files.
    """
    kind = reader_of(format_of(corpus))
    readers = [kind(corpus, group, languages, slices) for group in files]
    reader = readers[0] if len(readers) == 1 else SeveralFiles(readers)
    reader = Divided(reader) if kind.divides(corpus) else reader
    return Swapped(reader) if corpus.swap else reader
