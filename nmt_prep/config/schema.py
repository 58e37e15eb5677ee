"""The schema of a config: one frozen model per section. Reading the YAML file is :mod:`nmt_prep.config.file`'s part.

Every field's description says what is allowed; it appears in error messages and in ``nmt-prep schema``. The corpora
are in :mod:`nmt_prep.config.corpus`, the vocabularies in :mod:`nmt_prep.config.vocab`, the engines in
:mod:`nmt_prep.config.engine`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from nmt_prep.config.corpus import Corpus
from nmt_prep.config.engine import EngineSettings, LocalSettings
from nmt_prep.config.language import ConfigLanguages
from nmt_prep.config.publish import PublishSettings
from nmt_prep.config.section import Amount, Count, Location, Name, Section
from nmt_prep.config.vocab import T2TVocab, Vocab


class Download(Section):
    """How files are fetched. Nothing here changes a byte of any result."""

    parallel: Count = Field(4, ge=1, le=64, description="an integer from 1 to 64: files that are fetched at once")
    connect_seconds: float = Field(
        10.0, gt=0, strict=False, description="a number of seconds > 0 until a server must have taken a connection"
    )
    stall_seconds: float = Field(
        60.0, gt=0, strict=False, description="a number of seconds > 0 without noteworthy progress before a new try"
    )
    retries: Count = Field(
        5, ge=0, le=100, description="an integer from 0 to 100: tries after the first that make no progress"
    )
    max_file_bytes: Amount = Field(
        100_000_000_000, ge=1, description="an amount of bytes >= 1, such as 100GB: the largest file to fetch"
    )
    max_bytes_per_second: Amount | None = Field(
        None, ge=1, description="an amount of bytes >= 1, such as 10MB, for all downloads together; or null"
    )
    cache: bool = Field(True, description="true to keep fetched files where other runs find them too")


class Extract(Section):
    """How much an archive may hold before it is taken for an attack. Nothing here changes a byte of any result."""

    max_member_bytes: Amount = Field(
        100_000_000_000, ge=1, description="an amount of bytes >= 1, such as 100GB: the largest file to extract"
    )
    max_ratio: Count = Field(
        250, ge=1, description="an integer >= 1: bytes that come out of an archive for each of its own"
    )
    max_members: Count = Field(1_000_000, ge=1, description="an integer >= 1: entries of an archive")


class Sample(Section):
    """Which lines the vocabularies see."""

    bytes_per_corpus: Count = Field(
        100_000_000, ge=1, description="a number of bytes >= 1: the budget of each side of each corpus"
    )


class Records(Section):
    """The shards."""

    shards: dict[str, Annotated[Count, Field(ge=1, le=99_999)]] = Field(
        default_factory=dict,
        description="a number of shards from 1 to 99999 for each split; 1 where left out",
    )
    layout: Literal["example", "chunk", "packed"] = Field(
        "example",
        description="example (a tf.train.Example a pair), chunk (about 256 pairs a record) or packed (chunk, with the "
        "pairs packed into rows)",
    )
    export: Literal["pieces"] | None = Field(
        None, description="pieces, to write plain text of pieces and vocabulary lists beside the records; or null"
    )
    row_length: Count = Field(
        256, ge=1, le=1024, description="an integer from 1 to 1024: ids of a row on either side, for layout packed"
    )


class Input(Section):
    """Defaults of the input function."""

    batch_tokens: Count = Field(4096, ge=1, description="an integer >= 1: tokens of a batch, with padding")
    max_length: Count = Field(256, ge=1, description="an integer >= 1: pairs with a longer side are left out")


class Config(Section):
    """A whole config."""

    name: Name = Field(description="letters, digits, dots, dashes and underscores; part of the files' names")
    languages: ConfigLanguages = Field(description="{source: …, target: …}")
    output_dir: Location = Field(description="a path, relative to the working directory; ~ is the home directory")
    seed: int = Field(ge=0, lt=2**63, description="an integer >= 0; required, so that no order is left to chance")
    splits: dict[Name, Annotated[tuple[Corpus, ...], Field(min_length=1)]] = Field(
        description="lists of corpora by split: train, and where there are any, dev and test"
    )
    download: Download = Field(default_factory=lambda: Download(), description="the download section")
    extract: Extract = Field(default_factory=lambda: Extract(), description="the extract section")
    sample: Sample = Field(default_factory=lambda: Sample(), description="the sample section")
    vocab: Vocab = Field(default_factory=lambda: T2TVocab(), description="the vocab section")
    records: Records = Field(default_factory=lambda: Records(), description="the records section")
    input: Input = Field(default_factory=lambda: Input(), description="the input section")
    engine: EngineSettings = Field(default_factory=lambda: LocalSettings(), description="the engine section")
    publish: PublishSettings | None = Field(None, description="the publish section, or null to publish nowhere")

    @model_validator(mode="after")
    def _splits_fit(self) -> Config:
        if "train" not in self.splits:
            raise ValueError("splits has no train: the vocabularies are built from it")
        for split, corpora in self.splits.items():
            names = [corpus.name for corpus in corpora]
            repeated = sorted({name for name in names if names.count(name) > 1})
            if repeated:
                raise ValueError(f"splits.{split} names the corpus {repeated[0]!r} twice; names must differ")
            if all(corpus.role == "vocab" for corpus in corpora):
                raise ValueError(
                    f"splits.{split} has no corpus but for the vocabularies (role vocab); add one with pairs"
                )
            if split != "train" and any(corpus.role == "vocab" for corpus in corpora):
                raise ValueError(
                    f"splits.{split} has a corpus of role vocab, but the vocabularies are built from train"
                )
        unknown = sorted(set(self.records.shards) - set(self.splits))
        if unknown:
            raise ValueError(f"records.shards names the split {unknown[0]!r}; the splits are {', '.join(self.splits)}")
        return self

    @model_validator(mode="after")
    def _tags_are_pieces(self) -> Config:
        for split, corpora in self.splits.items():
            for corpus in corpora:
                for side, tag in corpus.tags.items():
                    if tag not in self.vocab.own_pieces:
                        raise ValueError(
                            f"splits.{split}.{corpus.name}.tag.{side} is {tag!r}, which is not in vocab.reserved; "
                            "add it there, so that it is a piece of its own"
                        )
        return self

    @model_validator(mode="after")
    def _publish_fits(self) -> Config:
        if self.publish is not None and "export" in self.publish.stages and self.records.export is None:
            raise ValueError("publish.stages names export, but records.export does not ask for it")
        return self

    def shards(self, split: str) -> int:
        """Number of shards of a split."""
        return self.records.shards.get(split, 1)

    @property
    def run_dir(self) -> Path:
        """The output directory as a path."""
        return Path(os.path.expanduser(self.output_dir))  # noqa: PTH111 - Path.expanduser fails where there is no home


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
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
