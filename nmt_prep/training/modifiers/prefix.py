"""Prefix: words of the target before the source."""

from __future__ import annotations

from nmt_prep.training.modifiers.block import check_range, check_text
from nmt_prep.training.modifiers.draws import Draws
from nmt_prep.training.modifiers.words import NEW_WORDS, NO_LABEL, Part, Rewritten, WordModifier, Words


class Prefix(WordModifier):
    """Puts some consecutive target words before the source, and links them with the target's words."""

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
        self.lengths, self.template = (min_words, max_words), template.encode().split(b"{trg}")

    def rewrite(self, source: Words, target: Words, draws: Draws) -> Rewritten | None:
        """Returns the pair with words of the target in the source; None if the target has too few words."""
        tokens, count = target.tokens, draws.randint(*self.lengths)
        if count > len(tokens):
            return None
        first = draws.randrange(len(tokens) - count + 1)
        parts, done = list[Part](), tokens[first][0]
        for begin, end in tokens[first : first + count]:
            parts += [(b" " if begin > done else b"", NO_LABEL), *target.copied(begin, end)]
            done = end
        copies = [(label, label - NEW_WORDS) for _, label in parts if label != NO_LABEL]
        before, after = self.template
        made = [(before, NO_LABEL), *parts, (after, NO_LABEL), *source.whole]
        return Rewritten(made, target.whole, copies)
