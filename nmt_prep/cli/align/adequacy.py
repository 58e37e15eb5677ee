"""Learns a classifier of incomplete translations from the pairs of standard input."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from _nmt_prep_core import NumberedPairs

from nmt_prep.align.model import Model
from nmt_prep.align.vocabulary import Integers
from nmt_prep.cleaning.adequacy import classifier, learning
from nmt_prep.cleaning.dedup import keys as pair_keys
from nmt_prep.cli.align.spool import Spool, text_columns
from nmt_prep.columns import TextColumn
from nmt_prep.errors import AlignmentModelError
from nmt_prep.progress import Progress
from nmt_prep.sides import SIDES


def check_enough(pairs: int) -> None:
    """Checks the number of pairs of the input.

    Raises:
        AlignmentModelError: they are too few to learn from.
    """
    if pairs < learning.LEAST_PAIRS:
        given = f"{pairs:,} pair{'' if pairs == 1 else 's'}"
        raise AlignmentModelError(
            f"--adequacy: the input has {given}; it takes {learning.LEAST_PAIRS:,} or more to learn from, or a model "
            "with a classifier (--model)"
        )


def learned_classifier(
    model: Model, pairs: Spool, text: Spool, copies: Integers, threads: int, progress: Progress
) -> classifier.Classifier:
    """Learns a classifier from the input: from the words of all pairs, and from a sample of distinct pairs.

    Raises:
        AlignmentModelError: there are too few good pairs.
    """
    sums, first = classifier.no_words(model), 0
    sample = []
    limit = np.uint64(min(2**64 * learning.SAMPLE_PAIRS // max(pairs.rows, 1), 2**64 - 1))
    with progress.meter("learning a classifier", pairs.rows, "pairs") as meter:
        for batch, lines in zip(pairs.batches(), map(text_columns, text.batches()), strict=True):
            numbers = NumberedPairs(*batch)
            counted = copies[first : first + len(numbers)]
            classifier.count_words(model, numbers, counted, sums, threads)
            keys = pair_keys.keys_of_pairs(*lines, "normalized")[:, 0]
            chosen = np.flatnonzero(keys <= limit)
            columns = [*(_arrow(side).take(pa.array(chosen)) for side in lines), keys[chosen], counted[chosen]]
            sample.append(pa.record_batch(columns, names=[*SIDES, "key", "copies"]))
            first += len(numbers)
            meter.advance(len(numbers))
        table = pa.Table.from_batches(sample)
        _, places = np.unique(table.column("key").to_numpy(), return_index=True)
        source, target = (
            TextColumn.from_arrow(table.column(side).take(pa.array(places)).combine_chunks()) for side in SIDES
        )
        counted = table.column("copies").to_numpy()[places]
        try:
            return learning.learn(model, source, target, counted, threads=threads, sums=sums).classifier
        except AlignmentModelError as error:
            raise AlignmentModelError(f"--adequacy: {error}, or a model with a classifier (--model)") from None


def _arrow(lines: TextColumn) -> pa.Array:
    return pa.LargeStringArray.from_buffers(len(lines), pa.py_buffer(lines.offsets), pa.py_buffer(lines.data))
