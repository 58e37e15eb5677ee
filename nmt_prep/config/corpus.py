"""The part of a config's schema that says where a corpus is and how it is read."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from nmt_prep.config.section import SIDES, Amount, Languages, Name, Section, Side
from nmt_prep.config.url import Checksums, Urls, one_or_more, per_side

if TYPE_CHECKING:
    from nmt_prep.corpora.reader import Reader

_SUFFIXES = {
    "sgm": (".sgm", ".sgml"),
    "tsv": (".tsv",),
    "csv": (".csv",),
    "tmx": (".tmx",),
    "wmt_xml": (".xml",),
    "xliff": (".xlf", ".xliff"),
    "jsonl": (".jsonl", ".ndjson"),
    "parquet": (".parquet",),
    "po": (".po",),
    "mo": (".mo",),
}
_NO_TEXT_ENCODINGS = {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"}


def _known_format(value: str) -> str:
    _reader_of(value)
    return value


def _text_encoding(value: str) -> str:
    try:
        name = codecs.lookup(value).name
        "\n".encode(name)
    except LookupError as error:
        raise ValueError("no encoding of text") from error
    if name in _NO_TEXT_ENCODINGS:
        raise ValueError("no encoding of text files")
    return name


Translators = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    BeforeValidator(one_or_more),
    Field(min_length=1),
]


class Columns(Section):
    """Which columns of a table hold the two sides."""

    source: Annotated[int, Field(ge=0)] | Annotated[str, Field(min_length=1)] = Field(
        0, description="the number of a column, counted from 0, or its name in the header"
    )
    target: Annotated[int, Field(ge=0)] | Annotated[str, Field(min_length=1)] = Field(
        1, description="the number of a column, counted from 0, or its name in the header"
    )


class Fields(Section):
    """Where the two sides are in each row of nested data."""

    source: str = Field(min_length=1, description="the names on the way to the text, such as translation.en")
    target: str = Field(min_length=1, description="the names on the way to the text, such as translation.zh")


class Tag(Section):
    """A piece that begins each row of a side."""

    source: str | None = Field(
        None, pattern=r"^\S+$", description="a word without spaces that is in vocab.reserved, such as <2zh>"
    )
    target: str | None = Field(
        None, pattern=r"^\S+$", description="a word without spaces that is in vocab.reserved, such as <2zh>"
    )


class Corpus(Section):
    """One named pair of files, or one file that holds both sides."""

    name: Name = Field(description="letters, digits, dots, dashes and underscores; recorded with every pair")
    url: Annotated[Urls, BeforeValidator(per_side)] = Field(
        description="a URL (http, https, s3, gs, file), a path relative to the config file, an id (opus:…, mtdata:…, "
        "sacrebleu:…), a list of mirrors, or {source: …, target: …} where each side is a file of its own"
    )
    manual: str | None = Field(
        None, min_length=1, description="how to get the file that url, a path, names, where no program can fetch it"
    )
    sha256: Annotated[Checksums, BeforeValidator(per_side)] = Field(
        default_factory=lambda: Checksums(), description="64 hexadecimal digits; per side where url is"
    )
    format: Annotated[str, AfterValidator(_known_format)] | None = Field(
        None,
        description="plain, tsv, csv, sgm, wmt_xml, tmx, xliff, jsonl, parquet, po, mo, or the name of an installed "
        "reader; told from the names of the files when left out",
    )
    source: str | None = Field(
        None, min_length=1, description="the member of the archive with the source side, or a pattern with * and ?"
    )
    target: str | None = Field(
        None, min_length=1, description="the member of the archive with the target side, or a pattern with * and ?"
    )
    member: str | None = Field(
        None, min_length=1, description="the member of the archive that holds both sides, or a pattern with * and ?"
    )
    columns: Columns | None = Field(
        None, description="{source: 0, target: 1}: numbers of columns, or names in the header (tsv, csv)"
    )
    header: bool = Field(False, description="true where the first line names the columns (tsv, csv)")
    fields: Fields | None = Field(
        None,
        description="{source: translation.en, target: translation.zh}: where the sides are in a row (jsonl, parquet)",
    )
    languages: Languages | None = Field(
        None, description="{source: …, target: …} as the files tag them, where that differs (tmx, xliff, wmt_xml)"
    )
    references: Literal["all"] | Translators | None = Field(
        None, description="a translator or a list of them, each giving pairs of its own, or all (wmt_xml, sgm)"
    )
    systems: Literal["all"] | Translators | None = Field(
        None, description="a system or a list of them, whose outputs are the target side, or all (wmt_xml)"
    )
    encoding: Annotated[str, AfterValidator(_text_encoding)] = Field(
        "utf-8", description="an encoding that Python knows, such as utf-8, utf-16, gb18030 or windows-1252"
    )
    invalid: Literal["error", "drop"] = Field(
        "error", description="error, or drop to leave out pairs with bytes that are no text in the encoding"
    )
    crlf: Literal["strip", "keep"] = Field(
        "strip", description="strip the carriage return before a newline, or keep it"
    )
    max_line_bytes: Amount = Field(
        2**20, ge=1, le=2**30, description="an amount of bytes from 1 to 1GiB: pairs with a longer line are left out"
    )
    role: Literal["parallel", "vocab", "monolingual"] = Field(
        "parallel",
        description="parallel; vocab: only sampled for the vocabularies; or monolingual: one side, with the "
        "placeholder for the other",
    )
    placeholder: str = Field(
        "<mono>", pattern=r"^\S+$", description="a word without spaces: the side that a monolingual corpus has not"
    )
    swap: bool = Field(False, description="true to exchange the sides once they are read")
    tag: Tag | None = Field(
        None, description="{source: <2zh>}: a piece to put before the ids of each row of a side, from vocab.reserved"
    )

    @model_validator(mode="after")
    def _fits(self) -> Corpus:
        for problem in self._problems():
            raise ValueError(problem)
        return self

    def _problems(self) -> Iterator[str]:
        if self.manual is not None and self.url.remote:
            yield "manual is for a file that is fetched by hand: url must be the path where it is put"
        if self.url.catalogue_id is not None and not (self.sides or self.member):
            return  # what the catalogue knows is filled in later, and checked then
        yield from self._file_problems()
        yield from self._option_problems()
        if self.sha256.both is not None and self.url.both is None:
            yield "sha256 must be {source: …, target: …} where url is"
        if (self.sha256.source or self.sha256.target) and self.url.both is not None:
            yield "sha256 must be one checksum where url is one file"

    def _file_problems(self) -> Iterator[str]:
        kind, sides = self.resolved_format, self.sides
        if self.member is not None and (self.source or self.target):
            yield "give either member (both sides in one file) or source and target, not both"
        if _reader_of(kind).parts == ("both",):
            if self.source or self.target or self.url.both is None:
                yield f"format {kind} holds both sides in one file: name it with member, not source and target"
            if self.role == "monolingual":
                yield f"role monolingual is for one side, but format {kind} holds both; use format plain"
            return
        if self.member is not None:
            yield f"format {kind} has a file a side: name them with source and target, not member"
        if not sides:
            yield (
                f"format {kind} has a file a side: name the members of the archive with source and target, or give "
                "url as {source: …, target: …}"
            )
        if self.source is not None and self.source == self.target and self.url.both is not None:
            yield "source and target are the same member"
        if len(sides) == 1 and self.role == "parallel":
            yield "source and target name one file a side: give both, or set role to vocab or monolingual"
        if len(sides) == 1 and kind != "plain":
            yield f"a corpus of one side has format plain, not {kind}"
        if len(sides) == 2 and self.role == "monolingual":
            yield "role monolingual is for a corpus of one side: give source or target, not both"

    def _option_problems(self) -> Iterator[str]:
        reader, kind = _reader_of(self.resolved_format), self.resolved_format
        for option in sorted(OPTIONS & self.model_fields_set - reader.options):
            yield f"{option} does not belong to format {kind}, which takes {', '.join(sorted(reader.options))}"
        if "fields" in reader.options and self.fields is None:
            yield f"format {kind} needs fields, such as {{source: translation.en, target: translation.zh}}"
        if self.columns is not None and self.columns.source == self.columns.target:
            yield "columns.source and columns.target are the same column"

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that have a file of their own."""
        return tuple(side for side in SIDES if getattr(self, side) or getattr(self.url, side))

    @property
    def tags(self) -> dict[Side, str]:
        """The tags of the sides that have one."""
        tags: dict[Side, str | None] = {side: getattr(self.tag, side) for side in SIDES} if self.tag else {}
        return {side: tag for side, tag in tags.items() if tag is not None}

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the files that its reader wants: ``("both",)``, or its sides."""
        parts = _reader_of(self.resolved_format).parts
        return parts if parts == ("both",) else self.sides

    @property
    def resolved_format(self) -> str:
        """The format given, or the one that the names of the files tell."""
        if self.format is not None:
            return self.format
        names = [self.source, self.target, self.member, *(self.url.both or ())]
        names += [*(self.url.source or ()), *(self.url.target or ())]
        for name in filter(None, names):
            stem = re.sub(r"\.(gz|bz2|xz|zst)$", "", name.lower())
            for kind, suffixes in _SUFFIXES.items():
                if stem.endswith(suffixes):
                    return kind
        return "plain"


OPTIONS = frozenset(
    {
        *("columns", "header", "fields", "languages", "references", "systems"),
        *("encoding", "invalid", "crlf", "max_line_bytes"),
    }
)
"""The keys of a corpus that some formats take and others do not."""


def _reader_of(name: str) -> type[Reader]:
    from nmt_prep.corpora.registry import reader_of  # noqa: PLC0415  (the readers import this module)

    return reader_of(name)
