"""Reads segments from files that are not corpora of a config."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.archives import WHOLE_FILE, Archive, extract_members, without_suffix
from nmt_prep.config import Corpus, ExtractSettings, Languages
from nmt_prep.corpora import PairBatch, format_of, open_corpus, parts_of, reader_of
from nmt_prep.digests import sha256_of
from nmt_prep.errors import CorpusError
from nmt_prep.lines.blocks import TextPolicy, iter_blocks, spans

_POLICY = TextPolicy(crlf="strip", mark="strip")


def read_segments(path: Path, languages: Languages, unpacked: Path) -> Iterator[PairBatch]:
    """Yields the segments of a file; the target is empty for those with one side.

    A line of a text file is a segment, and so is a line of a TSV file: its first two columns are the sides. Other files
    are read by the format that their suffix implies.

    Args:
        path: the file, which may be compressed.
        languages: tells which texts of a file to read, in formats with more than two languages.
        unpacked: a path for the contents of a compressed file.

    Raises:
        CorpusError: the file cannot be read, or is malformed; the message names it and the line.
        ArchiveError: it is compressed, but damaged.
    """
    corpus = _corpus(path)
    kind = format_of(corpus)
    if kind != "plain" and parts_of(corpus) != ("both",):
        raise CorpusError(f"{path}: format {kind} has one file per side; convert it to lines of text, or to TSV")
    if "fields" in reader_of(kind).options:
        raise CorpusError(f"{path}: format {kind} needs fields, which cannot be given here; convert it to TSV")
    content = path
    if without_suffix(path.name) != path.name:
        content = unpacked
        extract_members(
            Archive(path, path.name, _digest(path)),
            [WHOLE_FILE],
            lambda _: unpacked,
            ExtractSettings(),
            lambda _: None,
        )
    try:
        if kind in ("plain", "tsv"):
            yield from _lines(content)
        else:
            pairs = open_corpus(corpus.model_copy(update={"format": kind}), [{"both": content}], languages).pairs()
            yield from (batch.sound() for batch in pairs)
    except CorpusError as error:
        raise type(error)(str(error).replace(str(content), str(path))) from error


def needs_languages(path: Path) -> bool:
    """Returns true if the languages tell which texts of a file to read."""
    return reader_of(format_of(_corpus(path))).multilingual


def _corpus(path: Path) -> Corpus:
    return Corpus.model_validate({"name": "segments", "url": {"both": (str(path),)}})


def _digest(path: Path) -> str:
    try:
        return sha256_of(path)
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror}") from error


def _lines(path: Path) -> Iterator[PairBatch]:
    for block in iter_blocks(path, _POLICY):
        lines = spans(block.data, block.starts, block.ends)
        with_tab = pc.binary_join_element_wise(lines, pa.scalar("", lines.type), pa.scalar("\t", lines.type))
        fields = pc.split_pattern(with_tab, "\t", max_splits=2)
        yield PairBatch(pc.list_element(fields, 0), pc.list_element(fields, 1))
