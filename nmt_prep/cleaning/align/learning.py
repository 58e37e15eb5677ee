"""Trains word alignment models in rounds.

Each round counts the whole text, in any division into batches: a :class:`Counter` counts batches,
`merge` adds up counts, and :func:`updated` makes the next model from the sum. The rounds
are

- ``words``: counts the words of both sides, and their combinations within pairs;
- ``cells``: finds the pairs of words that occur together in a sample of the pairs, for the lexical table;
- ``diagonal-…``: counts expected links by a model of words and distances from the diagonal;
- ``jumps-…``: counts expected links by hidden Markov models over the jumps from link to link;
- ``evidence``: counts expected links near the diagonal, from which scores are computed.

The expected count of a link is the product of its probabilities in both directions (Liang, Taskar and Klein, "Alignment
by Agreement", 2006). Expected counts are multiples of ``1 / ALIGN_ONE``, stored as whole numbers, whose sums do not
depend on the order of the terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import (
    ALIGN_JUMPS,
    ALIGN_MOST_CELLS,
    ALIGN_MOST_WORDS,
    ALIGN_ONE,
    LexicalTable,
    NumberedPairs,
    add_cells,
    count_cells,
    count_words,
    prune_cells,
)

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.align.model import Lexicon, Model, Weights, first_jumps
from nmt_prep.cleaning.align.model_files import Arrays
from nmt_prep.cleaning.align.settings import Settings
from nmt_prep.cleaning.align.word_vocabulary import Integers, Vocabulary


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of pairs."""

    round: str  # name of the training round
    pairs: int  # number of counted pairs
    arrays: Arrays  # sums by name; see `model`


def merge(counts: Iterable[Counts], threads: int = 1) -> Counts:
    """Adds up a round's counts. Their order, and the thread count, do not matter."""
    return reduce(lambda first, second: _added(first, second, threads), counts)


def _added(first: Counts, second: Counts, threads: int) -> Counts:
    if first.round != second.round:
        raise ValueError(f"counts of the rounds {first.round} and {second.round} cannot be added")
    a, b = first.arrays, second.arrays
    if first.round == "words":
        arrays = _added_words(a, b)
    elif first.round == "cells":
        sums = add_cells(a["offsets"], a["targets"], a["counts"], b["offsets"], b["targets"], b["counts"], threads)
        arrays = dict(zip(_CELL_NAMES, sums, strict=True))
    else:
        arrays = {name: a[name] + b[name] for name in a}
    return Counts(first.round, first.pairs + second.pairs, arrays)


def _added_words(a: Arrays, b: Arrays) -> dict[str, npt.NDArray[Any]]:
    arrays = {"combinations": a["combinations"] + b["combinations"]}
    for side in SIDES:
        wholes, at = np.unique(np.concatenate([a[f"{side}.wholes"], b[f"{side}.wholes"]]), return_index=True)
        arrays[f"{side}.wholes"] = wholes
        arrays[f"{side}.stems"] = np.concatenate([a[f"{side}.stems"], b[f"{side}.stems"]])[at]
        arrays[f"{side}.counts"] = np.zeros(len(wholes), np.int64)
        for part in (a, b):
            arrays[f"{side}.counts"][np.searchsorted(wholes, part[f"{side}.wholes"])] += part[f"{side}.counts"]
    return arrays


_CellArrays: TypeAlias = "tuple[Integers, npt.NDArray[np.int32], Integers]"

_FIRST_STEEPNESS = 2.0
"""Slope by which the logarithm of a weight falls with the distance from the diagonal, in the round ``cells``."""

_COMBINATIONS_PER_CELL = 8
"""Maximum number of word combinations in the sample for the lexical table, as a multiple of the table's cell count."""

_LEAST_ASSOCIATION = 2.0**-19
"""Minimum product of a cell's shares in its row and its column. No later round would link the words of other cells,
so the table leaves them out."""

