"""Counts of a round of training: whole numbers, whose sums are the same for any division of the text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import add_cells

from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.align.model_files import Arrays


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of pairs."""

    round: str  # name of the round of training
    pairs: int  # number of counted pairs
    arrays: Arrays  # sums by name; see `model`


def merge(counts: Iterable[Counts], threads: int = 1) -> Counts:
    """Adds up the counts of a round. Their order, and the number of threads, do not matter."""
    return reduce(lambda first, second: _added(first, second, threads), counts)


def _added(first: Counts, second: Counts, threads: int) -> Counts:
    if first.round != second.round:
        raise ValueError(f"counts of the rounds {first.round} and {second.round} cannot be added")
    a, b = first.arrays, second.arrays
    if first.round == "words":
        arrays = _added_words(a, b)
    elif first.round == "cells":
        sums = add_cells(a["offsets"], a["targets"], a["counts"], b["offsets"], b["targets"], b["counts"], threads)
        arrays = dict(zip(("offsets", "targets", "counts"), sums, strict=True))
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
