"""Identifies the languages of the first lines of a side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from _nmt_prep_core import Lines, script_weights

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import CleaningError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.languages import LID_176, LanguageIdentifier, load_identifier
from nmt_prep.cleaning.languages.tags import Expected, languages_of_labels
from nmt_prep.config import Languages

_LEAST_LETTERS = 20
"""Minimum number of letters to identify the language of a line; a Han character counts as four letters."""

_LEAST_OF_SCRIPT = 0.1

_LEAST_SHARE = 0.01  # Minimum share of the lines for a language to be reported
_LOOKED_AT = 200  # Number of sentences of a document whose languages are identified

_LEAST_LINES = 5
_LEAST_FITTING = 0.5


@dataclass(frozen=True)
class SideFacts:
    """The languages of the first lines of a side."""

    language: str  # the language of the config
    lines: int  # number of lines that are long enough to identify their language
    shares: dict[str, float]  # share of these lines by language, the most frequent first
    # share of these lines in the language of the config or a similar one; None if the model does not know the language
    fitting: float | None


def installed_identifier() -> tuple[str, LanguageIdentifier] | None:
    """Returns the name and the model of lid.176, or None if it is not installed."""
    try:
        return LID_176, load_identifier(LID_176)
    except CleaningError:
        return None


def side_facts(lines: pa.Array, identifier: LanguageIdentifier, tag: str, other: str) -> SideFacts:
    """Returns the languages of lines.

    Args:
        lines: Arrow ``large_string`` array without nulls.
    """
    column = TextColumn.from_arrow(lines)
    letters, _ = script_weights(Lines(column.data, column.offsets), [])
    column = TextColumn.from_arrow(lines.filter(pa.array(letters >= _LEAST_LETTERS)))
    best = identifier.top(column)[0][:, 0]
    expected = Expected(identifier.labels, tag, other, accept_similar=True)
    fits = np.isin(best, expected.own)
    for scripts, rivals in expected.needing_scripts(best):  # Japanese without kana is Chinese
        fits |= rivals & (script_weights(Lines(column.data, column.offsets), scripts)[1] < _LEAST_OF_SCRIPT)
    spoken = languages_of_labels(identifier.labels)
    counts = Counter(
        tag if fit and expected.own else _name(spoken[label], identifier.labels[label])
        for label, fit in zip(best.tolist(), fits.tolist(), strict=True)
        if label >= 0
    )
    identified = counts.total()
    shares = {name: count / identified for name, count in counts.most_common() if count >= _LEAST_SHARE * identified}
    return SideFacts(tag, identified, shares, counts[tag] / max(identified, 1) if expected.own else None)


def language_warnings(facts: Mapping[Side, SideFacts]) -> Iterator[str]:
    """Yields a warning for each side with most lines in other languages than its own."""
    for side, languages in facts.items():
        if warning := language_warning(side, languages, facts.get(SIDES[side == "source"])):
            yield warning


def facts_by_side(
    lines: Mapping[Side, pa.Array], identifier: LanguageIdentifier, languages: Languages
) -> dict[Side, SideFacts]:
    """Returns the languages of the lines of each side: Arrow ``large_string`` arrays without nulls."""
    tags: dict[Side, str] = {"source": languages.source, "target": languages.target}
    return {side: side_facts(lines[side], identifier, tags[side], tags[SIDES[side == "source"]]) for side in lines}


def document_warnings(
    documents: Iterable[tuple[str, Mapping[Side, pa.Array]]], languages: Languages
) -> Iterator[tuple[str, str]]:
    """Yields the names of documents with most sentences of a side in other languages than its own, with a warning.

    Args:
        documents: names, and the sentences of both sides, as Arrow ``large_string`` arrays without nulls.
    """
    identified = installed_identifier()
    if identified is None:
        return
    for name, sides in documents:
        first: dict[Side, pa.Array] = {side: lines[:_LOOKED_AT] for side, lines in sides.items()}
        for warning in language_warnings(facts_by_side(first, identified[1], languages)):
            yield name, warning
            break


def language_warning(side: str, facts: SideFacts, other: SideFacts | None) -> str | None:
    """Returns a warning if most lines of a side are in other languages than its own; None otherwise.

    Args:
        other: the languages of the other side; None for a side without lines.
    """
    if facts.lines < _LEAST_LINES or facts.fitting is None or facts.fitting >= _LEAST_FITTING:
        return None
    name, share = next(iter(facts.shares.items()))
    advice = "check languages, and the file or column that the corpus names for this side"
    if other is not None and name == other.language and facts.language == next(iter(other.shares), None):
        advice = "the sides seem to be swapped: exchange them in the config, or set swap"
    return f"{share:.0%} of the first {side} lines look like {name}, not {facts.language}; {advice}"


def _name(spoken: tuple[str, str | None] | None, label: str) -> str:
    return label.removeprefix("__label__") if spoken is None else spoken[0]
