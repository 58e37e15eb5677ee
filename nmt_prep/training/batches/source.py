"""Batches epoch after epoch, with a state that can be saved. Loaders of other frameworks are built on it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np

from nmt_prep.base.errors import ArgumentError, RecordsError
from nmt_prep.training.batches.batch_plan import BatchPlan, plan_batches
from nmt_prep.training.batches.batch_reader import IdBatch, causal_arrays, read_batches
from nmt_prep.training.batches.options import MAX_POSITION, Keywords, Options, check_choice
from nmt_prep.training.records.dataset_json import DatasetInfo


class Position(NamedTuple):
    """A position in training."""

    epoch: int
    batches: int  # batches of the epoch before this position


class BatchSource:
    """Yields the batches of :func:`read_records`, epoch after epoch, and has a state.

    Each iteration gives an epoch: the epoch set by :meth:`set_epoch`, or the epoch after the last complete one. The
    state counts the batches taken; it is a dictionary of numbers and strings, which any program can save.

    Args:
        run_dir: directory of the run, which holds ``records``, or the directory ``records``.
        split: name of the split.
        features: None for pairs, ``causal`` for sequences, as in :func:`read_records`.
        corpus_ids: also yield the corpus index of each pair.
        check: how thoroughly the shards are checked first, see :func:`nmt_prep.training.records.check_records`.
        options: attributes of `Options`; ``epoch`` and ``skip_batches`` are the position to
            start from.

    Raises:
        RecordsError: shards are missing, damaged, or do not belong to ``dataset.json``.
        ArgumentError: an option is out of range, or conflicts with another one.
    """

    def __init__(
        self,
        run_dir: str | Path,
        split: str,
        *,
        features: Literal["causal"] | None = None,
        corpus_ids: bool = False,
        check: Literal["full", "quick"] = "full",
        **options: Unpack[Keywords],
    ) -> None:
        check_choice((None, "causal"), features=features)
        self._run_dir, self._split, self._corpus_ids = run_dir, split, corpus_ids
        self._options, self._causal = Options.of(BatchSource.__init__, options), features is not None
        self._plan: BatchPlan | None = plan_batches(run_dir, split, self._options, check, causal=self._causal)
        self._fingerprint = fingerprint(self._plan.info, split)
        self._position = Position(
            _whole_number(self._options.epoch, "epoch"), _whole_number(self._options.skip_batches, "skip_batches")
        )
        self._counted: tuple[int, int] | None = None  # an epoch, and the number of its batches
        self._loaded = True  # the next iteration begins at the position, not at the beginning of its epoch

    @property
    def plan(self) -> BatchPlan:
        """The plan of the first epoch, without the position to start from."""
        if self._plan is None:  # unpickled in another process
            self._plan = plan_batches(self._run_dir, self._split, self._options, "quick", causal=self._causal)
            if fingerprint(self._plan.info, self._split) != self._fingerprint:
                raise RecordsError(f"{self._run_dir}: the records of {self._split} were replaced while they were read")
        return replace(self._plan, skip_batches=0)

    @property
    def language_pairs(self) -> tuple[str, ...]:
        """The language pairs that indexes in batches refer to; empty in a run with one language pair."""
        return tuple(self.plan.info.language_pairs(self._split))

    @property
    def position(self) -> Position:
        """The position after the last batch that was taken."""
        return self._position

    @property
    def resumes(self) -> bool:
        """True if the next iteration begins at the position, because it was loaded."""
        return self._loaded

    def __len__(self) -> int:
        """Returns the batch count in the epoch of :attr:`position`, including the batches before the position.

        Reads the indexes, which takes about a second for 100 million pairs. Other epochs may have a few batches more or
        fewer.
        """
        epoch = self._position.epoch
        if self._counted is None or self._counted[0] != epoch:
            self._counted = epoch, self.plan.at_epoch(epoch).total
        return self._counted[1]

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration; a loaded position in this epoch stays.

        Raises:
            ArgumentError: ``epoch`` is not an integer from 0 to a billion.
        """
        epoch = _whole_number(epoch, "epoch")
        if not (self._loaded and epoch == self._position.epoch):
            self._position, self._loaded = Position(epoch, 0), False

    def __iter__(self) -> Iterator[Any]:
        """Yields the batches of :func:`read_records` with the same features."""
        padding = self.plan.info.vocab.padding_ids[1]
        for batch in self.begin():
            self.advance()
            yield causal_arrays(padding, batch) if self._causal else batch
        self.finish()

    def begin(self, part: int = 0, parts: int = 1) -> Iterator[IdBatch]:
        """Begins an iteration for a loader that reads ahead, and so must count the taken batches itself.

        Args:
            part: number of the reader among the readers that share the batches; each gets every ``parts``-th batch.
            parts: number of readers.

        Returns:
            The batches; for sequences, the target of an :class:`IdBatch` is the bounds of the spans in the loss. Call
            :meth:`advance` for each batch taken, and :meth:`finish` after the last one.
        """
        epoch, batches = self._position
        if not self._loaded:
            batches = 0
        plan = self.plan.at_epoch(epoch)
        if parts > 1 and batches:
            batches = min(batches, plan.total)  # other readers have fewer
        self._position, self._loaded = Position(epoch, batches), False
        return read_batches(replace(plan, skip_batches=batches), corpus_ids=self._corpus_ids, part=part, parts=parts)

    def advance(self, batches: int = 1) -> None:
        """Counts batches as taken."""
        self._position = self._position._replace(batches=self._position.batches + batches)

    def finish(self) -> None:
        """Ends the epoch: the next iteration gives the following one."""
        self._position = Position(self._position.epoch + 1, 0)

    def state_dict(self) -> dict[str, Any]:
        """Returns the position, the data's fingerprint, and the options on which batches depend."""
        return {
            "epoch": self._position.epoch,
            "batches": self._position.batches,
            "fingerprint": self._fingerprint,
            "options": self._recorded_options(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues after the batches that a saved state counts.

        Raises:
            RecordsError: the state was saved with other data.
            ArgumentError: ``state`` is not a state of this class, or an option differs from the saved option.
        """
        _check_state(state)
        if state["fingerprint"] != self._fingerprint:
            raise RecordsError(
                f"{self._run_dir}: the state belongs to other data: its fingerprint is {state['fingerprint']}, that of "
                f"{self._split} here is {self._fingerprint}; load it with the records that it was saved with"
            )
        for name, value in self._recorded_options().items():
            if state["options"].get(name) != value:
                raise ArgumentError(
                    f"the state was saved with {name} {state['options'].get(name)!r}, here it is {value!r}; use the "
                    "same options, or begin an epoch with set_epoch instead"
                )
        self._position, self._loaded = Position(int(state["epoch"]), int(state["batches"])), True

    def _recorded_options(self) -> dict[str, Any]:
        plan, options = self.plan, self._options
        rule = plan.rule
        return {
            "batch_tokens": rule.tokens,
            "batch_size": rule.pairs,
            "row_length": rule.row_length,
            "max_length": rule.max_length,
            "too_long": rule.too_long,
            "buckets": None if rule.buckets is None else [list(rule.buckets.limits), list(rule.buckets.capacities)],
            "drop_remainder": rule.drop_remainder,
            "causal": rule.causal or None,
            "weights": None if options.weights is None else dict(options.weights),
            "temperature": options.temperature,
            "subwords": {side: dict(values) for side, values in plan.training.subwords.items()} or None,
            "training": None
            if plan.training.is_plain
            else plan.training.model_dump(mode="json", include={"groups", "stages", "modifiers"}),
            "language_pairs": None if options.language_pairs is None else sorted(options.language_pairs),
            "one_pair": options.one_pair or None,
            "shuffle": options.shuffle,
            "seed": options.seed,
            **({} if plan.joining is None else {"documents": plan.joining.info.model_dump(mode="json")}),
            "world_size": options.world_size,
            "equal_batches": options.equal_batches,
        }

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_plan": None}  # another process reads the indexes again


def _check_state(state: object) -> None:
    advice = "load what state_dict returned"
    if not isinstance(state, Mapping):
        raise ArgumentError(f"the state is {state!r}, and not a mapping; {advice}")
    missing = {"epoch", "batches", "fingerprint", "options"} - set(state)
    if missing:
        raise ArgumentError(f"the state has no {min(missing)!r}; {advice}")
    for name in ("epoch", "batches"):
        _whole_number(state[name], f"{name} of the state", f"; {advice}")
    if not isinstance(state["options"], Mapping):
        raise ArgumentError(f"options of the state is {state['options']!r}, and not a mapping; {advice}")


def _whole_number(value: object, name: str, advice: str = "") -> int:
    """Returns an integer from 0 to a billion, such as NumPy's, as Python's int, which any program can save."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value <= MAX_POSITION:
        raise ArgumentError(f"{name} is {value!r}; it must be an integer from 0 to {MAX_POSITION}{advice}")
    return int(value)


def fingerprint(info: DatasetInfo, split: str) -> str:
    """Returns a digest of a split's content: its shards, their layout, corpora and vocabularies."""
    content = {
        "layout": info.layout,
        "row_length": info.row_length,
        "corpora": [[corpus.name, corpus.pairs] for corpus in info.corpora[split]],
        "vocabularies": [info.vocab.source.sha256, info.vocab.target.sha256],
        "shards": [shard.sha256 for shard in info.splits[split].shards],
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
