"""Pairs from compiled gettext catalogues (``.mo``), which most systems have below /usr/share/locale."""

from __future__ import annotations

import re
from collections.abc import Iterable
from gettext import GNUTranslations
from pathlib import Path

_WORDS = range(5, 101)
_MARKUP = re.compile(r"[%$<>\\_|{}&\[#]|^\s*-|--")
"""Directives, tags, options and other text that is no sentence."""


def catalogue_pairs(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """Returns the messages and their translations, without duplicates, in the order of the files.

    Messages of less than five or more than 100 words are left out, and so are messages with directives or markup.
    """
    pairs: dict[tuple[str, str], None] = {}
    for path in paths:
        with path.open("rb") as file:
            catalogue = GNUTranslations(file)._catalog  # type: ignore[attr-defined]  # plural forms have tuples as keys
        for key, translation in catalogue.items():
            message = key if isinstance(key, str) else key[0]
            pair = _text(message.rpartition("\x04")[2]), _text(translation)
            running = len(pair[0].split()) in _WORDS and not any(map(_MARKUP.search, (message, translation)))
            if running and pair[1] and pair[0] != pair[1]:
                pairs[pair] = None
    return [*pairs]


def _text(message: str) -> str:
    """Returns a message on one line, without a context before ``^``."""
    return re.sub(r"\s+", " ", message.rpartition("^")[2]).strip()
