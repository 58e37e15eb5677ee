"""The classifier: features of pairs, and the trees that judge them; its file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import ADEQUACY_FEATURES, NumberedPairs, Trees, adequacy_features, count_adequacy_words

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import AlignmentModelError
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.adequacy.defects import Integers, MarkedPairs
from nmt_prep.cleaning.align.model import SCORE_OPTIONS, TREE_DTYPES, Model
from nmt_prep.cleaning.align.model_files import damaged, shared
from nmt_prep.cleaning.align.word_vocabulary import words_of
from nmt_prep.cleaning.dedup.records import keys_of_pairs

Floats: TypeAlias = "npt.NDArray[np.float64]"
Gaps: TypeAlias = "npt.NDArray[np.int32]"
Places: TypeAlias = "npt.NDArray[np.int32]"

_SIDE = (
    ("value", 1),
    ("informative value", 1),
    ("deficit", 1),
    ("informative deficit", 1),
    ("surprise", -1),
    ("unlinked information", -1),
    ("worst word", 1),
    ("unlinked run", -1),
    ("unlinked run, share", -1),
    ("gap", -1),
    ("gap, share", -1),
    ("head", 1),
    ("tail", 1),
    ("very low words", -1),
    ("spread", 0),
)
FEATURES = (
    *((f"{name}, {side}", direction) for side in SIDES for name, direction in _SIDE),
    ("links of the shorter side", 1),
    ("links of the longer side", 1),
    ("crossings", -1),
    ("steps", 1),
    ("distance from the diagonal", -1),
    ("score", 1),
    ("wider gap", -1),
    ("worst word of both", 1),
    ("lower deficit", 1),
    ("longer run", -1),
    *((f"{side} words", 0) for side in SIDES),
    *((f"{side} too long, {unit}", -1) for unit in ("words", "characters") for side in SIDES),
    *((f"numbers on the {side} side alone", -1) for side in SIDES),
    ("numbers on both sides", 0),
    ("ends differ", -1),
    ("question marks", -1),
    ("exclamation marks", -1),
    ("commas", 0),
    ("quotes", -1),
    ("brackets", -1),
    ("colons", -1),
    *((f"sentences on the {side} side alone", -1) for side in SIDES),
)
"""The features and their directions: 1 if a pair is never worse for a higher value, -1 if it is never better, 0 if it
may be both. A classifier with these directions does not learn a corpus's defects as marks of good pairs."""

_NAMES = [name for name, _ in FEATURES]
SCORE = _NAMES.index("score")
VALUES, _GAPS = ([_NAMES.index(f"{name}, {side}") for side in SIDES] for name in ("value", "gap"))

CLASSES = (6, 11, 21)  # Minimum word counts of the length classes, from the second class on

DIRECTIONS = tuple(direction for _, direction in FEATURES)


@dataclass(frozen=True)
class Reference:
    """The usual values and lengths of a corpus."""

    # for each side, per word the sum of values, the sum of links, and the count: int64, shape `[3, words]`
    sums: tuple[Integers, Integers]
    ratios: tuple[float, float]  # median ratio of source to target length, in words and in characters

    @classmethod
    def of(cls, pairs: MarkedPairs, sums: tuple[Integers, Integers]) -> Reference:
        """Returns the usual values and lengths of some pairs, given the sums of :func:`count_words`."""
        sizes = [(words.sizes, _characters(words.marks, words.offsets)) for words in (pairs.source, pairs.target)]
        words, characters = (_middle((a + 1) / (b + 1)) for a, b in zip(*sizes, strict=True))
        return cls(sums, (words, characters))


def no_words(model: Model) -> tuple[Integers, Integers]:
    """Returns a text's sums without words, for :func:`count_words`."""
    source, target = (np.zeros((3, len(vocabulary)), np.int64) for vocabulary in model.vocabularies)
    return source, target


def count_words(
    model: Model, pairs: NumberedPairs, copies: Integers, sums: tuple[Integers, Integers], threads: int = 1
) -> None:
    """Adds the words in pairs to a text's sums, each pair as often as the model counted it (``copies``)."""
    count_adequacy_words(model.aligner, pairs, copies, model.links, SCORE_OPTIONS, *sums, threads)


def _characters(marks: npt.NDArray[np.uint32], offsets: Integers) -> Integers:
    sums = np.concatenate([[0], np.cumsum((marks >> np.uint32(4) & np.uint32(255)).astype(np.int64))])
    return np.asarray(sums[offsets[1:]] - sums[offsets[:-1]], np.int64)


