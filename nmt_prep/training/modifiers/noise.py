"""Noise: additional pairs of random characters, the same on both sides."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nmt_prep.training.modifiers.block import (
    ADDED_KEY,
    Block,
    LineModifier,
    check_range,
    check_share,
    check_text,
    spans_of,
)
from nmt_prep.training.modifiers.draws import Draws, mixed
from nmt_prep.training.modifiers.words import NO_LABEL, Part, Rewritten, WordModifier, Words

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


# WordDrop, WordBlank and WordShuffle: noise in the source of back-translated pairs, as in Edunov et al. (2018).


class _WordNoise(WordModifier):
    def rewrite(self, source: Words, target: Words, draws: Draws) -> Rewritten:
        return Rewritten(self.parts(source, draws), target.whole, [])

    def parts(self, line: Words, draws: Draws) -> list[Part]:
        raise NotImplementedError


class WordDrop(_WordNoise):
    """Drops a share of the words; at least one remains."""

    def __init__(self, probability: float, share: float = 0.1) -> None:
        super().__init__(probability)
        check_share(share=share)
        self.share = share

    def parts(self, line: Words, draws: Draws) -> list[Part]:
        begins = [begin for begin, _ in line.tokens]
        stretches = zip(begins, [*begins, len(line.text)][1:], strict=True)
        kept = [stretch for stretch in stretches if draws.random() >= self.share]
        if not kept:
            return line.whole
        *before, (begin, end) = kept
        return [*before, (begin, begin + len(line.text[begin:end].decode().rstrip().encode()))]


class WordBlank(_WordNoise):
    """Replaces a share of the words by a blank."""

    def __init__(self, probability: float, share: float = 0.1, blank: str = "<blank>") -> None:
        super().__init__(probability)
        check_share(share=share)
        check_text(blank=blank)
        self.share, self.blank = share, blank.encode()

    def parts(self, line: Words, draws: Draws) -> list[Part]:
        tokens = line.tokens
        blanks = {n: [(self.blank, NO_LABEL)] for n in range(len(tokens)) if draws.random() < self.share}
        return line.replaced(tokens, blanks)


class WordShuffle(_WordNoise):
    """Shuffles the words, so that none moves by more than ``distance`` words."""

    def __init__(self, probability: float, distance: int = 3) -> None:
        super().__init__(probability)
        if type(distance) is not int or distance < 1:
            raise ValueError(f"distance is {distance!r}; it must be a whole number of at least 1")
        self.distance = distance

    def parts(self, line: Words, draws: Draws) -> list[Part]:
        tokens = line.tokens
        keys = [number + draws.random() * (self.distance + 1) for number in range(len(tokens))]
        order = sorted(range(len(tokens)), key=keys.__getitem__)
        return line.replaced(tokens, {place: [tokens[moved]] for place, moved in enumerate(order)})
