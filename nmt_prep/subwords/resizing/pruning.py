"""Decides which pieces of a vocabulary stay if pieces that a text does not use are removed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from nmt_prep.subwords.resizing.editing import EditableVocabulary, Ids
from nmt_prep.subwords.tokenizer import Tokenizer


def kept_ids(
    vocabulary: EditableVocabulary,
    tokenizer: Tokenizer,
    counts: npt.NDArray[np.int64],
    min_count: int,
    keep: Iterable[int],
) -> Ids:
    """Returns the IDs of the pieces that stay, ascending.

    A used piece keeps the pieces on the way to it: all merges then happen as before, and in the same order. A unigram
    model's best segmentation consists of used pieces, and stays the best among fewer.

    Args:
        counts: count of each ID: int64, shape ``[pieces]``.
        min_count: minimum count of a used piece.
    """
    stays = vocabulary.fixed | (counts >= min_count)
    stays[[*keep]] = True
    if vocabulary.lowest is not None:
        stays[vocabulary.lowest] = True
    if min_count > 1:
        # The text of rare pieces can still be spelled by its characters.
        characters = set("".join(tokenizer.pieces[number] for number in np.flatnonzero(counts).tolist()))
        stays |= np.array([piece in characters for piece in tokenizer.pieces], np.bool_)
    left, right, merged = vocabulary.merges.T
    before = -1
    while (total := int(stays.sum())) != before:
        before = total
        made = stays[merged] | (merged < 0)  # pieces that a numbering lacks always stay
        for half in (left[made], right[made]):
            stays[half[half >= 0]] = True
    return np.flatnonzero(stays)
