"""What a language identifier is, whatever its model."""

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
    """An expected language against its rivals, for each line.

    Attributes:
        own: float32, shape ``[lines]``: the sum of the probabilities of the expected labels.
        rival: float32, shape ``[lines]``: the probability of the most probable rival; 0 if none was probable enough.
        label: int32, shape ``[lines]``: that rival, as an index of the identifier's labels; -1 if there is none.
    """

    own: Probabilities
    rival: Probabilities
    label: LabelNumbers


class LanguageIdentifier(ABC):
    """A model that gives probabilities of labels for lines of text. Threads may use one side by side.

    A line of which the model knows nothing, such as an empty one, has probability 0 for every label.

    Attributes:
        labels: the labels as the model spells them, such as ``__label__en``, ``eng_Latn`` or ``en``.
    """

    labels: tuple[str, ...]

    @abstractmethod
    def top(self, text: TextColumn, most: int = 1) -> tuple[LabelNumbers, Probabilities]:
        """Returns the most probable labels of each line, in descending order.

        Args:
            text: the lines.
            most: how many labels of each line; no more are returned than the model has.

        Returns:
            Indexes of :attr:`labels`, int32, and their probabilities, float32, both of shape ``[lines, most]``. Where
            the model gives fewer, the index is -1 and the probability 0.
        """

    @abstractmethod
    def probabilities(self, text: TextColumn, labels: Sequence[int]) -> Probabilities:
        """Returns the probabilities of the given labels, as indexes: float32, shape ``[lines, labels]``."""

    @abstractmethod
    def contest(self, text: TextColumn, own: Collection[int], rivals: Collection[int], least: float) -> Contest:
        """Returns how probable the expected labels are, and the best of their rivals.

        Args:
            text: the lines.
            own: indexes of the expected labels.
            rivals: indexes of the others that count.
            least: rivals that are not more probable are not looked for; the higher, the faster.
        """
