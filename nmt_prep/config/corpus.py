"""The config's schema for a corpus's location and format."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, PrivateAttr, model_validator
from pydantic import Tag as PydanticTag

from nmt_prep.base.sides import SIDES, Side
from nmt_prep.config.documents import Documents
from nmt_prep.config.language_pairs import CheckedTag, FileLanguages, LanguagePair, spoken_of
from nmt_prep.config.section import (
    Amount,
    Checksums,
    Count,
    Languages,
    Mirrors,
    Name,
    PairCount,
    Section,
    Sha256,
    Urls,
    one_or_more,
    per_side,
)

_MOST_DOTS = 6
_NO_TEXT_ENCODINGS = {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"}


def text_encoding(value: str) -> str:
    """Returns the name that Python has for an encoding."""
    try:
        name = codecs.lookup(value).name
        "\n".encode(name)
    except LookupError as error:
        raise ValueError("not a text encoding") from error
    if name in _NO_TEXT_ENCODINGS:
        raise ValueError("not an encoding of text files")
    return name


_Encoding = Annotated[str, AfterValidator(text_encoding)]
_Encodings = Annotated[dict[str, _Encoding], Field(min_length=1)]


def _form(value: object) -> str:
    """Returns the tag of the form that a value has in a config; problems of the other form are not reported."""
    return "mapping" if isinstance(value, dict | Section) else "text"


Translators = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    BeforeValidator(one_or_more),
    Field(min_length=1),
]


class _Places(Section):
    """The places of the sides, named source and target, in a file that may hold both."""

    def _problems(self) -> Iterator[str]:
        if not self.sides:
            yield "give source, target, or both"

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that have a place."""
        return tuple(side for side in SIDES if getattr(self, side) is not None)


class Columns(_Places):
    """The table columns that hold the sides; a one-sided corpus names one."""

    source: Annotated[int, Field(ge=0)] | Annotated[str, Field(min_length=1)] | None = None
    """the number of a column, counted from 0, or its name in the header: the column of that side"""
    target: Annotated[int, Field(ge=0)] | Annotated[str, Field(min_length=1)] | None = None
    """the number of a column, counted from 0, or its name in the header: the column of that side"""


class Fields(_Places):
    """The nested row fields that hold the sides; a one-sided corpus names one."""

    source: str | None = Field(None, min_length=1)
    """field names joined by dots, such as translation.en: the text of that side"""
    target: str | None = Field(None, min_length=1)
    """field names joined by dots, such as translation.en: the text of that side"""


@cache
def paths_of(place: str) -> tuple[tuple[str, ...], ...]:
    """Returns the ways to read a path of field names, whose names may have dots themselves; the deepest path first."""
    if place.count(".") > _MOST_DOTS:
        return (tuple(place.split(".")), (place,))
    name, dot, rest = place.partition(".")
    if not dot:
        return ((place,),)
    inner = paths_of(rest)
    return (*((name, *path) for path in inner), *((f"{name}.{path[0]}", *path[1:]) for path in inner))


def value_at(row: object, place: str) -> Any:
    """Returns the value at a path of field names in a JSON row."""
    for path in paths_of(place):
        value: Any = row
        for name in path:
            if isinstance(value, list) and name.isdecimal() and len(name) < 10 and int(name) < len(value):
                value = value[int(name)]
            elif isinstance(value, dict) and name in value:
                value = value[name]
            else:
                break
        else:
            if isinstance(value, str):
                value.encode()
            return value
    raise KeyError(place)


class Tag(Section):
    """The piece that each row of a side begins with."""

    source: str | None = Field(None, pattern=r"^\S+$")
    """a word without spaces that is in vocab.reserved, such as <2zh>: the first piece of each row"""
    target: str | None = Field(None, pattern=r"^\S+$")
    """a word without spaces that is in vocab.reserved, such as <2zh>: the first piece of each row"""


