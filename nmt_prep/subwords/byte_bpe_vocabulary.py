"""What a byte-level BPE vocabulary is, whatever file it comes from: tokens, merges, special tokens, pattern.

Files spell tokens with GPT-2's 256 characters, one for each byte: printable Latin-1 characters stand for themselves,
the other bytes get the characters from U+0100 on, in order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import GPT2_UNICODE_VERSION

from nmt_prep.errors import VocabularyError

GPT2_PATTERN = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
"""GPT-2's pre-tokenisation: the native scanner's own; what it matches is a pretoken, and no merge goes beyond one."""

WHOLE_LINE_PATTERN = r"[\s\S]+"
"""No pre-tokenisation: merges may join anything in a line."""

MAX_TOKENS = 1 << 21
"""Ids go no further than this."""

# As tiktoken words it: the same matches.
_SAME_AS_GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""


def _byte_characters() -> tuple[str, ...]:
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in printable else next(others)) for byte in range(256))


BYTE_CHARACTERS = _byte_characters()
_BYTES = {character: byte for byte, character in enumerate(BYTE_CHARACTERS)}
_TO_CHARACTERS = dict(enumerate(BYTE_CHARACTERS))


def spelled(token: bytes) -> str:
    """The characters that files write for a token's bytes."""
    return token.decode("latin-1").translate(_TO_CHARACTERS)


def is_gpt2_pattern(pattern: str) -> bool:
    """Whether a pattern is GPT-2's, in OpenAI's wording or in tiktoken's."""
    return pattern in (GPT2_PATTERN, _SAME_AS_GPT2)


def bytes_of(spelling: str) -> bytes | None:
    """The bytes that a file's characters stand for; None if one of them stands for none."""
    try:
        return bytes([_BYTES[character] for character in spelling])
    except KeyError:
        return None


@dataclass(frozen=True, slots=True)
class ByteBPEVocabulary:
    """All that decides ids.

    Attributes:
        tokens: bytes of the token of each id; empty for special tokens and for ids that are not used.
        merges: int32, shape ``[merges, 3]``: left, right and merged id, in the order of rank.
        specials: id of each special token.
        pattern: what pretokens match; text between matches is a pretoken as well.
        add_prefix_space: whether a line that does not begin with a space gets one.
        whole_words: whether a pretoken that is a token as a whole gets its id although no merges lead there.
    """

    tokens: tuple[bytes, ...]
    merges: npt.NDArray[np.int32]
    specials: Mapping[str, int] = field(default_factory=dict)
    pattern: str = GPT2_PATTERN
    add_prefix_space: bool = False
    whole_words: bool = False

    @property
    def native_pattern(self) -> bool:
        """Whether the native scanner cuts pretokens."""
        return is_gpt2_pattern(self.pattern)

    def pieces(self) -> tuple[str, ...]:
        """Each id's token as files spell it, special tokens by their names, "" for ids that are not used."""
        pieces = [spelled(token) for token in self.tokens]
        for name, number in self.specials.items():
            pieces[number] = name
        return tuple(pieces)

    def fingerprint(self) -> str:
        """SHA-256 (hex) of all of this, and of the Unicode version or ``regex`` release that reads the pattern."""
        reader = f"Unicode {GPT2_UNICODE_VERSION}" if self.native_pattern else f"regex {version('regex')}"
        pattern = GPT2_PATTERN if self.native_pattern else self.pattern
        digest = hashlib.sha256(f"byte_bpe\n{reader}\n{self.add_prefix_space} {self.whole_words}\n".encode())
        names = [name.encode() for name in sorted(self.specials, key=lambda name: self.specials[name])]
        for part in (pattern.encode(), *self.tokens, b"", *names):
            digest.update(len(part).to_bytes(8, "little") + part)
        for numbers in (self.merges, np.array(sorted(self.specials.values()), np.int32)):
            digest.update(np.ascontiguousarray(numbers, "<i4").tobytes())
        return digest.hexdigest()


def build_vocabulary(
    ids: Mapping[str, int],
    merges: list[tuple[str, str]],
    specials: Mapping[str, int],
    where: str,
    *,
    pattern: str = GPT2_PATTERN,
    add_prefix_space: bool = False,
    whole_words: bool = False,
) -> ByteBPEVocabulary:
    """Puts together what a file says in spellings, and checks that it is a byte-level BPE vocabulary.

    Args:
        ids: id of each token, special ones or not.
        merges: pairs of tokens in the order of rank.
        specials: id of each special token.
        where: the file, for messages.
        pattern: as in :class:`ByteBPEVocabulary`, like the two that follow.
        add_prefix_space: see there.
        whole_words: see there.

    Raises:
        VocabularyError: something does not fit.
    """
    numbers = {name: number for name, number in ids.items() if name not in specials}
    tokens = _place_tokens(numbers, specials, where)
    rules = np.empty((len(merges), 3), np.int32)
    for rank, (left, right) in enumerate(merges):
        for part in (left, right, left + right):
            if part not in numbers:
                reason = "is a special token" if part in specials else "is not in the vocabulary"
                raise VocabularyError(
                    f"{where}: merge {rank} joins {left!r} and {right!r}, but {part!r} {reason}; "
                    "check that vocabulary and merges belong together and are whole"
                )
        rules[rank] = numbers[left], numbers[right], numbers[left + right]
    return ByteBPEVocabulary(tokens, rules, dict(specials), pattern, add_prefix_space, whole_words)


def _place_tokens(ids: Mapping[str, int], specials: Mapping[str, int], where: str) -> tuple[bytes, ...]:
    """Bytes by id, of tokens as files spell them.

    Raises:
        VocabularyError: ids clash or lie far apart, or a token is not spelt with GPT-2's characters.
    """
    count = len(ids) + len(specials)
    largest = max((*ids.values(), *specials.values()), default=-1)
    if not 0 <= largest < min(2 * count + 1024, MAX_TOKENS) or min((*ids.values(), *specials.values())) < 0:
        raise VocabularyError(
            f"{where}: {count} tokens with ids up to {largest}: ids must be 0 or more, lie close together, and be less "
            f"than {MAX_TOKENS}; check that the file is whole"
        )
    tokens = [b""] * (largest + 1)
    names: dict[int, str] = {}
    for name, number in (*ids.items(), *specials.items()):
        if number in names:
            raise VocabularyError(f"{where}: {names[number]!r} and {name!r} both have id {number}; give each its own")
        names[number] = name
        if name in specials:
            continue
        token = bytes_of(name)
        if not token:
            raise VocabularyError(
                f"{where}: token {name!r} (id {number}) is not spelt with GPT-2's 256 characters for bytes, "
                "so this is not byte-level BPE; load the file with the tokenizer of its dialect"
            )
        tokens[number] = token
    return tuple(tokens)
