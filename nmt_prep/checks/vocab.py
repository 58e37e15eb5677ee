"""The check of a vocabulary against the dialect that trains it."""

from __future__ import annotations

from nmt_prep.config.vocab import VocabOptions
from nmt_prep.errors import NmtPrepError
from nmt_prep.subwords import dialect_of


def check_vocab(options: VocabOptions) -> None:
    """Checks what only the dialect knows, such as patterns and a library's training options.

    Raises:
        ValueError: the dialect refuses them.
    """
    try:
        dialect_of(options).check(options)
    except NmtPrepError as error:
        raise ValueError(str(error)) from error
