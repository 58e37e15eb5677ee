"""The section ``documents`` of a config: windows of consecutive segments of a document."""

from __future__ import annotations

from pydantic import Field, model_validator

from nmt_prep.config.section import Section


class ContextSettings(Section):
    """The numbers of segments before a segment that are its context."""

    source: int = Field(0, ge=0, le=10)
    """an integer from 0 to 10: segments of context on the source side"""
    target: int = Field(0, ge=0, le=10)
    """an integer from 0 to 10: segments of context on the target side"""


class DocumentSettings(Section):
    """How the segments of documents become examples: windows of consecutive segments, or segments with context."""

    separator: str = Field(pattern=r"^\S+$")
    """a piece of vocab.reserved, or space: what stands between two segments"""
    max_tokens: int = Field(256, ge=1, le=65534)
    """an integer from 1 to 65534, at most input.max_length: ids of a window on either side"""
    max_segments: int = Field(10, ge=1, le=10_000)
    """an integer from 1 to 10000: segments of a window"""
    share: float = Field(0.5, ge=0, le=1)
    """a number from 0 to 1: the share of documents whose segments are joined, drawn in each epoch; other segments stand
    alone"""
    context: ContextSettings | None = None
    """{source: 2, target: 2}, or null for windows: each segment with segments before it as context"""
    epochs: int = Field(1, ge=1, le=1000)
    """an integer from 1 to 1000: the number of epochs whose windows outputs hold"""

    @model_validator(mode="after")
    def _fits(self) -> DocumentSettings:
        if self.context is not None and not (self.context.source or self.context.target):
            raise ValueError("context needs segments on one side at least; leave it out for windows")
        if self.context is not None and "max_segments" in self.model_fields_set:
            raise ValueError("max_segments is for windows, not for segments with context; leave out one of them")
        return self

    @property
    def piece(self) -> str | None:
        """The piece between two segments; None for none, as the pieces of words begin with a space."""
        return None if self.separator == "space" else self.separator
