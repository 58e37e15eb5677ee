"""SentencePiece encoding by its definition: reads the model field by field, runs BPE and Viterbi on whole lines.

Behaves like sentencepiece 0.2.3 for models without unused pieces; takes at least quadratic time. Samples are those of
the native core: random numbers are used in the order of segments that no piece crosses.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

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


class Rules:
    """The normalisation table: a Darts-clone double array and the replacements that it refers to."""

    def __init__(self, table: bytes) -> None:
        size = int.from_bytes(table[:4], "little")
        self.units = struct.unpack(f"<{size // 4}I", table[4 : 4 + size])
        self.replacements = table[4 + size :]

    def longest(self, text: bytes) -> tuple[int, str] | None:
        def offset(unit: int) -> int:
            return (unit >> 10) << ((unit & 1 << 9) >> 6)

        found = None
        node = offset(self.units[0]) if self.units else 0
        for length, byte in enumerate(text, 1):
            node ^= byte
            if node >= len(self.units) or self.units[node] & (1 << 31 | 0xFF) != byte:
                break
            ends = self.units[node] >> 8 & 1
            node ^= offset(self.units[node])
            if ends:
                start = self.units[node] & ~(1 << 31)
                found = length, self.replacements[start : self.replacements.index(b"\0", start)].decode()
        return found


class Model:
    def __init__(self, file: bytes) -> None:
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
        self.suffix = bool(settings.get((2, 24), 0))
        self.byte_fallback = bool(settings.get((2, 35), 0))
        self.rules = Rules(settings.get((3, 2), b""))
        self.dummy_prefix, self.collapse, self.escape = (bool(settings.get((3, field), 1)) for field in (3, 4, 5))
        self.ids = {text: i for i, (text, _, kind) in enumerate(self.pieces) if kind in (NORMAL, USER_DEFINED)}
        self.symbols = [text for text, _, kind in self.pieces if kind == USER_DEFINED]
        self.unk = next(i for i, (_, _, kind) in enumerate(self.pieces) if kind == UNKNOWN)
        self.byte_ids = {text: i for i, (text, _, kind) in enumerate(self.pieces) if kind == BYTE}

    def symbol(self, text: str) -> str:
        """Returns the longest user-defined symbol that the text begins with."""
        return max((symbol for symbol in self.symbols if text.startswith(symbol)), key=len, default="")

    def parts(self, text: str) -> Iterator[str]:
        """Normalises the text, from left to right."""
        while text:
            if symbol := self.symbol(text):
                part, rest = symbol, text[len(symbol) :]
            elif rule := self.rules.longest(text.encode()):
                part, rest = rule[1], text.encode()[rule[0] :].decode()
            else:
                part, rest = text[0], text[1:]
            yield part
            text = rest

    def normalize(self, text: str) -> str:
        parts = list(self.parts(text))
        while self.collapse and parts and parts[0] == " ":
            parts.pop(0)
        if not parts:
            return ""
        space = SPACE if self.escape else " "
        out = space if self.dummy_prefix and not self.suffix else ""
        after_space = self.collapse
        for part in parts:
            kept = part.lstrip(" ") if after_space else part
            out += kept.replace(" ", space)
            after_space = (kept.endswith(" ") if kept else after_space) and self.collapse
        if self.collapse:
            while out.endswith(space):
                out = out.removesuffix(space)
        return out + (space if self.dummy_prefix and self.suffix else "")

    def bpe(self, text: str, drop: Callable[[], bool] = lambda: False) -> list[str]:
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

    def viterbi(self, text: str) -> list[str]:
        """Finds the best segmentation; like the library's, sums are floats and restart after 100,000."""
        lowest = min((score for _, score, kind in self.pieces if kind == NORMAL), default=np.float32(0))
        best: list[tuple[np.float32, int] | None] = [(np.float32(0), 0)] + [None] * len(text)
        for start in range(len(text)):
            if abs(best[start][0]) > 100_000:
                offset = best[start][0]
                best[start:] = [way and (way[0] - offset, way[1]) for way in best[start:]]
            for end in range(start + 1, len(text) + 1):
                part = text[start:end]
                if part in self.ids:
                    _, score, kind = self.pieces[self.ids[part]]
                    own = np.float32(0.1 * (len(part.encode()) - 1)) if kind == USER_DEFINED else score
                elif end == start + 1:
                    own = lowest - np.float32(10)
                else:
                    continue
                total = own + best[start][0]
                if best[end] is None or total > best[end][0]:
                    best[end] = total, start
        parts = []
        end = len(text)
        while end:
            parts.append(text[best[end][1] : end])
            end = best[end][1]
        return parts[::-1]

    def encode(self, line: str) -> list[int]:
        text = self.normalize(line)
        return self.ids_of(self.bpe(text) if self.is_bpe else self.viterbi(text))

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
            ways = []
            for start in range(end):
                part = text[start:end]
                if part in self.ids:
                    _, score, kind = self.pieces[self.ids[part]]
                    own = np.float32(0.1 * (len(part.encode()) - 1)) if kind == USER_DEFINED else score
                elif start == end - 1:
                    own = lowest - np.float32(10)
                else:
                    continue
                ways.append((sums[start] + alpha * float(own), start))
            most = max(way for way, _ in ways)
            sums.append(most + math.log(sum(math.exp(way - most) for way, _ in ways)))
            last.append(ways)
        parts = []
        end = len(text)
        while end:
            left = next(numbers)
            begin = last[end][-1][1]
            for way, start in last[end]:
                left -= math.exp(way - sums[end])
                if left < 0:
                    begin = start
                    break
            parts.append(text[begin:end])
            end = begin
        return parts[::-1]

    def segments(self, text: str) -> Iterator[str]:
        """Splits a text where no piece crosses, which a filter of pairs tells; never between two ASCII letters."""
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
    """Returns a function that tells for one merge after another whether it is dropped.

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
