"""The options for all loaders, and checks for the arguments of loaders and input functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from inspect import signature
from numbers import Integral
from typing import Any, Literal, NamedTuple, Self, TypeAlias, TypedDict, get_args

import numpy as np

from nmt_prep.base.errors import ArgumentError
from nmt_prep.config.problems import did_you_mean
from nmt_prep.config.training import TrainingSettings
from nmt_prep.training.batches.vectors import Int64s
from nmt_prep.training.records.dataset_json import DatasetInfo, Histogram
from nmt_prep.training.records.record_columns import SATURATED

MAX_POSITION = 10**9  # Maximum number of an epoch, and of batches to skip; larger numbers overflow in computations


def check_positive(**arguments: object) -> None:
    """Checks that each keyword argument is at least 1; see :func:`check_at_least`."""
    check_at_least(1, most=None, **arguments)


def check_at_least(least: int, *, most: int | None = None, **arguments: object) -> None:
    """Checks that each keyword argument is an integer of at least ``least``, and at most ``most`` if that is given.

    None and tensors pass: None means a default, and a tensor has its value only when the graph runs.
    """
    check_whole(**arguments)
    for name, value in arguments.items():
        if isinstance(value, Integral) and int(value) < least:
            raise ArgumentError(f"{name} is {value}; it must be at least {least}")
        if isinstance(value, Integral) and most is not None and int(value) > most:
            raise ArgumentError(f"{name} is {value}; it must be at most {most}")


def check_whole(**arguments: object) -> None:
    """Checks that no keyword argument is a string or a float.

    Raises:
        ArgumentError: an argument is a string or a float.
    """
    for name, value in arguments.items():
        if isinstance(value, str | bytes | float):
            raise ArgumentError(f"{name} is {value!r}; it must be a whole number")


def check_choice(choices: tuple[object, ...], **arguments: object) -> None:
    """Checks that each keyword argument is one of the choices.

    Raises:
        ArgumentError: an argument has another value.
    """
    for name, value in arguments.items():
        if value not in choices:
            raise ArgumentError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, choices))}")


def check_at_most_one(what: str, **arguments: object) -> None:
    """Checks that at most one of the keyword arguments is given; ``what`` says what they decide."""
    given = [name for name, value in arguments.items() if value is not None]
    if len(given) > 1:
        raise ArgumentError(f"both {given[0]} and {given[1]} are given; {what} by one of them")


def check_place(**place: int) -> None:
    """Checks a process's rank in a data-parallel job.

    Args:
        place: the process's rank, from 0, then the process count, each under its argument's name.
    """
    check_whole(**place)
    (name, number), (count_name, count) = place.items()
    check_positive(**{count_name: count})
    if not 0 <= number < count:
        raise ArgumentError(
            f"{name} is {number}, with {count_name} {count} it must be from 0 to {count - 1}; give each process its "
            "own number"
        )


TooLong: TypeAlias = Literal["drop", "truncate"]
Bucketing: TypeAlias = Literal["window", "optimal", "t2t"]
EqualBatches: TypeAlias = Literal["split"] | bool


class Keywords(TypedDict, total=False):
    """The types of the keyword arguments that all loaders take; :class:`Options` explains them."""

    batch_tokens: int | None
    batch_size: int | None
    max_length: int | Literal["config"] | None
    too_long: TooLong
    bucketing: Bucketing
    num_buckets: int
    pad_to: Sequence[int] | None
    drop_remainder: bool
    packed: bool | None
    row_length: int | None
    weights: Mapping[str, float] | None
    temperature: float | None
    subwords: Mapping[Any, Mapping[str, float]] | Literal["config"] | None
    training: TrainingSettings | Mapping[str, Any] | Literal["config"] | None
    language_pairs: Sequence[str] | None
    one_pair: bool
    documents: bool
    shuffle: bool
    seed: int
    epoch: int
    skip_batches: int
    rank: int
    world_size: int
    equal_batches: EqualBatches


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of all loaders, which are their keyword arguments.

    Attributes:
        batch_tokens: maximum product of a batch's pair count and its longest row on either side; a longer pair forms a
            batch alone. None takes ``input.batch_tokens`` of the run's config.
        batch_size: pair count (row count, if packed) of a batch, instead of ``batch_tokens``.
        max_length: maximum length of a side (or a sequence), including eos; longer pairs are skipped. None takes
            all; ``"config"`` takes ``input.max_length`` of the run's config. For records with layout ``packed`` it is
            the length of their rows.
        too_long: ``drop`` leaves longer pairs out; ``truncate`` cuts them to their first ``max_length`` IDs, without
            eos.
        bucketing: how pairs of similar length are grouped: ``window`` sorts each window by length; ``optimal`` uses the
            ``num_buckets`` buckets with the least padding; ``t2t`` uses Tensor2Tensor's buckets.
        num_buckets: number of buckets for ``optimal``.
        pad_to: bucket limits, ascending: both sides of a batch are padded to the smallest limit that fits all its
            pairs. The last one replaces a larger ``max_length``.
        drop_remainder: leave incomplete batches out; together with ``pad_to`` there is then one shape per limit.
        packed: pack several pairs into each row of ``max_length`` IDs. None packs only if the records hold packed rows
            (layout ``packed``), and returns those rows; False reads such records as single pairs.
        row_length: with ``features="causal"``, packs sequences into rows of this many IDs, up to 65,534; None gives one
            sequence per row. A sequence has at most ``row_length`` IDs, or ``max_length`` if that is less.
        weights: copies per epoch for each pair, by its corpus's name; 1 for corpora not named. Needs layout
            ``chunk`` or ``text``.
        temperature: instead of ``weights``: makes each corpus's share proportional to its size to the power 1 /
            temperature, in an epoch with as many pairs as the split has. In a run with several language pairs, the
            share of each language pair instead.
        language_pairs: only pairs of these languages, such as ``["en-de"]``, in a run with several language pairs.
            Needs layout ``chunk`` or ``text``.
        one_pair: a batch's pairs have the same languages, in a run with several language pairs. Needs layout
            ``chunk`` or ``text``, and pairs that are not packed.
        documents: False gives single segments, even if the records' settings join the segments of documents.
        subwords: draws other subwords of each pair in each epoch, by side, such as
            ``{"source": {"alpha": 0.5}, "target": {"dropout": 0.1}}``: ``alpha`` and ``nbest`` for unigram models,
            ``dropout`` for BPE. For split ``train`` in records with layout ``text``. ``"config"`` takes the settings in
            the ``training`` section of the config; None samples no subwords.
        training: stages and modifiers, as in a config's ``training`` section; also for split ``train`` in records with
            layout ``text``. ``"config"`` takes the section from the config with which the run was made last; None means
            no stages or modifiers. An epoch is then a part of the stream through all stages, with as many rows as the
            split has pairs.
        shuffle: False reads the shards in order, and returns the longest batches of each window first.
        seed: decides the order, together with ``epoch``.
        epoch: index of the epoch; each epoch has a different order.
        skip_batches: how many batches to skip at the start of the epoch, to resume after them.
        rank: number of this process in a data-parallel job, from 0.
        world_size: how many of these processes there are; each gets its own part of the epoch.
        equal_batches: gives all processes the same batch count: with ``"split"``, processes with fewer batches
            split their last ones, and no pair is lost; with True, processes with more batches leave their last ones
            out.

    Raises:
        ArgumentError: a value is out of range, or conflicts with another one.
    """

    batch_tokens: int | None = None
    batch_size: int | None = None
    max_length: int | Literal["config"] | None = "config"
    too_long: TooLong = "drop"
    bucketing: Bucketing = "window"
    num_buckets: int = 16
    pad_to: Sequence[int] | None = None
    drop_remainder: bool = False
    packed: bool | None = None
    row_length: int | None = None
    weights: Mapping[str, float] | None = None
    temperature: float | None = None
    subwords: Mapping[Any, Mapping[str, float]] | Literal["config"] | None = "config"
    training: TrainingSettings | Mapping[str, Any] | Literal["config"] | None = "config"
    language_pairs: Sequence[str] | None = None
    one_pair: bool = False
    documents: bool = True
    shuffle: bool = True
    seed: int = 0
    epoch: int = 0
    skip_batches: int = 0
    rank: int = 0
    world_size: int = 1
    equal_batches: EqualBatches = False

    @classmethod
    def of(cls, function: Callable[..., object], given: Keywords) -> Self:
        """Returns the options that were given to a function, which the message for an unknown one names."""
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                hint = did_you_mean(name, [*known, *signature(function).parameters])
                called = function.__qualname__.removesuffix(".__init__")
                raise TypeError(f"{called}() got an unexpected keyword argument {name!r}{hint}")
        return cls(**given)

    def __post_init__(self) -> None:
        check_positive(batch_tokens=self.batch_tokens, batch_size=self.batch_size, num_buckets=self.num_buckets)
        check_at_least(0, most=MAX_POSITION, epoch=self.epoch, skip_batches=self.skip_batches)
        check_at_least(1, most=SATURATED - 1, row_length=self.row_length)
        check_place(rank=self.rank, world_size=self.world_size)
        if self.max_length != "config":
            check_positive(max_length=self.max_length)
        check_choice(get_args(TooLong), too_long=self.too_long)
        check_choice(get_args(Bucketing), bucketing=self.bucketing)
        check_choice((True, False, "split"), equal_batches=self.equal_batches)
        check_at_most_one("a batch is bounded", batch_tokens=self.batch_tokens, batch_size=self.batch_size)
        check_at_most_one("the corpora are mixed", weights=self.weights, temperature=self.temperature)
        limits = self.pad_to
        if limits is not None and (not isinstance(limits, Sequence) or not limits or min(limits) < 1):
            raise ArgumentError(f"pad_to is {limits!r}; give a list of at least one length, all of them at least 1")
        if limits is not None and self.bucketing != "window":
            raise ArgumentError("pad_to sets the limits of the buckets; remove bucketing")
        if self.equal_batches == "split" and self.drop_remainder:
            raise ArgumentError(
                "drop_remainder needs full batches, but equal_batches=split splits them; set it to True"
            )


