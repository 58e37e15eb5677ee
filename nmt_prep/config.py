"""The schema of a config: one frozen model per section. Reading the YAML file is :mod:`nmt_prep.config_file`'s part.

Every field's description says what is allowed; it appears in error messages and in ``nmt-prep schema``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

Side: TypeAlias = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")

_MEMORY_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_MEMORY_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def _parse_memory(value: object) -> object:
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", value)
    if match is None or match[2].upper() not in _MEMORY_UNITS:
        raise ValueError("not an amount of memory")
    return int(float(match[1]) * _MEMORY_UNITS[match[2].upper()])


def _whole_number(value: object) -> object:
    """Lets 1e8 stand for an integer, as people write budgets."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _per_side(value: object) -> object:
    """Lets one value stand for both sides."""
    return value if isinstance(value, dict) else {"both": value}


def _as_tuple(value: object) -> object:
    """Lets one mirror stand for a list of one."""
    return (value,) if isinstance(value, str) else value


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
Language = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$", to_lower=True)]
Mirrors = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], BeforeValidator(_as_tuple), Field(min_length=1)]
Count = Annotated[int, BeforeValidator(_whole_number)]


class Section(BaseModel):
    """What all sections share: no unknown keys, no coercion of types, no changes once made."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Languages(Section):
    """The two languages."""

    source: Language = Field(description="a language tag such as en, zh or pt-BR")
    target: Language = Field(description="a language tag such as en, zh or pt-BR")


class Urls(Section):
    """Where a corpus is: one archive or file for both sides, or a file a side."""

    both: Mirrors | None = Field(None, description="a URL or path, or a list of mirrors of the same file")
    source: Mirrors | None = Field(None, description="a URL or path, or a list of mirrors of the same file")
    target: Mirrors | None = Field(None, description="a URL or path, or a list of mirrors of the same file")

    @model_validator(mode="after")
    def _both_or_each(self) -> Urls:
        if (self.both is None) == (self.source is None) or (self.source is None) != (self.target is None):
            raise ValueError("give one url for both sides, or {source: …, target: …}")
        return self


class Checksums(Section):
    """SHA-256 of the files behind the URLs, in the same form as ``url``."""

    both: Sha256 | None = Field(None, description="64 hexadecimal digits")
    source: Sha256 | None = Field(None, description="64 hexadecimal digits")
    target: Sha256 | None = Field(None, description="64 hexadecimal digits")


class Columns(Section):
    """Which columns of a table hold the two sides."""

    source: int = Field(0, ge=0, description="the number of a column, counted from 0")
    target: int = Field(1, ge=0, description="the number of a column, counted from 0")


class Corpus(Section):
    """One named pair of files, or one file that holds both sides."""

    name: Name = Field(description="letters, digits, dots, dashes and underscores; recorded with every pair")
    url: Annotated[Urls, BeforeValidator(_per_side)] = Field(
        description="a URL (http, https, file), a path relative to the config file, a list of mirrors, "
        "or {source: …, target: …} where each side is a file of its own"
    )
    sha256: Annotated[Checksums, BeforeValidator(_per_side)] = Field(
        default_factory=lambda: Checksums(), description="64 hexadecimal digits; per side where url is"
    )
    format: Literal["plain", "tsv", "sgm"] | None = Field(
        None, description="plain, tsv or sgm; told from the names of the files when left out"
    )
    source: str | None = Field(None, min_length=1, description="the member of the archive with the source side")
    target: str | None = Field(None, min_length=1, description="the member of the archive with the target side")
    member: str | None = Field(None, min_length=1, description="the member of the archive that holds both sides (tsv)")
    columns: Columns | None = Field(None, description="{source: 0, target: 1}: column numbers (tsv)")
    header: bool = Field(False, description="true where the first line names the columns (tsv)")

    @model_validator(mode="after")
    def _members_fit(self) -> Corpus:
        if (self.source is None) != (self.target is None):
            raise ValueError("source and target name one member a side: give both or neither")
        if self.member is not None and self.source is not None:
            raise ValueError("give either member (both sides in one file) or source and target, not both")
        if self.url.both is None and self.member is not None:
            raise ValueError("member names one file with both sides, but url gives a file a side")
        tabular = self.resolved_format == "tsv"
        if not tabular and (self.columns is not None or self.header or self.member is not None):
            raise ValueError(f"columns, header and member belong to format tsv, not {self.resolved_format}")
        if tabular and (self.source is not None or self.url.both is None):
            raise ValueError("format tsv holds both sides in one file: name it with member, not source and target")
        if not tabular and self.url.both is not None and self.source is None:
            raise ValueError(f"format {self.resolved_format} needs source and target: the members of the archive")
        if tabular and self.columns is not None and self.columns.source == self.columns.target:
            raise ValueError("columns.source and columns.target are the same column")
        if (self.sha256.both is not None) and self.url.both is None:
            raise ValueError("sha256 must be {source: …, target: …} where url is")
        if (self.sha256.source or self.sha256.target) and self.url.both is not None:
            raise ValueError("sha256 must be one checksum where url is one file")
        return self

    @property
    def resolved_format(self) -> str:
        """The format given, or the one that the names of the files tell."""
        if self.format is not None:
            return self.format
        names = [self.source, self.member, *(self.url.both or ()), *(self.url.source or ())]
        for name in filter(None, names):
            stem = re.sub(r"\.(gz|bz2|xz|zst)$", "", name.lower())
            if stem.endswith((".sgm", ".sgml")):
                return "sgm"
            if stem.endswith(".tsv"):
                return "tsv"
        return "plain"


class Sample(Section):
    """Which lines the vocabularies see."""

    bytes_per_corpus: Count = Field(
        100_000_000, ge=1, description="a number of bytes >= 1: the budget of each side of each corpus"
    )


class Vocab(Section):
    """The subword vocabularies."""

    kind: Literal["t2t"] = Field("t2t", description="t2t")
    size: Count = Field(8192, ge=1, description="an integer >= 1: the approximate number of pieces")
    shared: bool = Field(False, description="true for one vocabulary for both sides, false for one a side")
    max_subtoken_length: int | None = Field(
        200,
        ge=1,
        description="an integer >= 1: candidates of this many characters or more are not considered; or null",
    )
    reserved: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        (), description="a list of strings that get the ids after <pad> and <EOS>"
    )

    @model_validator(mode="after")
    def _distinct(self) -> Vocab:
        if len(set(self.reserved)) < len(self.reserved) or {"<pad>", "<EOS>"} & set(self.reserved):
            raise ValueError("reserved has repeated entries, or names <pad> or <EOS>, which are always there")
        return self


class Records(Section):
    """The shards."""

    shards: dict[str, Annotated[Count, Field(ge=1, le=99_999)]] = Field(
        default_factory=dict,
        description="a number of shards from 1 to 99999 for each split; 1 where left out",
    )
    layout: Literal["example"] = Field("example", description="example")


class Input(Section):
    """Defaults of the input function."""

    batch_tokens: Count = Field(4096, ge=1, description="an integer >= 1: tokens of a batch, with padding")
    max_length: Count = Field(256, ge=1, description="an integer >= 1: pairs with a longer side are left out")


class Engine(Section):
    """Where tasks run. Nothing here changes a byte of any result."""

    kind: Literal["local"] = Field("local", description="local")
    workers: Literal["auto"] | Annotated[int, Field(ge=1)] = Field(
        "auto", description="an integer >= 1, or auto for one a core"
    )
    memory: Annotated[int, BeforeValidator(_parse_memory)] = Field(
        2_000_000_000, ge=256_000_000, description="an amount of memory >= 256MB, such as 512MB or 2GB"
    )


class Config(Section):
    """A whole config."""

    name: Name = Field(description="letters, digits, dots, dashes and underscores; part of the files' names")
    languages: Languages = Field(description="{source: …, target: …}")
    output_dir: str = Field(min_length=1, description="a path, relative to the working directory")
    seed: int = Field(ge=0, lt=2**63, description="an integer >= 0; required, so that no order is left to chance")
    splits: dict[Name, Annotated[tuple[Corpus, ...], Field(min_length=1)]] = Field(
        description="lists of corpora by split: train, and where there are any, dev and test"
    )
    sample: Sample = Field(default_factory=lambda: Sample(), description="the sample section")
    vocab: Vocab = Field(default_factory=lambda: Vocab(), description="the vocab section")
    records: Records = Field(default_factory=lambda: Records(), description="the records section")
    input: Input = Field(default_factory=lambda: Input(), description="the input section")
    engine: Engine = Field(default_factory=lambda: Engine(), description="the engine section")

    @model_validator(mode="after")
    def _splits_fit(self) -> Config:
        if "train" not in self.splits:
            raise ValueError("splits has no train: the vocabularies are built from it")
        for split, corpora in self.splits.items():
            names = [corpus.name for corpus in corpora]
            repeated = sorted({name for name in names if names.count(name) > 1})
            if repeated:
                raise ValueError(f"splits.{split} names the corpus {repeated[0]!r} twice; names must differ")
        unknown = sorted(set(self.records.shards) - set(self.splits))
        if unknown:
            raise ValueError(f"records.shards names the split {unknown[0]!r}; the splits are {', '.join(self.splits)}")
        return self

    def shards(self, split: str) -> int:
        """Number of shards of a split."""
        return self.records.shards.get(split, 1)

    @property
    def run_dir(self) -> Path:
        """The output directory as a path."""
        return Path(self.output_dir)


def json_schema() -> dict[str, Any]:
    """JSON schema of a config, for editors that complete and check YAML."""
    schema = Config.model_json_schema(mode="validation")
    definitions = schema["$defs"]
    mirrors = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
    for side in ("both", "source", "target"):
        definitions["Urls"]["properties"][side] = mirrors
    corpus = definitions["Corpus"]["properties"]
    corpus["url"] = {**mirrors, "anyOf": [*mirrors["anyOf"], {"$ref": "#/$defs/Urls"}]}
    corpus["sha256"] = {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Checksums"}]}
    definitions["Engine"]["properties"]["memory"] = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
