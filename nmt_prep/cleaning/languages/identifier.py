"""The interface of language identifiers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nmt_prep.columns import TextColumn

Probabilities = npt.NDArray[np.float32]
LabelNumbers = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Contest:
    """The probabilities of an expected language and of its most probable rival, for each line.

    Attributes:
        own: sum of the probabilities of the expected labels: float32, shape ``[lines]``.
        rival: probability of the most probable rival, or 0 if no rival is probable enough: float32, shape ``[lines]``.
        label: the most probable rival as an index of the identifier's labels, or -1: int32, shape ``[lines]``.
    """

    own: Probabilities
    rival: Probabilities
    label: LabelNumbers


class LanguageIdentifier(ABC):
    """A model that gives the probabilities of labels for lines of text. It is thread-safe.

    Every label has the probability 0 for a line in which the model knows nothing, such as an empty line.

    Attributes:
        labels: the labels as the model spells them, such as ``__label__en``, ``eng_Latn`` or ``en``.
    """

    labels: tuple[str, ...]

    @abstractmethod
    def top(self, text: TextColumn, most: int = 1) -> tuple[LabelNumbers, Probabilities]:
        """Returns the most probable labels of each line, in descending order.

        Args:
            text: the lines.
            most: number of labels for each line; the number of labels of the model if that is smaller.

        Returns:
            Indexes of :attr:`labels`, int32, and their probabilities, float32, both of shape ``[lines, most]``. If
            fewer labels have a probability, the remaining indexes are -1 and their probabilities 0.
        """

    @abstractmethod
    def probabilities(self, text: TextColumn, labels: Sequence[int]) -> Probabilities:
        """Returns the probabilities of some labels, which are given as indexes: float32, shape ``[lines, labels]``."""

    @abstractmethod
    def contest(self, text: TextColumn, own: Collection[int], rivals: Collection[int], least: float) -> Contest:
        """Returns the probabilities of the expected labels together and of their most probable rival.

        Args:
            text: the lines.
            own: indexes of the expected labels.
            rivals: indexes of the labels of rivals.
            least: rivals that are not more probable than this are ignored; the search is faster if it is higher.
        """