class ColumnPlace(Section):
    """The place of a column, such as a score: in the corpus's files, or in a file with one value on each line.

    A value that is not a mapping is short for ``{at: VALUE}``.
    """

    at: Annotated[int, Field(ge=0)] | Annotated[str, Field(min_length=1)] | None = None
    """the number of a column, counted from 0, the name of a column (tsv, csv), a path of field names such as
    doc_scores.0 (jsonl, parquet), or prop:TYPE (tmx): the place in the corpus's own files; for other formats, a file
    with one value per line"""
    url: Mirrors | None = None
    """a URL, a path, or a list of mirrors: a file with one value per line"""
    sha256: Sha256 | None = None
    """64 hexadecimal digits: SHA-256 of the file at url"""
    member: str | None = Field(None, min_length=1)
    """a name, or a pattern with * and ?: the archive member with one value per line"""

    def _problems(self) -> Iterator[str]:
        if (self.at is None) == (self.url is None and self.member is None):
            yield "give either a column or field of the corpus, or the url or member of a file with values"
        if self.sha256 is not None and self.url is None:
            yield "sha256 is for the file at url; give url"


def _place_of(value: object) -> object:
    """Returns a value that is not a mapping as the place in the files of the corpus."""
    return value if isinstance(value, dict | ColumnPlace) else {"at": value}


_Number = Annotated[int, Field(ge=0)]
_Text = Annotated[str, Field(min_length=1)]
_Place = Annotated[ColumnPlace, BeforeValidator(_place_of, json_schema_input_type=_Number | _Text | ColumnPlace)]


class Best(Section):
    """How to choose the best of several candidates."""

    best: Name
    """the name of a computed number per pair, or chrf: keep the candidate with the highest value; chrf compares with
    the replaced side"""


class Translate(Section):
    """The computed text that becomes a side of a corpus."""

    by: Name
    """the name of a computed text: the new side; with both sides, it replaces the side that it is not made from"""
    keep: Annotated[
        Annotated[Literal["first", "sample"], PydanticTag("text")] | Annotated[Best, PydanticTag("mapping")],
        Discriminator(_form),
    ] = "first"
    """first, sample, or {best: …}: the candidate to keep; sample picks one at random"""
    context: Count = Field(0, ge=0, le=100)
    """an integer from 0 to 100: maximum number of earlier lines of the document that the program gets in front of each
    line, separated by tabs"""

    @property
    def best(self) -> str:
        """The value that ranks candidates, or an empty text without ranking."""
        return self.keep.best if isinstance(self.keep, Best) else ""


class HoldOut(Section):
    """Pairs from a `train` corpus that become another split."""

    pairs: PairCount | None = Field(None, ge=1)
    """an integer >= 1, such as 2000 or 2k: the number of random pairs; documents stay whole"""
    every: Count | None = Field(None, ge=2)
    """an integer >= 2: take the pairs whose position (from 1) is a multiple of this number, instead of random
    pairs"""
    positions: Literal["corpus", "split", "lines"] = "corpus"
    """corpus, split or lines: for every, count the corpus's cleaned pairs, all cleaned train pairs, or all raw train
    lines"""
    split: Name = "dev"
    """the name of a split other than train: the split that gets the pairs"""
    duplicates: Literal["drop", "keep"] = "drop"
    """drop or keep: what to do with train pairs that share a line with a held-out pair"""

    def _problems(self) -> Iterator[str]:
        if (self.pairs is None) == (self.every is None):
            yield "give either pairs (how many to draw) or every"
        if self.every is None and "positions" in self.model_fields_set:
            yield "positions are for every; remove it"
        if self.split == "train":
            yield "split is train, which the pairs are taken from; name another split"


def _hold_outs(value: object) -> object:
    """Returns a number of pairs as a hold-out, and a single hold-out as a tuple of one."""
    if isinstance(value, list | tuple):
        return tuple(value)
    return ({"pairs": value} if isinstance(value, int | float | str) else value,)


