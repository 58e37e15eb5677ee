"""Checks of the numbers that the input functions are called with."""

from __future__ import annotations

from numbers import Integral

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
