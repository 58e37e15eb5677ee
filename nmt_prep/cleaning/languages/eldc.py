"""Language identification with eldc, the C version of the Efficient Language Detector: 60 languages.

eldc gives each language a similarity s from 0 to 1, independent of the others. The probability of a language is the
cube of its odds s / (1 - s), divided by the sum of these cubes over all languages.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from nmt_prep.cleaning.languages.identifier import Contest, LabelNumbers, LanguageIdentifier, Probabilities
from nmt_prep.columns import TextColumn
from nmt_prep.errors import CleaningError
from nmt_prep.runtime import needed_extra

_SHARPNESS = 3.0
_HIGHEST = 0.999  # greater similarities are capped


class EldcIdentifier(LanguageIdentifier):
    """The model of the package eldc. At most 20 languages have a probability above 0 for a line."""

    def __init__(self) -> None:
        """Loads the model.

        Raises:
            CleaningError: the package eldc is not installed.
        """
        eldc = needed_extra("eldc", "eldc", "the language model eldc", CleaningError)
        eldc.init()
        self._detector = eldc.instance()
        self._detector.set_scheme("iso639-1")
        self._detector.set_scores(eldc.MAX_SCORES)
        self.labels = tuple(eldc.LANGUAGES)
        self._numbers = {label: number for number, label in enumerate(self.labels)}

    def top(self, text: TextColumn, most: int = 1) -> tuple[LabelNumbers, Probabilities]:
        table = self._table(text)
        order = np.argsort(-table, axis=1, kind="stable")[:, :most].astype(np.int32)
        best = np.take_along_axis(table, order, axis=1)
        return np.where(best > 0, order, np.int32(-1)), best

    def probabilities(self, text: TextColumn, labels: Sequence[int]) -> Probabilities:
        return self._table(text)[:, list(labels)]

    def contest(self, text: TextColumn, own: Collection[int], rivals: Collection[int], least: float) -> Contest:
        table = self._table(text)
        others = list(rivals)
        if not others or not len(text):
            nobody = np.zeros(len(text), np.float32), np.full(len(text), -1, np.int32)
            return Contest(table[:, list(own)].sum(axis=1), *nobody)
        best = np.asarray(others, np.int32)[table[:, others].argmax(axis=1)]
        rival = np.take_along_axis(table, best[:, np.newaxis], axis=1)[:, 0]
        found = rival > least
        return Contest(
            table[:, list(own)].sum(axis=1), np.where(found, rival, np.float32(0)), np.where(found, best, np.int32(-1))
        )

    def _table(self, text: TextColumn) -> Probabilities:
        """Returns the probabilities of all labels: float32, shape ``[lines, labels]``."""
        table = np.zeros((len(text), len(self.labels)), np.float64)
        for row, line in enumerate(text.to_bytes()):
            for label, similarity in self._detector.detect_details(line.decode("utf-8")).scores.items():
                capped = min(similarity, _HIGHEST)
                table[row, self._numbers[label]] = (capped / (1 - capped)) ** _SHARPNESS
        table /= np.maximum(table.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        return table.astype(np.float32)
