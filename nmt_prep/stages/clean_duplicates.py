"""Observations of the stage clean about duplicates, for the report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nmt_prep.cleaning.dedup.drops import ClusterSizes
from nmt_prep.cleaning.dedup.keys import KeyKind
from nmt_prep.stages.clean_dedup import DedupSplit, Overlap


@dataclass(frozen=True)
class NearDuplicates:
    """The near duplicates of a split.

    Attributes:
        matches: ``matches[a][b]`` is the number of pairs of the corpus ``a`` that were dropped because of a pair of the
            corpus ``b``.
        candidates: number of comparisons.
        full_buckets: number of buckets with more pairs than are compared with one another.
    """

    matches: Overlap
    candidates: int
    full_buckets: int


@dataclass(frozen=True)
class Duplicates:
    """The duplicates of a split.

    Attributes:
        clusters: number of clusters by size, for ``exact`` or ``normalized``, and for ``near``. A cluster is a pair
            together with the pairs that were dropped in favour of it. Sizes above 8 are in bins, which begin at 9, 17,
            33 and so on.
        near: the near duplicates; None if they are not searched for.
    """

    clusters: dict[str, ClusterSizes]
    near: NearDuplicates | None


def observed_duplicates(splits: Iterable[DedupSplit], kind: KeyKind) -> dict[str, Duplicates]:
    """Returns the duplicates by split, given the kind of keys that pairs are compared by."""
    found = {}
    for split in splits:
        if split.overlap is None:
            continue
        clusters: dict[str, ClusterSizes] = {kind: split.clusters}
        near = None
        if split.near is not None:
            clusters["near"] = split.near.clusters
            near = NearDuplicates(split.by_corpus(split.near.matches), split.near.candidates, split.near.full_buckets)
        found[split.name] = Duplicates(clusters, near)
    return found
