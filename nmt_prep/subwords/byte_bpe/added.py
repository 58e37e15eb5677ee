"""Added tokens: those that are found in the text by their names, before it is cut into pretokens.

Special ones are found only where the caller allows them, as in tiktoken; ordinary ones wherever they are, as in
tokenizers. How they are found is what tokenizers does: of two that begin alike the longer one is taken.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import regex

from nmt_prep.errors import EncodeError

SpecialNames: TypeAlias = "Collection[str] | Literal['all']"


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that text has by name.

    Attributes:
        id: its id.
        special: whether it is found only where it is allowed.
        normalized: whether it is looked for after the text was normalised, and its name too, instead of before.
        lstrip: whether it takes in the white space before it.
        rstrip: whether it takes in the white space behind it.
        single_word: whether it is found only where no letter, digit or underscore touches it.
    """

    id: int
    special: bool = True
    normalized: bool = False
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False


def allowed_specials(
    text: str, added: Mapping[str, AddedToken], allowed: SpecialNames, disallowed: SpecialNames
) -> frozenset[str]:
    """Names of the special tokens that may be found in a text.

    Args:
        text: the text.
        added: all added tokens.
        allowed: names that are read as special tokens, or "all".
        disallowed: names that must not be in the text, or "all" of those not allowed. The rest is ordinary text.

    Raises:
        EncodeError: a disallowed one is in the text.
    """
    known = frozenset(name for name, token in added.items() if token.special)
    allowed_names = known if allowed == "all" else known & frozenset(allowed)
    disallowed_names = known - allowed_names if disallowed == "all" else frozenset(disallowed)
    if disallowed_names and (found := _any_of(disallowed_names).search(text)):
        raise EncodeError(
            f"the text holds the special token {found[0]!r} at character {found.start()}; allow it with "
            "allowed_special={…} to get its id, or pass disallowed_special=() to encode it as ordinary text"
        )
    return allowed_names


class AddedTokenFinder:
    """Looks for some added tokens at once, those that are looked for before or after normalisation."""

    def __init__(self, tokens: Mapping[str, AddedToken]) -> None:
        """Prepares to look for tokens.

        Args:
            tokens: by the text that they are found by; must not be empty.
        """
        self._tokens = tokens
        self._names = _any_of(tokens)

    def cut(self, text: str) -> Iterator[str | int]:
        """What lies between the tokens, and the tokens' ids, in turn."""
        at = 0
        for found in self._names.finditer(text):
            token = self._tokens[found[0]]
            start, end = found.span()
            if token.single_word and (regex.match(r"\w", text[start - 1 : start]) or regex.match(r"\w", text, pos=end)):
                continue
            while token.lstrip and start > at and text[start - 1] in _white_space():
                start -= 1
            while token.rstrip and end < len(text) and text[end] in _white_space():
                end += 1
            if start > at:
                yield text[at:start]
            yield token.id
            at = end
        if at < len(text):
            yield text[at:]


def finder(
    added: Mapping[str, AddedToken], allowed: frozenset[str], normalized: bool, normal: Callable[[str], str]
) -> AddedTokenFinder | None:
    """Finder of ordinary tokens and allowed special ones; None where there are none.

    Args:
        added: all added tokens.
        allowed: names of special tokens that are looked for.
        normalized: take those that are looked for in normalised text, or the others.
        normal: how text is normalised.
    """
    wanted = {
        normal(name) if normalized else name: token
        for name, token in added.items()
        if token.normalized == normalized and (not token.special or name in allowed)
    }
    return AddedTokenFinder(wanted) if wanted else None


def _any_of(names: Collection[str]) -> re.Pattern[str]:
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return re.compile("|".join(map(re.escape, longest_first)))


@functools.cache
def _white_space() -> frozenset[str]:
    return frozenset(regex.findall(r"\s", "".join(map(chr, range(0x3001)))))
