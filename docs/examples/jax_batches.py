"""Batches of a run as JAX arrays, in a few shapes only, so that a jitted step compiles seldom.

``Source`` is an iterator with the methods of one of Grain: ``get_state`` and ``set_state``. Its state is a dictionary
of numbers and strings, which Orbax or ``json`` can save beside the parameters.
"""

from __future__ import annotations

from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from nmt_prep import BatchSource, Ragged

LENGTHS = (16, 32, 64, 128, 256)
ROWS = 64


class Source:
    """Sources and targets epoch after epoch: int32, shape ``[ROWS, one of LENGTHS]``, padded with 0.

    All processes get equally many batches. The last rows of a smaller batch are padding.
    """

    def __init__(self, run_dir: str, split: str = "train", epochs: int | None = None, seed: int = 1) -> None:
        self._source = BatchSource(
            run_dir,
            split,
            batch_size=ROWS,
            pad_to=LENGTHS,
            seed=seed,
            world_size=jax.process_count(),
            rank=jax.process_index(),
            equal_batches="split",
        )
        self._epochs = epochs
        self._batches = iter(self._source)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[jax.Array, jax.Array]:
        while self._epochs is None or self._source.position.epoch < self._epochs:
            for batch in self._batches:
                return padded(batch.source, batch.width), padded(batch.target, batch.width)
            self._batches = iter(self._source)
        raise StopIteration

    def get_state(self) -> dict[str, Any]:
        """Returns the epoch, the number of its batches that were taken, and a fingerprint of the data."""
        return self._source.state_dict()

    def set_state(self, state: dict[str, Any]) -> None:
        """Continues after the batches that a state counts; refuses one of other data."""
        self._source.load_state_dict(state)
        self._batches = iter(self._source)


def padded(rows: Ragged, width: int) -> jax.Array:
    """Returns IDs as one array, shape ``[ROWS, width]``."""
    cells = np.zeros((ROWS, width), np.int32)
    cells[: len(rows)][np.arange(width) < rows.lengths[:, np.newaxis]] = rows.values
    return jnp.asarray(cells)
