"""What the arguments of :func:`~nmt_prep.input.dataset.make_dataset` amount to for one dataset."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from nmt_prep.records import DatasetInfo, VocabularyInfo
from nmt_prep.records.arguments import ArgumentError
from nmt_prep.records.batch_rules import BatchRule, Buckets, TooLong, best_limits, fixed_buckets, t2t_buckets
from nmt_prep.records.epoch import SplitIndex
from nmt_prep.records.mixing import CorpusMix, tempered_draws, weighted_draws

DEFAULT_BATCH_TOKENS = 4096

Bucketing: TypeAlias = Literal["window", "optimal", "t2t"]
Features: TypeAlias = Literal["nmt", "t2t"]
BUCKETING: tuple[str, ...] = get_args(Bucketing)
FEATURES: tuple[str, ...] = get_args(Features)


def padding_of(vocabulary: VocabularyInfo) -> int:
    """Id that pads a side; the encode stage has made sure that there is an eos."""
    return next(choice for choice in (vocabulary.pad_id, vocabulary.eos_id, 0) if choice is not None)


def key_of(seed: int, epoch: int, purpose: str) -> int:
    """A number in the range of int64 that the arguments fix on any machine."""
    digest = hashlib.sha256(f"{seed}\n{epoch}\n{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "little", signed=True)


def row_length_of(
    info: DatasetInfo,
    packed: bool,
    features: Features,
    max_length: int | None,
    pad_to: Sequence[int] | None,
    too_long: TooLong,
) -> int | None:
    """Ids of the rows that pairs are packed into; None where they are not.

    Raises:
        ArgumentError: other arguments do not go with packing.
    """
    if not (packed or info.layout == "packed"):
        return None
    if features != "t2t":
        raise ArgumentError('packed rows have segments and positions, which BatchedInput has not; set features="t2t"')
    if pad_to is not None:
        raise ArgumentError("packed rows have one length; leave out pad_to")
    if info.row_length is not None:
        if too_long == "truncate":
            raise ArgumentError("records of layout packed leave out what is longer than their rows; use layout chunk")
        return info.row_length
    if max_length is None:
        raise ArgumentError("packed rows need max_length, which is their length")
    return max_length


def batch_rule(
    info: DatasetInfo,
    split: str,
    *,
    batch_tokens: int | None,
    batch_size: int | None,
    max_length: int | None,
    too_long: TooLong,
    bucketing: Bucketing,
    num_buckets: int,
    pad_to: Sequence[int] | None,
    drop_remainder: bool,
    row_length: int | None,
) -> BatchRule:
    """What bounds a batch.

    Raises:
        ArgumentError: arguments do not go together.
    """
    tokens = batch_tokens or DEFAULT_BATCH_TOKENS
    if row_length is not None:
        return BatchRule(tokens, batch_size or max(tokens // row_length, 1), None, drop_remainder, row_length, too_long)
    if pad_to is not None:
        if bucketing != "window":
            raise ArgumentError("pad_to are the limits of the buckets; leave out bucketing")
        if not isinstance(pad_to, Sequence) or not pad_to or min(pad_to) < 1:
            raise ArgumentError(f"pad_to is {pad_to!r}; give a list of at least one length, all of them at least 1")
        max_length = min(max_length or max(pad_to), max(pad_to))
    buckets = _buckets(info, split, bucketing, num_buckets, pad_to, max_length, too_long, tokens, batch_size)
    if drop_remainder and batch_size is None and buckets is None:
        raise ArgumentError("drop_remainder needs batch_size, pad_to or buckets: only then is there a full batch")
    return BatchRule(tokens, batch_size, buckets, drop_remainder, max_length, too_long)


def _buckets(
    info: DatasetInfo,
    split: str,
    bucketing: Bucketing,
    num_buckets: int,
    pad_to: Sequence[int] | None,
    max_length: int | None,
    too_long: TooLong,
    tokens: int,
    pairs: int | None,
) -> Buckets | None:
    if pad_to is not None:
        return fixed_buckets(pad_to, tokens, pairs)
    if bucketing == "window":
        return None
    histogram = info.splits[split].max_lengths
    if max_length is not None:
        cut = sum(count for length, count in histogram if length > max_length)
        histogram = tuple(entry for entry in histogram if entry[0] < max_length)
        at_limit = dict(info.splits[split].max_lengths).get(max_length, 0) + (cut if too_long == "truncate" else 0)
        histogram = (*histogram, (max_length, at_limit)) if at_limit else histogram
    longest = histogram[-1][0] if histogram else 1
    if bucketing == "optimal":
        return fixed_buckets(best_limits(histogram, num_buckets) or (1,), tokens, pairs)
    buckets = t2t_buckets(max_length or longest, tokens)
    return buckets if pairs is None else fixed_buckets(buckets.limits, tokens, pairs)


def corpus_mix(
    info: DatasetInfo,
    split: str,
    index: SplitIndex,
    weights: Mapping[str, float] | None,
    temperature: float | None,
    seed: int,
    epoch: int,
) -> CorpusMix | None:
    """How often each pair is in the epoch; None for once.

    Raises:
        ArgumentError: the records cannot be mixed.
        ConfigError: the weights or the temperature are out of range.
    """
    if weights is None and temperature is None:
        return None
    if info.layout != "chunk":
        raise ArgumentError(
            f"records of layout {info.layout} cannot be mixed by corpus; set records.layout to chunk and run again"
        )
    corpora = info.corpora[split]
    draws = weighted_draws(corpora, weights) if weights is not None else tempered_draws(corpora, temperature or 0)
    return CorpusMix.of(index, corpora, draws, seed, epoch)