def _middle(values: Floats) -> float:
    return float(np.sort(values)[len(values) // 2]) if len(values) else 1.0


def features(
    model: Model,
    reference: Reference,
    judged: MarkedPairs,
    copies: Integers,
    threads: int = 1,
    *,
    sample: MarkedPairs | None = None,
    origins: Places | None = None,
) -> tuple[Floats, Gaps]:
    """Returns the features of pairs, float64, shape ``[pairs, features]``; and their gaps, see :class:`Judged`.

    Args:
        copies: how often the model counted each pair of the sample: int64.
        sample: pairs from which the scored pairs are made, or None if they are the scored pairs themselves.
        origins: for each judged pair the pairs of the sample that it is made of: int32, shape ``[pairs, 2]``; -1 for
            none.
    """
    # Leave-one-out: a judged pair's features are computed without the counts that its original pairs added to the model
    # and to the reference. A defective pair keeps most links of its original, so with these counts the model would
    # know its words by heart, and the trees would learn to tell known pairs from new ones.
    numbered = judged.numbered()
    return adequacy_features(
        model.aligner,
        numbered,
        judged.source.marks,
        judged.target.marks,
        numbered if sample is None else sample.numbered(),
        copies,
        None if origins is None else np.ascontiguousarray(origins),
        model.links,
        SCORE_OPTIONS,
        *reference.sums,
        *reference.ratios,
        threads,
    )


def halves_of(source: TextColumn, target: TextColumn) -> Integers:
    """Returns the half, 0 or 1, that each pair belongs to by its normalized text: int64, shape ``[pairs]``."""
    # By text, not by row: duplicates are in the same half, and a run finds the half again without storing it.
    return (keys_of_pairs(source, target, "normalized")[:, 0] & np.uint64(1)).astype(np.int64)


def length_classes(pairs: MarkedPairs) -> Integers:
    """Returns the class for the word count of each pair's longer side; see :data:`CLASSES`: int64."""
    return np.searchsorted(CLASSES, np.maximum(pairs.source.sizes, pairs.target.sizes), side="right")


@dataclass(frozen=True)
class Forest:
    """Trees as arrays: feature, bound, children and value of each node, and the roots."""

    arrays: tuple[npt.NDArray[Any], ...] = field(repr=False)

    @cached_property
    def trees(self) -> Trees:
        """The trees, checked."""
        feature, bound, child, value, roots = self.arrays
        return Trees(feature, bound, child, value, roots, ADEQUACY_FEATURES)


@dataclass(frozen=True)
class Judged:
    """A classifier's judgments on pairs."""

    # 0 is the value that 1 % of the good pairs of this length fall below; higher is better; NaN for pairs with a side
    # without words: float64, shape `[pairs]`
    values: Floats
    # for each pair the first word of the source's gap, the word after its last, and the same of the target: int32,
    # shape `[pairs, 4]`. A gap is the run of words that the other side translates least; both are 0 if there is none.
    gaps: Gaps
    wider: Integers  # the side with the wider gap, 0 for the source and 1 for the target: int64, shape `[pairs]`

    def unanswered(self, source: TextColumn, target: TextColumn, *, pretokenized: bool) -> Gaps:
        """Returns where in each pair the words are that the other side translates least.

        Returns:
            The side, 0 or 1, or -1 if every word is translated; the first byte of the words in the line; and the byte
            after the last: int32, shape ``[pairs, 3]``.
        """
        places = np.full((len(self.gaps), 3), -1, np.int32)
        for side, lines in enumerate((source, target)):
            words = words_of(lines, pretokenized=pretokenized)
            begins, ends = self.gaps[:, 2 * side], self.gaps[:, 2 * side + 1]
            rows = np.flatnonzero((self.wider == side) & (ends > begins))
            firsts, lasts = (words.offsets[rows] + numbers[rows] for numbers in (begins, ends - 1))
            places[rows] = np.stack([np.full(len(rows), side), words.begins[firsts], words.ends[lasts]], axis=1)
        return places


@dataclass(frozen=True)
class Classifier:
    """Judges pairs."""

    model: Model
    reference: Reference  # of the corpus that the classifier learned from
    forests: tuple[Forest, Forest]  # trees learned from either half of that corpus
    lowest: tuple[float, ...]  # for each length class the log-odds whose value is 0

    def judge(self, source: TextColumn, target: TextColumn, copies: Integers | int = 0, threads: int = 1) -> Judged:
        """Judges pairs, each by the trees learned from the half to which it does not belong."""
        pairs = MarkedPairs.of(self.model, source, target, threads)
        if isinstance(copies, int):
            copies = np.full(len(pairs), copies, np.int64)
        rows, gaps = features(self.model, self.reference, pairs, copies, threads)
        values = self.values(rows, pairs, halves_of(source, target), threads)
        judged = (pairs.source.sizes > 0) & (pairs.target.sizes > 0)
        return Judged(np.where(judged, values, np.nan), gaps, rows[:, _GAPS].argmax(axis=1))

    def values(self, rows: Floats, pairs: MarkedPairs, halves: Integers, threads: int = 1) -> Floats:
        """Returns the values of pairs, given their features and halves: float64, shape ``[pairs]``."""
        # Short pairs have lower log-odds than long ones, for want of evidence. The lowest log-odds of each length class
        # become 0, so that one threshold fits pairs of all lengths.
        values = -np.array(self.lowest)[length_classes(pairs)]
        for half, forest in enumerate(reversed(self.forests)):
            values[halves == half] += forest.trees.predict(rows[halves == half], threads)
        return values


_MOST = 1 << 60  # Maximum sum of a word that a file may have; sums of sums stay below 2^63


# Classifiers in files. A classifier is in the file of its word alignment model, which commands write and read.


def save(classifier: Classifier, path: Path) -> None:
    """Writes a classifier with its model to a file. The same classifier gives the same bytes."""
    reference = classifier.reference
    arrays = {f"{side}.sums": sums.reshape(-1) for side, sums in zip(SIDES, reference.sums, strict=True)}
    for number, forest in enumerate(classifier.forests):
        arrays |= {f"{number}.{name}": array for name, array in zip(TREE_DTYPES, forest.arrays, strict=True)}
    facts = {"features": len(FEATURES), "ratios": list(reference.ratios), "lowest": list(classifier.lowest)}
    classifier.model.save(path, (facts, arrays))


def load(path: Path) -> Classifier:
    """Reads a classifier."""
    model, stored = Model.load_with_classifier(path)
    if stored is None:
        raise AlignmentModelError(
            f"{path} has no classifier for incomplete translations; create it with nmt-prep align "
            "--adequacy FILE --save"
        )
    try:
        return _restored(model, *stored)
    except KeyError as error:
        raise damaged(path, f"it lacks {error}") from error
    except ValueError as error:
        raise damaged(path, error) from error


shared_classifier = shared(load)  # Returns the classifier in a file; see `shared`


def _restored(model: Model, facts: object, arrays: Mapping[str, npt.NDArray[Any]]) -> Classifier:
    """Returns a classifier; checks everything that its use relies on."""
    match facts:
        case {"features": int(size), "ratios": [float(words), float(characters)], "lowest": [*lowest], **others} if (
            not others and size == len(FEATURES) and len(lowest) == len(CLASSES) + 1
        ):
            pass
        case _:
            raise ValueError(f"the settings of its classifier are {facts!r}")
    if not all(isinstance(value, float) and math.isfinite(value) for value in (words, characters, *lowest)):
        raise ValueError("the settings of its classifier are not numbers")
    if not 1e-6 < words < 1e6 or not 1e-6 < characters < 1e6:
        raise ValueError("the lengths of its sides differ too much")
    source, target = (
        _sums(arrays[f"{side}.sums"], len(vocabulary))
        for side, vocabulary in zip(SIDES, model.vocabularies, strict=True)
    )
    first, second = (
        Forest(tuple(np.ascontiguousarray(arrays[f"{number}.{name}"]) for name in TREE_DTYPES)) for number in (0, 1)
    )
    _ = first.trees, second.trees  # checks the arrays
    return Classifier(model, Reference((source, target), (words, characters)), (first, second), tuple(lowest))


def _sums(flat: npt.NDArray[np.int64], words: int) -> npt.NDArray[np.int64]:
    if len(flat) != 3 * words:
        raise ValueError("there must be three sums for each word")
    sums = np.array(flat).reshape(3, words)
    _, links, counts = sums
    if np.abs(sums.astype(np.float64)).sum() > _MOST or links.min() < 0 or (links > counts).any():
        raise ValueError("the sums of its words are negative or too large")
    return sums
