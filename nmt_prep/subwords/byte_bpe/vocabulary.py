"""A byte-level BPE vocabulary, independent of file format: tokens, merges, added tokens, pre-tokenization."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import NORMALIZATION_UNICODE_VERSION, PROPERTIES_UNICODE_VERSION, ByteBPEModel

from nmt_prep.base.errors import VocabularyError
from nmt_prep.subwords.added import AddedToken
from nmt_prep.subwords.byte_bpe.pretokenization import BYTE_CHARACTERS, Pretokenization, bytes_of, spelled
from nmt_prep.subwords.tokenizer_json import names_by_id

MAX_TOKENS = 1 << 21  # Upper limit for the ID count
MAX_MERGES = 4_000_000  # Upper limit for the merge count


@dataclass(frozen=True, slots=True)
class ByteBPEVocabulary:
    """Everything that determines a text's IDs."""

    tokens: tuple[bytes, ...]  # the token bytes of each ID; empty for added tokens and for unused IDs
    # left, right and merged ID per merge, by merge rank; int32, shape `[merges, 3]`
    merges: npt.NDArray[np.int32]
    added: Mapping[str, AddedToken] = field(default_factory=dict)  # added tokens by name
    # settings for splitting lines into pretokens
    pretokenization: Pretokenization = field(default_factory=Pretokenization)
    # True to give a pretoken that is a token the ID of the token, without merging (`ignore_merges`)
    whole_words: bool = False

    @property
    def specials(self) -> dict[str, int]:
        """Id of each special token."""
        return {name: token.id for name, token in self.added.items() if token.special}

    def pieces(self) -> tuple[str, ...]:
        """Returns each ID's piece, as files spell it: the name for added tokens, "" for unused IDs."""
        pieces = [spelled(token) for token in self.tokens]
        for name, token in self.added.items():
            pieces[token.id] = name
        return tuple(pieces)

    def fingerprint(self) -> str:
        """Returns the SHA-256 (hex) of the vocabulary and the Unicode or library versions in use."""
        how = self.pretokenization
        digest = hashlib.sha256(f"byte_bpe\n{_readers(how)}\n{how.add_prefix_space} {self.whole_words}\n".encode())
        added = sorted(self.added.items(), key=lambda item: item[1].id)
        names = [name.encode() for name, _ in added]
        parts = [how.fingerprint(), *self.tokens, b"", *names]
        digest.update(b"".join([len(part).to_bytes(8, "little") + part for part in parts]))
        for numbers in (self.merges, np.array([token.id for _, token in added], np.int32)):
            digest.update(np.ascontiguousarray(numbers, "<i4").tobytes())
        if unlike := [(name, token) for name, token in added if token != AddedToken(token.id)]:
            digest.update(repr(unlike).encode())
        return digest.hexdigest()


def _readers(how: Pretokenization) -> str:
    """Returns the versions that the IDs depend on: Unicode, or libraries."""
    native = [] if how.scanners is None else [f"Unicode {PROPERTIES_UNICODE_VERSION}"]
    if how.nfc:
        native.append(f"NFC {NORMALIZATION_UNICODE_VERSION}")
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
    """Builds a vocabulary from the spelled tokens of a file, and checks it."""
    if len(merges) > MAX_MERGES:
        raise VocabularyError(
            f"{where}: {len(merges)} merges are more than the {MAX_MERGES} that are supported; check that the file is "
            "a vocabulary"
        )
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
                    f"{where}: with ignore_merges the token {name!r} would have two texts, its name and the bytes it "
                    "spells; that is not supported: make it special, or remove it from the vocabulary"
                )
    rules = []
    for rank, (left, right) in enumerate(merges):
        for part in (left, right, left + right):
            if part not in numbers:
                reason = "is an added token" if part in added else "is not in the vocabulary"
                raise VocabularyError(
                    f"{where}: merge {rank} joins {left!r} and {right!r}, but {part!r} {reason}; "
                    "check that vocabulary and merges belong together and are complete"
                )
        rules.append((numbers[left], numbers[right], numbers[left + right]))
    kept = dict.fromkeys(reversed(rules))
    unique = np.array([*reversed(kept)], np.int32).reshape(-1, 3)
    return ByteBPEVocabulary(tokens, unique, dict(added), pretokenization, whole_words)


def _may_be_merged(name: str, token: AddedToken) -> bool:
    """Returns True if merges may also produce an added token: an ordinary token whose name spells itself."""
    return not token.special and bytes_of(name) == name.encode()


def _place_tokens(ids: Mapping[str, int], added: Mapping[str, AddedToken], where: str) -> tuple[bytes, ...]:
    """Returns the bytes of each ID's token, from tokens as files spell them."""
    numbers = {**ids, **{name: token.id for name, token in added.items()}}
    tokens = [b""] * len(names_by_id(numbers, where, MAX_TOKENS))
    for name, number in ids.items():
        token = bytes_of(name)
        if not token:
            raise VocabularyError(
                f"{where}: token {name!r} (ID {number}) is not spelled with GPT-2's 256 characters for bytes, "
                "so this is not byte-level BPE; load the file with the tokenizer of its type"
            )
        tokens[number] = token
    return tuple(tokens)


def spelling_model(vocabulary: ByteBPEVocabulary) -> ByteBPEModel:
    """Returns a model that encodes spelled text, with one character per byte, to the vocabulary's IDs.

    Where steps after ByteLevel split text, a pretoken may start or end inside a character. The native core accepts only
    UTF-8, and spelled text is always UTF-8. The first merges of the model join the two UTF-8 bytes of each spelling
    character. Single bytes of these characters have extra IDs after the vocabulary's IDs; no output contains them.
    """
    tokens = [spelled(token).encode() for token in vocabulary.tokens]
    ids = {token: number for number, token in enumerate(tokens) if token}
    characters = [character.encode() for character in BYTE_CHARACTERS]
    if missing := [byte for byte, character in enumerate(characters) if character not in ids]:
        raise VocabularyError(
            f"the vocabulary has no token for byte {missing[0]} and {len(missing) - 1} more; a vocabulary "
            "that splits text after the ByteLevel step needs all 256"
        )
    pairs = [character for character in characters if len(character) == 2]
    for half in sorted({bytes([byte]) for pair in pairs for byte in pair}):
        ids[half] = len(tokens)
        tokens.append(half)
    rules = [(ids[pair[:1]], ids[pair[1:]], ids[pair]) for pair in pairs]
    merges = np.concatenate([np.array(rules, np.int32), vocabulary.merges]).astype(np.int32)
    return ByteBPEModel(tokens, [], merges.ravel(), vocabulary.whole_words)
