"""Special tokens in text: only where the caller allows them, as in tiktoken."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Literal, TypeAlias

from nmt_prep.errors import EncodeError

SpecialNames: TypeAlias = "Collection[str] | Literal['all']"


def cut_specials(
    text: str, specials: Mapping[str, int], allowed: SpecialNames, disallowed: SpecialNames
) -> Iterator[str | int]:
    """Ordinary text and ids of allowed special tokens in turn; of two that begin alike the longer one is taken.

    Args:
        text: the text.
        specials: id of each special token.
        allowed: names that are read as special tokens, or "all".
        disallowed: names that must not be in the text, or "all" of those not allowed. The rest is ordinary text.

    Raises:
        EncodeError: a disallowed one is in the text.
    """
    known = frozenset(specials)
    allowed_names = known if allowed == "all" else known & frozenset(allowed)
    disallowed_names = known - allowed_names if disallowed == "all" else frozenset(disallowed)
    if found := _search(disallowed_names, text):
        raise EncodeError(
            f"the text holds the special token {found[0]!r} at character {found.start()}; allow it with "
            "allowed_special={…} to get its id, or pass disallowed_special=() to encode it as ordinary text"
        )
    at = 0
    while found := _search(allowed_names, text, at):
        if found.start() > at:
            yield text[at : found.start()]
        yield specials[found[0]]
        at = found.end()
    if at < len(text):
        yield text[at:]


def _search(names: frozenset[str], text: str, start: int = 0) -> re.Match[str] | None:
    if not names:
        return None
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return re.compile("|".join(map(re.escape, longest_first))).search(text, start)
