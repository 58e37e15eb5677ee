"""A byte-level BPE vocabulary, whatever file it comes from: tokens, merges, added tokens, pre-tokenisation."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import GPT2_UNICODE_VERSION, ByteBPEModel

from nmt_prep.errors import VocabularyError
from nmt_prep.subwords.byte_bpe.added import AddedToken
from nmt_prep.subwords.byte_bpe.pretokenization import Pretokenization
from nmt_prep.subwords.byte_bpe.spelling import BYTE_CHARACTERS, bytes_of, spelled

MAX_TOKENS = 1 << 21
"""Ids go no further than this."""


@dataclass(frozen=True, slots=True)
class ByteBPEVocabulary:
    """All that decides ids.

    Attributes:
        tokens: bytes of the token of each id; empty for ids that no merge gives: of added tokens, and of none.
        merges: int32, shape ``[merges, 3]``: left, right and merged id, in the order of rank.
        added: by name, tokens that are found in text before it is cut.
        pretokenization: how text is cut.
        whole_words: whether a pretoken that is a token as a whole gets its id although no merges lead there.
    """

    tokens: tuple[bytes, ...]
    merges: npt.NDArray[np.int32]
    added: Mapping[str, AddedToken] = field(default_factory=dict)
    pretokenization: Pretokenization = field(default_factory=Pretokenization)
    whole_words: bool = False

    @property
    def specials(self) -> dict[str, int]:
        """Id of each special token."""
        return {name: token.id for name, token in self.added.items() if token.special}

    def pieces(self) -> tuple[str, ...]:
        """Each id's token as files spell it, added tokens by their names, "" for ids that are not used."""
        pieces = [spelled(token) for token in self.tokens]
        for name, token in self.added.items():
            pieces[token.id] = name
        return tuple(pieces)

    def fingerprint(self) -> str:
        """SHA-256 (hex) of all of this, and of the Unicode version or the releases of libraries that cut the text."""
        how = self.pretokenization
        digest = hashlib.sha256(f"byte_bpe\n{_readers(how)}\n{how.add_prefix_space} {self.whole_words}\n".encode())
        added = sorted(self.added.items(), key=lambda item: item[1].id)
        names = [name.encode() for name, _ in added]
        for part in (how.fingerprint(), *self.tokens, b"", *names):
            digest.update(len(part).to_bytes(8, "little") + part)
        for numbers in (self.merges, np.array([token.id for _, token in added], np.int32)):
            digest.update(np.ascontiguousarray(numbers, "<i4").tobytes())
        if unlike := [(name, token) for name, token in added if token != AddedToken(token.id)]:
            digest.update(repr(unlike).encode())
        return digest.hexdigest()


def _readers(how: Pretokenization) -> str:
    """Returns what the ids depend on beside the vocabulary."""
    native = [] if how.pre_tokenizer or how.ranks_pattern else [f"Unicode {GPT2_UNICODE_VERSION}"]
    return " ".join(native + [f"{library} {version(library)}" for library in how.libraries])


def build_vocabulary(
    ids: Mapping[str, int],
    merges: list[tuple[str, str]],
    added: Mapping[str, AddedToken],
    where: str,
    pretokenization: Pretokenization,
    *,
    whole_words: bool = False,
) -> ByteBPEVocabulary:
    """Puts together what a file says in spellings, and checks that it is a byte-level BPE vocabulary.

    Args:
        ids: id of each token, added ones or not.
        merges: pairs of tokens in the order of rank; of pairs that come again the last counts, as in tokenizers.
        added: tokens that are found by name.
        where: the file, for messages.
        pretokenization: how text is cut.
        whole_words: as in :class:`ByteBPEVocabulary`.

    Raises:
        VocabularyError: something does not fit.
    """
    merged = {part for left, right in merges for part in (left, right, left + right)}
    numbers = {
        name: number
        for name, number in ids.items()
        if name not in added or ((whole_words or name in merged) and _may_be_merged(name, added[name]))
    }
    tokens = _place_tokens(numbers, added, where)
    if whole_words:
        for name, token in added.items():
            if name in ids and name not in numbers and not token.special and bytes_of(name) is not None:
                raise VocabularyError(
                    f"{where}: with ignore_merges the token {name!r} would stand for two texts, its name and the bytes "
                    "it spells; that is not supported: make it special, or leave it out of the vocabulary"
                )
    rules = []
    for rank, (left, right) in enumerate(merges):
        for part in (left, right, left + right):
            if part not in numbers:
                reason = "is an added token" if part in added else "is not in the vocabulary"
                raise VocabularyError(
                    f"{where}: merge {rank} joins {left!r} and {right!r}, but {part!r} {reason}; "
                    "check that vocabulary and merges belong together and are whole"
                )
        rules.append((numbers[left], numbers[right], numbers[left + right]))
    kept = dict.fromkeys(reversed(rules))
    unique = np.array([*reversed(kept)], np.int32).reshape(-1, 3)
    return ByteBPEVocabulary(tokens, unique, dict(added), pretokenization, whole_words)


