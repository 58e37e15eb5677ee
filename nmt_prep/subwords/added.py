"""Added tokens: tokens that are found in text by their names, before pre-tokenization.

Special tokens are found only if the caller allows them, as in tiktoken. Other added tokens are always found, as in
tokenizers. Of several tokens that match at a position, the longest is taken, as in tokenizers.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import regex

from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.base.errors import EncodeError

SpecialNames: TypeAlias = "Collection[str] | Literal['all']"


@dataclass(frozen=True, slots=True)
class AddedToken:
    """An added token."""

    id: int  # ID of the token
    special: bool = True  # True if the token is found only where the caller allows it
    # True to search the normalized name in normalized text; False to search the name in the text itself
    normalized: bool = False
    lstrip: bool = False  # True if the token includes the white space before it
    rstrip: bool = False  # True if the token includes the white space after it
    single_word: bool = False  # True if the token is found only without an adjacent letter, digit or underscore


def allowed_specials(
    text: str, added: Mapping[str, AddedToken], allowed: SpecialNames, disallowed: SpecialNames
) -> frozenset[str]:
    """Returns the names of the special tokens to recognize in a text."""
    known = frozenset(name for name, token in added.items() if token.special)
    allowed_names = known if allowed == "all" else known & frozenset(allowed)
    disallowed_names = known - allowed_names if disallowed == "all" else frozenset(disallowed)
    if disallowed_names and (match := _any_of(disallowed_names).search(text)):
        raise EncodeError(
            f"the text contains the special token {match[0]!r} at character {match.start()}; allow it with "
            "allowed_special={…} to get its ID, or pass disallowed_special=() to encode it as ordinary text"
        )
    return allowed_names


class AddedTokenFinder:
    """Finds several added tokens in one pass, either before or after normalization."""

    def __init__(self, tokens: Mapping[str, AddedToken]) -> None:
        """Compiles the search."""
        self._tokens = tokens
        self._names = _any_of(tokens)

    def plain_names(self) -> list[tuple[bytes, int]] | None:
        """Returns the names and IDs of the tokens; None if a token depends on the text around it."""
        if any(token.lstrip or token.rstrip or token.single_word for token in self._tokens.values()):
            return None
        return [(name.encode(), token.id) for name, token in self._tokens.items()]

    def occurs(self, text: str) -> bool:
        """Returns True if the text contains a token's name."""
        return self._names.search(text) is not None

    def replaced(self, text: str, make: Callable[[str], str]) -> str:
        """Returns the text with what is made of each token's name in its place."""
        return self._names.sub(lambda match: make(match[0]), text)

    def places(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Yields the start, the end and the ID of each token, in order."""
        at = 0
        for match in self._names.finditer(text):
            token = self._tokens[match[0]]
            start, end = match.span()
            if token.single_word and (_word().match(text[start - 1 : start]) or _word().match(text, end)):
                continue
            while token.lstrip and start > at and text[start - 1] in _white_space():
                start -= 1
            while token.rstrip and end < len(text) and text[end] in _white_space():
                end += 1
            yield start, end, token.id
            at = end

    def cut(self, text: str) -> Iterator[str | int]:
        """Yields the IDs of the tokens and the text between them, in order."""
        at = 0
        for start, end, number in self.places(text):
            if start > at:
                yield text[at:start]
            yield number
            at = end
        if at < len(text):
            yield text[at:]


@dataclass(frozen=True, slots=True)
class DividedLines:
    """Lines divided at added tokens."""

    texts: TextColumn  # the texts between tokens, and an empty text for each token
    continued: npt.NDArray[np.uint8]  # for each text 1 if it does not begin its line; uint8, shape `[texts]`
    # index of each line's first text, then the text count; int64, shape `[lines + 1]`
    firsts: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]  # indices of the texts that represent tokens, ascending; int64, shape `[tokens]`
    ids: npt.NDArray[np.int32]  # IDs of these tokens; int32, shape `[tokens]`

    @classmethod
    def of(cls, lines: Iterable[str], parts: Callable[[str], Iterable[bytes | int]]) -> Self:
        """Divides lines."""
        data = bytearray()
        ends, firsts, continued, places, ids = [0], [0], list[int](), list[int](), list[int]()
        for line in lines:
            for number, part in enumerate(parts(line)):
                if isinstance(part, int):
                    places.append(len(continued))
                    ids.append(part)
                else:
                    data += part
                ends.append(len(data))
                continued.append(number > 0)
            firsts.append(len(continued))
        return cls(
            TextColumn(np.frombuffer(bytes(data), np.uint8), np.array(ends, np.int64)),
            np.array(continued, np.uint8),
            np.array(firsts, np.int64),
            np.array(places, np.int64),
            np.array(ids, np.int32),
        )

    def joined(self, rows: Ragged) -> Ragged:
        """Returns the IDs of the lines."""
        lengths = np.diff(rows.offsets)
        values = np.insert(rows.values, rows.offsets[self.places], self.ids)
        lengths[self.places] += 1
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return Ragged(values, offsets[self.firsts])


def finder(
    added: Mapping[str, AddedToken], allowed: frozenset[str], normalized: bool, normal: Callable[[str], str]
) -> AddedTokenFinder | None:
    """Returns a finder of ordinary and allowed special tokens; None if there are none.

    Args:
        normalized: True for tokens to find in normalized text, False for the others.
    """
    wanted = {
        normal(name) if normalized else name: token
        for name, token in added.items()
        if token.normalized == normalized and (not token.special or name in allowed)
    }
    return AddedTokenFinder(wanted) if wanted else None


def _any_of(names: Collection[str]) -> re.Pattern[str]:
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")


@functools.cache
def _white_space() -> frozenset[str]:
    return frozenset(regex.findall(r"\s", "".join(map(chr, range(0x3001)))))


@functools.cache
def _word() -> regex.Pattern[str]:
    return regex.compile(r"\w")
