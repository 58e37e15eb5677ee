"""Options for the batches of an epoch, and checks of the arguments of the input functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import Any, Literal, Self, TypeAlias, TypedDict, get_args

from nmt_prep.errors import ArgumentError


def check_positive(**arguments: object) -> None:
    """Checks that each keyword argument is at least 1; see :func:`check_at_least`."""
    check_at_least(1, **arguments)


def check_at_least(least: int, **arguments: object) -> None:
    """Checks that each keyword argument is an integer of at least ``least``.

    None and tensors pass: None means a default, and a tensor has its value only when the graph runs.

    Raises:
        ArgumentError: one is below ``least``, or not an integer.
    """
    check_whole(**arguments)
    for name, value in arguments.items():
        if isinstance(value, Integral) and int(value) < least:
            raise ArgumentError(f"{name} is {value}; it must be at least {least}")


def check_whole(**arguments: object) -> None:
    """Checks that no keyword argument is a string or a float.

    Raises:
        ArgumentError: one does.
    """
    for name, value in arguments.items():
        if isinstance(value, str | bytes | float):
            raise ArgumentError(f"{name} is {value!r}; it must be a whole number")


def check_choice(choices: tuple[str, ...], **arguments: object) -> None:
    """Checks that each keyword argument is one of the choices.

    Raises:
        ArgumentError: one is not.
    """
    for name, value in arguments.items():
        if value not in choices:
            raise ArgumentError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, choices))}")


def check_at_most_one(what: str, **arguments: object) -> None:
    """Checks that at most one of the keyword arguments is given.

    Raises:
        ArgumentError: more than one is; the message says ``what`` they decide.
    """
    given = [name for name, value in arguments.items() if value is not None]
    if len(given) > 1:
        raise ArgumentError(f"both {given[0]} and {given[1]} are given; {what} by one of them")


def check_job_shard(num_shards: int, shard_index: int) -> None:
    """Checks a worker's place in a data-parallel job.

    Raises:
        ArgumentError: ``num_shards`` is less than 1, or ``shard_index`` is out of range.
    """
    check_positive(num_shards=num_shards)
    check_whole(shard_index=shard_index)
    if not 0 <= shard_index < num_shards:
        raise ArgumentError(
            f"shard_index is {shard_index}, with num_shards {num_shards} it must be from 0 to {num_shards - 1}; "
            "give each worker its own index, counted from 0"
        )


TooLong: TypeAlias = Literal["drop", "truncate"]
Bucketing: TypeAlias = Literal["window", "optimal", "t2t"]
EqualBatches: TypeAlias = Literal["split"] | bool


@dataclass(frozen=True, kw_only=True)
class BatchOptions:
    """Options for grouping pairs into batches.

    Attributes:
        batch_tokens: maximum of the number of pairs times the longest row of either side in a batch; a longer pair
            forms a batch alone. None takes ``input.batch_tokens`` of the run's config (4,096 if the config has none).
        batch_size: number of pairs (rows, if packed) in a batch, instead of ``batch_tokens``.
        max_length: maximum length of a side, including eos; longer pairs are left out. None takes all; ``"config"``
            takes ``input.max_length`` of the run's config (256 if the config has none). For records of layout
            ``packed`` it is the length of their rows.
        too_long: ``drop`` leaves longer pairs out; ``truncate`` cuts them to their first ``max_length`` ids, without
            eos.
        bucketing: how pairs of similar length are grouped: ``window`` sorts each window by length; ``optimal`` uses the
            ``num_buckets`` buckets with the least padding; ``t2t`` uses Tensor2Tensor's buckets.
        num_buckets: number of buckets for ``optimal``.
        pad_to: bucket limits, ascending: both sides of a batch are padded to the smallest limit that fits all its
            pairs. The last one replaces a larger ``max_length``.
        drop_remainder: leave incomplete batches out; together with ``pad_to`` there is then one shape per limit.
        packed: pack several pairs into each row of ``max_length`` ids. None packs only if the records hold packed rows
            (layout ``packed``), and returns those rows; False reads such records as single pairs.

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

    def __post_init__(self) -> None:
        check_positive(batch_tokens=self.batch_tokens, batch_size=self.batch_size, num_buckets=self.num_buckets)
        if self.max_length != "config":
            check_positive(max_length=self.max_length)
        check_choice(get_args(TooLong), too_long=self.too_long)
        check_choice(get_args(Bucketing), bucketing=self.bucketing)
        check_at_most_one("a batch is bounded", batch_tokens=self.batch_tokens, batch_size=self.batch_size)
        if self.pad_to is not None and (
            not isinstance(self.pad_to, Sequence) or not self.pad_to or min(self.pad_to) < 1
        ):
            raise ArgumentError(
                f"pad_to is {self.pad_to!r}; give a list of at least one length, all of them at least 1"
            )
        if self.pad_to is not None and self.bucketing != "window":
            raise ArgumentError("pad_to sets the limits of the buckets; leave out bucketing")


