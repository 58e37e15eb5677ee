"""Comparing a split's pairs with one another: how they are divided into key ranges, and the parts to compare."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.base.errors import CleaningError
from nmt_prep.cleaning.dedup import spill
from nmt_prep.cleaning.dedup.drops import ClusterSizes
from nmt_prep.cleaning.dedup.records import KeyKind
from nmt_prep.cleaning.dedup.spill import MOST_BITS, Corpora, range_bits
from nmt_prep.corpora.parts import PairFile
from nmt_prep.pipeline.rounds import Round
from nmt_prep.stages.clean.parts import PartTask

LARGEST_BUFFER = 32 << 20
"""Bytes of records, candidates and text that a task collects before it writes or compares them."""

Overlap: TypeAlias = "dict[str, dict[str, int]]"
"""``overlap[a][b]`` counts the pairs of corpus ``a`` that are also in ``b``; ``overlap[a][a]`` counts all."""


@dataclass(frozen=True)
class PlanTask:
    """A split whose keys are divided into ranges."""

    key: str
    split: str
    where: str  # key in the config, for messages
    pairs: int  # number of pairs before they are cleaned
    records: int  # how many records these pairs have
    least: int  # minimum number of records that a range must hold
    record_bytes: int
    memory: int  # bytes of memory that a task may use


@dataclass(frozen=True)
class Ranges:
    """How many leading key bits give the range index, and the byte size of a task's buffers."""

    bits: int
    buffer: int


def plan_ranges(task: PlanTask, tick: object) -> Ranges:
    """Returns the number of key ranges, and the buffer size, that fit a task's memory."""
    del tick
    needed = max(-(-task.records // (1 << MOST_BITS)), task.least) * task.record_bytes
    if needed > max(task.memory // 4, spill.SMALLEST_SHARE):  # a range takes a quarter of the memory
        raise CleaningError(
            f"{task.where}: engine.memory gives {task.memory / 1e6:,.0f} MB to each task, but comparing {task.pairs:,} "
            f"pairs of splits.{task.split} takes {4 * needed / 1e6:,.0f} MB; raise engine.memory, or use fewer workers"
        )
    return Ranges(range_bits(task.records, task.record_bytes, task.memory), min(task.memory // 8, LARGEST_BUFFER))


PLAN = Round("clean-ranges", plan_ranges, Ranges, by_all=True)


@dataclass(frozen=True)
class ComparedPart:
    """A part whose pairs are compared with other pairs of the split."""

    task: PartTask  # the part, and the files to write after the comparisons
    number: int  # number of the part in its split

    @property
    def file(self) -> PairFile:
        """The part."""
        return self.task.part


@dataclass(frozen=True)
class NearDuplicates:
    """The near duplicates of a split."""

    # `matches[a][b]` counts the pairs of corpus `a` that were dropped because of a pair in corpus `b`
    matches: Overlap
    candidates: int  # number of comparisons
    full_buckets: int  # number of buckets with more pairs than are compared with one another


@dataclass(frozen=True)
class NearFound:
    """A split's near duplicates: files with the pairs to drop, cluster counts by size, other numbers."""

    drops: tuple[Path, ...]
    clusters: ClusterSizes
    numbers: NearDuplicates


@dataclass(frozen=True)
class Duplicates:
    """A split's duplicates."""

    # number of clusters by size, for `exact` or `normalized`, and for `near`. A cluster is a pair together with the
    # pairs that were dropped in favor of it. Sizes above 8 are in bins, which begin at 9, 17, 33 and so on.
    clusters: dict[str, ClusterSizes]
    near: NearDuplicates | None  # the near duplicates; None if they are not searched for


@dataclass
class ComparedSplit:
    """A split whose pairs are compared with one another."""

    name: str
    directory: Path  # directory for the comparisons' files
    corpora: tuple[str, ...]  # corpus name of each part, parts without remaining pairs included
    parts: list[ComparedPart]  # the parts that still have pairs, in order
    bits: int  # how many leading key bits give the range index
    dropped: dict[str, tuple[Path, ...]] = field(default_factory=dict)  # the files with dropped pairs, by reason
    overlap: Overlap | None = None  # overlap of the corpora; None until it is computed, or if pairs are not compared
    clusters: ClusterSizes = ()  # how many clusters of equal pairs, by size
    near: NearFound | None = None  # the near duplicates; None until they are found, or if they are not searched for

    @property
    def pairs(self) -> int:
        """Number of pairs that are left."""
        return sum(part.file.pairs for part in self.parts)

    def duplicates(self, kind: KeyKind) -> Duplicates:
        """Returns the split's duplicates, given the kind of keys by which pairs are compared."""
        if self.near is None:
            return Duplicates({kind: self.clusters}, None)
        return Duplicates({kind: self.clusters, "near": self.near.clusters}, self.near.numbers)

    @property
    def numbers(self) -> Corpora:
        """The corpus index of each part."""
        names = list(dict.fromkeys(self.corpora))
        return Corpora(tuple(names.index(name) for name in self.corpora), len(names))

    def by_corpus(self, matrix: npt.ArrayLike) -> Overlap:
        """Returns a matrix of corpora as nested mappings by name, given its values row by row."""
        names = list(dict.fromkeys(self.corpora))
        rows = np.reshape(matrix, (len(names), len(names))).tolist()
        return {name: dict(zip(names, row, strict=True)) for name, row in zip(names, rows, strict=True)}
