"""The options of all loaders, and checks of the arguments of loaders and input functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from inspect import signature
from numbers import Integral
from typing import Any, Literal, Self, TypeAlias, TypedDict, get_args

from nmt_prep.base.errors import ArgumentError
from nmt_prep.config.problems import did_you_mean
from nmt_prep.config.training import TrainingSettings

MAX_POSITION = 10**9  # Maximum number of an epoch, and of batches to skip; larger numbers overflow in computations


def check_positive(**arguments: object) -> None:
    """Checks that each keyword argument is at least 1; see :func:`check_at_least`."""
    check_at_least(1, most=None, **arguments)


def check_at_least(least: int, *, most: int | None = None, **arguments: object) -> None:
    """Checks that each keyword argument is an integer of at least ``least``, and at most ``most`` if that is given.

    None and tensors pass: None means a default, and a tensor has its value only when the graph runs.

    Raises:
        ArgumentError: an argument is out of range, or not an integer.
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
    """Checks that at most one of the keyword arguments is given.

    Raises:
        ArgumentError: several are given; the message says ``what`` they decide.
    """
    given = [name for name, value in arguments.items() if value is not None]
    if len(given) > 1:
        raise ArgumentError(f"both {given[0]} and {given[1]} are given; {what} by one of them")


def check_place(**place: int) -> None:
    """Checks the rank of a process in a data-parallel job.

    Args:
        place: rank of the process, from 0, then number of processes, each under the name of its argument.

    Raises:
        ArgumentError: there are no processes, or the rank is out of range.
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
        batch_tokens: maximum of the number of pairs times the longest row of either side in a batch; a longer pair
            forms a batch alone. None takes ``input.batch_tokens`` of the run's config.
        batch_size: number of pairs (rows, if packed) in a batch, instead of ``batch_tokens``.
        max_length: maximum length of a side, including eos; longer pairs are left out. None takes all; ``"config"``
            takes ``input.max_length`` of the run's config. For records of layout ``packed`` it is the length of their
            rows.
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
        weights: number of copies of each pair in an epoch, by name of its corpus; 1 for corpora not named. Needs layout
            ``chunk`` or ``text``.
        temperature: instead of ``weights``: makes the share of each corpus proportional to its size to the power
            1 / temperature, in an epoch of as many pairs as the split has. In a run with several pairs of languages,
            the share of each pair of languages instead.
        language_pairs: only pairs of these languages, such as ``["en-de"]``, in a run with several pairs of languages.
            Needs layout ``chunk`` or ``text``.
        one_pair: the pairs of a batch have the same languages, in a run with several pairs of languages. Needs layout
            ``chunk`` or ``text``, and pairs that are not packed.
        documents: False gives single segments, even if the settings of the records join the segments of documents.
        subwords: draws other subwords of each pair in each epoch, by side, such as
            ``{"source": {"alpha": 0.5}, "target": {"dropout": 0.1}}``: ``alpha`` and ``nbest`` for unigram models,
            ``dropout`` for BPE. For split ``train`` of records of layout ``text``. ``"config"`` takes the settings in
            the section ``training`` of the config; None samples no subwords.
        training: stages and modifiers, as in the section ``training`` of a config; also for split ``train`` of records
            of layout ``text``. ``"config"`` takes the section of the config with which the run was made last; None is
            for no stages or modifiers. An epoch is then a part of the stream of all stages, with as many rows as the
            split has pairs.
        shuffle: False reads the shards in order, and returns the longest batches of each window first.
        seed: decides the order, together with ``epoch``.
        epoch: number of the epoch; each epoch has a different order.
        skip_batches: number of batches to skip at the start of the epoch, to resume after them.
        rank: number of this process in a data-parallel job, from 0.
        world_size: number of these processes; each gets its own part of the epoch.
        equal_batches: gives all processes the same number of batches: with ``"split"``, processes with fewer batches
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
        """Returns the options that were given to a function.

        Raises:
            TypeError: there is no such option; the message names the function.
            ArgumentError: an option is out of range, or conflicts with another one.
        """
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
            raise ArgumentError("pad_to sets the limits of the buckets; leave out bucketing")
        if self.equal_batches == "split" and self.drop_remainder:
            raise ArgumentError(
                "drop_remainder keeps the size of batches; set equal_batches to True, which splits none"
            )
