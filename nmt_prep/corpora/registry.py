"""The readers by the name that a config gives their format.

An installed package adds one through an entry point of the group ``nmt_prep.readers``: the entry's name is the name of
the format, its value a subclass of :class:`~nmt_prep.corpora.reader.Reader`. ``docs/formats.md`` shows one.
"""

from __future__ import annotations

import functools
import importlib
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from nmt_prep.corpora.reader import Reader

BUILT_IN = {
    "plain": "nmt_prep.corpora.plain:PlainReader",
    "tsv": "nmt_prep.corpora.tsv:TsvReader",
    "csv": "nmt_prep.corpora.csv:CsvReader",
    "sgm": "nmt_prep.corpora.sgm:SgmReader",
    "wmt_xml": "nmt_prep.corpora.wmt_xml:WmtXmlReader",
    "tmx": "nmt_prep.corpora.tmx:TmxReader",
    "xliff": "nmt_prep.corpora.xliff:XliffReader",
    "jsonl": "nmt_prep.corpora.jsonl:JsonlReader",
    "parquet": "nmt_prep.corpora.parquet:ParquetReader",
    "po": "nmt_prep.corpora.po:PoReader",
    "mo": "nmt_prep.corpora.mo:MoReader",
}
"""Where each reader of nmt_prep's own is; loaded when it is asked for."""

GROUP = "nmt_prep.readers"


@functools.cache
def reader_of(name: str) -> type[Reader]:
    """The reader of a format.

    Raises:
        ValueError: there is no reader of this name.
    """
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return cast("type[Reader]", getattr(importlib.import_module(module), attribute))
    for entry in entry_points(group=GROUP, name=name):
        return cast("type[Reader]", entry.load())
    raise ValueError(f"no reader is named {name!r}")
