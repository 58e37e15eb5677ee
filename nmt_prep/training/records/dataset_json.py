"""The file ``dataset.json``: it describes a records directory, its text and its vocabularies, with digests."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    ValidationError,
    model_serializer,
    model_validator,
)

from nmt_prep.base.artefacts import write_json
from nmt_prep.base.digests import HashedFile
from nmt_prep.base.errors import RecordsError
from nmt_prep.config.problems import message_of
from nmt_prep.training.records.shuffle_plan import Layout


@dataclass(frozen=True)
class PairStats:
    """Counts over pairs of ID rows, each with its EOS."""

    pairs: int = 0  # number of pairs
    source_tokens: int = 0  # IDs of the source side
    target_tokens: int = 0  # IDs of the target side
    source_lengths: Counter[int] = field(default_factory=Counter)  # number of pairs for each source length
    target_lengths: Counter[int] = field(default_factory=Counter)  # number of pairs for each target length
    max_lengths: Counter[int] = field(default_factory=Counter)  # pair count for each length of the longer side

    @classmethod
    def of(cls, source: npt.NDArray[np.int64], target: npt.NDArray[np.int64]) -> PairStats:
        """Counts a batch's pairs by the lengths of their sides: int64, shape ``[pairs]``."""
        return cls(
            len(source),
            int(source.sum()),
            int(target.sum()),
            _histogram(source),
            _histogram(target),
            _histogram(np.maximum(source, target)),
        )

    def __add__(self, other: PairStats) -> PairStats:
        return PairStats(*(getattr(self, count.name) + getattr(other, count.name) for count in fields(self)))


_COUNTED_BY_LENGTH = 1 << 16  # Longer rows are sorted to be counted; a table by length would be too large for them


def _histogram(lengths: npt.NDArray[np.int64]) -> Counter[int]:
    if not len(lengths):
        return Counter()
    if lengths.max() < _COUNTED_BY_LENGTH:
        counts = np.bincount(lengths)
        values = np.flatnonzero(counts)
        counts = counts[values]
    else:
        values, counts = np.unique(lengths, return_counts=True)
    return Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))


Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
FileName = Annotated[str, StringConstraints(pattern=r"^[^/\\\x00]+$")]
NonNegativeInt = Annotated[int, Field(ge=0, lt=2**63)]  # A non-negative integer that fits in int64

