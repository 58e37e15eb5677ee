"""Pairs from compiled gettext catalogues (``.mo``), which most systems have below /usr/share/locale."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from nmt_prep.config import Corpus, Languages
from nmt_prep.corpora import open_corpus

_WORDS = range(5, 101)
_MARKUP = re.compile(r"[%$<>\\_|{}&\[#]|^\s*-|--")
"""Directives, tags, options and other text that is no sentence."""
_ANY = Languages(source="en", target="en")  # catalogues do not depend on it


def catalogue_pairs(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """Returns the messages and their translations, without duplicates, in the order of the files.

    Messages of less than five or more than 100 words are left out, and so are messages with directives or markup.
    """
    pairs: dict[tuple[str, str], None] = {}
    for path in paths:
        corpus = Corpus.model_validate({"name": "catalogue", "url": {"both": (str(path),)}, "format": "mo"})
        for batch in open_corpus(corpus, [{"both": path}], _ANY).pairs():
            sound = batch.sound()
            for message, translation in zip(sound.source.to_pylist(), sound.target.to_pylist(), strict=True):
                pair = _text(message), _text(translation)
                running = len(pair[0].split()) in _WORDS and not any(map(_MARKUP.search, (message, translation)))
                if running and pair[1] and pair[0] != pair[1]:
                    pairs[pair] = None
    return [*pairs]


def _text(message: str) -> str:
    """Returns a message on one line, without a context before ``^``."""
    return re.sub(r"\s+", " ", message.rpartition("^")[2]).strip()
