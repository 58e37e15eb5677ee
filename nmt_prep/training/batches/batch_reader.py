"""Batches of IDs as NumPy arrays, without TensorFlow: for PyTorch, JAX and anything else. A thread reads ahead."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, Unpack, overload

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import fill_rows, pad_rows

from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import ArgumentError, RecordsError
from nmt_prep.training.batches import vectors
from nmt_prep.training.batches.batch_plan import BatchPlan, plan_batches
from nmt_prep.training.batches.cutting import PlannedWindow, WindowPairs, cut_window
from nmt_prep.training.batches.joined_segments import Segments
from nmt_prep.training.batches.options import Keywords, Options, check_choice
from nmt_prep.training.batches.vectors import Int64s
from nmt_prep.training.records.shard_reader import PairColumns

_WINDOWS_AHEAD = 1


@dataclass(frozen=True, slots=True)
class IdBatch:
    """One batch of pairs; ``source, target = batch`` unpacks the IDs.

    Attributes:
        source: IDs of the sources, one row per pair, each ending in eos unless it was truncated.
        target: IDs of the targets, likewise.
        row_pairs: int64, shape ``[rows]``: pair count in each packed row, whose pairs are consecutive in
            ``source`` and ``target``; None if pairs are not packed.
        width: length to which both sides are to be padded; None for the longest row of each side.
        corpora: int32, shape ``[pairs]``: corpus index of each pair in ``dataset.json``; None unless asked for.
        weights: float32, shape ``[pairs]``: weight of each pair; joined segments have their mean weight; None if the
            records have no weights.
        segments: int64, shape ``[pairs]``: how many document segments are targets in each row, without context; None if
            segments are not joined.
        context: int64, shape ``[pairs]``: how many IDs at the start of each ``target`` row are context, not target;
            None without context.
        ignored: for each row of ``target``, the begins and ends of the parts that do not count as target, because they
            repeat dropped duplicates: ``[begin, end, begin, end, …]``; None without such parts.
        language_pairs: int32, shape ``[pairs]``: each pair's index in the split's ``language_pairs`` in
            ``dataset.json``; None in a run with one language pair.
    """

    source: Ragged
    target: Ragged
    row_pairs: Int64s | None = None
    width: int | None = None
    corpora: npt.NDArray[np.int32] | None = None
    weights: npt.NDArray[np.float32] | None = None
    segments: Int64s | None = None
    context: Int64s | None = None
    ignored: Ragged | None = None
    language_pairs: npt.NDArray[np.int32] | None = None

    def __iter__(self) -> Iterator[Ragged]:
        return iter((self.source, self.target))


CausalArrays: TypeAlias = "dict[str, npt.NDArray[Any]]"
"""The arrays in a batch of sequences, see :func:`causal_arrays`."""


@overload
def read_records(
    run_dir: str | Path,
    split: str,
    *,
    features: None = None,
    corpus_ids: bool = ...,
    check: Literal["full", "quick"] = ...,
    **options: Unpack[Keywords],
) -> Iterator[IdBatch]: ...
@overload
def read_records(
    run_dir: str | Path,
    split: str,
    *,
    features: Literal["causal"],
    corpus_ids: bool = ...,
    check: Literal["full", "quick"] = ...,
    **options: Unpack[Keywords],
) -> Iterator[CausalArrays]: ...
def read_records(
    run_dir: str | Path,
    split: str,
    *,
    features: Literal["causal"] | None = None,
    corpus_ids: bool = False,
    check: Literal["full", "quick"] = "full",
    **options: Unpack[Keywords],
) -> Iterator[IdBatch] | Iterator[CausalArrays]:
    """Returns the batches for one epoch of a split, from the shards that a run wrote, without TensorFlow.

    With the same options, the batches, their order and the order of their pairs are the same as in
    :func:`nmt_prep.make_dataset`.

    Args:
        run_dir: directory of the run, which holds ``records``, or the directory ``records``.
        split: name of the split.
        features: ``causal`` yields sequences for causal language models, from records with layout ``causal``, or
            ``text`` with ``records.prompt`` or ``records.template``: a dictionary for each batch, see
            :func:`nmt_prep.training.batches.batch_reader.causal_arrays`. None yields pairs.
        corpus_ids: also yield the corpus index of each pair.
        check: how thoroughly the shards are checked first, see :func:`nmt_prep.training.records.check_records`.
        options: attributes of :class:`~nmt_prep.training.batches.Options`.

    Returns: An iterator over batches with :class:`~nmt_prep.base.columns.Ragged` columns, or with padded arrays.

    Raises:
        RecordsError: shards are missing, damaged, or do not belong to ``dataset.json``.
        ArgumentError: an option is out of range, or conflicts with another one.
    """
    check_choice((None, "causal"), features=features)
    plan = plan_batches(run_dir, split, Options.of(read_records, options), check, causal=features is not None)
    batches = read_batches(plan, corpus_ids=corpus_ids)
    return batches if features is None else map(partial(causal_arrays, plan.info.vocab.padding_ids[1]), batches)


def read_batches(plan: BatchPlan, *, corpus_ids: bool = False, part: int = 0, parts: int = 1) -> Iterator[IdBatch]:
    """Returns a plan's batches, or every ``parts``-th batch.

    A thread reads windows and divides them into batches, while the caller's thread copies each batch's IDs. Up to
    three windows are in memory.

    Args:
        part: index of the first batch, counted from the plan's start.
    """
    windows = list(plan.planned_windows())
    batches = chain.from_iterable(
        prefetched((list(_batches_of_window(plan, window, corpus_ids)) for window in windows), _WINDOWS_AHEAD)
    )
    return (batch.read() for batch in islice(batches, part, plan.batches_left, parts))


class WindowContent(NamedTuple):
    """The rows in a window, which are pairs or joined segments, with the same columns as :class:`IdBatch`."""

    pairs: PairColumns
    skip: int  # number of rows at the start that belong to another process
    take: int  # how many rows the window has after these
    weights: npt.NDArray[np.float32] | None = None
    segments: Int64s | None = None
    context: Int64s | None = None
    ignored: Ragged | None = None


def read_window(plan: BatchPlan, window: PlannedWindow) -> WindowContent:
    """Reads a window's rows, and joins document segments if the plan does."""
    pairs = plan.read(window.runs, int(window.epoch))
    if plan.staged:
        return WindowContent(pairs, int(window.skip), len(pairs), pairs.weights)
    weights = plan.order.index.column_of("weight", window.runs) if "weight" in plan.info.columns else None
    if plan.joining is None:
        return WindowContent(pairs, int(window.skip), int(window.take), weights)
    segments = Segments.read(plan.order.index, window.runs, plan.entries(window.runs, pairs))
    source, target = pairs.inputs, pairs.targets
    if segments.found is not None:
        source, target = segments.found.among(source, target)
    examples = plan.joining.examples_of(window, segments, int(window.epoch))
    return WindowContent(
        plan.joining.joined(source, target, examples, segments),
        0,
        len(examples),
        None if weights is None else examples.mean(segments.merged(weights)),
        examples.targets,
        plan.joining.context(target, examples, segments),
        plan.joining.ignored(target, examples, segments),
    )