_LEAST_CELL = ALIGN_ONE // 1024  # minimum count of a cell after a diagonal round; other cells are dropped
_EQUAL_WORDS = 0.5  # Count of links that is added for equal words on both sides, such as names and numbers
_FREQUENT = 100  # minimum count of a word that is learned whole, not by its stem

_CELL_NAMES = ("offsets", "targets", "counts")


class Counter:
    """Counts batches of pairs for a model's next round, in memory that does not grow with the pair count."""

    def __init__(self, model: Model, threads: int = 1) -> None:
        if model.round is None:
            raise ValueError("the model is finished")
        self._model, self._round, self._threads = model, model.round, threads
        self._sum: Counts | None = None
        self._parts: list[tuple[int, Counts]] = []  # batches, counts; entries of equally many batches merge

    def add(self, source: TextColumn, target: TextColumn) -> None:
        """Counts a batch."""
        if self._round == "words":
            self._include(_count_words(source, target, self._model.settings, self._threads))
        else:
            self.add_numbered(self._model.numbered(source, target, self._threads))

    def add_numbered(self, pairs: NumberedPairs) -> None:
        """Counts a batch of numbered pairs, in any round but the first."""
        # Expected counts of all batches go into one array per cell of the table, in place. Cells are sparse instead:
        # their arrays grow with the text, so `_include` merges them.
        if self._round == "cells":
            self._include(_count_cells(self._model, pairs, self._threads))
            return
        if self._sum is None:
            self._sum = _nothing_expected(self._model)
        arrays = self._sum.arrays
        jumps = self._round.startswith("jumps")
        forward, backward = self._model.aligner.expect(pairs, jumps, arrays["expected"], self._threads)
        arrays["forward"][:] += forward
        arrays["backward"][:] += backward
        self._sum = replace(self._sum, pairs=self._sum.pairs + len(pairs))

    def counts(self) -> Counts:
        """Returns the counts of all batches so far."""
        if self._round not in ("words", "cells"):
            return _nothing_expected(self._model) if self._sum is None else self._sum
        if not self._parts:
            nothing = TextColumn.from_strings([])
            self.add(nothing, nothing)
        return merge((counts for _, counts in reversed(self._parts)), self._threads)

    def _include(self, counts: Counts) -> None:
        # Like a binary counter: only entries of equally many batches merge, so each batch is merged log2(n) times
        # instead of n times, and there are at most log2(n) entries at a time.
        size = 1
        while self._parts and self._parts[-1][0] == size:
            counts = merge((self._parts.pop()[1], counts), self._threads)
            size *= 2
        self._parts.append((size, counts))


def count(model: Model, source: TextColumn, target: TextColumn, threads: int = 1) -> Counts:
    """Returns one batch's counts for a model's next round; see :class:`Counter`."""
    counter = Counter(model, threads)
    counter.add(source, target)
    return counter.counts()


def updated(model: Model, counts: Counts, threads: int = 1) -> Model:
    """Returns the model after its next round."""
    if counts.round != model.round:
        raise ValueError(f"the model needs counts of the round {model.round}, not of {counts.round}")
    if model.round == "words":
        new = _with_words(model, counts.arrays)
    elif model.round == "cells":
        new = _with_cells(model, counts.arrays, threads)
    elif model.round == "evidence":
        new = replace(model, evidence=model.evidence + counts.arrays["expected"])
    else:
        new = _with_links(model, counts.arrays, threads)
    return replace(new, rounds_done=model.rounds_done + 1)


