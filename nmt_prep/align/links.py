"""Links between the words of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import link_lines

Symmetrization: TypeAlias = Literal[
    "intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and", "forward", "backward"
]
"""A way to join the links of both directions. ``forward`` are the links of the target words, ``backward`` those of the
source words, by themselves; the others are those of Koehn et al. (2003), as in Moses."""

SYMMETRIZATIONS: tuple[Symmetrization, ...] = get_args(Symmetrization)


@dataclass(frozen=True, slots=True)
class Links:
    """Links of pairs: those of pair i are ``links[offsets[i]:offsets[i + 1]]``.

    Attributes:
        links: numbers of a source word and of a target word, from 0, ordered by source word, then target word: int32,
            shape ``[links, 2]``.
        offsets: int64, shape ``[pairs + 1]``.
        too_long: number of pairs that have no links because they are too long.
    """

    links: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    too_long: int

    def __len__(self) -> int:
        return len(self.offsets) - 1


def pharaoh(links: Links) -> pa.Array:
    """Returns the links of each pair as a line such as ``0-0 1-2``, or an empty one: a ``large_string`` array."""
    data, offsets = link_lines(links.links.reshape(-1), links.offsets, "", 1)
    return pa.LargeStringArray.from_buffers(len(links), pa.py_buffer(offsets), pa.py_buffer(data))


def pharaoh_text(links: Links, threads: int = 1) -> memoryview:
    """Returns the lines of :func:`pharaoh` as the content of a file."""
    return link_lines(links.links.reshape(-1), links.offsets, "\n", threads)[0].data
