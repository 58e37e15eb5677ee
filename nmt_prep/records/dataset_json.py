"""What ``dataset.json`` says: what a records directory holds, from which text and vocabularies, with digests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    NonNegativeInt,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
    model_validator,
)

from nmt_prep.records.plan import Layout
from nmt_prep.records.stats import PairStats

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
FileName = Annotated[str, StringConstraints(pattern=r"^[^/\\\x00]+$")]
Histogram = tuple[tuple[NonNegativeInt, NonNegativeInt], ...]
"""Pairs of length and count, ascending, without lengths that do not occur."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Languages(_Model):
    """Codes of the two languages, as in the config."""

    source: str
    target: str


class VocabularyInfo(_Model):
    """The vocabulary that one side was encoded with.

    Attributes:
        file: path relative to the records directory.
        kind: the tokenizer's dialect, as ``vocab.kind`` in a config.
        size: number of pieces.
        sha256: digest of the file.
        fingerprint: the tokenizer's fingerprint.
        pad_id: as the tokenizer has it, None where it has none; so too the other ids.
        eos_id: the id that ends every row.
        bos_id: the id that begins a sentence.
        unk_id: the id of what cannot be expressed.
        id_layout: numbering of a SentencePiece model's pieces, ``sentencepiece`` or ``fairseq``.
        unicode_version: of the character classes in use, where the dialect depends on them.
    """

    file: str
    kind: str
    size: NonNegativeInt
    sha256: Sha256
    fingerprint: str
    pad_id: int | None = None
    eos_id: int | None = None
    bos_id: int | None = None
    unk_id: int | None = None
    id_layout: Literal["sentencepiece", "fairseq"] | None = None
    unicode_version: str | None = None

    @property
    def padding_id(self) -> int:
        """The id that pads this side: the pad id, or eos, which the encode stage has made sure of."""
        return next(choice for choice in (self.pad_id, self.eos_id, 0) if choice is not None)


class Vocabularies(_Model):
    """One vocabulary a side; the same twice where it is shared."""

    source: VocabularyInfo
    target: VocabularyInfo

    @property
    def padding_ids(self) -> tuple[int, int]:
        """The ids that pad source and target."""
        return self.source.padding_id, self.target.padding_id