def learn(
    read: Callable[[], Iterable[tuple[TextColumn, TextColumn]]],
    settings: Settings,
    prior: Model | None = None,
    threads: int = 1,
    tick: Callable[[int], None] = lambda _: None,
) -> Model:
    """Learns a model from pairs. Their words are held in memory as numbers, not as text.

    Args:
        read: yields source and target lines of all pairs in batches; it is called twice.
        threads: thread count; it does not change the model.
        tick: is called with each batch's pair count in each round.
    """
    model = Model.start(settings, prior)
    counter = Counter(model, threads)
    for source, target in read():
        counter.add(source, target)
        tick(len(source))
    model = updated(model, counter.counts(), threads)
    numbers = [model.numbered(*batch, threads) for batch in read()]

    def again(_: Model) -> Iterable[NumberedPairs]:
        for pairs in numbers:
            yield pairs
            tick(len(pairs))

    return finished(model, again, threads)


def finished(model: Model, again: Callable[[Model], Iterable[NumberedPairs]], threads: int = 1) -> Model:
    """Returns a model after its remaining rounds, given a function that yields all pairs again for a round."""
    while not model.finished:
        counter = Counter(model, threads)
        for pairs in again(model):
            counter.add_numbered(pairs)
        model = updated(model, counter.counts(), threads)
    return model


def _count_words(source: TextColumn, target: TextColumn, settings: Settings, threads: int) -> Counts:
    if len(source) != len(target):
        raise ValueError("the sides have different numbers of lines")
    arrays: dict[str, npt.NDArray[Any]] = {}
    sizes = []
    for side, lines in zip(SIDES, (source, target), strict=True):
        wholes, stems, counts, words = count_words(
            lines.data, lines.offsets, settings.pretokenized, settings.stem, threads
        )
        arrays |= {f"{side}.wholes": wholes, f"{side}.stems": stems, f"{side}.counts": counts}
        sizes.append(words)
    combinations = sizes[0] * sizes[1]
    aligned = (combinations <= ALIGN_MOST_CELLS) & (np.maximum(*sizes) <= ALIGN_MOST_WORDS)
    arrays["combinations"] = np.array([combinations[aligned].sum()], np.int64)
    return Counts("words", len(source), arrays)


def _count_cells(model: Model, pairs: NumberedPairs, threads: int) -> Counts:
    rows, columns = (len(vocabulary) for vocabulary in model.vocabularies)
    sample = (min(int(model.share * 2.0**64), 2**64 - 1), model.share >= 1)
    cells = count_cells(pairs, *sample, rows, columns, _FIRST_STEEPNESS, threads)
    return Counts("cells", len(pairs), dict(zip(_CELL_NAMES, cells, strict=True)))


def _nothing_expected(model: Model) -> Counts:
    assert model.lexicon is not None
    assert model.round is not None
    slots = int(model.lexicon.table.first()[-1])
    jumps = {name: np.zeros(ALIGN_JUMPS + 1, np.int64) for name in ("forward", "backward")}
    return Counts(model.round, 0, {"expected": np.zeros(slots, np.int64), **jumps})


def _with_words(model: Model, arrays: Arrays) -> Model:
    # A frequent word is learned whole; rare words share the counts of their stem, for want of evidence. The lexical
    # table is made from a sample of pairs, drawn so that the sample's word combinations are a multiple of its cells.
    vocabularies = []
    for number, side in enumerate(SIDES):
        wholes, stems, counts = (arrays[f"{side}.{name}"] for name in ("wholes", "stems", "counts"))
        stems = np.where(counts >= _FREQUENT, wholes, stems)
        if model.prior is not None:
            known = model.prior.vocabularies[number]
            stems, counts = np.concatenate([stems, known.hashes]), np.concatenate([counts, known.counts])
        vocabularies.append(Vocabulary.of(stems, counts))
    most = model.settings.table * _COMBINATIONS_PER_CELL
    share = min(1.0, most / max(1, int(arrays["combinations"][0])))
    return replace(model, vocabularies=tuple(vocabularies), share=share)


