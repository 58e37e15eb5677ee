"""WordDrop, WordBlank and WordShuffle: noise in the source of back-translated pairs, as in Edunov et al. (2018)."""

from __future__ import annotations

from nmt_prep.training.modifiers.block import check_share, check_text
from nmt_prep.training.modifiers.draws import Draws
from nmt_prep.training.modifiers.words import NO_LABEL, Part, Rewritten, WordModifier, Words


class _WordNoise(WordModifier):
    def rewrite(self, source: Words, target: Words, draws: Draws) -> Rewritten:
        """Returns the pair with another source."""
        return Rewritten(self.parts(source, draws), target.whole, [])

    def parts(self, line: Words, draws: Draws) -> list[Part]:
        """Returns the parts of the new source."""
        raise NotImplementedError


class WordDrop(_WordNoise):
    """Drops a share of the words; at least one remains."""

    def __init__(self, probability: float, share: float = 0.1) -> None:
        super().__init__(probability)
        check_share(share=share)
        self.share = share

    def parts(self, line: Words, draws: Draws) -> list[Part]:
        """Returns the remaining words, each with the space after it."""
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
        """Returns the text with the blank in place of some words, whose links are removed."""
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
        """Returns the words in their new order; the spaces stay."""
        tokens = line.tokens
        keys = [number + draws.random() * (self.distance + 1) for number in range(len(tokens))]
        order = sorted(range(len(tokens)), key=keys.__getitem__)
        return line.replaced(tokens, {place: [tokens[moved]] for place, moved in enumerate(order)})