class CorpusInfo(_Model):
    """Pairs that a corpus gave to a split.

    Attributes:
        name: the corpus's.
        pairs: how many they are.
        tag: of each side that has one, the piece whose id begins every row; left out of the file where there is none.
    """

    name: str
    pairs: NonNegativeInt
    tag: dict[Literal["source", "target"], str] = {}

    @model_serializer(mode="wrap")
    def _without_empty_tag(self, fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = fields(self)
        return {key: value for key, value in values.items() if key != "tag" or value}


class IndexInfo(_Model):
    """The file ``index/<shard>.index``, see :mod:`nmt_prep.records.index`."""

    bytes: NonNegativeInt
    sha256: Sha256


class ShardInfo(_Model):
    """One shard file; tokens count EOS.

    Attributes:
        file: its name.
        records: TFRecords in it; in layout ``example`` one a pair.
        pairs: pairs in it.
        rows: rows that the pairs are packed into, not counting those of a pair longer than a row; 0 where they are not.
        source_tokens: ids of all sources.
        target_tokens: ids of all targets.
        bytes: its size.
        sha256: its digest.
        index: what is known of the shard's index; None where there is none, as in records of earlier versions.
    """

    file: FileName
    records: NonNegativeInt
    pairs: NonNegativeInt
    rows: NonNegativeInt = 0
    source_tokens: NonNegativeInt
    target_tokens: NonNegativeInt
    bytes: NonNegativeInt
    sha256: Sha256
    index: IndexInfo | None = None


class SplitInfo(_Model):
    """Counts of a split and its shards in order; lengths count EOS, ``max_lengths`` is of the longer side."""

    pairs: NonNegativeInt
    source_tokens: NonNegativeInt
    target_tokens: NonNegativeInt
    source_lengths: Histogram
    target_lengths: Histogram
    max_lengths: Histogram
    shards: tuple[ShardInfo, ...]

    @classmethod
    def of(cls, stats: PairStats, shards: Sequence[ShardInfo]) -> SplitInfo:
        """A split from its tasks' added counts and its shards.

        Raises:
            ValueError: they do not agree (as pydantic's ``ValidationError``).
        """
        return cls(
            pairs=stats.pairs,
            source_tokens=stats.source_tokens,
            target_tokens=stats.target_tokens,
            source_lengths=_sparse(stats.source_lengths),
            target_lengths=_sparse(stats.target_lengths),
            max_lengths=_sparse(stats.max_lengths),
            shards=tuple(shards),
        )

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        for name in ("pairs", "source_tokens", "target_tokens"):
            _same(
                f"{name} of all shards", sum(getattr(shard, name) for shard in self.shards), name, getattr(self, name)
            )
        for name in ("source_lengths", "target_lengths", "max_lengths"):
            histogram: Histogram = getattr(self, name)
            lengths = [length for length, _ in histogram]
            if lengths != sorted(set(lengths)):
                raise ValueError(f"{name} is not in ascending order of length")
            _same(f"pairs in {name}", sum(count for _, count in histogram), "pairs", self.pairs)
        for side, tokens in (("source", self.source_tokens), ("target", self.target_tokens)):
            histogram = getattr(self, f"{side}_lengths")
            _same(
                f"tokens in {side}_lengths",
                sum(length * count for length, count in histogram),
                f"{side}_tokens",
                tokens,
            )
        return self


class InputInfo(_Model):
    """What loaders use where an argument is not given: the ``input`` section of the config."""

    batch_tokens: NonNegativeInt
    max_length: NonNegativeInt


class DatasetInfo(_Model):
    """A records directory.

    Attributes:
        format: version of this file's format.
        name: the config's name, first part of every shard's name.
        config_fingerprint: digest of the config that the records were made from.
        layout: what a record is; ``example`` is one ``tf.train.Example`` a pair.
        row_length: ids of a row on either side in layout ``packed``, else None.
        seed: seed of the shuffle.
        languages: of the two sides.
        vocab: of the two sides.
        input: the config's ``input`` section; None in records of earlier versions.
        corpora: for each split its corpora in the config's order.
        splits: for each split its counts and shards.
    """

    format: Literal[1] = 1
    name: FileName
    config_fingerprint: str
    layout: Layout = "example"
    row_length: int | None = None
    seed: int
    languages: Languages
    vocab: Vocabularies
    input: InputInfo | None = None
    corpora: dict[str, tuple[CorpusInfo, ...]]
    splits: dict[str, SplitInfo]

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.corpora.keys() != self.splits.keys():
            raise ValueError(f"corpora has splits {sorted(self.corpora)}, splits has {sorted(self.splits)}")
        for name, split in self.splits.items():
            _same(f"pairs of all corpora of {name}", sum(c.pairs for c in self.corpora[name]), "pairs", split.pairs)
            for shard in split.shards:
                self._check_layout(shard)
        if (self.row_length is None) == (self.layout == "packed"):
            raise ValueError(f"layout {self.layout} with row_length {self.row_length}; packed has one, the others not")
        return self

    def _check_layout(self, shard: ShardInfo) -> None:
        if self.layout == "example" and shard.records != shard.pairs:
            raise ValueError(
                f"a record is a pair, but shard {shard.file} has {shard.records} records and {shard.pairs} pairs"
            )
        if self.layout != "example" and shard.index is None:
            raise ValueError(f"shard {shard.file} has no index, which layout {self.layout} needs")


def _sparse(histogram: Counter[int]) -> Histogram:
    return tuple(sorted(histogram.items()))


def _same(what: str, found: int, other: str, expected: int) -> None:
    if found != expected:
        raise ValueError(f"{what} add up to {found}, but {other} is {expected}")
