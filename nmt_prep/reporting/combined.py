"""The lengths of all corpora of a split together, from their samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from nmt_prep.reporting.summary import UNITS, Json
from nmt_prep.sides import SIDES


def combined(corpora: Json) -> Json:
    """Returns the histograms of a split. Those of samples are scaled to the sizes of their corpora and rounded.

    Args:
        corpora: profiles by name of the corpus, as JSON values.

    Returns:
        ``pairs`` and ``sampled``; ``tokens_by_length``, ``lengths``, ``joint`` and ``ratios`` as in a profile; and
        ``means``, the mean lengths by side and unit.
    """
    found = [corpus for corpus in corpora.values() if corpus["sampled"]]
    pairs = sum(corpus["pairs"] for corpus in found)
    total = max(pairs, 1)
    return {
        "pairs": pairs,
        "sampled": sum(corpus["sampled"] for corpus in found),
        "tokens_by_length": {side: summed(corpus["tokens_by_length"][side] for corpus in found) for side in SIDES},
        "lengths": {
            side: {unit: _scaled(found, lambda each, s=side, u=unit: each["lengths"][s][u]) for unit in UNITS}  # type: ignore[misc]
            for side in SIDES
        },
        "means": {
            side: {
                unit: round(sum(_whole(each, each["totals"][side][unit]) for each in found) / total, 3)
                for unit in UNITS
            }
            for side in SIDES
        },
        "joint": {unit: _cells(found, unit) for unit in UNITS},
        "ratios": {unit: _scaled(found, lambda each, u=unit: each["ratios"][u]) for unit in UNITS},  # type: ignore[misc]
    }


def summed(histograms: Iterable[Sequence[float]]) -> list[float]:
    """Returns the sum of histograms of any length."""
    listed = list(histograms)
    size = max(map(len, listed), default=0)
    return [sum(each[place] for each in listed if place < len(each)) for place in range(size)]


def _scaled(corpora: Sequence[Json], part: Callable[[Json], Sequence[int]]) -> list[int]:
    return [round(value) for value in summed([_whole(each, count) for count in part(each)] for each in corpora)]


def _cells(corpora: Sequence[Json], unit: str) -> list[list[int]]:
    cells: Counter[tuple[int, int]] = Counter()
    for each in corpora:
        for source, target, count in each["joint"][unit]:
            cells[source, target] += _whole(each, count)  # type: ignore[assignment]
    return [[*cell, max(round(count), 1)] for cell, count in sorted(cells.items())]


def _whole(corpus: Json, count: float) -> float:
    """Returns a count in the sample of a corpus, scaled to all its pairs."""
    scaled: float = count if corpus["sampled"] == corpus["pairs"] else count * corpus["pairs"] / corpus["sampled"]
    return scaled
