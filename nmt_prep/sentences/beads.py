"""Beads as text: vecalign's format and hunalign's ladder; and how well they agree with gold beads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from nmt_prep.errors import CorpusError
from nmt_prep.lines.blocks import read_bytes
from nmt_prep.sentences.document import Beads

Listed: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""The numbers of the sentences of both sides of a bead, from 0."""

_NUMBER = re.compile(r"[0-9]+")
_LINE = re.compile(r"\[([0-9, ]*)\]:\[([0-9, ]*)\](:.*)?")


@dataclass(frozen=True)
class Agreement:
    """How well beads agree with gold beads, as vecalign counts it.

    Strict: a bead is right if it is a gold bead. Lax: it is right if it overlaps a gold bead on both sides. Beads with
    an empty side count for precision, and not for recall.
    """

    precision: float
    recall: float
    lax_precision: float
    lax_recall: float

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return _mean(self.precision, self.recall)

    @property
    def lax_f1(self) -> float:
        """Harmonic mean of lax precision and recall."""
        return _mean(self.lax_precision, self.lax_recall)


def listed(beads: Beads) -> list[Listed]:
    """Returns beads as lists of sentence numbers."""
    return [(tuple(range(a, b)), tuple(range(c, d))) for a, b, c, d in beads.tolist()]


def bead_lines(beads: Beads) -> list[str]:
    """Returns beads in vecalign's format, such as ``[0, 1]:[0]``."""
    return [f"{list(source)}:{list(target)}" for source, target in listed(beads)]


def ladder_lines(beads: Beads) -> list[str]:
    """Returns the rungs of beads in hunalign's format: numbers of sentences before each bead, and of all, with tabs."""
    return [f"{source}\t{target}" for source, target in [(0, 0), *beads[:, [1, 3]].tolist()]]


def read_gold(path: Path, sizes: tuple[int, int]) -> list[Listed]:
    """Reads gold beads in vecalign's format.

    Args:
        path: the file.
        sizes: numbers of sentences of both sides.

    Raises:
        CorpusError: the file cannot be read, a line is not a bead, or a sentence does not exist.
    """
    gold = []
    for at, line in enumerate(read_bytes(path).decode("utf-8", "replace").split("\n"), 1):
        if not line.strip():
            continue
        matched = _LINE.fullmatch(line.strip())
        if matched is None:
            raise CorpusError(f"{path}: line {at} is not a bead such as [0, 1]:[0]: {line[:80]!r}")
        source, target = (tuple(map(int, _NUMBER.findall(side))) for side in matched.group(1, 2))
        for name, side, size in zip(("source", "target"), (source, target), sizes, strict=True):
            if side and max(side) >= size:
                raise CorpusError(
                    f"{path}: line {at} names {name} sentence {max(side)}, but there are {size}, counted from 0; "
                    "these beads belong to other files"
                )
        gold.append((source, target))
    return gold


def agreement(beads: Sequence[Listed], gold: Sequence[Listed]) -> Agreement:
    """Compares beads with gold beads."""
    precision, lax_precision = _shares(beads, gold)
    recall, lax_recall = _shares([bead for bead in gold if all(bead)], beads)
    return Agreement(precision, recall, lax_precision, lax_recall)


def _shares(beads: Sequence[Listed], others: Sequence[Listed]) -> tuple[float, float]:
    """Returns the shares of beads that are among others, and that overlap one of them on both sides."""
    known = set(others)
    of_source: dict[int, set[int]] = {}
    for number, (source, _) in enumerate(others):
        for sentence in source:
            of_source.setdefault(sentence, set()).add(number)
    strict = lax = 0
    for bead in beads:
        source, target = bead
        near = {number for sentence in source for number in of_source.get(sentence, ())}
        strict += bead in known
        lax += bead in known or any(set(target) & set(others[number][1]) for number in near)
    return strict / max(len(beads), 1), lax / max(len(beads), 1)


def _mean(first: float, second: float) -> float:
    return 0.0 if first + second == 0 else 2 * first * second / (first + second)
