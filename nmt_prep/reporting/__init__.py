"""The report of a run: the counts that stages collect for it, its numbers, and the page and the text that show them.

:mod:`~nmt_prep.reporting.pair_samples` and :mod:`~nmt_prep.reporting.profile` hold the counts of ``encode``.
:mod:`nmt_prep.stages.report` turns the outputs of all stages into ``summary.json``. From this file alone,
`page` makes ``index.html``, and `report_tables` the tables of the page and
``summary.txt``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

Json: TypeAlias = "dict[str, Any]"

UNITS = ("piece", "word", "char")  # Units of lengths: pieces without the frame, words as in `lengths`, code points


_MOST_PAIRS = 6  # Maximum number of language pairs that a title names


def corpora(section: Json) -> Iterator[tuple[str, str, Any]]:
    """Yields split, corpus and value of a section that is ordered by split and corpus."""
    for split, values in section.items():
        for corpus, value in values.items():
            yield split, corpus, value


def main_split(summary: Json) -> str:
    """Returns the split that the figures show: train, or else the first."""
    return "train" if "train" in summary["splits"] else next(iter(summary["splits"]))


def languages_in_words(summary: Json) -> str:
    """Returns a run's language pair, such as ``en → de``; for a run with several, all pairs or their count."""
    pairs = [*summary.get("pairs", {"": summary["languages"]}).values()]
    if len(pairs) > _MOST_PAIRS:
        return f"{len(pairs)} language pairs"
    return ", ".join(f"{pair['source']} → {pair['target']}" for pair in pairs)


def side_name(summary: Json, side: str) -> str:
    """Returns a side with its language, such as ``source (en)``."""
    return f"{side} ({summary['languages'][side]})"


def about(warning: Json) -> str:
    """Returns a warning's split and corpus, such as ``train/news``, or an empty text for the whole run."""
    return "/".join(filter(None, [warning["split"], warning["corpus"]]))


def pieces_per(summary: Json, side: str, unit: str) -> float | None:
    """Returns the mean piece count per word or character on a side, rounded to 3 digits, or None without text."""
    means = summary["lengths"][summary["pieces"][side]["split"]]["means"][side]
    return round(means["piece"] / means[unit], 3) if means[unit] else None
