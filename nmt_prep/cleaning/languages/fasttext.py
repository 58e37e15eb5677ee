"""Language identification with supervised fastText models (.bin or .ftz).

lid.176, OpenLID, GlotLID and NLLB's lid218e are such models. The native core reads the files.
:meth:`FastTextIdentifier.top` and :meth:`FastTextIdentifier.probabilities` return the results of fastText's
``predict``. Like ``predict``, they add 0.00001 to every probability, so a probability can be a little above 1.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from _nmt_prep_core import FastTextModel

from nmt_prep.cleaning.languages.identifier import Contest, LabelNumbers, LanguageIdentifier, Probabilities
from nmt_prep.columns import TextColumn
from nmt_prep.errors import CleaningError

_OWN, _RIVAL = 1, 2  # roles of labels in the native core


class FastTextIdentifier(LanguageIdentifier):
    """A fastText model. The file is mapped into memory, so processes share its pages."""

    def __init__(self, path: Path, threads: int = 1) -> None:
        """Reads a model.

        Args:
            path: the file.
            threads: how many threads each call uses.

        Raises:
            CleaningError: the file cannot be read, is damaged, or is no supervised fastText model.
        """
        try:
            size = path.stat().st_size
            data = np.memmap(path, np.uint8, mode="r") if size else np.empty(0, np.uint8)
            self._model = FastTextModel(data)
        except OSError as error:
            raise CleaningError(f"the language model {path} cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise CleaningError(f"the language model {path} {error}") from error
        self._threads = threads
        self.labels = tuple(label.decode("utf-8", "backslashreplace") for label in self._model.labels)

    def top(self, text: TextColumn, most: int = 1) -> tuple[LabelNumbers, Probabilities]:
        return self._model.top(text.data, text.offsets, most, self._threads)

    def probabilities(self, text: TextColumn, labels: Sequence[int]) -> Probabilities:
        return self._model.probabilities(text.data, text.offsets, list(labels), self._threads)

    def contest(self, text: TextColumn, own: Collection[int], rivals: Collection[int], least: float) -> Contest:
        roles = np.zeros(len(self.labels), np.uint8)
        roles[list(rivals)] = _RIVAL
        roles[list(own)] = _OWN
        return Contest(*self._model.contest(text.data, text.offsets, roles, least, self._threads))
