"""``Batches``: a run's batches as an ``IterableDataset``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, Unpack, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import IterableDataset, get_worker_info

from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import ArgumentError
from nmt_prep.training.batches import BatchSource, IdBatch
from nmt_prep.training.batches.batch_reader import (
    IGNORED,
    CausalArrays,
    Cells,
    causal_arrays,
    pad_into,
    pair_columns,
    prefetched,
)
from nmt_prep.training.batches.options import Keywords, Options, check_choice, check_positive
from nmt_prep.training.batches.vectors import spans

Features: TypeAlias = Literal["hf", "nmt", "t2t", "causal"]


class BatchedInput(NamedTuple):
    """One batch of pairs, with the same fields as :class:`nmt_prep.BatchedInput` but no initializer; all are int64.

    Attributes:
        source: IDs, shape ``[rows, longest source]``.
        target_input: IDs that the decoder reads, shape ``[rows, longest target]``.
        target_output: IDs that the decoder should predict, same shape.
        source_sequence_length: shape ``[rows]``.
        target_sequence_length: length of each row in ``target_input`` and ``target_output``, shape ``[rows]``.
        corpora: corpus index of each pair in ``dataset.json``, shape ``[rows]``; None unless asked for.
        weights: weight of each pair, float32, shape ``[rows]``; None if the records have no weights.
        language_pairs: number of each pair's languages in :attr:`nmt_prep.torch.Batches.language_pairs`, shape
            ``[rows]``; None in a run with one language pair.
    """

    source: torch.Tensor
    target_input: torch.Tensor
    target_output: torch.Tensor
    source_sequence_length: torch.Tensor
    target_sequence_length: torch.Tensor
    corpora: torch.Tensor | None = None
    weights: torch.Tensor | None = None
    language_pairs: torch.Tensor | None = None


TensorBatch: TypeAlias = BatchedInput | dict[str, torch.Tensor]


@dataclass(frozen=True)
class Converter:
    """Converts batches of IDs to tensors."""

    features: Features  # names and contents of the tensors, see :class:`~nmt_prep.torch.Batches`
    nested: bool  # True for nested tensors
    paddings: tuple[int, int]  # IDs that pad source and target
    sos: int  # ID that begins the decoder's input
    pin_memory: bool  # True for tensors in pinned memory

    def check(self, packed: bool) -> None:
        """Checks the features against the rows."""
        if self.features == "causal" and self.nested:
            raise ArgumentError('features="causal" has no nested tensors; pass row_length, which packs without padding')
        if packed and self.features == "nmt":
            raise ArgumentError('packed rows need segments and positions, which BatchedInput lacks; use "hf" or "t2t"')
        if packed and self.nested:
            raise ArgumentError("packed rows have one length; remove nested, or set packed to False")

    def convert(self, batch: IdBatch) -> TensorBatch:
        if self.features == "nmt":
            return self._batched_input(batch)
        if self.features == "causal":
            return _tensors(causal_arrays(self.paddings[1], batch, self._empty))
        fields = self._hf(batch) if self.features == "hf" else self._t2t(batch)
        fields |= _tensors(pair_columns(batch, self._empty))
        if batch.context is not None:
            fields["context"] = self._copied(batch.context)
        return fields

    def _hf(self, batch: IdBatch) -> dict[str, torch.Tensor]:
        source, target = batch
        labels = _labels(batch)
        if self.nested:
            return {"input_ids": self._jagged(source), "labels": self._jagged(labels)}
        fields = {
            "input_ids": self._matrix(batch, source, padding=self.paddings[0]),
            "attention_mask": self._matrix(batch, source, Cells.SEGMENTS),
            "labels": self._matrix(batch, labels, padding=IGNORED),
        }
        if batch.row_pairs is not None or labels is not target:  # else models use labels, without context
            fields["decoder_input_ids"] = self._shifted(batch)
        if batch.row_pairs is not None:
            fields |= {
                "position_ids": self._matrix(batch, source, Cells.POSITIONS),
                "decoder_attention_mask": self._matrix(batch, target, Cells.SEGMENTS),
                "decoder_position_ids": self._matrix(batch, target, Cells.POSITIONS),
            }
        return fields

    def _t2t(self, batch: IdBatch) -> dict[str, torch.Tensor]:
        fields = {}
        for name, side, padding in zip(("inputs", "targets"), batch, self.paddings, strict=True):
            fields[name] = self._jagged(side) if self.nested else self._matrix(batch, side, padding=padding)
            if batch.row_pairs is not None:
                fields[f"{name}_segmentation"] = self._matrix(batch, side, Cells.SEGMENTS)
                fields[f"{name}_position"] = self._matrix(batch, side, Cells.POSITIONS)
        return fields

    def _batched_input(self, batch: IdBatch) -> BatchedInput:
        source, target = batch
        lengths = self._copied(source.lengths), self._copied(target.lengths)
        columns = _tensors(pair_columns(batch, self._empty))
        last = [columns.get(name) for name in ("corpora", "weights", "language_pairs")]
        if self.nested:
            shifted = Ragged(_shifted_right(target, self.sos), target.offsets)
            return BatchedInput(self._jagged(source), self._jagged(shifted), self._jagged(target), *lengths, *last)
        outputs = self._matrix(batch, target, padding=self.paddings[1])
        inputs = self._matrix(batch, source, padding=self.paddings[0])
        return BatchedInput(inputs, self._shifted(batch), outputs, *lengths, *last)

    def _shifted(self, batch: IdBatch) -> torch.Tensor:
        return self._matrix(batch, batch.target, Cells.SHIFTED, self.paddings[1])

    def _matrix(self, batch: IdBatch, side: Ragged, cells: Cells = Cells.IDS, padding: int = 0) -> torch.Tensor:
        rows = len(side) if batch.row_pairs is None else len(batch.row_pairs)
        width = int(side.lengths.max(initial=0)) if batch.width is None else batch.width
        matrix = torch.empty((rows, width), dtype=torch.int64, pin_memory=self.pin_memory)
        pad_into(matrix.numpy(), side, cells, row_pairs=batch.row_pairs, padding=padding, first=self.sos)
        return matrix

    def _jagged(self, side: Ragged) -> torch.Tensor:
        lengths = side.lengths
        return torch.nested.nested_tensor_from_jagged(
            self._copied(side.values),
            self._copied(side.offsets),
            min_seqlen=int(lengths.min(initial=0)),
            max_seqlen=int(lengths.max(initial=0)),
        )

    def _empty(self, shape: tuple[int, ...], kind: Any) -> npt.NDArray[Any]:
        """Returns an array in a tensor's memory."""
        of_torch = {np.int64: torch.int64, np.int32: torch.int32, np.float32: torch.float32}[kind]
        array: npt.NDArray[Any] = torch.empty(shape, dtype=of_torch, pin_memory=self.pin_memory).numpy()
        return array

    def _copied(self, values: np.ndarray) -> torch.Tensor:
        copy = torch.empty(len(values), dtype=torch.int64, pin_memory=self.pin_memory)
        copy.numpy()[:] = values
        return copy


