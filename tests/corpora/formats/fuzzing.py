"""Mutation of valid files, and a check that reading them stays within bounds."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable
from contextlib import suppress

from nmt_prep.base.errors import NmtPrepError

MOST_MEMORY = 48 << 20
"""Bound of the memory of Python objects and NumPy arrays, for inputs of some kilobytes."""


def mutated(content: bytes, tokens: list[bytes], seed: int) -> bytes:
    """Applies a few random changes: bit flips, cuts, repetitions, swaps, and tokens of the format in wrong places."""
    generator = random.Random(seed)
    data = bytearray(content)
    for _ in range(generator.randint(1, 6)):
        at = generator.randint(0, len(data))
        until = min(len(data), at + generator.choice((1, 2, 8, 64, 1024)))
        change = generator.randrange(7)
        if change == 0 and data:
            data[at % len(data)] ^= 1 << generator.randrange(8)
        elif change == 1:
            del data[at:until]
        elif change == 2:
            del data[at:]
        elif change == 3:
            data[at:at] = data[at:until] * generator.choice((1, 2, 50))
        elif change == 4:
            data[at:at] = generator.choice(tokens) * generator.choice((1, 1, 1, 300))
        elif change == 5:
            data[at:until] = generator.randbytes(until - at)
        else:
            data[at:until] = generator.choice((b"\0", b"\xff")) * (until - at)
    return bytes(data)


def peak_of(work: Callable[[], object]) -> int:
    """Returns the peak memory of some work in bytes; ignores errors of nmt_prep."""
    tracemalloc.start()
    try:
        with suppress(NmtPrepError):
            work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def survives(work: Callable[[], object]) -> bool:
    """Returns True if work stayed within bounded memory; ignores errors of nmt_prep, and propagates all others."""
    return peak_of(work) < MOST_MEMORY
