"""Batches of a run as JAX arrays, without TensorFlow, in a few shapes only, so that a jitted step compiles seldom."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

import nmt_prep
from nmt_prep import Ragged

LENGTHS = (16, 32, 64, 128, 256)
ROWS = 64


def batches(run_dir: str, epoch: int, skip_batches: int = 0) -> Iterator[tuple[jax.Array, jax.Array]]:
    """Sources and targets, int32, shape ``[ROWS, one of LENGTHS]``; of a smaller batch the last rows are padding.

    Save ``epoch`` and the number of batches taken beside the parameters, and give them to go on.
    """
    processes = {"num_shards": jax.process_count(), "shard_index": jax.process_index()}
    for batch in nmt_prep.read_records(
        run_dir,
        "train",
        batch_size=ROWS,
        seed=1,
        epoch=epoch,
        skip_batches=skip_batches,
        equal_batches=True,
        **processes,
    ):
        longest = max(*batch.source.lengths, *batch.target.lengths)
        width = next(length for length in LENGTHS if length >= longest)
        yield jnp.asarray(padded(batch.source, width)), jnp.asarray(padded(batch.target, width))


def padded(rows: Ragged, width: int, padding: int = 0) -> np.ndarray:
    """One array of ids, shape ``[ROWS, width]``."""
    cells = np.full((ROWS, width), padding, np.int32)
    cells[: len(rows)][np.arange(width) < rows.lengths[:, np.newaxis]] = rows.values
    return cells
