"""Several corpora in given proportions: how often each pair is in an epoch, exactly and without a random number."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nmt_prep.batches.epoch import SplitIndex
from nmt_prep.batches.options import MixOptions
from nmt_prep.batches.vectors import Int64s, Vector, Vectors
from nmt_prep.errors import ArgumentError, ConfigError
from nmt_prep.records import CorpusInfo, DatasetInfo


class CorpusMix(NamedTuple):
    """How many pairs of each corpus an epoch has.

    Pair ``rank`` of a corpus, counted in the order of the shards, is in the epoch
    ``((rank + 1) * draws + shift) // pairs - (rank * draws + shift) // pairs`` times: together exactly ``draws``, each
    pair as often as any other or once more. From one epoch to the next ``shift`` goes on by ``draws``, so that over the
    epochs every pair is drawn equally often.

    Attributes:
        pairs: int64, shape ``[corpora]``: pairs that there are of each; 1 where there are none.
        draws: int64, shape ``[corpora]``: pairs in an epoch.
        shift: int64, shape ``[corpora]``: from 0 to ``pairs - 1``.
        first_rank: int64, shape ``[runs, corpora]``: rank of the first pair of each corpus in each run.
    """

    pairs: Int64s
    draws: Int64s
    shift: Int64s
    first_rank: Int64s

    @classmethod
    def of(
        cls, index: SplitIndex, corpora: Sequence[CorpusInfo], draws: Sequence[int], seed: int, epoch: int
    ) -> CorpusMix:
        """The mix of an epoch."""
        count = len(corpora)
        runs = index.runs
        counts = np.zeros((len(runs.pairs), count), np.int64)
        for run in range(len(runs.pairs)):
            counts[run] = np.bincount(index.pairs_of(np.array([run]))[:, 2], minlength=count)
        pairs = np.maximum([corpus.pairs for corpus in corpora], 1)
        shift = [
            (_start(seed, corpus.name) + epoch * drawn) % int(of)
            for corpus, drawn, of in zip(corpora, draws, pairs, strict=True)
        ]
        return cls(pairs, np.array(draws, np.int64), np.array(shift, np.int64), np.cumsum(counts, axis=0) - counts)

    def copies(self, corpora: Vector, runs: Vector, run_pairs: Vector, on: Vectors) -> Vector:
        """Returns how often each pair of some runs is in the epoch: int64, shape ``[pairs]``.

        Args:
            corpora: int64, shape ``[pairs]``: number of each pair's corpus.
            runs: int64, shape ``[runs]``: numbers of the runs that the pairs come from, in order.
            run_pairs: int64, shape ``[runs]``: pairs in each.
            on: the vectors' operations.
        """
        kinds = len(self.pairs)
        group = on.repeat(on.span(0, on.size(runs)), run_pairs) * kinds + corpora
        sizes = on.counts(group, on.size(runs) * kinds)
        # Of a pair, counted from the first of its corpus in its run; then from the first in all shards.
        rank = on.inverse(on.argsort(group)) - on.take(on.sums_before(sizes), group)
        rank += on.take(self.first_rank.ravel(), on.repeat(runs, run_pairs) * kinds + corpora)
        pairs, draws, shift = (on.take(column, corpora) for column in (self.pairs, self.draws, self.shift))
        return ((rank + 1) * draws + shift) // pairs - (rank * draws + shift) // pairs


def corpus_mix(
    info: DatasetInfo, split: str, index: SplitIndex, options: MixOptions, seed: int, epoch: int
) -> CorpusMix | None:
    """Returns how often each pair is in the epoch; None for once.

    Raises:
        ArgumentError: the records cannot be mixed.
        ConfigError: the weights or the temperature are out of range.
    """
    if options.weights is None and options.temperature is None:
        return None
    if info.layout != "chunk":
        raise ArgumentError(
            f"records of layout {info.layout} cannot be mixed by corpus; set records.layout to chunk and run again"
        )
    corpora = info.corpora[split]
    draws = (
        weighted_draws(corpora, options.weights)
        if options.weights is not None
        else tempered_draws(corpora, options.temperature or 0)
    )
    return CorpusMix.of(index, corpora, draws, seed, epoch)


def weighted_draws(corpora: Sequence[CorpusInfo], weights: Mapping[str, float]) -> list[int]:
    """Pairs in an epoch of corpora that are each seen ``weight`` times; those not named once.

    Raises:
        ConfigError: a name is not among the corpora, or a weight is negative or not finite.
    """
    unknown = sorted(set(weights) - {corpus.name for corpus in corpora})
    if unknown:
        raise ConfigError(
            f"weights names the corpus {unknown[0]!r}; the corpora are {', '.join(corpus.name for corpus in corpora)}"
        )
    wrong = [name for name, weight in weights.items() if not 0 <= weight < 1e6]
    if wrong:
        raise ConfigError(f"the weight of {wrong[0]!r} is {weights[wrong[0]]}; it must be from 0 to 1,000,000")
    return [round(corpus.pairs * weights.get(corpus.name, 1)) for corpus in corpora]


def tempered_draws(corpora: Sequence[CorpusInfo], temperature: float) -> list[int]:
    """Pairs in an epoch as long as all corpora together, each with a share like its size to the power 1 / temperature.

    Rounded so that the shares add up (largest remainder, then the earlier corpus).

    Raises:
        ConfigError: the temperature is not positive.
    """
    if not temperature > 0:
        raise ConfigError(f"temperature is {temperature}; it must be above 0: 1 keeps the sizes, more evens them out")
    sizes = np.array([corpus.pairs for corpus in corpora], np.float64)
    total = int(sizes.sum())
    if not total:
        return [0] * len(corpora)
    powers = np.where(sizes > 0, (sizes / sizes.max()) ** (1 / temperature), 0)
    shares = total * powers / powers.sum()
    draws = np.floor(shares).astype(np.int64)
    for corpus in np.argsort(draws - shares, kind="stable")[: total - int(draws.sum())]:
        draws[corpus] += 1
    return [int(count) for count in draws]


def _start(seed: int, corpus: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}\n{corpus}".encode()).digest()[:8], "little")
