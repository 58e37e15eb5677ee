"""How much of a corpus the sample stage reads and takes, by the rule that it goes by."""

from __future__ import annotations

from typing import NamedTuple

from nmt_prep.stages.sample import stride_of


class Sampled(NamedTuple):
    """Bytes of one side of a corpus that are read for its sample, bytes in it, and of how many lines one is."""

    read: float
    taken: float
    stride: int


def sampled(size: float, characters: float, budget: int) -> Sampled:
    """What is read and taken of one side of a corpus, as the sample stage does it.

    Args:
        size: bytes of that side.
        characters: that these are.
        budget: in characters.
    """
    stride = stride_of(int(size), budget)
    affordable = budget * size / max(characters, 1)
    taken = min(size / stride, affordable)
    return Sampled(min(taken * stride, size), taken, stride)