class _Batch(NamedTuple):
    """A batch's position in its window."""

    window: WindowContent
    rows: Int64s
    row_pairs: Int64s | None
    width: int | None
    max_length: int | None
    max_target: int | None
    corpora: npt.NDArray[np.int32] | None
    language_pairs: npt.NDArray[np.int32] | None

    def read(self) -> IdBatch:
        (pairs, _, _, weights, segments, context, ignored), rows = self.window, self.rows
        return IdBatch(
            pairs.inputs.taken(rows, self.max_length),
            pairs.targets.taken(rows, self.max_target),
            self.row_pairs,
            self.width,
            None if self.corpora is None else self.corpora[rows],
            None if weights is None else weights[rows],
            None if segments is None else segments[rows],
            None if context is None else context[rows],
            None if ignored is None else ignored.taken(rows),
            None if self.language_pairs is None else self.language_pairs[rows],
        )


def _batches_of_window(plan: BatchPlan, window: PlannedWindow, corpus_ids: bool) -> Iterator[_Batch]:
    content = read_window(plan, window)
    pairs, window = content.pairs, window._replace(skip=content.skip, take=content.take)
    targets = np.zeros(len(pairs), np.int64) if plan.rule.causal else pairs.targets.lengths
    contents = WindowPairs(pairs.inputs.lengths, targets, pairs.corpora, pairs.row_pairs)
    cut = cut_window(plan, window, contents, vectors)
    corpora = language_pairs = None
    if corpus_ids or plan.language_pairs is not None:  # in layout example, only the index has the corpora
        index = plan.order.index
        corpora = index.pairs_of(window.runs)[:, 2].astype(np.int32) if pairs.corpora is None else pairs.corpora
    if plan.language_pairs is not None:
        language_pairs = plan.language_pairs.astype(np.int32)[corpora]
    pair = row = 0
    for batch, size in enumerate(cut.sizes.tolist()):
        rows = None if cut.row_pairs is None else cut.row_pairs[row : row + size]
        row += size
        count = size if rows is None else int(rows.sum())
        chosen = cut.pairs[pair : pair + count]
        pair += count
        width = plan.rule.row_length if cut.widths is None else int(cut.widths[batch])
        columns = corpora if corpus_ids else None, language_pairs
        longest = plan.rule.max_length
        yield _Batch(content, chosen, rows, width, longest, None if plan.rule.causal else longest, *columns)


