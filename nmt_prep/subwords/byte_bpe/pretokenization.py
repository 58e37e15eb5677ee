"""Splits lines into pretokens: with the native core, or with the library that defines the format.

Files spell a byte as a character: printable Latin-1 characters represent themselves, and the other bytes are mapped in
order to the characters from U+0100.

The core implements normal form C, many patterns, and added tokens that do not depend on the text around them. The
library ``tokenizers`` runs other normalizers and pre-tokenizers; it is imported only for a vocabulary that needs it.
"""

from __future__ import annotations

import codecs
import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from _nmt_prep_core import ByteBPEScanner, ByteBPESplitter, byte_bpe_scanner

from nmt_prep.base.columns import TextColumn
from nmt_prep.subwords.added import AddedToken, AddedTokenFinder, DividedLines, finder
from nmt_prep.subwords.tokenizer_json import run_by_tokenizers, steps_of, type_of, without_panic


def _byte_characters() -> tuple[str, ...]:
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in printable else next(others)) for byte in range(256))


BYTE_CHARACTERS = _byte_characters()
_TO_CHARACTERS = "".join(BYTE_CHARACTERS)
_TO_BYTES = codecs.charmap_build(_TO_CHARACTERS)


def spelled(token: bytes) -> str:
    """Returns the characters that spell a token's bytes."""
    return codecs.charmap_decode(token, "strict", _TO_CHARACTERS)[0]


def unspelled(spelling: str) -> bytes:
    """Returns the bytes of a valid spelling."""
    return codecs.charmap_encode(spelling, "strict", _TO_BYTES)[0]


def bytes_of(spelling: str) -> bytes | None:
    """Returns a spelling's bytes; None if a character in it spells no byte."""
    try:
        return unspelled(spelling)
    except UnicodeEncodeError:
        return None


GPT2_PATTERN = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
"""GPT-2's pattern. Each match is a pretoken; no merge crosses its boundaries."""

# Tiktoken's form of the pattern, with the same matches.
_SAME_AS_GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""


def is_gpt2_pattern(pattern: str) -> bool:
    """Returns True for GPT-2's pattern, as OpenAI or as tiktoken writes it."""
    return pattern in (GPT2_PATTERN, _SAME_AS_GPT2)


def byte_level(*, add_prefix_space: bool = False, use_regex: bool = False) -> dict[str, Any]:
    """Returns the ByteLevel step of a ``tokenizer.json``."""
    return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": True, "use_regex": use_regex}