Histogram = tuple[tuple[NonNegativeInt, NonNegativeInt], ...]
"""Pairs of length and count, ascending; lengths that do not occur are omitted."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)
    _omitted: ClassVar[tuple[str, ...]] = ()
    """Fields that the file omits if they are empty."""

    @model_serializer(mode="wrap")
    def _without_empty_values(self, fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = fields(self)
        return {key: value for key, value in values.items() if key not in self._omitted or value}


class LanguageCodes(_Model):
    """Codes of the two languages, as in the config."""

    source: str
    target: str


class VocabularyInfo(_Model):
    """The vocabulary that one side was encoded with."""

    _omitted = ("frame", "words")
    file: str  # path relative to the records directory
    words: str | None = None  # path of the file with the steps before it; omitted if there are none
    kind: str  # the tokenizer's dialect, as `vocab.kind` in a config
    size: NonNegativeInt  # number of pieces
    sha256: Sha256  # digest of the file
    fingerprint: str  # the tokenizer's fingerprint
    pad_id: int | None = None  # the tokenizer's pad ID; this and the other IDs are None if the tokenizer has none
    eos_id: int | None = None  # end-of-sentence ID, which ends every row
    bos_id: int | None = None  # begin-of-sentence ID
    unk_id: int | None = None  # ID of unknown text
    # numbering of a SentencePiece model's pieces, `sentencepiece` or `fairseq`
    id_layout: Literal["sentencepiece", "fairseq"] | None = None
    unicode_version: str | None = None  # Unicode version of the character classes, if the dialect depends on them
    # the pieces around the IDs of each row, as in `vocab.frame` of the config; None (omitted from the file) for the
    # tag, the IDs and the eos ID
    frame: str | None = None

    @property
    def padding_id(self) -> int:
        """The ID that pads this side: the pad ID, else the eos ID, which the encode stage guarantees to exist."""
        return next(choice for choice in (self.pad_id, self.eos_id, 0) if choice is not None)


class Vocabularies(_Model):
    """One vocabulary per side; the same twice if it is shared."""

    source: VocabularyInfo
    target: VocabularyInfo

    @property
    def padding_ids(self) -> tuple[int, int]:
        return self.source.padding_id, self.target.padding_id


class CorpusInfo(_Model):
    """A corpus of a split."""

    _omitted = ("tag", "licence", "language_pair", "made")
    name: str  # corpus name
    pairs: NonNegativeInt  # number of its pairs
    # for each side with a tag, the piece whose ID begins every row; omitted from the file if there is none
    tag: dict[Literal["source", "target"], str] = {}
    licence: str | None = None  # the license in the config; omitted from the file if there is none
    language_pair: str = ""  # such as `en-de`, in a run with several language pairs; else omitted from the file
    # for a synthetic corpus the `side` that a program made, the name of the `value`, the `program` and its `version`
    made: dict[str, str] = {}


class IndexInfo(_Model):
    """A file beside a shard: its index, see `record_columns`, or a column of its pairs."""

    bytes: NonNegativeInt
    sha256: Sha256

    @classmethod
    def of(cls, file: HashedFile) -> Self:
        """Describes a file that was written."""
        return cls(bytes=file.size, sha256=file.sha256)


class ShardInfo(_Model):
    """One shard file; tokens count EOS."""

    _omitted = ("columns",)
    file: FileName  # its name
    records: NonNegativeInt  # number of TFRecords; one per pair in layout `example`
    pairs: NonNegativeInt  # number of pairs
    # rows into which the pairs are packed, not counting pairs longer than a row; 0 if they are not packed
    rows: NonNegativeInt = 0
    source_tokens: NonNegativeInt  # IDs of all sources
    target_tokens: NonNegativeInt  # IDs of all targets
    bytes: NonNegativeInt  # size of the file
    sha256: Sha256  # digest of the file
    index: IndexInfo  # size and digest of the shard's index
    columns: dict[str, IndexInfo] = {}  # size and digest of each column's file, see `columns`; omitted if empty


_COUNTS = ("pairs", "source_tokens", "target_tokens")
_LENGTHS = ("source_lengths", "target_lengths", "max_lengths")


class SplitInfo(_Model):
    """Counts of a split and its shards in order; lengths count EOS, ``max_lengths`` is of the longer side.

    ``language_pairs`` counts the pairs of each language pair, if the run has several; else the file omits it.
    """

    _omitted = ("language_pairs",)
    pairs: NonNegativeInt
    source_tokens: NonNegativeInt
    target_tokens: NonNegativeInt
    source_lengths: Histogram
    target_lengths: Histogram
    max_lengths: Histogram
    language_pairs: dict[str, NonNegativeInt] = {}
    shards: tuple[ShardInfo, ...]

    def with_pairs(self, corpora: Sequence[CorpusInfo]) -> Self:
        """Returns the split with each language pair's pair count, given its corpora."""
        pairs = Counter[str]()
        for corpus in corpora:
            pairs.update({corpus.language_pair: corpus.pairs} if corpus.language_pair else {})
        return self.model_copy(update={"language_pairs": dict(pairs)})

    @classmethod
    def of(cls, stats: PairStats, shards: Sequence[ShardInfo]) -> SplitInfo:
        """Builds a split from the sum of its tasks' counts and its shards."""
        values: dict[str, Any] = {name: getattr(stats, name) for name in _COUNTS}
        values |= {name: tuple(sorted(getattr(stats, name).items())) for name in _LENGTHS}
        return cls(**values, shards=tuple(shards))

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        for name in _COUNTS:
            actual = sum(getattr(shard, name) for shard in self.shards)
            _same(f"{name} of all shards", actual, name, getattr(self, name))
        for name in _LENGTHS:
            histogram: Histogram = getattr(self, name)
            lengths = [length for length, _ in histogram]
            if lengths != sorted(set(lengths)):
                raise ValueError(f"{name} is not in ascending order of length")
            _same(f"pairs in {name}", sum(count for _, count in histogram), "pairs", self.pairs)
        for side in ("source", "target"):
            actual = sum(length * count for length, count in getattr(self, f"{side}_lengths"))
            _same(f"tokens in {side}_lengths", actual, f"{side}_tokens", getattr(self, f"{side}_tokens"))
        return self


class InputInfo(_Model):
    """Defaults for loader arguments, from the config's ``input`` section."""

    batch_tokens: NonNegativeInt
    max_length: NonNegativeInt


class DocumentsInfo(_Model):
    """How loaders join document segments, from the config's ``documents`` section."""

    source_separator: int | None  # ID between two segments of the source; None if there is none
    target_separator: int | None  # ID between two segments of the target; None if there is none
    max_tokens: NonNegativeInt  # maximum ID count of joined segments on either side
    max_segments: NonNegativeInt  # maximum segment count of a window
    share: float  # share of train documents whose segments are joined
    # context segment counts on the source and the target side; None for windows
    context: tuple[NonNegativeInt, NonNegativeInt] | None


