"""WordDrop, WordBlank and WordShuffle: noise in the source of back-translated pairs, as in Edunov et al. (2018)."""

from __future__ import annotations

from nmt_prep.modifiers.block import Line, LineModifier, Units, check_share, check_text
from nmt_prep.modifiers.draws import Draws
from nmt_prep.modifiers.words import (
    Part,
    Spans,
    assembled,
    followed,
    labels_of,
    parsed,
    spans_of,
    tokens_of,
    words_by_label,
)


class _WordModifier(LineModifier):
    def edit(self, line: Line, draws: Draws, units: Units) -> Line:
        """Returns the pair with another source."""
        source, target, links = line
        tokens = tokens_of(source)
        parts = self.parts(source, tokens, draws)
        labels = labels_of(source, spans_of(source, units)) if links else [-1] * len(source)
        text, labels = assembled(source, labels, parts)
        if links:
            pairs = parsed(links)
            links = followed(pairs, words_by_label(text, labels, units), {pair[1]: [pair[1]] for pair in pairs})
        return Line(text, target, links)

    def parts(self, text: str, tokens: Spans, draws: Draws) -> list[Part]:
        """Returns the parts of the new source."""
        raise NotImplementedError


class WordDrop(_WordModifier):
    """Drops a share of the words; at least one remains."""

    def __init__(self, probability: float, share: float = 0.1) -> None:
        super().__init__(probability)
        check_share(share=share)
        self.share = share

    def parts(self, text: str, tokens: Spans, draws: Draws) -> list[Part]:
        """Returns the remaining words, each with the space after it."""
        ends = [*(begin for begin, _ in tokens), len(text)][1:]
        kept = [(begin, end) for (begin, _), end in zip(tokens, ends, strict=True) if draws.random() >= self.share]
        if not kept:
            return [(0, len(text))]
        *before, (begin, end) = kept
        return [*before, (begin, begin + len(text[begin:end].rstrip()))]


class WordBlank(_WordModifier):
    """Replaces a share of the words by a blank."""

    def __init__(self, probability: float, share: float = 0.1, blank: str = "<blank>") -> None:
        super().__init__(probability)
        check_share(share=share)
        check_text(blank=blank)
        self.share, self.blank = share, blank

    def parts(self, text: str, tokens: Spans, draws: Draws) -> list[Part]:
        """Returns the text with the blank in place of some words, whose links are removed."""
        parts, done = list[Part](), 0
        for begin, end in tokens:
            if draws.random() < self.share:
                parts += [(done, begin), (self.blank, -1)]
                done = end
        return [*parts, (done, len(text))]


class WordShuffle(_WordModifier):
    """Shuffles the words, so that none moves by more than ``distance`` words."""

    def __init__(self, probability: float, distance: int = 3) -> None:
        super().__init__(probability)
        if type(distance) is not int or distance < 1:
            raise ValueError(f"distance is {distance!r}; it must be a whole number of at least 1")
        self.distance = distance

    def parts(self, text: str, tokens: Spans, draws: Draws) -> list[Part]:
        """Returns the words in their new order; the spaces stay."""
        keys = [number + draws.random() * (self.distance + 1) for number in range(len(tokens))]
        order = sorted(range(len(tokens)), key=keys.__getitem__)
        parts, done = list[Part](), 0
        for (begin, end), moved in zip(tokens, order, strict=True):
            parts += [(done, begin), tokens[moved]]
            done = end
        return [*parts, (done, len(text))]
