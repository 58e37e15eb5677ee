"""Sampled segmentations of SentencePiece models by their definition, for models without unused pieces.

The library normalizes the lines. Its samples differ, because it draws other random numbers: those here depend on seed
and line, and are used in the order of the segments that no piece crosses. Takes at least quadratic time.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import sentencepiece

from tests.reference.byte_bpe import mix

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
SPACE = "▁"


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 2: None, 5: 4}[key & 7]
        length = varint() if size is None else size
        at += length
        yield key >> 3, message[at - length : at]


class Model:
    def __init__(self, file: bytes) -> None:
        self.normalize = sentencepiece.SentencePieceProcessor(model_proto=file).normalize
        self.pieces: list[tuple[str, np.float32, int]] = []
        settings: dict[tuple[int, int], int | bytes] = {}
        for number, value in fields(file):
            if number == 1:
                piece = dict(fields(value))
                score = struct.unpack("<f", piece.get(2, b"\0\0\0\0"))[0]
                self.pieces.append((piece[1].decode(), np.float32(score), piece.get(3, NORMAL)))
            else:
                settings |= {(number, field): content for field, content in fields(value)}
        self.is_bpe = settings.get((2, 3), 1) == 2
        self.byte_fallback = bool(settings.get((2, 35), 0))
        self.escape = bool(settings.get((3, 5), 1))
        self.ids = {text: i for i, (text, _, kind) in enumerate(self.pieces) if kind in (NORMAL, USER_DEFINED)}
        self.symbols = [text for text, _, kind in self.pieces if kind == USER_DEFINED]
        self.unk = next(i for i, (_, _, kind) in enumerate(self.pieces) if kind == UNKNOWN)
        self.byte_ids = {text: i for i, (text, _, kind) in enumerate(self.pieces) if kind == BYTE}

    def symbol(self, text: str) -> str:
        """Returns the longest user-defined symbol that the text begins with."""
        return max((symbol for symbol in self.symbols if text.startswith(symbol)), key=len, default="")

    def bpe(self, text: str, drop: Callable[[], bool]) -> list[str]:
        """Merges the neighbours with the highest score first; those that were dropped stay apart."""
        parts: list[str] = []
        at = 0
        while at < len(text):
            symbol = self.symbol(text[at:])
            parts.append(symbol or text[at])
            at += len(parts[-1])
        whole = [part in self.symbols for part in parts]
        dropped = [False] * len(parts)  # the merge with the next part
        while True:
            merges = [
                (-self.pieces[self.ids[left + right]][1], i)
                for i, (left, right) in enumerate(pairwise(parts))
                if not whole[i] and not whole[i + 1] and not dropped[i] and left + right in self.ids
            ]
            if not merges:
                return parts
            i = min(merges)[1]
            if drop():
                dropped[i] = True
                continue
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
            dropped[max(i - 1, 0) : i + 2] = [False] * (min(i, 1) + 1)
            del whole[i + 1]

    def ids_of(self, parts: list[str]) -> list[int]:
        ids: list[int] = []
        for part in parts:
            if part in self.ids:
                ids.append(self.ids[part])
            elif self.byte_fallback:
                ids += [self.byte_ids[f"<0x{byte:02X}>"] for byte in part.encode()]
            elif not ids or ids[-1] != self.unk:
                ids.append(self.unk)
        return ids

    def sample(self, line: str, seed: int, number: int, *, alpha: float = 0, dropout: float = 0) -> list[int]:
        """Samples a segmentation of a line: with dropout, or with probability proportional to exp(alpha * score)."""
        numbers = uniform(seed, number)
        drop = skips(numbers, dropout)
        parts: list[str] = []
        for segment in self.segments(self.normalize(line)):
            parts += self.bpe(segment, drop) if self.is_bpe else self.lattice_sample(segment, alpha, numbers)
        return self.ids_of(parts)

    def lattice_sample(self, text: str, alpha: float, numbers: Iterator[float]) -> list[str]:
        """Draws the last piece first, with the sums of all segmentations before each piece, as logarithms."""
        lowest = min((score for _, score, kind in self.pieces if kind == NORMAL), default=np.float32(0))
        sums = [0.0]
        last: list[list[tuple[float, int]]] = [[]]  # by position: the pieces that end there, longest first
        for end in range(1, len(text) + 1):
            ends = []
            for start in range(end):
                part = text[start:end]
                if part in self.ids:
                    _, score, kind = self.pieces[self.ids[part]]
                    logarithm = np.float32(0.1 * (len(part.encode()) - 1)) if kind == USER_DEFINED else score
                elif start == end - 1:
                    logarithm = lowest - np.float32(10)
                else:
                    continue
                ends.append((sums[start] + alpha * float(logarithm), start))
            most = max(total for total, _ in ends)
            sums.append(most + math.log(sum(math.exp(total - most) for total, _ in ends)))
            last.append(ends)
        parts = []
        end = len(text)
        while end:
            left = next(numbers)
            begin = last[end][-1][1]
            for total, start in last[end]:
                left -= math.exp(total - sums[end])
                if left < 0:
                    begin = start
                    break
            parts.append(text[begin:end])
            end = begin
        return parts[::-1]

    def segments(self, text: str) -> Iterator[str]:
        """Splits a text where no piece crosses, as a filter of pairs finds; never between two ASCII letters."""
        start = 0
        for at, (left, right) in enumerate(pairwise(text), 1):
            letters = left.isascii() and left.isalpha() and right.isascii() and right.isalpha()
            if not letters and not self.joined(self.spelled(left), self.spelled(right)):
                yield text[start:at]
                start = at
        if text:
            yield text[start:]

    def spelled(self, text: str) -> str:
        return text.replace(SPACE, " ") if self.escape else text

    def joined(self, left: str, right: str) -> bool:
        texts = [self.spelled(text) for text in self.ids if not (self.escape and " " in text)]
        pairs = [(one, other) for text in texts for one, other in pairwise(text)]
        if left.isascii() and right.isascii():
            return (left, right) in pairs
        others = [pair for pair in pairs if not (pair[0].isascii() and pair[1].isascii())]
        bits = min(max((8 * len(others)).bit_length(), 12), 24)
        return place(left, right, bits) in {place(*pair, bits) for pair in others}


def place(left: str, right: str, bits: int) -> int:
    return mix(ord(left) << 32 | ord(right), 0x9E3779B97F4A7C15) >> 64 - bits


def uniform(seed: int, line: int) -> Iterator[float]:
    """Yields random numbers from 0 to 1 for a line: SplitMix64."""
    whole = 2**64
    state = mix(seed ^ 0xD1B54A32D192ED03, 0x9E3779B97F4A7C15) + mix(line + 1, 0xBF58476D1CE4E5B9)
    while True:
        state = (state + 0x9E3779B97F4A7C15) % whole
        bits = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % whole
        bits = (bits ^ bits >> 27) * 0x94D049BB133111EB % whole
        yield ((bits ^ bits >> 31) >> 11) * 2.0**-53


def skips(numbers: Iterator[float], dropout: float) -> Callable[[], bool]:
    """Returns a function that decides for one merge after another whether it is dropped.

    The numbers of merges before the next one to drop are drawn, from a geometric distribution.
    """

    def gap() -> float:
        if dropout in (0, 1):
            return math.inf if dropout == 0 else 0
        return math.log1p(-next(numbers)) // math.log1p(-dropout)

    left = gap() if dropout else math.inf

    def drop() -> bool:
        nonlocal left
        if left > 0:
            left -= 1
            return False
        left = gap()
        return True

    return drop
