"""One reader per format of parallel corpora; each yields pairs as Arrow columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nmt_prep.config import Corpus
from nmt_prep.corpora.lines import iter_lines, strip_lines
from nmt_prep.corpora.parts import iter_pairs, row_groups
from nmt_prep.corpora.plain import PlainReader
from nmt_prep.corpora.reader import PairBatch, Reader
from nmt_prep.corpora.sgm import SgmReader
from nmt_prep.corpora.tsv import TsvReader

__all__ = ["READERS", "PairBatch", "Reader", "iter_lines", "iter_pairs", "open_corpus", "row_groups", "strip_lines"]

READERS: dict[str, type[Reader]] = {"plain": PlainReader, "tsv": TsvReader, "sgm": SgmReader}
"""The readers by the name that a config gives the format."""


def open_corpus(corpus: Corpus, files: Mapping[str, Path]) -> Reader:
    """The reader of a corpus.

    Args:
        corpus: what the config says of it.
        files: the uncompressed files, by the names that ``READERS[format].parts`` lists.
    """
    return READERS[corpus.resolved_format](corpus, files)
