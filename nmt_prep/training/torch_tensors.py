"""Batches of ids as PyTorch tensors: padded, packed or nested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import ArgumentError
from nmt_prep.training.batches import IdBatch
from nmt_prep.training.batches.batch_reader import Cells, pad_into
from nmt_prep.training.batches.vectors import spans

Features: TypeAlias = Literal["hf", "nmt", "t2t"]

IGNORED = -100  # The label that PyTorch's cross entropy ignores


class BatchedInput(NamedTuple):
    """One batch of pairs, with the fields of :class:`nmt_prep.BatchedInput` but no initializer; all are int64.

    Attributes:
        source: ids, shape ``[rows, longest source]``.
        target_input: ids that the decoder reads, shape ``[rows, longest target]``.
        target_output: ids that the decoder should predict, same shape.
        source_sequence_length: shape ``[rows]``.
        target_sequence_length: length of each row of ``target_input`` and of ``target_output``, shape ``[rows]``.
        corpora: number of each pair's corpus in ``dataset.json``, shape ``[rows]``; None unless asked for.
        weights: weight of each pair, float32, shape ``[rows]``; None if the records have no weights.
        language_pairs: number of each pair's languages in :attr:`nmt_prep.torch.Batches.language_pairs`, shape
            ``[rows]``; None in a run with one pair of languages.
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
    """Converts batches of ids to tensors.

    Attributes:
        features: names and contents of the tensors, see :class:`~nmt_prep.torch.Batches`.
        nested: True for nested tensors.
        paddings: ids that pad source and target.
        sos: id that begins the decoder's input.
        pin_memory: True for tensors in pinned memory.
    """

    features: Features
    nested: bool
    paddings: tuple[int, int]
    sos: int
    pin_memory: bool

    def check(self, packed: bool) -> None:
        """Checks the features against the rows.

        Raises:
            ArgumentError: the features do not suit the rows.
        """
        if packed and self.features == "nmt":
            raise ArgumentError('packed rows need segments and positions, which BatchedInput lacks; use "hf" or "t2t"')
        if packed and self.nested:
            raise ArgumentError("packed rows have one length; leave out nested, or set packed to False")

    def convert(self, batch: IdBatch) -> TensorBatch:
        """Returns the tensors of a batch."""
        if self.features == "nmt":
            return self._batched_input(batch)
        fields = self._hf(batch) if self.features == "hf" else self._t2t(batch)
        if batch.corpora is not None:
            fields["corpora"] = self._numbers(batch, batch.corpora)
        if batch.language_pairs is not None:
            fields["language_pairs"] = self._numbers(batch, batch.language_pairs)
        if batch.weights is not None:
            fields["weights"] = self._weights(batch)
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
        corpora, pairs = (
            None if column is None else self._numbers(batch, column) for column in (batch.corpora, batch.language_pairs)
        )
        last = corpora, None if batch.weights is None else self._weights(batch), pairs
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

    def _numbers(self, batch: IdBatch, numbers: npt.NDArray[np.int32]) -> torch.Tensor:
        """Returns a number for each pair; of packed rows as a matrix, padded with -1."""
        if batch.row_pairs is None:
            return self._copied(numbers)
        rows = Ragged(numbers, np.concatenate([[0], np.cumsum(batch.row_pairs)]))
        matrix = torch.empty(
            (len(rows), int(batch.row_pairs.max(initial=0))), dtype=torch.int64, pin_memory=self.pin_memory
        )
        pad_into(matrix.numpy(), rows, padding=-1)
        return matrix

    def _weights(self, batch: IdBatch) -> torch.Tensor:
        """Returns the weights; of packed rows as a matrix, padded with 0."""
        sizes = batch.row_pairs
        if sizes is None:
            return torch.from_numpy(np.array(batch.weights, np.float32))
        weights = torch.zeros((len(sizes), int(sizes.max(initial=0))), pin_memory=self.pin_memory)
        weights.numpy()[np.arange(weights.shape[1]) < sizes[:, np.newaxis]] = batch.weights
        return weights

    def _copied(self, values: np.ndarray) -> torch.Tensor:
        copy = torch.empty(len(values), dtype=torch.int64, pin_memory=self.pin_memory)
        copy.numpy()[:] = values
        return copy


def _labels(batch: IdBatch) -> Ragged:
    """Returns the target of a batch, with :data:`IGNORED` in place of the ids that do not count as target."""
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
    """Returns the ids of all rows, each shifted right: ``first`` added, its last id dropped."""
    values = np.roll(side.values, 1)
    values[side.offsets[:-1][side.lengths > 0]] = first
    return values
