"""Measures what the classifier of incomplete translations finds in texts of good pairs, into which defects are put.

    python -m benchmarks.adequacy TEXT.tsv en-zh.tsv.gz de.mo … [--most 6000] [--incomplete 0.03 0.1]

A text has two columns, or is a directory or file of gettext catalogues. Every other line is joined to the next, so that
half of the lines are two sentences. The first table has the share of pairs with each defect whose values are below
those of 99 % of the good pairs, by the classifier and by the score of word alignment. The last word or mark of a line
stays. A defective pair is judged without the counts of the pairs that it is made of. For the second table, a share of
the pairs of the text itself gets a defect, and the threshold ``auto`` is applied.

The columns of the first table are: one sentence of two translated, a sentence too many, 40 % of the words left out,
misaligned, good pairs lost; the lower rows have the pairs whose longer side has so many words. Those of the second are:
share of incomplete pairs, found, complete pairs lost, found where 1 % is lost.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.catalogues import catalogue_pairs
from benchmarks.clean_quality import pairs_of
from nmt_prep.base.columns import TextColumn
from nmt_prep.base.runtime import available_cores
from nmt_prep.cleaning.adequacy import classifier_training as learning
from nmt_prep.cleaning.adequacy.classifier import SCORE, Classifier, Floats, features, halves_of, length_classes
from nmt_prep.cleaning.adequacy.defects import MarkedPairs, Words
from nmt_prep.cleaning.align.learning import count, merge, updated
from nmt_prep.cleaning.align.model import Model
from nmt_prep.cleaning.align.settings import Settings
from nmt_prep.cleaning.corpus_rules.adequacy import incomplete_threshold
from nmt_prep.cleaning.repaired import EDGES, bins_of

LOST = 0.01

Integers: TypeAlias = "npt.NDArray[np.int64]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path, nargs="+")
    parser.add_argument("--most", type=int, default=6000, help="most pairs of a text")
    parser.add_argument("--incomplete", type=float, nargs="*", default=[0.03, 0.1], help="shares of incomplete pairs")
    arguments = parser.parse_args()
    learning.LEAST_PAIRS = 500
    for path in arguments.texts:
        pairs = [*dict(_pairs(path)).items()][: arguments.most]
        rows = [pairs[at : at + 1 + at % 3] for at in range(len(pairs) - 1) if at % 3 < 2]  # one pair, two, one, two
        for name, number, shares in defects_found(rows):
            print(f"| {path.name}, {name} | {number:,} | {' | '.join(f'{100 * share:.1f} %' for share in shares)} |")
        for share in (0.0, *arguments.incomplete):
            cells = " | ".join("" if value is None else f"{100 * value:.2f} %" for value in automatic(rows, share))
            print(f"| {path.name}, auto | {len(rows):,} | {share:.0%} | {cells} |", flush=True)


def _pairs(path: Path) -> Iterator[tuple[str, str]]:
    """Yields the pairs of a text without empty sides."""
    catalogues = sorted(path.glob("*.mo")) if path.is_dir() else [path]
    found = catalogue_pairs(catalogues) if catalogues[0].suffix == ".mo" else pairs_of(path)
    yield from (pair for pair in found if pair[0].strip() and pair[1].strip())


class Text:
    """A text with a classifier that learned from it."""

    def __init__(self, source: Sequence[str], target: Sequence[str]) -> None:
        self.threads = available_cores()
        self.columns = TextColumn.from_strings(source), TextColumn.from_strings(target)
        model = Model.start(Settings(jumps=False))
        while not model.finished:
            model = updated(model, merge([count(model, *self.columns, self.threads)]), self.threads)
        self.copies = np.ones(len(source), np.int64)
        self.halves = halves_of(*self.columns)
        self.classifier: Classifier = learning.learn(model, *self.columns, self.copies, threads=self.threads)[0]
        self.pairs = MarkedPairs.of(model, *self.columns, self.threads)

    def judged(self, made: MarkedPairs, origins: npt.NDArray[np.int32]) -> tuple[Floats, Floats]:
        """Returns values and scores of pairs that are made of pairs of the text."""
        classifier = self.classifier
        rows, _ = features(
            classifier.model,
            classifier.reference,
            made,
            self.copies,
            self.threads,
            sample=self.pairs,
            origins=origins,
        )
        return classifier.values(rows, made, self.halves[origins[:, 0]], self.threads), rows[:, SCORE]


def defects_found(rows: Sequence[Sequence[tuple[str, str]]]) -> Iterator[tuple[str, int, list[float]]]:
    """Yields the shares of each defect that the values and the scores find, and the shares of pairs by length.

    The last share is the share of good pairs that are lost.
    """
    text = Text(*(joined(rows, side) for side in (0, 1)))
    classifier, pairs = text.classifier, text.pairs
    first_source, first_target = (TextColumn.from_strings([row[0][side] for row in rows]) for side in (0, 1))
    firsts = MarkedPairs.of(classifier.model, first_source, first_target)
    numbers = np.arange(len(rows))
    next_ones = (numbers + 1) % len(rows)
    alone = np.stack([numbers, np.full(len(rows), -1)], axis=1).astype(np.int32)
    both = np.stack([numbers, next_ones], axis=1).astype(np.int32)
    double = np.array([len(row) == 2 for row in rows])
    long_source, long_target = (
        _either(double, words, _after(words, numbers, next_ones)) for words in (pairs.source, pairs.target)
    )
    short_source = _either(double, _first_of(pairs.source, firsts.source), pairs.source)
    short_target = _either(double, _first_of(pairs.target, firsts.target), pairs.target)
    origins = np.where(double[:, None], alone, both)
    made = [
        (MarkedPairs(long_source, short_target), origins),
        (MarkedPairs(short_source, long_target), origins),
        (MarkedPairs(pairs.source, _gapped(pairs.target)), alone),
        (
            MarkedPairs(pairs.source, pairs.target.take(np.roll(numbers, 7))),
            np.stack([numbers, np.roll(numbers, 7)], 1),
        ),
    ]
    good = text.judged(pairs, alone)
    limits = [float(np.sort(values)[int(LOST * len(values))]) for values in good]
    judged = [text.judged(pair, where.astype(np.int32)) for pair, where in made]
    below = [
        [values[kind] < limits[kind] for values in (*judged, good)]
        for kind in (0, 1)  # values and scores
    ]
    for name, kind in (("by value", 0), ("by the score", 1)):
        yield name, len(rows), [float(some.mean()) for some in below[kind]]
    lengths = length_classes(pairs)
    for number, name in enumerate(("up to 5 words", "6 to 10", "11 to 20", "21 and more")):
        if (mine := lengths == number).any():
            yield name, int(mine.sum()), [float(some[mine].mean()) for some in below[0]]


def joined(rows: Sequence[Sequence[tuple[str, str]]], side: int) -> list[str]:
    """Returns the lines of a side, of one sentence or two."""
    return [" ".join(pair[side] for pair in row) for row in rows]


def _after(words: Words, first: Integers, second: Integers) -> Words:
    lines = np.stack([first, second], axis=1)
    return words.joined(words.offsets[lines], words.offsets[lines + 1])


def _either(chosen: npt.NDArray[np.bool_], first: Words, second: Words) -> Words:
    """Returns the lines of the first where they are chosen, and lines of the second elsewhere."""
    both = Words(
        np.concatenate([first.numbers, second.numbers]),
        np.concatenate([first.marks, second.marks]),
        np.concatenate([first.offsets, second.offsets[1:] + first.offsets[-1]]),
    )
    return both.take(np.where(chosen, 0, len(chosen)) + np.arange(len(chosen)))


def _first_of(words: Words, firsts: Words) -> Words:
    """Returns the first sentence of each line, given the words of the first sentences."""
    return words.joined(words.offsets[:-1, None], (words.offsets[:-1] + firsts.sizes)[:, None])


def _gapped(words: Words) -> Words:
    """Returns lines without a run of 40 % of their words; the last word stays."""
    sizes = words.sizes - 1
    gone = np.maximum((0.4 * sizes + 0.5).astype(np.int64), 1)
    at = words.offsets[:-1] + (np.random.default_rng(1).random(len(sizes)) * np.maximum(sizes - gone, 0)).astype(
        np.int64
    )
    ends = np.minimum(at + gone, words.offsets[1:] - 1)
    return words.joined(np.stack([words.offsets[:-1], ends], 1), np.stack([at, words.offsets[1:]], 1))


def automatic(rows: Sequence[Sequence[tuple[str, str]]], share: float) -> tuple[float | None, float, float | None]:
    """Returns the shares that the threshold finds and loses, and the share found where 1 % of good pairs is lost."""
    draw = np.random.default_rng(3)
    source, target = joined(rows, 0), joined(rows, 1)
    bad = np.zeros(len(rows), np.bool_)
    bad[draw.permutation(len(rows))[: int(share * len(rows))]] = True
    for number, at in enumerate(np.flatnonzero(bad)):
        row, side = rows[int(at)], (target, source)[number % 3 % 2]
        if number % 3 == 2:
            words = target[at].split(" ") if " " in target[at] else list(target[at])
            gone = max(1, int(0.4 * (len(words) - 1)))
            begin = int(draw.integers(0, max(1, len(words) - gone)))
            target[at] = (" " if " " in target[at] else "").join(words[:begin] + words[begin + gone :])
        elif len(row) == 2:
            side[at] = row[int(draw.integers(2))][0 if side is source else 1]
        else:
            other = source if side is target else target
            other[at] += " " + rows[int(at + 7) % len(rows)][0][0 if other is source else 1]
    text = Text(source, target)
    values = text.classifier.judge(*text.columns, 1, text.threads).values
    defects = learning.defective_values(text.classifier, *text.columns, text.copies, threads=text.threads)
    judged = ~np.isnan(values)
    threshold = incomplete_threshold(EDGES, bins_of(values[judged]), [*map(bins_of, defects)]).score
    lost = float((values[judged & ~bad] < threshold).mean())
    if not bad.any():
        return None, lost, None
    limit = np.sort(values[judged & ~bad])[int(LOST * (judged & ~bad).sum())]
    return float((values[bad] < threshold).mean()), lost, float((values[bad] < limit).mean())


if __name__ == "__main__":
    main()
