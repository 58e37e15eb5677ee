"""The readers, by the name of their format in a config.

An installed package adds a reader with an entry point of the group ``nmt_prep.readers``: the entry's name is the
name of the format, and its value a subclass of :class:`~nmt_prep.corpora.reader.Reader`. ``docs/formats.md`` shows one.
"""

from __future__ import annotations

import functools
import importlib
import re
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, cast

from nmt_prep.config.corpus import ColumnPlace
from nmt_prep.config.problems import did_you_mean

if TYPE_CHECKING:
    from nmt_prep.config import Corpus
    from nmt_prep.corpora.reader import Reader

BUILT_IN = {
    "plain": "nmt_prep.corpora.formats.plain:PlainReader",
    "tsv": "nmt_prep.corpora.formats.tables:TsvReader",
    "csv": "nmt_prep.corpora.formats.tables:CsvReader",
    "sgm": "nmt_prep.corpora.formats.wmt:SgmReader",
    "wmt_xml": "nmt_prep.corpora.formats.wmt:WmtXmlReader",
    "tmx": "nmt_prep.corpora.formats.memories:TmxReader",
    "xliff": "nmt_prep.corpora.formats.memories:XliffReader",
    "jsonl": "nmt_prep.corpora.formats.jsonl:JsonlReader",
    "parquet": "nmt_prep.corpora.formats.parquet:ParquetReader",
    "po": "nmt_prep.corpora.formats.gettext:PoReader",
}
"""Module and class of each built-in reader, imported on first use."""

GROUP = "nmt_prep.readers"


def reader_of(name: str) -> type[Reader]:
    """Returns a format's reader."""
    if name in BUILT_IN:
        return _built_in(name)
    if name in _installed():
        return _installed()[name]
    if name == "mo":
        raise ValueError("the format mo no longer exists: msgunfmt makes PO files of MO files")
    raise ValueError(f"no reader is named {name!r}{did_you_mean(name, [*BUILT_IN, *_installed()])}")


def format_of(corpus: Corpus) -> str:
    """Returns a corpus's format: the format in the config, or the format for a file name's suffix, or ``plain``.

    A data set of the Hugging Face Hub is Parquet. Suffixes of compression do not count. Built-in formats come before
    those of other packages.
    """
    if corpus.format is not None:
        return corpus.format
    if corpus.url.hub_id is not None:
        return "parquet"
    names = [corpus.source, corpus.target, corpus.member]
    names += [*(corpus.url.both or ()), *(corpus.url.source or ()), *(corpus.url.target or ())]
    for name in filter(None, names):
        stem = re.sub(r"\.(gz|bz2|xz|zst)$", "", name.lower())
        for kind in (*BUILT_IN, *_installed()):
            if stem.endswith(reader_of(kind).suffixes):
                return kind
    return "plain"


def rows_are_lines(corpus: Corpus) -> bool:
    """Returns True if each row is a line of the corpus's files."""
    reader = reader_of(format_of(corpus))
    return reader.lines_apart and not reader.quote and not reader.divides(corpus)


def parts_of(corpus: Corpus) -> tuple[str, ...]:
    """Returns the names of a corpus's files: ``("both",)``, or the corpus's sides."""
    if corpus.documents is not None:
        return corpus.sides or ("both",)
    parts = reader_of(format_of(corpus)).parts
    return parts if parts == ("both",) else corpus.sides


def column_files(corpus: Corpus) -> dict[str, ColumnPlace]:
    """Returns a corpus's columns in separate files, by key; a place has a ``url``, a ``member``, or both."""
    inline = reader_of(format_of(corpus)).columns_inside(corpus)
    files: dict[str, ColumnPlace] = {}
    for key, place in corpus.places.items():
        if place.at is None:
            files[key] = place
        elif key not in inline:
            named = str(place.at)
            files[key] = ColumnPlace(member=named) if corpus.url.both else ColumnPlace(url=(named,))
    return files


@functools.cache
def option_keys() -> frozenset[str]:
    """Returns the keys of a corpus that some formats take and others do not."""
    return frozenset().union(*(_built_in(name).options for name in BUILT_IN))


@functools.cache
def _built_in(name: str) -> type[Reader]:
    module, _, attribute = BUILT_IN[name].partition(":")
    return cast("type[Reader]", getattr(importlib.import_module(module), attribute))


@functools.cache
def _installed() -> dict[str, type[Reader]]:
    """Returns the readers of other packages, sorted by name."""
    readers = {}
    for entry in sorted(entry_points(group=GROUP)):
        if entry.name not in BUILT_IN:
            try:
                readers[entry.name] = cast("type[Reader]", entry.load())
            except (ImportError, AttributeError) as error:
                raise ValueError(f"the reader {entry.name!r} of {entry.value} cannot be loaded: {error}") from error
    return readers
