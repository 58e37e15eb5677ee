"""Readable twin of deduplication: keys of lines, and in-memory rounds over lists of pairs."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

_MASK = (1 << 64) - 1

OLD_CHARACTERS = st.characters(exclude_categories=["Cs", "Cn"]).filter(
    lambda character: unicodedata.ucd_3_2_0.category(character) != "Cn"
)
"""Characters of Unicode 3.2: the running Python and the core treat them alike, whatever version each has."""


def normalized(line: str) -> str:
    """Returns the letters, marks and numbers of a line after decomposition and folding, with 0 for each digit."""
    decomposed = unicodedata.normalize("NFKD", line)
    folded = "".join(each if each == "\u0345" else each.casefold() for each in decomposed)
    text = (each for each in unicodedata.normalize("NFKD", folded) if unicodedata.category(each)[0] in "LMN")
    return unicodedata.normalize("NFKD", "".join("0" if unicodedata.category(each) == "Nd" else each for each in text))


def compared_text(line: str, *, normalize: bool) -> str:
    """Returns the text of a line that is compared; for a line with nothing but digits left, the line itself."""
    text = normalized(line) if normalize else line
    return text if text.strip("0") else line


def line_key(line: str, *, normalize: bool) -> tuple[int, int]:
    """Returns the key of a line."""
    return murmur3(compared_text(line, normalize=normalize).encode())


def pair_key(source: str, target: str, *, normalize: bool) -> tuple[int, int]:
    """Returns the key of a pair."""
    halves = (*line_key(source, normalize=normalize), *line_key(target, normalize=normalize))
    return murmur3(b"".join(half.to_bytes(8, "little") for half in halves))


def murmur3(data: bytes) -> tuple[int, int]:
    """Returns MurmurHash3_x64_128 with seed 0, by Austin Appleby, who placed it in the public domain."""
    first = second = 0
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        first = (_rotated(first ^ _spread_first(data[at : at + 8]), 27) + second) & _MASK
        first = (first * 5 + 0x52DCE729) & _MASK
        second = (_rotated(second ^ _spread_second(data[at + 8 : at + 16]), 31) + first) & _MASK
        second = (second * 5 + 0x38495AB5) & _MASK
    first ^= _spread_first(data[whole : whole + 8]) ^ len(data)
    second ^= _spread_second(data[whole + 8 :]) ^ len(data)
    first = (first + second) & _MASK
    second = (second + first) & _MASK
    first, second = _finished(first), _finished(second)
    first = (first + second) & _MASK
    return first, (second + first) & _MASK


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _MASK


def _spread_first(data: bytes) -> int:
    return _rotated(int.from_bytes(data, "little") * 0x87C37B91114253D5 & _MASK, 31) * 0x4CF5AD432745937F & _MASK


def _spread_second(data: bytes) -> int:
    return _rotated(int.from_bytes(data, "little") * 0x4CF5AD432745937F & _MASK, 33) * 0x87C37B91114253D5 & _MASK


def _finished(word: int) -> int:
    word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD & _MASK
    word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return word ^ word >> 33


@dataclass(frozen=True)
class Row:
    """A pair of a corpus, with its score."""

    corpus: str
    row: int
    source: str
    target: str
    score: float | None


Dropped = list[tuple[Row, str, Row]]
"""Rows, the reasons for which they are dropped, and the best rows with the same keys."""


def deduplicated(
    rows: Sequence[Row], pair: str, targets: int | None, sources: int | None, *, by_score: bool
) -> tuple[list[Row], Dropped]:
    """Returns the rows that stay, in order, and those that are dropped. The rows are in the order of the corpora."""
    normalize = pair == "normalized"
    kept = list(rows)
    dropped: Dropped = []

    def text(line: str) -> str:
        return compared_text(line, normalize=normalize)

    steps: list[tuple[str, int | None, Callable[[Row], Hashable]]] = [
        ("duplicate_pair", None if pair == "off" else 1, lambda row: (text(row.source), text(row.target))),
        ("too_many_targets", targets, lambda row: text(row.source)),
        ("too_many_sources", sources, lambda row: text(row.target)),
    ]
    for reason, limit, key in steps:
        if limit is None:
            continue
        groups: dict[Hashable, list[Row]] = {}
        for row in sorted(kept, key=_rank) if by_score else kept:
            groups.setdefault(key(row), []).append(row)
        lost = {row: group[0] for group in groups.values() for row in group[limit:]}
        dropped += [(row, reason, best) for row, best in lost.items()]
        kept = [row for row in kept if row not in lost]
    return kept, dropped


def _rank(row: Row) -> float:
    return math.inf if row.score is None else -row.score
