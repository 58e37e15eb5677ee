"""Checks a ``vocab`` section with the dialect that trains the vocabulary."""

from __future__ import annotations

from nmt_prep.config.vocab import VocabOptions
from nmt_prep.errors import NmtPrepError
from nmt_prep.subwords import dialect_of


def check_vocab(options: VocabOptions) -> None:
    """Checks options that only the dialect can check, such as patterns and a library's training options.

    Raises:
        ValueError: the dialect refuses them.
    """
    try:
        dialect_of(options).check(options)
    except NmtPrepError as error:
        raise ValueError(str(error)) from error