@dataclass(frozen=True, slots=True)
class Pretokenization:
    """Settings for splitting lines into pretokens."""

    normalizer: str | None = None  # the normalizer of a `tokenizer.json`, as JSON; None leaves text unchanged
    # the pre-tokenizer of the file, as JSON; None for ByteLevel alone and for equivalent steps
    pre_tokenizer: str | None = None
    gpt2: bool = True  # True if GPT-2's pattern splits text
    add_prefix_space: bool = False  # True to add a space before a part that does not start with one
    # pattern in tiktoken's syntax; None for GPT-2's pattern, and for vocabularies without ranks
    ranks_pattern: str | None = None

    @classmethod
    def by_pattern(cls, pattern: str) -> Pretokenization:
        """Returns settings that split text into the matches of a pattern and the text between them."""
        if is_gpt2_pattern(pattern):
            return cls()
        split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        return cls.by_steps(None, {"type": "Sequence", "pretokenizers": [split, byte_level()]})

    @classmethod
    def by_ranks(cls, pattern: str) -> Pretokenization:
        """Returns settings that split text by a pattern in tiktoken's syntax."""
        return cls() if is_gpt2_pattern(pattern) else cls(gpt2=False, ranks_pattern=pattern)

    @classmethod
    def by_steps(cls, normalizer: object, pre_tokenizer: object) -> Pretokenization:
        """Returns settings for the normalizer and pre-tokenizer of a ``tokenizer.json``."""
        normal = None if normalizer is None or steps_of(normalizer) == [] else _written(normalizer)
        match steps_of(pre_tokenizer):
            case [{"type": "ByteLevel"} as step]:
                prefix, use_regex = step.get("add_prefix_space", True), step.get("use_regex", True)
                return cls(normal, gpt2=bool(use_regex), add_prefix_space=bool(prefix))
            case [
                {"type": "Split", "pattern": {"Regex": str(pattern)}, "behavior": "Isolated", "invert": False},
                {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
            ] if is_gpt2_pattern(pattern):
                return cls(normal)
        return cls(normal, _written(pre_tokenizer), gpt2=False)

    @property
    def byte_cuts(self) -> bool:
        """True if steps after ByteLevel split text, possibly inside a character."""
        if self.pre_tokenizer is None:
            return False
        return type_of(steps_of(json.loads(self.pre_tokenizer))[-1]) != "ByteLevel"

    @property
    def scanners(self) -> tuple[ByteBPEScanner, ...] | None:
        """Native scanners; each splits the parts of the previous one. None if a library splits text."""
        if self.ranks_pattern is not None:
            return _scanners(((self.ranks_pattern, True, False),))
        if self.byte_cuts:
            return None
        if self.pre_tokenizer is None:
            return _scanners(((GPT2_PATTERN, False, True),) if self.gpt2 else ())
        patterns = [_pattern_of(step) for step in steps_of(json.loads(self.pre_tokenizer))]
        return None if None in patterns else _scanners(tuple(p for p in patterns if p is not None and p[0]))

    @property
    def nfc(self) -> bool:
        """True if the native core brings text into normal form C."""
        return self.normalizer is not None and all(
            step == {"type": "NFC"} for step in steps_of(json.loads(self.normalizer))
        )

    @property
    def libraries(self) -> list[str]:
        """Names of the packages that these settings need."""
        is_split = self.scanners is not None
        by_tokenizers = not (is_split or self.ranks_pattern) or not (self.normalizer is None or self.nfc)
        return ["tokenizers"] * by_tokenizers + ["tiktoken"] * (self.ranks_pattern is not None and not is_split)

    def fingerprint(self) -> bytes:
        """Returns bytes that identify these settings, except for ``add_prefix_space``."""
        if self.normalizer is None and self.pre_tokenizer is None and self.ranks_pattern is None:
            return (GPT2_PATTERN if self.gpt2 else "").encode()
        return repr((self.normalizer, self.pre_tokenizer, self.gpt2, self.ranks_pattern)).encode()


@cache
def _scanners(patterns: tuple[tuple[str, bool, bool], ...]) -> tuple[ByteBPEScanner, ...] | None:
    """Returns a scanner for each (pattern, is in tiktoken's syntax, keeps the text between matches), or None."""
    scanners = tuple(byte_bpe_scanner(*pattern) for pattern in patterns)
    return None if None in scanners else tuple(scanner for scanner in scanners if scanner is not None)


def _pattern_of(step: Any) -> tuple[str, bool, bool] | None:
    """Returns the ``_scanners`` argument for a pre-tokenizer step; the pattern is "" for a step without a pattern.

    Returns None for a step that the core does not implement.
    """
    match step:
        case {"type": "Split", "pattern": {"Regex": str(pattern)}, "behavior": "Isolated", "invert": False}:
            return pattern, False, True
        case {"type": "Split", "pattern": {"Regex": str(pattern)}, "behavior": "Removed", "invert": True}:
            return pattern, False, False
        case {"type": "Split", "pattern": {"String": str(text)}, "behavior": "Isolated", "invert": False}:
            return re.escape(text), False, True
        case {"type": "Digits", "individual_digits": bool(single)}:
            return r"\p{N}" if single else r"\p{N}+", False, True
        case {"type": "ByteLevel", "add_prefix_space": False}:
            return GPT2_PATTERN if step.get("use_regex", True) else "", False, True
    return None


def _written(part: object) -> str:
    return json.dumps(part, ensure_ascii=False, sort_keys=True)


class Pretokenizer:
    """Splits lines as a vocabulary requires."""

    def __init__(self, how: Pretokenization, added: Mapping[str, AddedToken] | None = None) -> None:
        """Loads ``tokenizers`` if the settings need it."""
        self._how = how
        self._added = added or {}
        self._scanners = how.scanners
        self._is_native = not how.libraries
        self.normal: Callable[[str], str] = _nfc if how.nfc else str  # normalizes a text
        self._pre_tokenize: Callable[[str], list[tuple[str, Any]]] | None = None
        if "tokenizers" in how.libraries:
            what = "a vocabulary whose normalizer or pre-tokenizer is not native"
            peer = run_by_tokenizers(how.normalizer, how.pre_tokenizer, what)
            if how.normalizer is not None:
                self.normal = partial(without_panic, "tokenizers", peer.normalizer.normalize_str)
            if self._scanners is None:
                self._pre_tokenize = partial(without_panic, "tokenizers", peer.pre_tokenizer.pre_tokenize_str)
        self._byte_cuts = how.byte_cuts
        self._plans = cache(self._plan)

    def cut(
        self, column: TextColumn, allowed: frozenset[str] = frozenset()
    ) -> tuple[TextColumn, ByteBPESplitter, DividedLines | None]:
        """Prepares lines for the native core.

        Returns:
            The texts for the native core, its splitter, and the divided lines; None for undivided lines, which are the
            texts themselves.
        """
        splitter, finders = self._plans(allowed)
        if finders is None:
            return column, splitter, None
        divided = DividedLines.of(column.strings(), lambda line: self._pretokens(line, *finders))
        return divided.texts, splitter, divided

    def _plan(
        self, allowed: frozenset[str]
    ) -> tuple[ByteBPESplitter, tuple[AddedTokenFinder | None, AddedTokenFinder | None] | None]:
        """Returns the native splitter, and the finders of added tokens; None if the splitter finds them."""
        before, after = (finder(self._added, allowed, late, self.normal) for late in (False, True))
        first, last = ([] if search is None else search.plain_names() for search in (before, after))
        how, scanners = self._how, list(self._scanners or [])
        if self._is_native and first is not None and last is not None:
            return ByteBPESplitter(scanners, how.add_prefix_space, how.nfc, first, last), None
        return ByteBPESplitter(scanners, how.add_prefix_space, False, [], []), (before, after)

    def _pretokens(
        self, line: str, before: AddedTokenFinder | None, after: AddedTokenFinder | None
    ) -> Iterator[bytes | int]:
        """Yields the IDs of added tokens, and the normalized pretokens between them."""
        for part in [line] if before is None else before.cut(line):
            if isinstance(part, int):
                yield part
                continue
            normal = self.normal(part)
            for inner in [normal] if after is None else after.cut(normal):
                if isinstance(inner, int):
                    yield inner
                elif self._pre_tokenize is None:
                    yield inner.encode()
                else:
                    pieces = self._pre_tokenize(inner)
                    yield from (piece.encode() if self._byte_cuts else unspelled(piece) for piece, _ in pieces)


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)
