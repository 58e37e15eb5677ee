"""Batches of a run as PyTorch tensors, without TensorFlow.

Each rank of a data-parallel job passes its number: it gets data of its own, and with ``equal_batches`` all ranks get
equally many batches, so that none waits for another at the end of an epoch.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.nn.utils.rnn import pad_sequence

import nmt_prep
from nmt_prep import Ragged


class Pairs(torch.utils.data.IterableDataset[tuple[torch.Tensor, torch.Tensor]]):
    """The batches of one epoch; use it with ``DataLoader(Pairs(…), batch_size=None)``, in the process that trains.

    Save ``epoch`` and the number of batches taken beside the model, and give them to go on.
    """

    def __init__(self, run_dir: str, epoch: int, skip_batches: int = 0, rank: int = 0, world_size: int = 1) -> None:
        self.arguments = {"epoch": epoch, "skip_batches": skip_batches, "shard_index": rank, "num_shards": world_size}
        self.run_dir = run_dir

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        if torch.utils.data.get_worker_info() is not None:
            raise RuntimeError("each worker of the DataLoader would deliver every batch; set num_workers=0")
        for batch in nmt_prep.read_records(self.run_dir, "train", seed=1, equal_batches=True, **self.arguments):
            yield padded(batch.source), padded(batch.target)


def padded(rows: Ragged, padding: int = 0) -> torch.Tensor:
    """One tensor of ids, shape ``[rows, longest]``."""
    ids = torch.from_numpy(rows.values).long()
    return pad_sequence(list(ids.split(rows.lengths.tolist())), batch_first=True, padding_value=padding)