@dataclass(frozen=True, kw_only=True)
class MixOptions:
    """Proportions of the corpora in an epoch; needs layout ``chunk``.

    Attributes:
        weights: number of copies of each pair in an epoch, by name of its corpus; 1 for corpora not named.
        temperature: instead of ``weights``: makes the share of each corpus proportional to its size to the power
            1 / temperature, in an epoch of as many pairs as the split has.

    Raises:
        ArgumentError: both are given.
    """

    weights: Mapping[str, float] | None = None
    temperature: float | None = None

    def __post_init__(self) -> None:
        check_at_most_one("the corpora are mixed", weights=self.weights, temperature=self.temperature)


@dataclass(frozen=True, kw_only=True)
class EpochOptions:
    """The order of an epoch, and the batch to resume from.

    Attributes:
        shuffle: False reads the shards in order, and returns the longest batches of each window first.
        seed: decides the order, together with ``epoch``.
        epoch: number of the epoch; each epoch has a different order.
        skip_batches: number of batches to skip at the start of the epoch, to resume after them.

    Raises:
        ArgumentError: ``epoch`` or ``skip_batches`` is negative.
    """

    shuffle: bool = True
    seed: int = 0
    epoch: int = 0
    skip_batches: int = 0

    def __post_init__(self) -> None:
        check_at_least(0, epoch=self.epoch, skip_batches=self.skip_batches)


@dataclass(frozen=True, kw_only=True)
class ShardOptions:
    """The part of an epoch that a worker of a data-parallel job gets.

    Attributes:
        num_shards: number of workers.
        shard_index: number of this worker, from 0.
        equal_batches: gives all workers the same number of batches: ``"split"`` that of the worker with the most, the
            last batches of the others are split, and no pair is lost; True that of the worker with the fewest, and the
            others leave their last batches out.

    Raises:
        ArgumentError: ``shard_index`` is out of range, or ``equal_batches`` is none of these values.
    """

    num_shards: int = 1
    shard_index: int = 0
    equal_batches: EqualBatches = False

    def __post_init__(self) -> None:
        check_job_shard(self.num_shards, self.shard_index)
        if self.equal_batches not in (True, False, "split"):
            raise ArgumentError(f"equal_batches is {self.equal_batches!r}; it must be True, False or 'split'")


class Keywords(TypedDict, total=False):
    """The options as keyword arguments: single options, or dataclasses of several."""

    batching: BatchOptions
    batch_tokens: int | None
    batch_size: int | None
    max_length: int | Literal["config"] | None
    too_long: TooLong
    bucketing: Bucketing
    num_buckets: int
    pad_to: Sequence[int] | None
    drop_remainder: bool
    packed: bool | None
    mixing: MixOptions
    weights: Mapping[str, float] | None
    temperature: float | None
    order: EpochOptions
    shuffle: bool
    seed: int
    epoch: int
    skip_batches: int
    sharding: ShardOptions
    num_shards: int
    shard_index: int
    equal_batches: EqualBatches


@dataclass(frozen=True, kw_only=True)
class Options:
    """All options of the loaders."""

    batching: BatchOptions = field(default_factory=BatchOptions)
    mixing: MixOptions = field(default_factory=MixOptions)
    order: EpochOptions = field(default_factory=EpochOptions)
    sharding: ShardOptions = field(default_factory=ShardOptions)

    @classmethod
    def of(cls, keywords: Keywords) -> Self:
        """Converts keyword arguments to options.

        Raises:
            ArgumentError: a value is out of range, or an option is given twice, alone and in a dataclass.
            TypeError: there is no such option.
        """
        left: dict[str, Any] = dict(keywords)
        groups = {}
        for group in fields(cls):
            kind: Any = group.default_factory
            own = {option.name: left.pop(option.name) for option in fields(kind) if option.name in left}
            given = left.pop(group.name, None)
            if given is not None and own:
                raise ArgumentError(f"both {group.name} and {next(iter(own))} are given; set it in {group.name}")
            if not isinstance(given, kind | None):
                raise ArgumentError(f"{group.name} is {given!r}; it must be of class {kind.__name__}")
            groups[group.name] = given or kind(**own)
        if left:
            raise TypeError(f"unexpected keyword argument {next(iter(left))!r}")
        return cls(**groups)