def _may_be_merged(name: str, token: AddedToken) -> bool:
    """Whether merges may make an added token as well: it is not special, and its name is what it spells."""
    return not token.special and bytes_of(name) == name.encode()


def _place_tokens(ids: Mapping[str, int], added: Mapping[str, AddedToken], where: str) -> tuple[bytes, ...]:
    """Bytes by id, of tokens as files spell them.

    Raises:
        VocabularyError: ids clash or lie far apart, or a token is not spelt with GPT-2's characters.
    """
    numbers = {**ids, **{name: token.id for name, token in added.items()}}
    largest = max(numbers.values(), default=-1)
    if not 0 <= largest < min(2 * len(numbers) + 1024, MAX_TOKENS) or min(numbers.values()) < 0:
        raise VocabularyError(
            f"{where}: {len(numbers)} tokens with ids up to {largest}: ids must be 0 or more, lie close together, and "
            f"be less than {MAX_TOKENS}; check that the file is whole"
        )
    tokens = [b""] * (largest + 1)
    names: dict[int, str] = {}
    for name, number in numbers.items():
        if number in names:
            raise VocabularyError(f"{where}: {names[number]!r} and {name!r} both have id {number}; give each its own")
        names[number] = name
        if name not in ids:
            continue
        token = bytes_of(name)
        if not token:
            raise VocabularyError(
                f"{where}: token {name!r} (id {number}) is not spelt with GPT-2's 256 characters for bytes, "
                "so this is not byte-level BPE; load the file with the tokenizer of its dialect"
            )
        tokens[number] = token
    return tuple(tokens)


def spelling_model(vocabulary: ByteBPEVocabulary) -> ByteBPEModel:
    """Returns a model that gives the vocabulary's ids for text as files spell it, a character for each byte.

    The native core takes UTF-8 alone, but a pretoken may begin or end inside a character where text is cut after it was
    spelt. Before all other merges come those that join the two bytes of a spelling's character. The further ids that
    this takes lie behind the vocabulary's, and never appear in the output.

    Raises:
        VocabularyError: a byte has no token, so that one of the further ids might come.
    """
    tokens = [spelled(token).encode() for token in vocabulary.tokens]
    ids = {token: number for number, token in enumerate(tokens) if token}
    characters = [character.encode() for character in BYTE_CHARACTERS]
    if missing := [byte for byte, character in enumerate(characters) if character not in ids]:
        raise VocabularyError(
            f"the vocabulary has no token for byte {missing[0]} and {len(missing) - 1} more; one that cuts text after "
            "it was spelt in bytes needs all 256"
        )
    pairs = [character for character in characters if len(character) == 2]
    for half in sorted({bytes([byte]) for pair in pairs for byte in pair}):
        ids[half] = len(tokens)
        tokens.append(half)
    rules = [(ids[pair[:1]], ids[pair[1:]], ids[pair]) for pair in pairs]
    merges = np.concatenate([np.array(rules, np.int32), vocabulary.merges]).astype(np.int32)
    return ByteBPEModel(tokens, [], merges.ravel(), vocabulary.whole_words, False)
