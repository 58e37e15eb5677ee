"""Classifiers in files. A classifier is in the file of its model of word alignment, which commands write and read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nmt_prep.base.errors import AlignmentModelError
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.adequacy.classifier import CLASSES, FEATURES, Classifier, Forest, Reference
from nmt_prep.cleaning.align.model import Model
from nmt_prep.cleaning.align.model_files import damaged, shared

_ARRAYS = ("features", "bounds", "children", "values", "roots")
_MOST = 1 << 60  # Greatest sum of a word that a file may have; sums of sums stay below 2^63


def save(classifier: Classifier, path: Path) -> None:
    """Writes a classifier with its model to a file. The same classifier gives the same bytes."""
    reference = classifier.reference
    arrays = {f"{side}.sums": sums.reshape(-1) for side, sums in zip(SIDES, reference.sums, strict=True)}
    for number, forest in enumerate(classifier.forests):
        arrays |= {f"{number}.{name}": array for name, array in zip(_ARRAYS, forest.arrays, strict=True)}
    facts = {"features": len(FEATURES), "ratios": list(reference.ratios), "lowest": list(classifier.lowest)}
    classifier.model.save(path, (facts, arrays))


def load(path: Path) -> Classifier:
    """Reads a classifier."""
    model, stored = Model.load_with_classifier(path)
    if stored is None:
        raise AlignmentModelError(
            f"{path} has no classifier of incomplete translations; make it with nmt-prep align --adequacy FILE --save"
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
    sums = [
        _sums(arrays[f"{side}.sums"], len(vocabulary))
        for side, vocabulary in zip(SIDES, model.vocabularies, strict=True)
    ]
    forests = [Forest(tuple(np.ascontiguousarray(arrays[f"{number}.{name}"]) for name in _ARRAYS)) for number in (0, 1)]
    for forest in forests:
        _ = forest.trees  # checks the arrays
    return Classifier(
        model, Reference((sums[0], sums[1]), (words, characters)), (forests[0], forests[1]), tuple(lowest)
    )


def _sums(flat: npt.NDArray[np.int64], words: int) -> npt.NDArray[np.int64]:
    if len(flat) != 3 * words:
        raise ValueError("there must be three sums for each word")
    sums = np.array(flat).reshape(3, words)
    _, links, counts = sums
    if np.abs(sums.astype(np.float64)).sum() > _MOST or links.min() < 0 or (links > counts).any():
        raise ValueError("the sums of its words are negative or too large")
    return sums
