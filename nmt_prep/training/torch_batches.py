"""``Batches``: a run's batches as an ``IterableDataset``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Unpack, get_args

import torch
from torch.utils.data import IterableDataset, get_worker_info

from nmt_prep.training.batches import BatchSource, IdBatch
from nmt_prep.training.batches.batch_reader import prefetched
from nmt_prep.training.batches.options import Keywords, Options, check_choice, check_positive
from nmt_prep.training.torch_tensors import Converter, Features, TensorBatch


class Batches(IterableDataset[TensorBatch]):  # type: ignore[misc]
    """The batches of a split as PyTorch tensors, from the shards that a run wrote.

    With the same options, the batches and their order are those of :func:`nmt_prep.make_dataset`, for any number of
    workers of a ``DataLoader``. They are complete, so give the ``DataLoader`` ``batch_size=None``, or iterate without
    one: a thread prepares the next batches in advance.

    Each iteration yields one epoch: the epoch set by :meth:`set_epoch`, or the epoch after the last complete one. With
    workers of a ``DataLoader``, call :meth:`set_epoch` before each epoch.

    ``features`` names the tensors, all int64. A matrix is padded to the longest row of its side, unless ``pad_to`` or
    packed rows fix its width.

    - ``hf``: a dictionary with ``input_ids`` (padded with the vocabulary's pad id), ``attention_mask`` (1 for ids, 0
      for padding) and ``labels`` (targets with eos, padded with -100). With packed rows, ``attention_mask`` has the
      number of the pair in its row, from 1, and there are ``position_ids``, ``decoder_input_ids``,
      ``decoder_attention_mask`` and ``decoder_position_ids``.
    - ``nmt``: :class:`~nmt_prep.torch.BatchedInput`.
    - ``t2t``: a dictionary with ``inputs`` and ``targets``, and with packed rows ``inputs_segmentation``,
      ``inputs_position`` and the same of the targets.

    Args:
        run_dir: directory of the run, which holds ``records``, or the directory ``records``.
        split: name of the split.
        features: ``hf``, ``nmt`` or ``t2t``.
        nested: give ids as nested tensors of layout ``torch.jagged`` instead of padded ones, and no ``attention_mask``.
        sos_id: the id that begins the decoder's input, in place of the vocabulary's own or its padding id.
        corpus_ids: also give the number of each pair's corpus in ``dataset.json`` as ``corpora``: shape ``[pairs]``, or
            with packed rows ``[rows, most pairs of a row]``, padded with -1.
            In a run with several pairs of languages, batches also have ``language_pairs`` of the same shape: the number
            of each pair's languages in :attr:`language_pairs`.
        pin_memory: give tensors in pinned memory; default True if there is a CUDA device. Workers of a ``DataLoader``
            never do, because it has an option of its own.
        ahead: number of batches to prepare in advance; workers of a ``DataLoader`` have their own option.
        check: how thoroughly the shards are checked first, see :func:`nmt_prep.training.records.check_records`.
        options: attributes of :class:`nmt_prep.training.batches.Options`. ``rank`` and ``world_size`` are those of
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
        self._source = BatchSource(run_dir, split, corpus_ids=corpus_ids, check=check, **options)
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
        """The pairs of languages that the numbers in batches stand for; none in a run with one pair."""
        return self._source.language_pairs

    @property
    def epoch(self) -> int:
        """Number of the epoch that is read, or else of the next one."""
        return self._source.position.epoch

    def __len__(self) -> int:
        """Returns the number of batches in the epoch, of all workers of a ``DataLoader`` together.

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
        """Returns the epoch, the number of its batches that were taken, and a fingerprint of the data.

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
