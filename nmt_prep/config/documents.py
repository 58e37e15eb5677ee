"""The config's schema for documents: document corpora, and windows of consecutive segments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from nmt_prep.config.section import Count, Location, Section

Splitting: TypeAlias = Literal["lines", "paragraphs", "wrapped"]
DocumentFormat: TypeAlias = Literal["text", "html", "tsv", "jsonl", "parquet", "list"]
_Place = Annotated[int, Field(ge=0)] | Annotated[str, Field(min_length=1)]


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return value


class Documents(Section):
    """Documents whose sentences are to be aligned: how they are stored, and how they are divided into sentences."""

    format: DocumentFormat = "text"
    """text, html, tsv, jsonl, parquet or list: one document per file, rows with text, or a two-column list of text file
    paths"""
    divider: Annotated[str, Field(min_length=1), AfterValidator(_pattern)] | None = None
    """a regular expression, or null: matches the lines between documents in a long file (text)"""
    id: _Place | None = None
    """the number of a column, counted from 0 (tsv), or field names joined by dots (jsonl, parquet), or null: the
    document name; by default, each row is a document"""
    text: _Place | None = None
    """a place as for id: the text, in a file per side"""
    source: _Place | None = None
    """a place as for id: the text of that side, in a file with both sides"""
    target: _Place | None = None
    """a place as for id: the text of that side, in a file with both sides"""
    split: Splitting = "lines"
    """lines, paragraphs or wrapped: a line is a sentence, a line is running text, or blank lines end running text"""
    min: float | None = Field(None, strict=False)
    """a number, or null for all: drop pairs with a lower score"""
    pairs: Count = Field(1_000_000, ge=1000)
    """an integer >= 1000: the approximate maximum number of pairs to learn the word model from"""
    model: Location | None = None
    """a path, or null: a model from nmt-prep align --save to start from"""

    @property
    def has_rows(self) -> bool:
        """True if the documents are rows of tables."""
        return self.format in ("tsv", "jsonl", "parquet")

    def problems(self, *, sides: bool) -> Iterator[str]:
        """Yields the conflicts between keys; ``sides`` is true for files of one side each."""
        places = {"source": self.source, "target": self.target, "text": self.text, "id": self.id}
        given = {name: place for name, place in places.items() if place is not None}
        needed = ["id", "text"] if sides else ["source", "target"]
        allowed = needed if sides else ["source", "target", "id"]
        if self.divider is not None and self.format != "text":
            yield f"divider is for format text, not {self.format}"
        if not self.has_rows and given:
            yield f"{next(iter(given))} is for rows (tsv, jsonl, parquet), not for format {self.format}"
        elif self.has_rows:
            missing = [name for name in needed if name not in given]
            strange = [name for name in given if name not in allowed]
            kind = int if self.format == "tsv" else str
            if missing or strange:
                files = "one file per side" if sides else "one file with both sides"
                yield f"format {self.format} in {files} needs {' and '.join(needed)}"
            elif not all(isinstance(place, kind) for place in given.values()):
                what = "numbers of columns, counted from 0" if kind is int else "names of fields"
                yield f"format {self.format} takes {what} for {', '.join(given)}"
        if self.format in ("text", "html") and not sides:
            yield f"format {self.format} needs files of both sides"
        if self.format == "list" and sides:
            yield "format list needs one file with the paths of both sides"


class ContextSettings(Section):
    """The numbers of segments before a segment that are its context."""

    source: int = Field(0, ge=0, le=10)
    """an integer from 0 to 10: previous segments on the side"""
    target: int = Field(0, ge=0, le=10)
    """an integer from 0 to 10: previous segments on the side"""


class DocumentSettings(Section):
    """How document segments become examples: windows of consecutive segments, or segments with context."""

    separator: str = Field(pattern=r"^\S+$")
    """a piece of vocab.reserved, or space: what stands between two segments"""
    max_tokens: int = Field(256, ge=1, le=65534)
    """an integer from 1 to 65534, at most input.max_length: the maximum number of IDs per window and side"""
    max_segments: int = Field(10, ge=1, le=10_000)
    """an integer from 1 to 10000: the maximum number of segments per window"""
    share: float = Field(0.5, ge=0, le=1)
    """a number from 0 to 1: the share of documents whose segments are joined in an epoch"""
    context: ContextSettings | None = None
    """{source: 2, target: 2}, or null for windows: previous segments that serve as context"""
    epochs: int = Field(1, ge=1, le=1000)
    """an integer from 1 to 1000: the number of epochs to write windows for, in outputs"""

    def _problems(self) -> Iterator[str]:
        if self.context is not None and not (self.context.source or self.context.target):
            yield "context needs segments on one side at least; remove it for windows"
        if self.context is not None and "max_segments" in self.model_fields_set:
            yield "max_segments is for windows, not for segments with context; remove one of them"

    @property
    def piece(self) -> str | None:
        """The piece between two segments; None if there is none, because pieces of words begin with a space."""
        return None if self.separator == "space" else self.separator
