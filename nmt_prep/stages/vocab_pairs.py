"""Addresses of vocabularies that consist of two files: OpenAI's tokens and merges."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nmt_prep.subwords.byte_bpe.files import OPENAI_NAMES

MERGES = "merges"
"""End of the key of the second file."""

_LAST_NAME = re.compile(r"(?<![^/])([^/?]+)(\?.*)?$")


def openai_names(mirrors: Sequence[str]) -> tuple[str, str] | None:
    """Returns the names of the two files that one of the addresses belongs to; None for other vocabularies."""
    found = _LAST_NAME.search(mirrors[0])
    return next((names for names in OPENAI_NAMES if found is not None and found[1] in names), None)


def with_openai_name(mirrors: Sequence[str], which: int) -> tuple[str, ...]:
    """Returns the addresses of one of OpenAI's two files, given those of either; others unchanged."""
    names = openai_names(mirrors)
    if names is None:
        return tuple(mirrors)
    return tuple(_LAST_NAME.sub(lambda found: names[which] + (found[2] or ""), address) for address in mirrors)
