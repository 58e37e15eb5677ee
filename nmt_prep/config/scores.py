"""The part of a config's schema for the scores that come with a corpus."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from nmt_prep.config.section import Section
from nmt_prep.config.url import Mirrors, Sha256


class ScorePlace(Section):
    """The place of a score: in the files of the corpus, or in a file with one number on each line.

    A value that is not a mapping is short for ``{at: VALUE}``.
    """

    at: Annotated[int, Field(ge=0)] | Annotated[str, Field(min_length=1)] | None = Field(
        None,
        description="the number of a column, counted from 0, the name of a column (tsv, csv), a path of field names "
        "(jsonl, parquet) or prop:TYPE (tmx): where the score is in the files of the corpus; in other formats, the "
        "archive member with one number on each line, or the address of such a file if url is one address per side",
    )
    url: Mirrors | None = Field(
        None, description="a URL or path, or a list of mirrors of the same file: a file with one number on each line"
    )
    sha256: Sha256 | None = Field(None, description="64 hexadecimal digits: SHA-256 of the file at url")
    member: str | None = Field(
        None,
        min_length=1,
        description="a name, or a pattern with * and ?: the member with one number on each line, of the archive at "
        "url, or of the archive of the corpus",
    )

    @model_validator(mode="after")
    def _fits(self) -> ScorePlace:
        if (self.at is None) == (self.url is None and self.member is None):
            raise ValueError("give either the place in the files of the corpus, or url or member of a file of numbers")
        if self.sha256 is not None and self.url is None:
            raise ValueError("sha256 is for the file at url; give url")
        return self


def place_of(value: object) -> object:
    """Returns a value that is not a mapping as the place in the files of the corpus."""
    return value if isinstance(value, dict | ScorePlace) else {"at": value}