_T2T_SHORTEST, _T2T_STEP = 8, 1.1
_MOST_LIMITS = 2048  # time and memory grow with its square


class Buckets(NamedTuple):
    """Length buckets; a batch holds pairs from one bucket only."""

    limits: tuple[int, ...]  # maximum length of each bucket, ascending; the last one is the maximum length of all pairs
    capacities: tuple[int, ...]  # pair count of a batch in each bucket


class BatchRule(NamedTuple):
    """A batch's limits. A pair's length is the length of its longer side."""

    # maximum of the pair count times the longest length; a longer pair forms a batch alone. Not used with
    # `buckets`.
    tokens: int
    pairs: int | None = None  # pairs (rows, if packed) in a batch, instead of `tokens`
    buckets: Buckets | None = None  # buckets of lengths; None sorts the window by length instead
    # True if an incomplete batch is skipped: the last batch in a window, or in each of its buckets
    drop_remainder: bool = False
    max_length: int | None = None  # maximum length of a pair; None takes all
    too_long: TooLong = "drop"  # whether longer pairs are dropped or truncated
    row_length: int | None = None  # length of packed rows in IDs; None if pairs are not packed
    causal: bool = False  # True for sequences of a causal language model: the source has the IDs of each

    @classmethod
    def of(
        cls,
        info: DatasetInfo,
        split: str,
        options: Options,
        lengths: Callable[[], Histogram] | None = None,
        *,
        causal: bool = False,
    ) -> BatchRule:
        """Returns the limits for a split under the given options.

        Args:
            lengths: returns the histogram for the rows' longer sides; None for the pairs' histogram.
            causal: True for sequences of a causal language model.
        """
        tokens = options.batch_tokens or info.input.batch_tokens
        longest = info.input.max_length if options.max_length == "config" else options.max_length
        row_length = _row_length(info, options, longest, causal)
        pairs, buckets = options.batch_size, None
        if row_length is not None:
            pairs = pairs or max(tokens // row_length, 1)
            own = causal and options.max_length not in ("config", None)
            longest = min(int(options.max_length or 0), row_length) if own else row_length
        else:
            if options.pad_to is not None:
                longest = min(longest or max(options.pad_to), max(options.pad_to))
            by_length = options.pad_to is None and options.bucketing != "window"
            histogram = lengths() if lengths is not None and by_length else info.splits[split].max_lengths
            buckets = _buckets(histogram, options, tokens, longest)
        if options.drop_remainder and pairs is None and buckets is None:
            raise ArgumentError("drop_remainder needs batch_size, pad_to or buckets: only then is there a full batch")
        _check_fits(info, split, longest, options, causal)
        return cls(tokens, pairs, buckets, options.drop_remainder, longest, options.too_long, row_length, causal)

    def for_any_length(self) -> BatchRule:
        """Adds a bucket up to ``max_length``, for lengths that are known only after encoding."""
        if self.buckets is None or (self.max_length is not None and self.max_length <= self.buckets.limits[-1]):
            return self
        if self.max_length is None:
            raise ArgumentError(
                "buckets need max_length if the lengths are known only after encoding, as with subwords, stages, and "
                'features="causal" from text; set max_length, or bucketing to "window"'
            )
        last = fixed_buckets([self.max_length], self.tokens, self.pairs)
        return self._replace(buckets=Buckets(*(known + more for known, more in zip(self.buckets, last, strict=True))))

    def limited(self, histograms: Int64s) -> Int64s:
        """Drops or truncates longer pairs in histograms of lengths: int64, shape ``[..., lengths]``."""
        if self.max_length is None or histograms.shape[-1] <= self.max_length + 1:
            return histograms
        admitted, too_long = np.split(histograms, [self.max_length + 1], axis=-1)
        if self.too_long == "truncate":
            admitted[..., -1] += too_long.sum(axis=-1)
        return admitted


def fixed_buckets(limits: Sequence[int], tokens: int, pairs: int | None = None) -> Buckets:
    """Returns buckets with these limits and ``pairs`` pairs per batch, or as many as ``tokens`` allow at the limit."""
    ordered = tuple(sorted(set(limits)))
    return Buckets(ordered, tuple(pairs or max(tokens // limit, 1) for limit in ordered))


def t2t_buckets(longest: int, tokens: int) -> Buckets:
    """Returns Tensor2Tensor's buckets (``data_reader.batching_scheme``, step 1.1, shortest 8).

    Boundaries grow by a tenth and are exclusive. A batch holds as many pairs as the tokens allow at the boundary,
    rounded down to a divisor of a highly composite number.
    """
    boundaries = []
    boundary = _T2T_SHORTEST
    while boundary < longest:
        boundaries.append(boundary)
        boundary = max(boundary + 1, int(boundary * _T2T_STEP))
    wanted = [max(1, tokens // boundary) for boundary in [*boundaries, longest]]
    window = _highly_composite(3 * max(wanted))
    divisors = [number for number in range(1, window + 1) if window % number == 0]
    capacities = tuple(max(number for number in divisors if number <= pairs) for pairs in wanted)
    return Buckets((*(boundary - 1 for boundary in boundaries), longest), capacities)


def best_limits(histogram: Sequence[tuple[int, int]], buckets: int) -> tuple[int, ...]:
    """Returns the bucket limits with the least padding, the exact minimum, found by dynamic programming.

    If more than 2,048 lengths occur, the limits are chosen from as many of them, evenly spread.

    Args:
        histogram: pairs of length and count, ascending, as ``max_lengths`` in ``dataset.json``.

    Returns:
        The limits, ascending; all are lengths that occur, and the last is the longest. Empty if there are no lengths.
    """
    lengths, counts = (np.array([entry[part] for entry in histogram], np.int64) for part in (0, 1))
    size = len(lengths)
    if not size:
        return ()
    ends = np.linspace(0, size - 1, min(size, _MOST_LIMITS)).astype(np.int64)
    sums = (np.cumsum(column)[ends] for column in (counts, counts * lengths))
    pairs, tokens = (np.concatenate([[0], column]) for column in sums)
    lengths, size = lengths[ends], len(ends)
    # cost[i, j]: padding cells if lengths i to j share a bucket; padding[j]: the minimum for lengths 0 to j - 1.
    cost = lengths * (pairs[1:] - pairs[:-1, np.newaxis]) - (tokens[1:] - tokens[:-1, np.newaxis])
    impossible = np.iinfo(np.int64).max // 4
    cost = np.where(np.arange(size)[:, np.newaxis] <= np.arange(size), cost, impossible)
    padding = np.concatenate([[0], np.full(size, impossible)])
    choices = []
    for _ in range(min(buckets, size)):
        options = padding[:-1, np.newaxis] + cost
        choices.append(options.argmin(axis=0))
        padding = np.concatenate([[impossible], options.min(axis=0)])
    limits = []
    end = size
    for first in reversed(choices):
        limits.append(int(lengths[end - 1]))
        end = int(first[end - 1])
    return tuple(reversed(limits))


def _check_fits(info: DatasetInfo, split: str, longest: int | None, options: Options, causal: bool) -> None:
    """Checks that a limit does not drop all sequences in records with layout ``causal``."""
    lengths = [length for length, _ in info.splits[split].max_lengths if length]
    if not causal or info.layout != "causal" or longest is None or options.too_long != "drop" or not lengths:
        return
    if longest < min(lengths):
        name = "max_length" if options.row_length is None or longest < options.row_length else "row_length"
        raise ArgumentError(
            f"{name} is {longest}, but the shortest sequence of {split} has {min(lengths)} IDs, so none is left; raise "
            f"{name}"
        )


def _row_length(info: DatasetInfo, options: Options, max_length: int | None, causal: bool) -> int | None:
    """Returns the length of packed rows in IDs; None if pairs or sequences are not packed."""
    if causal and options.packed and options.row_length is None:
        raise ArgumentError('with features="causal" packed rows need row_length, the number of their IDs')
    if options.row_length is not None and not causal:
        raise ArgumentError(
            'row_length is for features="causal"; packed=True packs pairs into rows of max_length IDs on either side'
        )
    if options.row_length is not None and options.packed is False:
        raise ArgumentError("row_length is the length of packed rows; remove packed=False, or row_length")
    rows_of_records = info.layout == "packed" and options.packed is not False
    if options.row_length is None and not options.packed and not rows_of_records:
        return None
    if options.pad_to is not None:
        raise ArgumentError("packed rows have one length; remove pad_to")
    if rows_of_records and options.too_long == "truncate":
        raise ArgumentError(
            "records of layout packed lack pairs longer than their rows; use layout chunk, or packed=False"
        )
    length = options.row_length or (info.row_length if rows_of_records else max_length)
    if length is None:
        raise ArgumentError("packed rows need max_length, which is their length")
    return length


def _buckets(histogram: Histogram, options: Options, tokens: int, max_length: int | None) -> Buckets | None:
    if options.pad_to is not None:
        return fixed_buckets(options.pad_to, tokens, options.batch_size)
    if options.bucketing == "window":
        return None
    longest = histogram[-1][0] if histogram else 1
    if options.bucketing == "t2t":
        buckets = t2t_buckets(max_length or longest, tokens)
        return buckets if options.batch_size is None else fixed_buckets(buckets.limits, tokens, options.batch_size)
    if max_length is not None and max_length < longest:
        cut = sum(count for length, count in histogram if length >= max_length)
        at_limit = cut if options.too_long == "truncate" else dict(histogram).get(max_length, 0)
        histogram = tuple(entry for entry in histogram if entry[0] < max_length)
        histogram = (*histogram, (max_length, at_limit)) if at_limit else histogram
    return fixed_buckets(best_limits(histogram, options.num_buckets) or (1,), tokens, options.batch_size)


@cache
def _highly_composite(most: int) -> int:
    """Returns the largest number up to ``most`` that has more divisors than all smaller ones."""
    divisors = np.zeros(most + 1, np.int64)
    for number in range(1, most + 1):
        divisors[number::number] += 1
    record = np.maximum.accumulate(divisors)
    return int(np.flatnonzero(divisors[1:] > record[:-1])[-1]) + 1
