"""Typos: typing errors in the source, as the package ``typo`` makes them, on a US keyboard."""

from __future__ import annotations

from _nmt_prep_core import TYPOS, type_lines

from nmt_prep.base.columns import TextColumn
from nmt_prep.training.modifiers.block import Block, LineModifier, check_share


class Typos(LineModifier):
    """Makes typing errors in the source, each kind at most once, with its own probability.

    Args:
        probability: share of the pairs to change.
        kinds: probability of each kind; 0.1 for all if no kind is given, else 0 for kinds that are not given.
    """

    scripts = "scripts of letters with spaces between words"

    def __init__(self, probability: float, **kinds: float) -> None:
        super().__init__(probability)
        unknown = next((kind for kind in kinds if kind not in TYPOS), None)
        if unknown is not None:
            raise ValueError(f"{unknown!r} is no kind of typo; the kinds are {', '.join(TYPOS)}")
        check_share(**kinds)
        self.chances = [(TYPOS.index(kind), share) for kind, share in (kinds or dict.fromkeys(TYPOS, 0.1)).items()]

    def __call__(self, block: Block) -> Block:
        """Returns the block with typos in some sources."""
        places = block.drawn(self.probability)
        drawn = block.taken(places)
        lines, links = TextColumn.from_arrow(drawn.source), None
        if drawn.links is not None:
            column = TextColumn.from_arrow(drawn.links)
            links = column.data, column.offsets
        spaced = block.units == "spaced"
        typed = type_lines((lines.data, lines.offsets), links, drawn.keys, self.chances, spaced)
        source, linked = TextColumn(*typed[:2]).to_arrow(), TextColumn(*typed[2:]).to_arrow()
        return block.with_columns(places, source, drawn.target, None if links is None else linked)