def _tensors(arrays: CausalArrays) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _labels(batch: IdBatch) -> Ragged:
    """Returns a batch's target, with :data:`IGNORED` in place of the IDs that do not count as target."""
    target, parts = batch.target, batch.ignored
    if batch.context is not None:
        bounds = np.column_stack([np.zeros_like(batch.context), batch.context])
        parts = Ragged(bounds.astype(np.int32).ravel(), 2 * np.arange(len(target) + 1))
    if parts is None or not len(parts.values):
        return target
    rows = np.repeat(np.arange(len(target)), parts.lengths)
    bounds = (target.offsets[rows] + np.minimum(parts.values, target.lengths[rows])).reshape(-1, 2)
    values = target.values.copy()
    values[spans(bounds[:, 0], bounds[:, 1] - bounds[:, 0])] = IGNORED
    return Ragged(values, target.offsets)


def _shifted_right(side: Ragged, first: int) -> np.ndarray:
    """Returns the IDs of all rows, each shifted right: ``first`` added, its last ID dropped."""
    values = np.roll(side.values, 1)
    values[side.offsets[:-1][side.lengths > 0]] = first
    return values


class Batches(IterableDataset[TensorBatch]):  # type: ignore[misc]
    """A split's batches as PyTorch tensors, from the shards that a run wrote.

    With the same options, you get the same batches in the same order as from :func:`nmt_prep.make_dataset`, for any
    number of ``DataLoader`` workers. They are complete, so give the ``DataLoader`` ``batch_size=None``, or iterate
    without
    one: a thread prepares the next batches in advance.

    Each iteration yields one epoch: the epoch set by :meth:`set_epoch`, or the epoch after the last complete one. With
    workers of a ``DataLoader``, call :meth:`set_epoch` before each epoch.

    ``features`` names the tensors, all int64. A matrix is padded to the longest row of its side, unless ``pad_to`` or
    packed rows fix its width.

    - ``hf``: a dictionary with ``input_ids`` (padded with the vocabulary's pad ID), ``attention_mask`` (1 for IDs, 0
      for padding) and ``labels`` (targets with eos, padded with -100). With packed rows, ``attention_mask`` has the
      number of the pair in its row, from 1, and there are ``position_ids``, ``decoder_input_ids``,
      ``decoder_attention_mask`` and ``decoder_position_ids``.
    - ``nmt``: :class:`~nmt_prep.torch.BatchedInput`.
    - ``t2t``: a dictionary with ``inputs`` and ``targets``, and with packed rows ``inputs_segmentation``,
      ``inputs_position`` and the same for targets.
    - ``causal``: sequences for causal language models, from records with layout ``causal``, or ``text`` with
      ``records.prompt`` or ``records.template``: a dictionary with ``input_ids``, ``labels`` (the target's IDs, and
      -100 elsewhere) and ``attention_mask``. With ``row_length``, sequences are packed into rows with that many IDs.
      Instead of ``attention_mask`` there are ``position_ids``, which begin at 0 with each sequence, and ``cu_seqlens``,
      int32, shape ``[sequences + 1]``: where sequences begin if the rows are concatenated.

    Args:
        run_dir: directory of the run, which holds ``records``, or the directory ``records``.
        split: name of the split.
        features: ``hf``, ``nmt``, ``t2t`` or ``causal``.
        nested: return IDs as nested tensors with layout ``torch.jagged`` instead of padded ones, and no
            ``attention_mask``.
        sos_id: the ID that begins the decoder's input, in place of the vocabulary's own or its padding ID.
        corpus_ids: also return each pair's corpus index in ``dataset.json`` as ``corpora``: shape ``[pairs]``, or with
            packed rows ``[rows, maximum pairs per row]``, padded with -1. In a run with several language pairs, batches
            also have ``language_pairs`` of the same shape: each pair's index in
            :attr:`language_pairs`.
        pin_memory: give tensors in pinned memory; default True if there is a CUDA device. ``DataLoader`` workers never
            do, because a ``DataLoader`` has an option of its own.
        ahead: how many batches to prepare in advance; ``DataLoader`` workers have their own option.
        check: how thoroughly the shards are checked first, see :func:`nmt_prep.training.records.check_records`.
        options: attributes of :class:`nmt_prep.training.batches.Options`. ``rank`` and ``world_size`` are taken from
            ``torch.distributed`` by default, if it is initialized. ``equal_batches`` is ``"split"`` by default, or True
            with ``drop_remainder``.

    Raises:
        RecordsError: shards are missing, damaged, or do not belong to ``dataset.json``.
        ArgumentError: an option is out of range, or conflicts with another one.
    """

    def __init__(
        self,
        run_dir: str | Path,
        split: str,
        *,
        features: Features = "hf",
        nested: bool = False,
        sos_id: int | None = None,
        corpus_ids: bool = False,
        pin_memory: bool | None = None,
        ahead: int = 16,
        check: Literal["full", "quick"] = "full",
        **options: Unpack[Keywords],
    ) -> None:
        super().__init__()
        check_choice(get_args(Features), features=features)
        check_positive(ahead=ahead)
        options = _with_defaults(options)
        Options.of(Batches.__init__, options)
        if features == "causal" and sos_id is not None:
            raise ArgumentError('sos_id begins the input of a decoder, which features="causal" lacks; remove it')
        kind: Literal["causal"] | None = "causal" if features == "causal" else None
        self._source = BatchSource(run_dir, split, features=kind, corpus_ids=corpus_ids, check=check, **options)
        plan = self._source.plan
        vocab = plan.info.vocab
        sos = next(choice for choice in (sos_id, vocab.target.bos_id, vocab.target.padding_id) if choice is not None)
        pinned = torch.cuda.is_available() if pin_memory is None else pin_memory
        self._converter = Converter(features, nested, vocab.padding_ids, sos, pinned)
        self._converter.check(plan.rule.row_length is not None)
        self._ahead = ahead
        # Workers of a DataLoader that outlive an epoch read here the epoch that the training process sets.
        self._epochs_set = torch.tensor([0, 0]).share_memory_()  # the epoch, and how often it was set
        self._times_seen = 0

    @property
    def language_pairs(self) -> tuple[str, ...]:
        """The language pairs that indexes in batches refer to; empty in a run with one language pair."""
        return self._source.language_pairs

    @property
    def epoch(self) -> int:
        """Index of the epoch that is read, or else of the next epoch."""
        return self._source.position.epoch

    def __len__(self) -> int:
        """Returns the batch count in the epoch, for all ``DataLoader`` workers together.

        Learning rate schedulers need it. Other epochs may have a few batches more or fewer.
        """
        return len(self._source)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration; a loaded position in this epoch stays.

        Raises:
            ArgumentError: ``epoch`` is not an integer from 0 to a billion.
        """
        self._source.set_epoch(epoch)
        self._epochs_set[0] = epoch
        self._epochs_set[1] += 1
        self._times_seen = int(self._epochs_set[1])

    def state_dict(self) -> dict[str, Any]:
        """Returns the epoch, how many of its batches were taken, and a fingerprint of the data.

        The state consists of numbers, strings, lists and dictionaries, and is the same for all ranks.
        """
        return self._source.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues after the batches that a saved state counts.

        Raises:
            RecordsError: the state was saved with other data.
            ArgumentError: it is not a state, or an option differs from the saved option.
        """
        self._source.load_state_dict(state)

    def __iter__(self) -> Iterator[TensorBatch]:
        worker = get_worker_info()
        part, parts = (0, 1) if worker is None else (worker.id, worker.num_workers)
        epoch, times = self._epochs_set.tolist()
        if times != self._times_seen and not self._source.resumes:
            self._source.set_epoch(epoch)
        self._times_seen = times
        return self._deliver(self._source.begin(part, parts), parts, in_worker=worker is not None)

    def _deliver(self, batches: Iterator[IdBatch], parts: int, in_worker: bool) -> Iterator[TensorBatch]:
        tensors: Iterator[TensorBatch]
        if in_worker:  # the process reads ahead, and must not touch the GPU
            tensors = map(replace(self._converter, pin_memory=False).convert, batches)
        else:
            tensors = prefetched(map(self._converter.convert, batches), self._ahead)
        for batch in tensors:
            self._source.advance(parts)
            yield batch
        self._source.finish()


def _with_defaults(options: Keywords) -> Keywords:
    """Returns the options with rank and world size of the process, and with equally many batches for all processes."""
    defaults: Keywords = {"equal_batches": True if options.get("drop_remainder") else "split"}
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        defaults |= {"rank": torch.distributed.get_rank(), "world_size": torch.distributed.get_world_size()}
    return {**defaults, **options}
