"""Prefix: words of the target before the source."""

from __future__ import annotations

from itertools import pairwise

from nmt_prep.modifiers.block import Line, LineModifier, Units, check_range, check_text
from nmt_prep.modifiers.draws import Draws
from nmt_prep.modifiers.words import (
    Part,
    assembled,
    followed,
    labels_of,
    parsed,
    spans_of,
    tokens_of,
    words_by_label,
)


class Prefix(LineModifier):
    """Puts some consecutive words of the target before the source, and links them with the words of the target."""

    def __init__(
        self,
        probability: float,
        min_words: int = 2,
        max_words: int = 5,
        template: str = "__start__ {trg} __end__ ",
    ) -> None:
        super().__init__(probability)
        check_range(min_words=min_words, max_words=max_words)
        check_text(template=template)
        if template.count("{trg}") != 1:
            raise ValueError(f"template is {template!r}; it must have {{trg}} once")
        self.lengths, self.template = (min_words, max_words), template.split("{trg}")

    def edit(self, line: Line, draws: Draws, units: Units) -> Line:
        """Returns the pair with words of the target in the source."""
        source, target, links = line
        tokens = tokens_of(target)
        count = draws.randint(*self.lengths)
        if count > len(tokens):
            return line
        first = draws.randrange(len(tokens) - count + 1)
        chosen = tokens[first : first + count]
        before, after = self.template
        gaps = [""] + ["" if left[1] == right[0] else " " for left, right in pairwise(chosen)]
        words = spans_of(target, units) if links is not None else []
        marks, shift = (
            labels_of(target, words),
            len(source) + 1,
        )  # labels of the copied words follow those of the source
        parts: list[Part] = [(before, -1)]
        for gap, (begin, end) in zip(gaps, chosen, strict=True):
            parts += [(gap, -1), *((target[n], marks[n] + shift) for n in range(begin, end))]
        own = labels_of(source, spans_of(source, units)) if links is not None else [-1] * len(source)
        text, labels = assembled(source, own, [*parts, (after, -1), (0, len(source))])
        if links is not None:
            copies = [(mark + shift, mark) for mark in set(marks) if mark >= 0]
            unmoved = {number: [number] for number in range(len(words))}
            links = followed([*parsed(links), *copies], words_by_label(text, labels, units), unmoved)
        return Line(text, target, links)
