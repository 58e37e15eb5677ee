"""Passes over a dataset, each of which is another epoch with the same number of batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nmt_prep.batches import BatchPlan
from nmt_prep.errors import ArgumentError

_MORE_PER_WINDOW, _BATCHES_PER_MORE = 4, 200


def plan_passes(plan: BatchPlan, epochs: int | None) -> tuple[int, Callable[[int], BatchPlan]]:
    """Plans the passes over a dataset.

    Epochs divide pairs into different windows, so their numbers of batches differ a little. All passes get the number
    of the longest epoch, and in the others the last batches are split; where batches must not be split (with
    ``drop_remainder``, or ``equal_batches=True``), all get the number of the shortest.

    Args:
        plan: the plan of the first epoch.
        epochs: number of epochs, after which the first one follows again; None for epochs without end, whose number of
            batches is that of the first one with some to spare.

    Returns:
        The number of batches of each pass, and a function that returns the plan of a pass, from its number.

    Raises:
        ArgumentError: batches cannot be split into so many, or cannot be left out.
    """
    if plan.skip_batches:
        raise ArgumentError("skip_batches resumes within one epoch; begin several epochs at the start of one, by epoch")
    leave_out = plan.equal_batches is True or plan.rule.drop_remainder
    first = plan.order.epoch
    if epochs is None:
        wanted = _batches_of_any(plan, leave_out)
    else:
        counts = (plan.at_epoch(first + number).total for number in range(epochs))
        wanted = min(counts) if leave_out else max(counts)

    def plan_of(number: int) -> BatchPlan:
        epoch = plan.at_epoch(first + (number if epochs is None else number % epochs))
        return replace(epoch, equal_batches=True if leave_out else "split", batches_wanted=wanted)

    return wanted, plan_of


def _batches_of_any(plan: BatchPlan, leave_out: bool) -> int:
    """Returns a number of batches for all epochs: that of the first, and some to spare unless none can differ."""
    total, workers = plan.total, plan.order.num_shards
    if len(plan.windows) == 1 and plan.mix is None and workers == 1:
        return total
    # The same for all workers, whose windows can differ by one.
    windows = 2 + int(plan.order.index.runs.pairs.sum()) // (workers * plan.order.window_pairs)
    spare = _MORE_PER_WINDOW * windows + total // _BATCHES_PER_MORE
    if not leave_out:
        return total + spare if workers > 1 else min(total + spare, plan.pairs)
    if total <= spare:
        raise ArgumentError(f"an epoch has only {total} batches, too few to leave some out; set epochs to a number")
    return total - spare
