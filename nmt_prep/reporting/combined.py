"""The lengths of all corpora of a split together, from their samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from nmt_prep.reporting.summary import UNITS, Json
from nmt_prep.sides import SIDES


def combined(corpora: Json) -> Json:
    """Returns the histograms of a split. Counts of samples are scaled to the sizes of their corpora, and rounded.

    Args:
        corpora: profiles by name of the corpus, as JSON values.

    Returns:
        ``pairs`` and ``sampled``; ``tokens_by_length``, ``lengths``, ``joint`` and ``ratios`` as in a profile; and
        ``means``, the mean lengths by side and unit.
    """
    sampled = [corpus for corpus in corpora.values() if corpus["sampled"]]
    pairs = sum(corpus["pairs"] for corpus in sampled)
    total = max(pairs, 1)
    return {
        "pairs": pairs,
        "sampled": sum(corpus["sampled"] for corpus in sampled),
        "tokens_by_length": {side: summed(corpus["tokens_by_length"][side] for corpus in sampled) for side in SIDES},
        "lengths": {
            side: {unit: _scaled((corpus, corpus["lengths"][side][unit]) for corpus in sampled) for unit in UNITS}
            for side in SIDES
        },
        "means": {
            side: {
                unit: round(sum(_whole(corpus, corpus["totals"][side][unit]) for corpus in sampled) / total, 3)
                for unit in UNITS
            }
            for side in SIDES
        },
        "joint": {unit: _cells(sampled, unit) for unit in UNITS},
        "ratios": {unit: _scaled((corpus, corpus["ratios"][unit]) for corpus in sampled) for unit in UNITS},
    }


def summed(histograms: Iterable[Sequence[float]]) -> list[float]:
    """Returns the sum of histograms of any length."""
    listed = list(histograms)
    size = max(map(len, listed), default=0)
    return [sum(counts[place] for counts in listed if place < len(counts)) for place in range(size)]


def _scaled(histograms: Iterable[tuple[Json, Sequence[int]]]) -> list[int]:
    """Returns the sum of histograms of samples, scaled to all pairs of their corpora."""
    return [
        round(value) for value in summed([_whole(corpus, count) for count in counts] for corpus, counts in histograms)
    ]


def _cells(corpora: Sequence[Json], unit: str) -> list[list[int]]:
    cells: Counter[tuple[int, int]] = Counter()
    for corpus in corpora:
        for source, target, count in corpus["joint"][unit]:
            cells[source, target] += _whole(corpus, count)  # type: ignore[assignment]
    return [[*cell, max(round(count), 1)] for cell, count in sorted(cells.items())]


def _whole(corpus: Json, count: float) -> float:
    """Returns a count in the sample of a corpus, scaled to all its pairs."""
    scaled: float = count if corpus["sampled"] == corpus["pairs"] else count * corpus["pairs"] / corpus["sampled"]
    return scaled
