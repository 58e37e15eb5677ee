"""Readable twins of the native functions of nmt_prep.cleaning.health."""

from __future__ import annotations

from tests.reference.line_ends import hash_bytes

_SPACES = b" \t\n\v\f\r"


def line_hash(line: bytes) -> int:
    """Returns the hash of a line without the white space at its ends."""
    return hash_bytes(line.strip(_SPACES))


class FrequentHashes:
    """Counters of Misra and Gries that are purged when there are twice as many as are kept."""

    def __init__(self, kept: int) -> None:
        self.kept = kept
        self.counts: dict[int, int] = {}
        self.error = 0

    def add(self, hashed: int) -> None:
        if hashed not in self.counts and len(self.counts) == 2 * self.kept:
            least = sorted(self.counts.values(), reverse=True)[self.kept - 1]
            self.error += least
            self.counts = {each: count - least for each, count in self.counts.items() if count > least}
        self.counts[hashed] = self.counts.get(hashed, 0) + 1

    def above(self, least: int) -> tuple[list[int], list[int], int]:
        found = sorted((hashed, count) for hashed, count in self.counts.items() if count + self.error > least)
        return [hashed for hashed, _ in found], [count for _, count in found], self.error
