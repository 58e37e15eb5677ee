"""Counts signs of faults in a corpus's pairs, batch by batch.

Memory does not depend on the pair count. Frequent lines and equal sides are counted in all pairs, scripts and
lengths in a sample: the first :data:`SAMPLED` of every :data:`SAMPLED_OF` pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import FrequentHashes, Lines, line_hashes, line_lengths, script_weights

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.sides import Side
from nmt_prep.cleaning.languages.tags import chinese_script, chinese_shares, script_number, scripts_of_language
from nmt_prep.cleaning.lengths import expansion
from nmt_prep.cleaning.rejects import merged
from nmt_prep.config import Languages

Hashes: TypeAlias = "npt.NDArray[np.uint64]"

FREQUENT_SHARE = 100  # A line is frequent if it makes up more than 1/100 of a side

SAMPLED = 4096
SAMPLED_OF = 65_536

LEAST_LENGTH = 20
"""Pairs with both sides shorter than this are not compared, because short texts coincide or differ by chance.

The unit is an English character for side lengths, and a byte for pairs that are in two splits.
"""

_LARGEST_RATIO = 3.0
_LEAST_LETTERS = 5
_COUNTERS = 512

_MORE_LANGUAGES = {
    "Latin": "az be ber bs cnr crh ff ha hbs iu kab kk kok ku ky lad mn ms sh shi sr tg tk tt ug uz wo yi zgh",
    "Cyrillic": "az bs cnr crh hbs kk ku mo ro sh sr tk tt ug uz",
    "Arabic": "az ber ha kab kk ks ku ky ms pa sd shi tg tk uz wo zgh",
    "Devanagari": "kok ks pi sa sat sd",
    "Gurmukhi": "pa",
    "Bengali": "mni sat",
    "Meetei Mayek": "mni",
    "Mongolian": "mn",
    "Tifinagh": "ber kab shi zgh",
    "Canadian Aboriginal": "cr iu",
    "Adlam": "ff",
    "Hebrew": "lad",
}
"""Languages that are also written in a script that their tags do not imply, by script."""


@dataclass(frozen=True)
class SideFacts:
    """Counts for the lines on one side."""

    lines: int = 0
    # upper limit for a line's count, by its hash; for all frequent lines and perhaps others
    frequent: dict[int, int] = field(default_factory=dict)
    examined: int = 0  # number of lines in the sample
    # number of lines in the sample mostly in a script of another language, without lines that equal the other side
    other_script: int = 0
    characters: int = 0  # number of code points in the sample
    other_chinese: int = 0  # number of lines in the sample mostly in the other script of Chinese

    def __add__(self, other: SideFacts) -> SideFacts:
        lines = self.lines + other.lines
        most = {
            hashed: self._most(hashed) + other._most(hashed) for hashed in self.frequent.keys() | other.frequent.keys()
        }
        frequent = {hashed: count for hashed, count in sorted(most.items()) if count > lines // FREQUENT_SHARE}
        return SideFacts(**{**merged(vars(self), vars(other)), "frequent": frequent})

    def _most(self, hashed: int) -> int:
        """Returns an upper limit for a line's count."""
        return self.frequent.get(hashed, self.lines // FREQUENT_SHARE)


@dataclass(frozen=True)
class PairFacts:
    """Counts for the pairs in a corpus, or in a slice of a corpus. Counts of slices add up in any order."""

    pairs: int = 0
    equal: int = 0  # number of pairs with the same text on both sides
    compared: int = 0  # number of pairs in the sample that are long enough to compare the lengths of their sides
    # number of compared pairs with one side more than three times as long as the other, in characters and relative to
    # the usual ratio of the languages
    uneven: int = 0
    sides: dict[Side, SideFacts] = field(default_factory=dict)  # the counts of the lines, by side

    def __add__(self, other: PairFacts) -> PairFacts:
        return PairFacts(**merged(vars(self), vars(other)))


class PairObserver:
    """Counts the :class:`PairFacts` in batches of pairs."""

    def __init__(self, languages: Languages, sides: tuple[Side, ...]) -> None:
        self._scripts: dict[Side, list[int]] = {side: scripts_in_use(getattr(languages, side)) for side in sides}
        self._chinese: dict[Side, str | None] = {side: chinese_script(getattr(languages, side)) for side in sides}
        self._factors: dict[Side, float] = {side: expansion(getattr(languages, side), "char") for side in sides}
        self._frequent: dict[Side, FrequentHashes] = {side: FrequentHashes(_COUNTERS) for side in sides}
        self._facts = PairFacts(sides={side: SideFacts() for side in sides})

    def add(self, text: Mapping[Side, pa.Array], *, keys: bool = True) -> Hashes | None:
        """Counts a batch of pairs: Arrow ``string`` or ``large_string`` arrays without nulls.

        Returns:
            The keys of the pairs with a side of :data:`LEAST_LENGTH` bytes or more; None without ``keys``, or if only
            one side is counted.
        """
        columns = {side: TextColumn.from_arrow(text[side]) for side in self._frequent}
        hashes = {side: line_hashes(column.data, column.offsets) for side, column in columns.items()}
        for side, hashed in hashes.items():
            self._frequent[side].add(hashed)
        pairs = len(next(iter(hashes.values())))
        both = list(hashes.values()) if len(hashes) == 2 else None
        equal = np.zeros(pairs, np.bool_) if both is None else both[0] == both[1]
        for begin, end in _sampled_ranges(self._facts.pairs, pairs):
            self._look_at({side: text[side][begin:end] for side in columns}, equal[begin:end])
        sides = {side: SideFacts(pairs) for side in columns}
        self._facts += PairFacts(pairs, int(np.count_nonzero(equal)), sides=sides)
        if both is None or not keys:
            return None
        sizes = [np.diff(column.offsets) for column in columns.values()]
        long = (sizes[0] >= LEAST_LENGTH) | (sizes[1] >= LEAST_LENGTH)
        return _pair_keys(both[0][long], both[1][long])

    def result(self) -> PairFacts:
        """Returns the counts of all batches."""
        sides = {}
        for side, facts in self._facts.sides.items():
            hashes, counts, error = self._frequent[side].above(facts.lines // FREQUENT_SHARE)
            sides[side] = replace(facts, frequent=dict(zip(hashes.tolist(), (counts + error).tolist(), strict=True)))
        return replace(self._facts, sides=sides)

    def _look_at(self, text: Mapping[Side, pa.Array], equal: npt.NDArray[np.bool_]) -> None:
        """Counts the sampled pairs of a batch; ``equal`` is true for pairs with the same text on both sides."""
        lengths, sides = {}, {}
        for side, scripts in self._scripts.items():
            column = TextColumn.from_arrow(text[side])
            lines = Lines(column.data, column.offsets)
            lengths[side] = line_lengths(lines, "char")
            letters, shares = script_weights(lines, scripts)
            other = (letters >= _LEAST_LETTERS) & (shares < 0.5) & ~equal
            sides[side] = SideFacts(
                examined=len(column),
                other_script=int(np.count_nonzero(other)) if scripts else 0,
                characters=int(lengths[side].sum()),
                other_chinese=int(np.count_nonzero(chinese_shares(lines, self._chinese[side]) < 0.5)),
            )
        compared = uneven = 0
        if len(lengths) == 2:
            first, second = (lengths[side] / self._factors[side] for side in lengths)
            longer, shorter = np.maximum(first, second), np.minimum(first, second)
            long = longer >= LEAST_LENGTH
            compared = int(np.count_nonzero(long))
            uneven = int(np.count_nonzero(long & (longer > _LARGEST_RATIO * shorter)))
        self._facts += PairFacts(compared=compared, uneven=uneven, sides=sides)


def _sampled_ranges(first: int, pairs: int) -> Iterator[tuple[int, int]]:
    """Yields begin and end of the sampled ranges in a batch; ``first`` is the row of the batch's first pair."""
    for block in range(first - first % SAMPLED_OF, first + pairs, SAMPLED_OF):
        begin, end = max(block - first, 0), min(block + SAMPLED - first, pairs)
        if begin < end:
            yield begin, end


def _pair_keys(source: Hashes, target: Hashes) -> Hashes:
    """Returns each pair's hash, given its sides' hashes; exchanged sides give another hash."""
    keys: Hashes = (source * np.uint64(0x9E3779B97F4A7C15)) ^ (target >> np.uint64(32)) ^ (target << np.uint64(32))
    return keys


def scripts_in_use(tag: str) -> list[int]:
    """Returns the numbers for a language's scripts, or no numbers if they are unknown.

    A script in the tag excludes all others: ``sr`` is Cyrillic or Latin, ``sr-Latn`` is Latin.
    """
    import langcodes  # noqa: PLC0415  (langcodes takes 0.1 s to load)

    try:
        language = langcodes.Language.get(tag)
        scripts = scripts_of_language(tag)
    except ValueError:
        return []
    likely = language.maximize()
    if language.script is None and likely.language != "en" and (likely.script, likely.territory) == ("Latn", "US"):
        return []  # CLDR does not know the language, and gives American English instead
    if language.script is not None:
        return scripts
    return [
        *scripts,
        *(script_number(name) for name, tags in _MORE_LANGUAGES.items() if language.language in tags.split()),
    ]
