"""RemoveEndPunct: the punctuation mark at the end of both sides."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.training.modifiers.block import Block, LineModifier, lines_of, numbers_of

_MARKS = {
    "period": ".．｡。﹒︒।॥۔။።։",
    "exclamation": "!！﹗︕‼❢❣՜",
    "question": "?？﹖︖؟\u037e՞፧⁇⁈⁉",
    "comma": ",，､﹐︐、﹑︑،၊՝",
    "colon": ":：﹕︓፥፦\u0387\u00b7",
    "semicolon": ";；﹔︔؛፤",
    "ellipsis": "…⋯︙",
}
_KINDS = np.repeat(np.arange(len(_MARKS)), [len(marks) for marks in _MARKS.values()])
_ALL = pa.array([*"".join(_MARKS.values())], pa.large_string())


class RemoveEndPunct(LineModifier):
    """Removes the last mark of both sides if they are of one kind, and neither has another mark before it.

    Links of the last words are removed.
    """

    def __call__(self, block: Block) -> Block:
        """Returns the block without the last marks of some pairs."""
        places = block.drawn(self.probability)
        drawn = block.taken(places)
        source, target = _last_marks(drawn.source), _last_marks(drawn.target)
        marked = np.flatnonzero((source >= 0) & (source == target))
        places, drawn = places[marked], drawn.taken(marked)
        sides = (drawn.source, drawn.target)
        texts = [pc.utf8_rtrim_whitespace(pc.utf8_slice_codeunits(side, 0, -1)) for side in sides]
        links = None if drawn.links is None else _without_last_words(drawn.links, drawn.word_counts())
        return block.with_columns(places, texts[0], texts[1], links)


def _last_marks(lines: pa.LargeStringArray) -> npt.NDArray[np.int64]:
    """Returns the kind of the mark at the end of each line; -1 without a mark, or after another mark."""
    last, before, earlier = (
        pc.fill_null(pc.index_in(pc.utf8_slice_codeunits(lines, begin, end), _ALL), -1).to_numpy(zero_copy_only=False)
        for begin, end in ((-1, None), (-2, -1), (-3, -2))
    )
    spaced = pc.equal(pc.utf8_slice_codeunits(lines, -2, -1), " ").to_numpy(zero_copy_only=False)
    alone = (last >= 0) & (before < 0) & ~(spaced & (earlier >= 0))
    return np.where(alone, _KINDS[last], -1)


def _without_last_words(
    links: pa.LargeStringArray, words: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
) -> pa.LargeStringArray:
    numbers, offsets = numbers_of(links, words)
    line = np.repeat(np.arange(len(links)), np.diff(offsets))
    kept = (numbers[::2] != words[0][line] - 1) & (numbers[1::2] != words[1][line] - 1)
    counts = np.bincount(line[kept], minlength=len(links))
    return lines_of(numbers[np.repeat(kept, 2)], np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
