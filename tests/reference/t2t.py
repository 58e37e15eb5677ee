"""The Tensor2Tensor dialect by its definition, with every substring, set and dictionary built explicitly.

Behaves like ``SubwordTextEncoder`` and ``tokenizer`` of tensor2tensor 1.15.7; takes quadratic time and memory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from _nmt_prep_core import is_alphanumeric as is_alphanumeric_point

ESCAPES = frozenset("\\_u;0123456789")
RESERVED = ("<pad>", "<EOS>")


def is_alphanumeric(character: str) -> bool:
    """Returns the core's answer, because ``unicodedata`` of another Python has another version of Unicode."""
    return is_alphanumeric_point(ord(character))


def tokens(line: str) -> list[str]:
    runs = ["".join(run) for _, run in groupby(line, is_alphanumeric)]
    last = len(runs) - 1
    return [run for i, run in enumerate(runs) if run != " " or i in (0, last)]


def token_counts(lines: Iterable[str]) -> Counter[str]:
    return Counter(token for line in lines for token in tokens(line))


def escape(token: str, alphabet: frozenset[str]) -> str:
    escaped = token.replace("\\", "\\\\").replace("_", "\\u")
    return "".join(c if c in alphabet and c != "\n" else f"\\{ord(c)};" for c in escaped) + "_"


def unescape(token: str) -> str:
    def character(match: re.Match[str]) -> str:
        if match[0] in ("\\u", "\\\\"):
            return "_" if match[0] == "\\u" else "\\"
        try:
            return chr(int(match[1]))
        except (ValueError, OverflowError):
            return "〓"

    return re.sub(r"\\u|\\\\|\\([0-9]+);", character, token)


class Vocabulary:
    def __init__(self, pieces: Sequence[str], alphabet: Iterable[str] | None = None) -> None:
        self.pieces = list(pieces)
        self.ids = {piece: i for i, piece in enumerate(self.pieces) if piece}
        self.longest = max(map(len, self.pieces))
        self.alphabet = frozenset("".join(self.pieces if alphabet is None else alphabet)) | ESCAPES

    def cut(self, escaped: str) -> list[str]:
        cut = []
        start = 0
        while start < len(escaped):
            ends = range(min(len(escaped), start + self.longest), start, -1)
            end = next((end for end in ends if escaped[start:end] in self.ids), None)
            if end is None:
                raise LookupError(escaped[start])
            cut.append(escaped[start:end])
            start = end
        return cut

    def encode(self, line: str) -> list[int]:
        return [self.ids[piece] for token in tokens(line) for piece in self.cut(escape(token, self.alphabet))]

    def decode(self, ids: Iterable[int]) -> str:
        joined = "".join(self.pieces[i] for i in ids if 0 <= i < len(self.pieces))
        text = ""
        previous = None
        for token in map(unescape, filter(None, joined.split("_"))):
            if previous is not None and is_alphanumeric(previous[0]) and is_alphanumeric(token[0]):
                text += " "
            text += token
            previous = token
        return text


def build(
    counts: Mapping[str, int], min_count: int, max_subtoken_length: int | None, reserved: Sequence[str]
) -> list[str]:
    """Returns the pieces after four passes with one minimum count."""
    heads = [*RESERVED, *reserved]
    alphabet = frozenset("".join([*counts, *heads])) | ESCAPES
    vocabulary = Vocabulary(sorted(alphabet), alphabet)
    for _ in range(4):
        found: Counter[str] = Counter()
        for token, count in counts.items():
            escaped = escape(token, alphabet)
            start = 0
            for piece in vocabulary.cut(escaped):
                longest = len(escaped) if max_subtoken_length is None else max_subtoken_length - 1
                for end in range(start + 1, min(len(escaped), start + longest) + 1):
                    found[escaped[start:end]] += count
                start += len(piece)
        accepted = []
        for text in sorted((text for text in found if found[text] >= min_count), key=len, reverse=True):
            count = found[text]
            if count >= min_count:
                if text not in alphabet:
                    accepted.append((count, text))
                for end in range(1, len(text)):
                    found[text[:end]] -= count
        accepted += [(found[character], character) for character in alphabet]
        ordered = [text for _, text in sorted(accepted, reverse=True)]
        vocabulary = Vocabulary([*(escape(token, alphabet) for token in heads), *ordered], alphabet)
    return vocabulary.pieces


def train(
    lines: Iterable[str], size: int, max_subtoken_length: int | None = None, reserved: Sequence[str] = ()
) -> list[str]:
    """Returns the pieces of a vocabulary trained on lines."""
    return train_counts(token_counts(lines), size, max_subtoken_length, reserved)


def train_counts(
    counts: Mapping[str, int], size: int, max_subtoken_length: int | None = None, reserved: Sequence[str] = ()
) -> list[str]:
    """Returns the vocabulary nearest to ``size`` among those that a bisection over minimum counts visits."""

    def bisect(low: int, high: int) -> list[str]:
        middle = (low + high) // 2
        here = build(counts, max(middle, 1), max_subtoken_length, reserved)
        if abs(len(here) - size) * 100 < size or low >= high or middle < 2:
            return here
        there = bisect(middle + 1, high) if len(here) > size else bisect(low, middle - 1)
        return min(here, there, key=lambda pieces: abs(len(pieces) - size))

    return bisect(1, 1000)


def load(data: bytes) -> Vocabulary:
    """Returns the bytes of the vocabulary file."""
    pieces = []
    text = data.decode().replace("\r", "")  # TensorFlow's reader drops them
    for line in map(str.rstrip, text.removesuffix("\n").split("\n")):
        quoted = (line.startswith("'") and line.endswith("'")) or (line.startswith('"') and line.endswith('"'))
        pieces.append(line[1:-1] if quoted else line)
    return Vocabulary(pieces)
