"""The schema of a config: one frozen model per section. :mod:`nmt_prep.config.file` reads the YAML file.

The docstring below a field names the allowed values; it appears in error messages and in ``nmt-prep schema``. Corpora
are in :mod:`nmt_prep.config.corpus`, vocabularies in :mod:`nmt_prep.config.vocab`, and engines in
:mod:`nmt_prep.config.engine`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, PrivateAttr, field_validator, model_validator
from pydantic_core import PydanticCustomError

from nmt_prep.config.align import AlignSettings
from nmt_prep.config.clean import CleanSettings
from nmt_prep.config.corpus import Corpus
from nmt_prep.config.engine import EngineSettings, LocalSettings
from nmt_prep.config.languages import ConfigLanguages
from nmt_prep.config.outputs import LAYOUT, ROW_LENGTH, AnyOutput, Layout, RowLength, Shards
from nmt_prep.config.problems import UNKNOWN_NAME
from nmt_prep.config.publish import PublishSettings
from nmt_prep.config.section import Amount, Count, Location, Name, Section
from nmt_prep.config.vocab import ExistingVocab, T2TVocab, Vocab
from nmt_prep.sides import SIDES


class DownloadSettings(Section):
    """Options for fetching files. No key of it changes the results."""

    parallel: Count = Field(4, ge=1, le=64)
    """an integer from 1 to 64: how many files are fetched at once"""
    connect_seconds: float = Field(10.0, gt=0, strict=False)
    """a number of seconds > 0: how long a server may take to accept a connection"""
    stall_seconds: float = Field(60.0, gt=0, strict=False)
    """a number of seconds > 0: a connection that delivers almost nothing for that long is closed and retried"""
    retries: Count = Field(5, ge=0, le=100)
    """an integer from 0 to 100: attempts after the first; the count restarts after progress"""
    max_file_bytes: Amount = Field(100_000_000_000, ge=1)
    """an amount of bytes >= 1, such as 100GB: a larger file is refused"""
    max_bytes_per_second: Amount | None = Field(None, ge=1)
    """an amount of bytes >= 1, such as 10MB, or null for no limit: bandwidth of all downloads together"""
    cache: bool = True
    """true or false: also keep fetched files in the cache directory, for other runs"""


class ExtractSettings(Section):
    """Limits that protect against hostile archives. No key of it changes the results."""

    max_member_bytes: Amount = Field(100_000_000_000, ge=1)
    """an amount of bytes >= 1, such as 100GB: an archive with a larger member is refused"""
    max_ratio: Count = Field(250, ge=1)
    """an integer >= 1: the maximum ratio of the unpacked size of an archive to its own size"""
    max_members: Count = Field(1_000_000, ge=1)
    """an integer >= 1: the maximum number of members of an archive"""


class SampleSettings(Section):
    """The sample of lines that the vocabularies are built from."""

    bytes_per_corpus: Count = Field(100_000_000, ge=1)
    """a number of bytes >= 1: how much of each side of each corpus is sampled"""
    origin: Literal["cleaned", "raw"] = Field("cleaned", alias="from")
    """cleaned or raw: lines that cleaning left, or all lines of the corpora; the same without a section clean"""


class Records(Section):
    """Options for writing the shards."""

    shards: Shards = Field(default_factory=dict)
    """a mapping from splits to integers from 1 to 99999: the number of shards of a split, by default 1"""
    layout: Layout = Field("example", description=LAYOUT)
    row_length: RowLength = Field(256, description=ROW_LENGTH)


class Input(Section):
    """Defaults of the functions that return batches; recorded in ``dataset.json``."""

    batch_tokens: Count = Field(4096, ge=1)
    """an integer >= 1: tokens of a batch on either side, padding included"""
    max_length: Count = Field(256, ge=1)
    """an integer >= 1: pairs with a side of more ids are left out"""


class Config(Section):
    """The whole config."""

    name: Name
    """letters, digits, dots, dashes and underscores: the name of the data set, part of file names"""
    languages: ConfigLanguages
    """{source: …, target: …}: the languages of the two sides"""
    output_dir: Location
    """a path, relative to the working directory, ~ for the home directory: where the run writes"""
    seed: int = Field(ge=0, lt=2**63)
    """an integer >= 0: seed of the sample and the shuffle; required, so that results are reproducible"""
    splits: dict[Name, Annotated[tuple[Corpus, ...], Field(min_length=1)]]
    """lists of corpora by split: the data; train is required, others such as dev and test are optional"""
    download: DownloadSettings = Field(default_factory=lambda: DownloadSettings())
    """a mapping: how files are fetched"""
    extract: ExtractSettings = Field(default_factory=lambda: ExtractSettings())
    """a mapping: limits on archives"""
    sample: SampleSettings = Field(default_factory=lambda: SampleSettings())
    """a mapping: which lines the vocabularies are built from"""
    clean: CleanSettings | None = None
    """a mapping, or null for no cleaning: which pairs are dropped, and what is repaired"""
    align: AlignSettings | None = None
    """a mapping, or null for no alignment: how the words of pairs are linked"""
    vocab: Vocab = Field(default_factory=lambda: T2TVocab())
    """a mapping: the dialect of the vocabularies, and their size"""
    records: Records = Field(default_factory=lambda: Records())
    """a mapping: how the shards are written"""
    outputs: tuple[AnyOutput, ...] = ()
    """a list of mappings with the key kind: files for other trainers, beside the records"""
    input: Input = Field(default_factory=lambda: Input())
    """a mapping: how pairs become batches"""
    engine: EngineSettings = Field(default_factory=lambda: LocalSettings())
    """a mapping: where tasks run, and their memory"""
    publish: PublishSettings | None = None
    """a mapping, or null for no copy: an object store that receives a copy of the outputs"""

    @field_validator("output_dir")
    @classmethod
    def _is_local(cls, path: str) -> str:
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", path):
            raise PydanticCustomError(
                UNKNOWN_NAME,
                "{path} is a URL, but a run works in a directory of this machine; name one, and give the url in the "
                "section publish to upload what was made",
                {"path": path},
            )
        return path

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
                    f"all corpora of splits.{split} are for the vocabularies (role vocab); add one with pairs"
                )
            if split != "train" and any(corpus.role == "vocab" for corpus in corpora):
                raise ValueError(
                    f"splits.{split} has a corpus of role vocab, but the vocabularies are built from train"
                )
        if self.clean is not None:
            absent = sorted(set(self.clean.splits) - set(self.splits))
            if absent:
                raise ValueError(f"clean.splits names {absent[0]!r}; the splits are {', '.join(self.splits)}")
            twice = next((split for split in self.clean.splits if self.clean.splits.count(split) > 1), None)
            if twice is not None:
                raise ValueError(f"clean.splits names {twice!r} twice; name each split once")
        strange = sorted(set((self.align and self.align.splits) or ()) - set(self.splits))
        if strange:
            raise ValueError(f"align.splits names {strange[0]!r}; the splits are {', '.join(self.splits)}")
        unknown = sorted(set(self.records.shards) - set(self.splits))
        if unknown:
            raise ValueError(f"records.shards names the split {unknown[0]!r}; the splits are {', '.join(self.splits)}")
        return self

    @model_validator(mode="after")
    def _frames_fit(self) -> Config:
        for side in SIDES:
            for split, corpora in self.splits.items():
                for corpus in corpora:
                    if side in corpus.tags and self.vocab.frame.lacks_tag(side):
                        raise ValueError(
                            f"splits.{split}.{corpus.name}.tag.{side}: vocab.frame.{side} has no place for it; put "
                            "{tag} into the frame"
                        )
            if not isinstance(self.vocab, ExistingVocab):
                known = (*self.vocab.special_pieces, *self.vocab.own_pieces)
                for piece in self.vocab.frame.pieces(side):
                    if piece not in known:
                        raise ValueError(
                            f"vocab.frame.{side}: {piece!r} is not a piece of the vocabulary; add it to vocab.reserved "
                            f"(it has {', '.join(known)})"
                        )
        return self

    @model_validator(mode="after")
    def _tags_are_pieces(self) -> Config:
        if isinstance(self.vocab, ExistingVocab):
            return self  # its pieces are known when the files are
        for split, corpora in self.splits.items():
            for corpus in corpora:
                for side, tag in corpus.tags.items():
                    if tag not in self.vocab.own_pieces:
                        raise ValueError(
                            f"splits.{split}.{corpus.name}.tag.{side} is {tag!r}, which is not in vocab.reserved; "
                            "add it there to make it a single piece"
                        )
        return self

    _file: Path | None = PrivateAttr(None)
    _base_dir: Path | None = PrivateAttr(None)

    @property
    def file(self) -> Path | None:
        """The absolute path of the file that the config was read from; None for a config from a mapping."""
        return self._file

    @property
    def base_dir(self) -> Path:
        """The directory that local paths are relative to: by default that of the file, else the working directory."""
        return self._base_dir or Path.cwd()

    def read_from(self, file: Path) -> Config:
        """Returns the config with the file that it was read from."""
        copy = self.model_copy()
        copy._file = file.absolute()
        copy._base_dir = copy._file.parent
        return copy

    def within(self, base_dir: str | os.PathLike[str]) -> Config:
        """Returns a config that was not read from a file, with a directory that its local paths are relative to."""
        copy = self.model_copy()
        copy._base_dir = Path(base_dir).absolute()
        return copy

    def shards(self, split: str) -> int:
        """Returns the number of shards of a split."""
        return self.records.shards.get(split, 1)

    def cleans(self, split: str) -> bool:
        """Returns true if the pairs of a split are cleaned."""
        return self.clean is not None and split in self.clean.splits

    @property
    def run_dir(self) -> Path:
        """The output directory as a path."""
        return Path(os.path.expanduser(self.output_dir))  # noqa: PTH111 - Path.expanduser fails without a home directory
