"""Noise: additional pairs of random characters, the same on both sides."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nmt_prep.training.modifiers.block import ADDED_KEY, Block, LineModifier, check_range, spans_of
from nmt_prep.training.modifiers.draws import Draws, mixed

RANGES = (
    (0x0020, 0x007F), (0x00A0, 0x00FF), (0x0370, 0x03FF), (0x0400, 0x04FF), (0x0530, 0x058F), (0x0590, 0x05FF),
    (0x0600, 0x06FF), (0x0900, 0x097F), (0x0980, 0x09FF), (0x0A80, 0x0AFF), (0x0E00, 0x0E7F), (0x1000, 0x109F),
    (0x10A0, 0x10FF), (0x1780, 0x17FF), (0x3040, 0x309F), (0x30A0, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7AF),
    (0x1F600, 0x1F64F),
)  # fmt: skip
"""First and last character of Unicode blocks; the last one is not used."""


def random_words(draws: Draws, shortest: int, longest: int, most: int) -> list[str]:
    """Returns up to ``most`` words of equal length, with characters from one Unicode block."""
    length, (first, last) = draws.randint(shortest, longest), draws.choice(RANGES)
    return ["".join(chr(draws.randrange(first, last)) for _ in range(length)) for _ in range(draws.randint(1, most))]


class Noise(LineModifier):
    """Adds a pair of random words before a pair."""

    def __init__(
        self, probability: float, min_word_length: int = 2, max_word_length: int = 5, max_words: int = 6
    ) -> None:
        super().__init__(probability)
        check_range(min_word_length=min_word_length, max_word_length=max_word_length)
        check_range(min_words=1, max_words=max_words)
        self.lengths, self.most = (min_word_length, max_word_length), max_words

    def __call__(self, block: Block) -> Block:
        """Returns the block with additional pairs."""
        places = block.drawn(self.probability)
        if not len(places):
            return block
        texts = pa.array(
            [" ".join(random_words(block.draws(place), *self.lengths, self.most)) for place in places],
            pa.large_string(),
        )
        links = None
        if block.links is not None:
            counts = np.diff(spans_of(texts, spaced=block.units == "spaced")[2])
            links = pa.array([" ".join(f"{n}-{n}" for n in range(count)) for count in counts], pa.large_string())
        widened = block.taken(np.repeat(np.arange(len(block)), np.bincount(places, minlength=len(block)) + 1))
        added = places + np.arange(len(places))
        widened.keys[added] = mixed(widened.keys[added], ADDED_KEY)
        return widened.with_columns(added, texts, texts, links)
