"""The options of the batches of an epoch, and checks of the numbers that the input functions are called with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import Any, Literal, Self, TypeAlias, TypedDict, get_args

from nmt_prep.errors import ArgumentError


def check_positive(**arguments: object) -> None:
    """Checks that each argument, given by its name, is at least 1, as :func:`check_at_least`."""
    check_at_least(1, **arguments)


def check_at_least(least: int, **arguments: object) -> None:
    """Checks that each argument, given by its name, is a whole number and not too small.

    None and tensors pass: the first means a default, the second has its value only when the graph runs.

    Raises:
        ArgumentError: one is below ``least``, or not a whole number.
    """
    check_whole(**arguments)
    for name, value in arguments.items():
        if isinstance(value, Integral) and int(value) < least:
            raise ArgumentError(f"{name} is {value}; it must be at least {least}")


def check_whole(**arguments: object) -> None:
    """Checks that no argument, given by its name, is a string or has a fraction.

    Raises:
        ArgumentError: one does.
    """
    for name, value in arguments.items():
        if isinstance(value, str | bytes | float):
            raise ArgumentError(f"{name} is {value!r}; it must be a whole number")


def check_choice(choices: tuple[str, ...], **arguments: object) -> None:
    """Checks that each argument, given by its name, is one of the choices.

    Raises:
        ArgumentError: one is not.
    """
    for name, value in arguments.items():
        if value not in choices:
            raise ArgumentError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, choices))}")


def check_at_most_one(what: str, **arguments: object) -> None:
    """Checks that not more than one of the arguments, given by their names, is there.

    Raises:
        ArgumentError: more than one is; ``what`` they decide is in the message.
    """
    given = [name for name, value in arguments.items() if value is not None]
    if len(given) > 1:
        raise ArgumentError(f"both {given[0]} and {given[1]} are given; {what} by one of them")


def check_job_shard(num_shards: int, shard_index: int) -> None:
    """Checks a worker's place in a data-parallel job.

    Raises:
        ArgumentError: there are fewer than one shard, or ``shard_index`` names none of them.
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


@dataclass(frozen=True, kw_only=True)
class BatchOptions:
    """How pairs are grouped into batches.

    Attributes:
        batch_tokens: the most that pairs times the longest row of either side may be in a batch; a longer pair is a
            batch of its own. None takes ``input.batch_tokens`` of the run's config (4,096 where that says nothing).
        batch_size: pairs in a batch (rows, where they are packed), instead of ``batch_tokens``.
        max_length: pairs with a longer side, eos included, are left out; None takes all, ``"config"`` takes
            ``input.max_length`` of the run's config (256 where that says nothing). For rows of layout ``packed`` the
            length of the rows takes its place.
        too_long: ``truncate`` cuts such pairs to their first ``max_length`` ids instead, so that they lack eos.
        bucketing: how pairs of like length come together: ``window`` sorts each window by length; ``optimal`` makes the
            ``num_buckets`` buckets that pad the split the least; ``t2t`` makes those of Tensor2Tensor.
        num_buckets: buckets of ``optimal``.
        pad_to: lengths, ascending, which are the limits of the buckets: a batch is padded, on both sides, to the first
            of them that all its pairs fit in. The last one stands for any larger ``max_length``.
        drop_remainder: whether batches that are not full are left out: with ``pad_to``, shapes are then as many as
            lengths.
        packed: whether several pairs are packed into each row of ``max_length`` ids. None packs where the records hold
            packed rows (layout ``packed``), and gives those rows; False reads such records as single pairs.

    Raises:
        ArgumentError: a value is out of its range, or does not go with another one.
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
            raise ArgumentError("pad_to are the limits of the buckets; leave out bucketing")


@dataclass(frozen=True, kw_only=True)
class MixOptions:
    """In which proportions an epoch takes pairs of the corpora; needs layout ``chunk``.

    Attributes:
        weights: how often each pair of a corpus is in an epoch, by the corpus's name; 1 for those not named.
        temperature: instead of ``weights``: shares like sizes to the power 1 / temperature, in an epoch of as many
            pairs as the split has.

    Raises:
        ArgumentError: both are given.
    """

    weights: Mapping[str, float] | None = None
    temperature: float | None = None

    def __post_init__(self) -> None:
        check_at_most_one("the corpora are mixed", weights=self.weights, temperature=self.temperature)


@dataclass(frozen=True, kw_only=True)
class EpochOptions:
    """Which epoch, and from which batch on.

    Attributes:
        shuffle: False reads the shards in order, and gives the longest batches of each window first.
        seed: decides, with ``epoch``, the order.
        epoch: number of the epoch; each has an order of its own.
        skip_batches: batches that were delivered before: the epoch goes on as if it had delivered them.

    Raises:
        ArgumentError: ``skip_batches`` is negative.
    """

    shuffle: bool = True
    seed: int = 0
    epoch: int = 0
    skip_batches: int = 0

    def __post_init__(self) -> None:
        check_at_least(0, skip_batches=self.skip_batches)


@dataclass(frozen=True, kw_only=True)
class ShardOptions:
    """Which part of the epoch a worker of a data-parallel job gets.

    Attributes:
        num_shards: workers.
        shard_index: which of them this is, from 0.
        equal_batches: whether each worker stops at the number of batches that all of them have.

    Raises:
        ArgumentError: ``shard_index`` names none of the workers.
    """

    num_shards: int = 1
    shard_index: int = 0
    equal_batches: bool = False

    def __post_init__(self) -> None:
        check_job_shard(self.num_shards, self.shard_index)


class Keywords(TypedDict, total=False):
    """The options as keyword arguments: each by its own name, or a group of them as a dataclass."""

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
    equal_batches: bool


@dataclass(frozen=True, kw_only=True)
class Options:
    """All of them."""

    batching: BatchOptions = field(default_factory=BatchOptions)
    mixing: MixOptions = field(default_factory=MixOptions)
    order: EpochOptions = field(default_factory=EpochOptions)
    sharding: ShardOptions = field(default_factory=ShardOptions)

    @classmethod
    def of(cls, keywords: Keywords) -> Self:
        """Returns the options that keyword arguments give.

        Raises:
            ArgumentError: a value is out of its range, or an option is given beside the dataclass that holds it.
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
