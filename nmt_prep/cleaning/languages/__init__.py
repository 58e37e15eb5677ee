"""Language identification: models that give the probabilities of languages for lines of text."""

from __future__ import annotations

from nmt_prep.cleaning.languages.identifiers import Contest, LanguageIdentifier, load_identifier, model_file

__all__ = ["Contest", "LanguageIdentifier", "load_identifier", "model_file"]