def _with_cells(model: Model, arrays: Arrays, threads: int) -> Model:
    cells: _CellArrays = (arrays["offsets"], arrays["targets"], arrays["counts"])
    evidence = equal_words(model.vocabularies)
    if model.prior is not None:
        known = known_cells(model.prior, model.vocabularies)
        cells, evidence = _joined(cells, known), _joined(evidence, known)
    columns = len(model.vocabularies[1])
    cells = _pruned(cells, columns, model.settings.table)
    table = LexicalTable(*cells, columns, threads)
    lexicon = Lexicon(table, first_jumps(), first_jumps())
    return replace(model, lexicon=lexicon, evidence=table.placed(*evidence, threads), prior=None)


def _with_links(model: Model, arrays: Arrays, threads: int) -> Model:
    # One step of expectation maximization. A model's evidence in training is what is known beforehand (equal
    # words, and the prior's counts), so it is added to the expected counts of every round. Diagonal rounds also drop
    # cells with hardly any counts, so the evidence has to follow the slots that are left.
    assert model.lexicon is not None
    assert model.round is not None
    before = model.lexicon.table
    counts, evidence = arrays["expected"] + model.evidence, model.evidence
    if model.round.startswith("diagonal"):
        table, evidence = before.reduced(counts, _LEAST_CELL, evidence, threads)
    else:
        table = before.reestimated(counts, threads)
    lexicon = replace(model.lexicon, table=table)
    if model.round.startswith("jumps"):
        lexicon = replace(lexicon, forward=_jumps(arrays["forward"]), backward=_jumps(arrays["backward"]))
    return replace(model, lexicon=lexicon, evidence=evidence)


def _jumps(counts: Integers) -> Weights:
    """Returns the weights of jumps from counts, each increased by 1; longer jumps have half of the least weight."""
    near = counts[:-1] / ALIGN_ONE + 1.0
    near /= float(np.add.accumulate(near)[-1])  # adds in a fixed order
    return np.append(near, near.min() / 2).astype(np.float32)


def _pruned(cells: _CellArrays, columns: int, most: int) -> _CellArrays:
    """Returns the associated cells with the highest counts."""
    # Cells of one count are kept or dropped together, so the table does not depend on the order of equal counts.
    least = 0 if len(cells[2]) <= most else int(np.partition(cells[2], -most - 1)[-most - 1]) + 1
    return prune_cells(*cells, columns, least, _LEAST_ASSOCIATION)


def known_cells(model: Model, vocabularies: tuple[Vocabulary, ...]) -> _CellArrays:
    """Returns a model's evidence as rows of cells, with word indexes from other vocabularies."""
    assert model.lexicon is not None
    offsets, targets, counts = model.lexicon.table.rows_of(model.evidence, 1)
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    numbers = [
        np.concatenate([[0], new.numbers_of(old.hashes)])
        for new, old in zip(vocabularies, model.vocabularies, strict=True)
    ]
    return _rows(numbers[0][rows], numbers[1][targets], counts, len(vocabularies[0]))


def equal_words(vocabularies: tuple[Vocabulary, ...]) -> _CellArrays:
    """Returns a cell for each word that occurs on both sides."""
    hashes = np.intersect1d(vocabularies[0].hashes, vocabularies[1].hashes)
    source, target = (vocabulary.numbers_of(hashes) for vocabulary in vocabularies)
    counts = np.full(len(hashes), int(_EQUAL_WORDS * ALIGN_ONE), np.int64)
    return _rows(source, target, counts, len(vocabularies[0]))


def _rows(source: Integers, target: Integers, counts: Integers, rows: int) -> _CellArrays:
    """Returns cells as rows, without cells of unknown words."""
    known = (source > 0) & (target > 0)
    source, target, counts = source[known], target[known], counts[known]
    order = np.lexsort((target, source))
    offsets = np.searchsorted(source[order], np.arange(rows + 1))
    return offsets.astype(np.int64), target[order].astype(np.int32), counts[order]


def _joined(first: _CellArrays, second: _CellArrays) -> _CellArrays:
    return add_cells(*first, *second, 1)
