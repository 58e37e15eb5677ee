"""Sentence-level chrF (Popović 2015): how similar one text is to another, by character n-grams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_ORDER = 6
_BETA = 2


def best_by_chrf(candidates: Sequence[str], references: Sequence[str]) -> npt.NDArray[np.int64]:
    """Returns for each reference the index of its most similar candidate, the first among several.

    Args:
        candidates: first the first reference's candidates, then the second reference's, and so on; as many for each.
    """
    count = len(candidates) // max(len(references), 1)
    best = np.zeros(len(references), np.int64)
    for number, reference in enumerate(references):
        grams = grams_of(reference)
        scores = [chrf(grams_of(text), grams) for text in candidates[number * count : (number + 1) * count]]
        best[number] = scores.index(max(scores))
    return best


def grams_of(text: str) -> list[Counter[str]]:
    """Returns how often a text has each n-gram, for each size."""
    bare = "".join(text.split())
    return [Counter([bare[at : at + size] for at in range(len(bare) - size + 1)]) for size in range(1, _ORDER + 1)]


def chrf(grams: Sequence[Counter[str]], references: Sequence[Counter[str]]) -> float:
    """Returns the score, from 0 to 1, given the n-grams of a text and of its reference."""
    # As sacrebleu: precision and recall are means over the orders that both texts have.
    precision = recall = 0.0
    orders = 0
    for own, other in zip(grams, references, strict=True):
        total, wanted = own.total(), other.total()
        if total and wanted:
            small, large = (own, other) if len(own) < len(other) else (other, own)
            matches = sum(min(number, large[gram]) for gram, number in small.items() if gram in large)
            precision, recall, orders = precision + matches / total, recall + matches / wanted, orders + 1
    if not orders or not precision + recall:
        return 0.0
    precision, recall = precision / orders, recall / orders
    return (1 + _BETA**2) * precision * recall / (_BETA**2 * precision + recall)