class Cells(IntEnum):
    """The content of a padded matrix: IDs, or numbers that describe them."""

    IDS = 0
    SHIFTED = 1  # IDs of each pair shifted right: a first ID, then all but the last one
    SEGMENTS = 2  # number of the pair in its row, from 1
    POSITIONS = 3  # position in the pair, from 0


def pad_into(
    out: npt.NDArray[np.int64],
    side: Ragged,
    cells: Cells = Cells.IDS,
    *,
    row_pairs: Int64s | None = None,
    padding: int = 0,
    first: int = 0,
) -> None:
    """Fills a matrix with one side of a batch.

    Args:
        out: int64, shape ``[rows, width]``, contiguous.
        row_pairs: int64, shape ``[rows]``: pair count in each row; None for one.
        first: first ID of each pair, for ``SHIFTED``.
    """
    pairs = np.empty(0, np.int64) if row_pairs is None else row_pairs
    pad_rows(side.values, side.offsets, pairs, int(cells), padding, first, out)


IGNORED = -100  # The label that the cross entropy of PyTorch and transformers ignores

Empty: TypeAlias = "Callable[[tuple[int, ...], Any], npt.NDArray[Any]]"
"""Returns an array with any content, given its shape and dtype."""


def _empty(shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
    """Returns an array of NumPy, which a plan must not load for a default value."""
    return np.empty(shape, dtype)


def causal_arrays(padding: int, batch: IdBatch, empty: Empty = _empty) -> CausalArrays:
    """Returns the arrays for a batch of causal language model sequences.

    Args:
        padding: ID after the end of a sequence or row.
        batch: ``source`` has the IDs of the sequences, ``target`` the begin and end of each span that counts.

    Returns:
        All int64 unless noted, of shape ``[rows, width]`` unless noted.

        - ``input_ids``.
        - ``labels``: the IDs that count for the loss, and -100 elsewhere, not shifted. In packed rows the first ID of a
          sequence does not count, since the ID before it belongs to another sequence.
        - ``attention_mask``, if rows are not packed: 1 for IDs, 0 for padding.
        - ``position_ids``, for packed rows: position in the sequence, from 0. A row's padding is a sequence too.
        - ``cu_seqlens``, for packed rows: where each sequence begins if rows are joined to one, and the number of
          cells; int32, shape ``[sequences + 1]``.
        - ``corpora``, ``language_pairs`` and ``weights`` (float32) of the sequences, if the batch has them: shape
          ``[rows]``; of packed rows ``[rows, most sequences of a row]``, padded with -1, and weights with 0.

    Raises:
        RecordsError: a sequence's spans are invalid.
    """
    rows = len(batch.source) if batch.row_pairs is None else len(batch.row_pairs)
    width = int(batch.source.lengths.max(initial=0)) if batch.width is None else batch.width
    matrices = [empty((rows, width), np.int64) for _ in range(3)]
    sizes = np.empty(0, np.int64) if batch.row_pairs is None else batch.row_pairs
    sides = (*batch.source.contiguous(), *batch.target.contiguous())
    try:
        begins = fill_rows(*sides, sizes, padding, IGNORED, *matrices)
    except ValueError as error:
        raise RecordsError(
            f"a record of layout causal is damaged: {error}; restore its shard or encode again"
        ) from error
    third = "attention_mask" if batch.row_pairs is None else "position_ids"
    arrays = dict(zip(("input_ids", "labels", third), matrices, strict=True))
    if batch.row_pairs is not None:
        arrays["cu_seqlens"] = empty((len(begins),), np.int32)
        arrays["cu_seqlens"][:] = begins
    return arrays | pair_columns(batch, empty)


def pair_columns(batch: IdBatch, empty: Empty = _empty) -> CausalArrays:
    """Returns the columns of a batch's pairs by name; see :func:`causal_arrays`."""
    found: CausalArrays = {}
    for name in ("corpora", "language_pairs", "weights"):
        column, sizes = getattr(batch, name), batch.row_pairs
        if column is None:
            continue
        kind, padding = (np.float32, 0) if name == "weights" else (np.int64, -1)
        if sizes is None:
            found[name] = empty((len(column),), kind)
            found[name][:] = column
        else:
            found[name] = empty((len(sizes), int(sizes.max(initial=0))), kind)
            found[name].fill(padding)
            found[name][np.arange(found[name].shape[1]) < sizes[:, np.newaxis]] = column
    return found


_Item = TypeVar("_Item")
_LISTS_AHEAD = 4


def prefetched(items: Iterator[_Item], ahead: int) -> Iterator[_Item]:
    """Yields items that a thread makes, about ``ahead`` of them in advance.

    The thread ends with the items, when the iterator is closed, or with the program. An error in the thread is raised
    here, after the items before it.
    """

    def take(most: int) -> tuple[list[_Item], BaseException | None]:
        taken: list[_Item] = []
        try:
            for item in islice(items, most):
                taken.append(item)  # noqa: PERF402 - keeps the items before an error
        except BaseException as error:  # noqa: BLE001 - raised again after these items
            return taken, error
        return taken, None

    # The interpreter waits for the threads of a pool before it ends; a daemon thread in native code would abort it.
    pool, has_ended = ThreadPoolExecutor(1, "nmt_prep batches"), sys.is_finalizing
    try:
        waiting = deque[Future[tuple[list[_Item], BaseException | None]]]()
        size, most = 1, max(ahead // _LISTS_AHEAD, 1)  # to hand over single items would cost as much as to make them
        threaded, process = True, os.getpid()  # a fork has no thread that makes the items
        while True:
            if os.getpid() != process:
                raise ArgumentError("the iterator is that of another process; make one in the process that reads it")
            try:
                while threaded and len(waiting) <= min(_LISTS_AHEAD, ahead):
                    waiting.append(pool.submit(take, min(size, most)))
                    size *= 2
            except RuntimeError:  # the program ends, or may have no more threads: this thread makes the rest
                threaded = False
            taken, error = waiting.popleft().result() if waiting else take(most)
            yield from taken
            if error is not None:
                raise error
            if not taken:
                return
    finally:
        # No wait: the garbage collector may close the iterator in this very thread, or in one that it waits for. After
        # the program's end, the thread has ended, and the pool lacks its modules.
        if not has_ended():
            pool.shutdown(wait=False, cancel_futures=True)