class Corpus(Section):
    """One named pair of files, or one file that holds both sides."""

    name: Name
    """letters, digits, dots, dashes and underscores: the corpus name, recorded with every pair"""
    url: Annotated[Urls, BeforeValidator(per_side, json_schema_input_type=Mirrors | Urls)]
    """a URL, a path relative to the config file, an ID (opus:…, mtdata:…, sacrebleu:…, hf:…), a list of mirrors, or
    {source: …, target: …}: where the files are"""
    manual: str | None = Field(None, min_length=1)
    """a text, or null: how to fetch the file by hand; url is the path to save it to"""
    sha256: Annotated[Checksums, BeforeValidator(per_side, json_schema_input_type=Sha256 | Checksums)] = Field(
        default_factory=lambda: Checksums()
    )
    """64 hexadecimal digits, or {source: …, target: …} like url: the digest that the file must have"""
    split: str | None = Field(None, min_length=1)
    """a name, or null for the config's split: the split of an hf: data set"""
    format: str | None = None
    """plain, tsv, csv, sgm, wmt_xml, tmx, xliff, jsonl, parquet, po, or the name of an installed reader: the file
    format; the file names decide by default"""
    source: str | None = Field(None, min_length=1)
    """a name, or a pattern with * and ?: the archive member with that side"""
    target: str | None = Field(None, min_length=1)
    """a name, or a pattern with * and ?: the archive member with that side"""
    member: str | None = Field(None, min_length=1)
    """a name, or a pattern with * and ?: the archive member with both sides"""
    columns: Columns | None = None
    """{source: 0, target: 1}: the columns of the sides (tsv, csv); {target: 0} if there is one side"""
    header: bool = False
    """true or false: the first line names the columns (tsv, csv)"""
    fields: Fields | None = None
    """{source: translation.en, target: translation.zh}: the fields of the sides (jsonl, parquet); {target: text} if
    there is one side"""
    languages: FileLanguages | None = None
    """{source: …, target: …}: the language pair in a config with pairs; else the languages as the files name them"""
    both_directions: bool = False
    """true or false: use the corpus in both directions, in a config with pairs"""
    texts: Annotated[dict[CheckedTag, _Number | _Text] | tuple[CheckedTag, ...], Field(min_length=2)] | None = None
    """a list of languages, or a mapping to places such as {en: 0, de: 1, cs: 2}: the languages of a multilingual
    corpus; a place is a column, a field path, the file's language tag or an archive member"""
    pivot: CheckedTag | None = None
    """a language tag, instead of url: join two corpora on lines in this language"""
    corpora: Annotated[tuple[Name, ...], Field(min_length=2, max_length=2)] | None = None
    """a list of the names of two corpora in the same split: the corpora that pivot joins, source side first"""
    references: Literal["all"] | Translators | None = None
    """a translator, a list of them, or all: the references to read (wmt_xml, sgm); each gives its own pairs"""
    systems: Literal["all"] | Translators | None = None
    """a system, a list of them, or all: the systems whose outputs become the target side (wmt_xml)"""
    encoding: Annotated[
        Annotated[_Encoding, PydanticTag("text")] | Annotated[_Encodings, PydanticTag("mapping")], Discriminator(_form)
    ] = "utf-8"
    """an encoding that Python knows, or a mapping from sides or languages to encodings: the text encoding"""
    invalid: Literal["error", "drop"] = "error"
    """error or drop: what to do with pairs that are invalid in the encoding"""
    crlf: Literal["strip", "keep"] = "strip"
    """strip or keep: what to do with a carriage return before a newline"""
    max_line_bytes: Amount = Field(2**20, ge=1, le=2**30)
    """an amount of bytes from 1 to 1GiB: drop pairs with a longer line"""
    role: Literal["parallel", "vocab"] = "parallel"
    """parallel or vocab: pairs for the records, or lines for the vocabularies only"""
    translate: Annotated[
        Translate | None,
        BeforeValidator(
            lambda value: {"by": value} if isinstance(value, str) else value,
            json_schema_input_type=str | Translate | None,
        ),
    ] = None
    """the name of a computed text, or a mapping, or null: a computed text that becomes one side"""
    options: dict[str, Any] = Field(default_factory=dict)
    """a mapping: options for an installed package's reader"""
    hold_out: Annotated[
        tuple[HoldOut, ...],
        BeforeValidator(_hold_outs, json_schema_input_type=PairCount | HoldOut | tuple[HoldOut, ...]),
    ] = ()
    """a number of pairs, a mapping, or a list of mappings: cleaned train pairs to move to dev or another split"""
    limit: PairCount | None = Field(None, ge=1)
    """an integer >= 1, such as 20M, or null for all: the number of random pairs to keep, after cleaning and hold_out"""
    scores: dict[Name, _Place] = Field(default_factory=dict)
    """a mapping from names to places: numbers that come with each pair"""
    document: _Place | None = None
    """a place as in scores, docid (sgm, wmt_xml), original (xliff), or null: the document name of each pair"""
    documents: Documents | None = None
    """a mapping, or null for pair files: documents to align, which url names"""
    licence: str | None = Field(None, min_length=1)
    """a text such as CC-BY-4.0, or null: the license, recorded in dataset.json and the report"""
    swap: bool = False
    """true or false: exchange the two sides after reading"""
    tag: Tag | None = None
    """{source: <2zh>}: a piece before the IDs of each row; {source} and {target} stand for languages"""

    _pair: LanguagePair | None = PrivateAttr(None)
    _reverse: Corpus | None = PrivateAttr(None)
    _held_out: bool = PrivateAttr(False)

    @model_validator(mode="before")
    @classmethod
    def _of_aligned_documents(cls, data: Any) -> Any:
        """Adds the keys of the pair files, which the `sentences` stage writes, to a document corpus."""
        if not isinstance(data, dict) or data.get("documents") is None:
            return data
        made = {"format": "parquet", "fields": {"source": "source", "target": "target"}, "document": {"at": "document"}}
        for key, value in made.items():
            if data.get(key) not in (None, value):
                raise ValueError(f"{key} is for files of pairs; use the keys below documents instead")
        scores = data.get("scores")
        return {
            **data,
            **made,
            "scores": {**(scores if isinstance(scores, dict) else {}), "sentences": {"at": "score"}},
        }

    @model_validator(mode="before")
    @classmethod
    def _of_joined_corpora(cls, data: Any) -> Any:
        """Adds an address and a format, which all corpora must have, to a pivot corpus, which has no files."""
        if not isinstance(data, dict) or data.get("pivot") is None:
            return data
        made: dict[str, Any] = {"url": {"both": (f"pivot:{data['pivot']}",)}, "format": "parquet"}
        known = {"name", "pivot", "corpora", "both_directions", "tag", "licence", "hold_out", "limit"}
        for key in sorted(data.keys() - known):
            if data[key] != made.get(key):
                raise ValueError(
                    f"{key} is for a corpus with files, and pivot joins two others; remove one of the keys"
                )
        return {**data, **made}

    def _problems(self) -> Iterator[str]:
        if self.manual is not None and self.url.remote:
            yield "manual is for a file that is fetched by hand: url must be the path of that file"
        yield from self._member_problems()
        if self.split is not None and self.url.hub_id is None:
            yield "split is for a data set that url names by an hf: ID"
        if self.url.hub_id is not None and self.sha256.both is not None:
            yield "sha256 is for one file; the lock file, or a commit after @ in url, fixes the version of a data set"
        if (self.pivot is None) != (self.corpora is None):
            yield "pivot and corpora belong together: the language to join by, and the two corpora to join"
        if isinstance(self.encoding, dict):
            known = SIDES if self.texts is None else tuple(self.texts)
            for name in sorted(self.encoding.keys() - known):
                yield f"encoding has {name!r}, but the corpus has {', '.join(known)}"
        yield from self._division_problems()
        if self.documents is not None:
            yield from self._document_problems(self.documents)
        if self.awaits_catalogue:
            return
        if self.sha256.both is not None and self.url.both is None:
            yield "sha256 must be {source: …, target: …}, like url"
        if (self.sha256.source or self.sha256.target) and self.url.both is not None:
            yield "sha256 must be one checksum, because url is one file"

    def _member_problems(self) -> Iterator[str]:
        if self.member is not None and (self.source or self.target):
            yield "give either member (both sides in one file) or source and target, not both"
        for side in SIDES:
            if getattr(self, side) and self.url.both is None and not getattr(self.url, side):
                yield f"{side} names a member of an archive, and url has no {side}; add it to url"

    def _division_problems(self) -> Iterator[str]:
        if self.is_divided and self.role == "vocab":
            yield "hold_out and limit are for pairs, and a corpus of role vocab has none; remove them"
        if self.translate is not None and self.role == "vocab":
            yield "translate makes pairs, and a corpus of role vocab has none; remove one of the keys"
        if self.translate is not None and (self.both_directions or self.texts):
            yield "translate makes one side: name the corpus once for each direction, with languages"
        if self.swap and len(self.read_sides) == 1:
            yield "swap exchanges two sides, and the corpus has one; name the other side instead"
        if self.document is not None and any(each.every for each in self.hold_out):
            yield "hold_out.every takes documents apart; give a number of pairs, which keeps them whole"
        if len({each.split for each in self.hold_out}) < len(self.hold_out):
            yield "hold_out names a split twice; name each once"

    def _document_problems(self, documents: Documents) -> Iterator[str]:
        if len(self.sides) == 1 or self.role != "parallel":
            yield "documents have two sides: name both, and remove role; with one side, use the key document instead"
        if self.is_local and self.url.remote:
            yield "directories and lists of documents must be local paths"
        if (self.url.source or ("",))[0].endswith("/") != (self.url.target or ("",))[0].endswith("/"):
            yield "give directories with documents for both sides, as urls that end in /"
        if self.url.source and (self.url.source, self.source) == (self.url.target, self.target):
            yield "both sides are the same url; correct one of them"
        if self.url.catalogue_id is not None or self.url.hub_id is not None:
            yield "documents are in files: give their url, not an ID"
        if len(self.scores) > 1:
            yield "scores are for files of pairs; beads have the score sentences"
        yield from (f"documents: {problem}" for problem in documents.problems(sides=bool(self.sides)))

    @property
    def is_local(self) -> bool:
        """True for documents in directories, or in a list of paths, which are read in place."""
        directory = self.url.source is not None and self.url.source[0].endswith("/")
        return self.documents is not None and (directory or self.documents.format == "list")

    @property
    def is_fetched(self) -> bool:
        """True if the corpus has files that the stages download and extract provide."""
        return not (self.is_local or self.pivot is not None or self.is_held_out)

    @property
    def is_made(self) -> bool:
        """True if the program makes the pairs, from documents or other corpora."""
        return self.documents is not None or self.pivot is not None or self.is_held_out

    @property
    def is_held_out(self) -> bool:
        """True for the hold-out of the train corpus with the same name. It has no files of its own."""
        return self._held_out

    @property
    def is_divided(self) -> bool:
        """True if the corpus has a hold-out or a limit."""
        return bool(self.hold_out) or self.limit is not None

    def held_out(self) -> Corpus:
        """Returns the corpus with this train corpus's hold-out."""
        copy = self.model_copy(update={"documents": None, "pivot": None, "hold_out": (), "limit": None})
        copy._held_out = True
        copy._reverse = None if self._reverse is None else self._reverse.held_out()
        return copy

    @property
    def pair(self) -> LanguagePair | None:
        """The languages of the two sides, in a config with pairs."""
        return self._pair

    @property
    def reverse(self) -> Corpus | None:
        """The corpus with exchanged sides, if both directions are used. It has no files of its own."""
        return self._reverse

    def spoken(self, languages: Languages) -> Languages:
        """Returns the languages of the two sides, given the config's languages."""
        if self._pair or self.languages is None:
            return self._pair.languages if self._pair else languages
        first, second = (self.languages.source, self.languages.target)[:: -1 if self.swap else 1]
        return Languages(source=spoken_of(first, languages.source), target=spoken_of(second, languages.target))

    def used_as(self, pair: LanguagePair, reverse: Corpus | None) -> Corpus:
        """Returns the corpus with the languages of its sides, and its other direction."""
        copy = self.model_copy()
        copy._pair, copy._reverse = pair, reverse
        return copy

    @property
    def awaits_catalogue(self) -> bool:
        """True if ``url`` names a catalog from which the files have not been filled in yet."""
        return self.url.catalogue_id is not None and not (self.sides or self.member)

    @property
    def read_sides(self) -> tuple[Side, ...]:
        """The sides whose lines its files hold."""
        places = self.fields or self.columns
        if places is not None:
            return places.sides
        return self.sides if len(self.sides) == 1 else SIDES

    @property
    def lacks_text(self) -> str:
        """What a message says if no pair has text."""
        return "no line has text" if len(self.read_sides) == 1 else "no pair has text on both sides"

    @property
    def pair_sides(self) -> tuple[Side, ...]:
        """The sides that its pairs have in the end."""
        return self.read_sides if self.translate is None else SIDES

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that have a file of their own."""
        return tuple(side for side in SIDES if getattr(self, side) or getattr(self.url, side))

    def encoding_of(self, part: str) -> str:
        """Returns the encoding of a file, given its side or ``both``."""
        return self.encoding if isinstance(self.encoding, str) else self.encoding.get(part, "utf-8")

    @property
    def places(self) -> dict[str, ColumnPlace]:
        """The places of the columns other than the sides, sorted by their keys ``document`` and ``scores.<name>``."""
        scores = {f"scores.{name}": place for name, place in sorted(self.scores.items())}
        return scores if self.document is None else {"document": self.document, **scores}

    @property
    def tags(self) -> dict[Side, str]:
        """The tags of the sides that have one."""
        tags: dict[Side, str | None] = {side: getattr(self.tag, side) for side in SIDES} if self.tag else {}
        return {side: tag for side, tag in tags.items() if tag is not None}
