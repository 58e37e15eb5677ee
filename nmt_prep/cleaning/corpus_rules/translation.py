"""Rule ``translation``: its options, and the pairs with exchanged targets that show how misaligned pairs score."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import Field

from nmt_prep.cleaning.rule import Bounds
from nmt_prep.config import Section
from nmt_prep.config.section import Count

TRANSLATION = "translation"
"""The name of the rule, and of its score."""

SCORE_EDGES = tuple(round(number / 10, 1) for number in range(-80, 161))
"""Edges of histograms of scores."""

_TRIES = 16

Numbers: TypeAlias = "npt.NDArray[np.int64]"
Keys: TypeAlias = "npt.NDArray[np.uint64]"


class TranslationOptions(Section):
    """The model that scores pairs, and the lowest score that passes."""

    min: Literal["auto"] | Annotated[float, Field(strict=False)] = "auto"
    """a number, or auto: the lowest score that passes; auto finds 98 % of pairs with exchanged targets, or fewer if
    more than 0.5 % of the clean pairs would be lost"""
    model: str | None = Field(None, min_length=1)
    """a path, or null to learn from the corpora: a model that nmt-prep align --save wrote"""
    learn: bool = False
    """true or false: also learn from the corpora if there is a model, which is then the beginning"""
    pairs: Count = Field(100_000, ge=1000)
    """an integer >= 1000: the most pairs of a split to learn from, drawn at random"""
    action: Literal["drop", "report"] = "drop"
    """drop or report: report scores and estimates, and drops nothing"""

    written_by: ClassVar[str] = "nmt-prep align --save"
    """The command that writes models."""

    @property
    def lowest(self) -> float | None:
        """The lowest score that passes; None to find it."""
        return None if self.min == "auto" else self.min

    @property
    def learns(self) -> bool:
        """True if a model is learned from the corpora."""
        return self.model is None or self.learn

    def in_stream(self, base_dir: Path) -> tuple[Path, Bounds]:
        """Returns the file of the model and the scores that pass, for a stream.

        Raises:
            ValueError: the options need the whole corpus.
        """
        path, lowest = self.model_file(base_dir), self.lowest
        if path is None or lowest is None:
            raise ValueError(
                f"without the whole corpus it needs a model, which {self.written_by} writes, and a number for min"
            )
        return path, Bounds(low=lowest if self.action == "drop" else -math.inf)

    def model_file(self, base_dir: Path) -> Path | None:
        """Returns the path of the model that the config names; None without one."""
        return None if self.model is None else base_dir / Path(self.model).expanduser()


def other_targets(lengths: Numbers, order: Keys, sources: Keys, targets: Keys) -> tuple[Numbers, Numbers]:
    """Chooses a target for the source of each pair from another pair whose target is about as long.

    The pairs are sorted by the length of their targets, and at random where these are equal. Each takes the target of
    the next pair. If that pair has the same source or the same target, it takes the one after it, and so on; a pair
    that finds none among the next 16 is left out. The pair with the longest target takes the one before it.

    Args:
        lengths: length of each target: int64, shape ``[pairs]``.
        order: random numbers, different for each pair: uint64.
        sources: keys of the sources: uint64; equal sources have equal keys.
        targets: keys of the targets: uint64.

    Returns:
        The numbers of the pairs whose sources are used, and for each the number of the pair whose target it gets.
    """
    count = len(lengths)
    places = np.lexsort((order, lengths))
    chosen = np.full(count, -1, np.int64)
    for step in range(1, min(_TRIES, count - 1) + 1):
        missing = np.flatnonzero(chosen < 0)
        near = missing + step
        near = np.where(near < count, near, missing - step)
        own, other = places[missing], places[near]
        fits = (sources[own] != sources[other]) & (targets[own] != targets[other])
        chosen[missing[fits]] = near[fits]
    found = np.flatnonzero(chosen >= 0)
    return places[found], places[chosen[found]]
