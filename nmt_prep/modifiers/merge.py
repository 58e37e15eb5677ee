"""Merge: consecutive pairs as one."""

from __future__ import annotations

import numpy as np

from nmt_prep.modifiers.block import Block, Line, LineModifier, Units, check_range
from nmt_prep.modifiers.words import SPACED, formatted, parsed, spans_of


class Merge(LineModifier):
    """Joins some consecutive pairs of a block, with a space between them; at the end of the block fewer."""

    def __init__(self, probability: float, min_lines: int = 2, max_lines: int = 4) -> None:
        super().__init__(probability)
        check_range(min_lines=min_lines, max_lines=max_lines)
        self.lengths = (min_lines, max_lines)

    def __call__(self, block: Block) -> Block:
        """Returns the block with fewer pairs."""
        kept, starts, lines, end = np.ones(len(block), np.bool_), [], [], 0
        for place in block.drawn(self.probability).tolist():
            if place < end:
                continue  # in the merged pair before it
            end = min(place + block.draws(place).randint(*self.lengths), len(block))
            starts.append(place)
            lines.append(merged(block.lines(np.arange(place, end)), block.units))
            kept[place + 1 : end] = False
        return block.edited(np.array(starts, np.int64), lines).taken(np.flatnonzero(kept)) if starts else block


def merged(lines: list[Line], units: Units) -> Line:
    """Returns pairs as one."""
    joined_source = " ".join(word for line in lines for word in SPACED.findall(line.source))
    joined_target = " ".join(word for line in lines for word in SPACED.findall(line.target))
    if lines[0].links is None:
        return Line(joined_source, joined_target, None)
    pairs, source, target = list[tuple[int, int]](), 0, 0
    for line in lines:
        sources, targets = (len(spans_of(side, units)) for side in line[:2])
        pairs += [(s + source, t + target) for s, t in parsed(line.links or "") if s < sources and t < targets]
        source, target = source + sources, target + targets
    return Line(joined_source, joined_target, formatted(pairs))
