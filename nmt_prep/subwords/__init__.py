"""Subword dialects behind one interface."""

from __future__ import annotations

from pathlib import Path

from nmt_prep.subwords.t2t import T2TTokenizer
from nmt_prep.subwords.tokenizer import ProgressCallback, Tokenizer

__all__ = ["ProgressCallback", "T2TTokenizer", "Tokenizer", "load_tokenizer"]


def load_tokenizer(path: str | Path) -> Tokenizer:
    """Loads a vocabulary file of any dialect.

    Raises:
        VocabularyError: the file cannot be read, or is no vocabulary that nmt_prep knows.
    """
    return T2TTokenizer.load(path)