class CausalInfo(_Model):
    """How pairs become rows with layout ``causal``, from the config's ``records`` section."""

    _omitted = ("glossary", "examples")
    settings: dict[str, Any]  # the keys of the section that describe rows
    template: dict[str, Any] | None  # the chat template; None for the frame of the target side
    glossary: str | None = None  # name of the term file
    examples: dict[str, tuple[str | None, ...]] = {}  # for each split and corpus, the file of examples in prompts


class DatasetInfo(_Model):
    """The content of ``dataset.json``."""

    _omitted = ("columns", "documents", "causal")
    format: Literal[1] = 1  # version of this file's format
    name: FileName  # the config's name, with which every shard's name begins
    config_fingerprint: str  # digest of the config that the records were made from
    layout: Layout = "example"  # format of the records; `example` is one `tf.train.Example` per pair
    row_length: NonNegativeInt | None = None  # length of a row on either side in layout `packed`, else None
    seed: int  # seed of the shuffle
    languages: LanguageCodes  # languages of the two sides
    vocab: Vocabularies  # vocabularies of the two sides
    input: InputInfo  # the config's `input` section
    corpora: dict[str, tuple[CorpusInfo, ...]]  # for each split its corpora in the config's order
    splits: dict[str, SplitInfo]  # for each split its counts and shards
    # names of the pair columns beside the IDs; omitted from the file if there are none
    columns: tuple[str, ...] = ()
    # how segments of documents are joined; omitted from the file if they are not
    documents: DocumentsInfo | None = None
    # how pairs become rows of one sequence; omitted from the file if they do not
    causal: CausalInfo | None = None

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.corpora.keys() != self.splits.keys():
            raise ValueError(f"corpora has splits {sorted(self.corpora)}, splits has {sorted(self.splits)}")
        for name, split in self.splits.items():
            _same(f"pairs of all corpora of {name}", sum(c.pairs for c in self.corpora[name]), "pairs", split.pairs)
            for shard in split.shards:
                if self.layout == "example" and shard.records != shard.pairs:
                    raise ValueError(
                        f"a record is a pair, but {shard.file} has {shard.records} records and {shard.pairs} pairs"
                    )
        if (self.row_length is None) == (self.layout == "packed"):
            raise ValueError(f"layout {self.layout} with row_length {self.row_length}; only packed rows have a length")
        return self

    def language_pairs(self, split: str) -> list[str]:
        """Returns the language pairs of a split, sorted as in its file; none in a run with one pair."""
        return sorted({corpus.language_pair for corpus in self.corpora[split]} - {""})


def _same(what: str, actual: int, other: str, expected: int) -> None:
    if actual != expected:
        raise ValueError(f"{what} add up to {actual}, but {other} is {expected}")


DATASET_FILE = "dataset.json"
FORMAT = 1


def records_in(run_dir: str | Path) -> Path:
    """Returns a run's records, or the directory itself if it holds records."""
    directory = Path(run_dir)
    return directory if (directory / DATASET_FILE).is_file() else directory / "records"


def write_dataset_info(records_dir: str | Path, dataset: DatasetInfo) -> Path:
    """Writes ``dataset.json`` atomically and returns its path; equal content gives equal bytes."""
    path = Path(records_dir) / DATASET_FILE
    write_json(path, dataset.model_dump(mode="json"))
    return path


def load_dataset_info(records_dir: str | Path) -> DatasetInfo:
    """Reads ``dataset.json``; `check_records` also checks the shards against it."""
    path = Path(records_dir) / DATASET_FILE
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RecordsError(
            f"{path}: cannot be read: {error.strerror or error}; give the directory that the encode stage wrote, "
            "or run the encode stage"
        ) from error
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RecordsError(f"{path}: not JSON: {error}; delete it and run the encode stage again") from error
    actual = tree.get("format") if isinstance(tree, Mapping) else None
    if isinstance(actual, int) and actual > FORMAT:
        raise RecordsError(f"{path}: format {actual}, this version reads up to {FORMAT}; install a later nmt_prep")
    try:
        return DatasetInfo.model_validate_json(content)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, problem['loc'])) or 'the file'}: {message_of(problem)}" for problem in error.errors()
        )
        raise RecordsError(f"{path}: {problems}. Delete it and run the encode stage again") from error


def too_long_pairs(run_dir: str | Path, split: str, max_length: int) -> int:
    """Returns how many of a split's pairs have a side longer than ``max_length`` IDs, including eos.

    Loaders drop or truncate these pairs. In records with layout ``causal``, the length is the sequence's length. Only
    ``dataset.json`` is read.

    Raises:
        RecordsError: ``dataset.json`` cannot be read, or has no such split.
    """
    directory = records_in(run_dir)
    info = load_dataset_info(directory)
    if split not in info.splits:
        raise RecordsError(f"{directory}: has no split {split!r}, only {', '.join(sorted(info.splits))}")
    return sum(count for length, count in info.splits[split].max_lengths if length > max_length)
