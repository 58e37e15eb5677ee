"""SentencePiece encoding by its definition: reads the model field by field, runs BPE and Viterbi on whole lines.

Behaves like sentencepiece 0.2.3 for models without unused pieces; takes at least quadratic time.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

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

    def bpe(self, text: str) -> list[str]:
        parts: list[str] = []
        at = 0
        while at < len(text):
            symbol = self.symbol(text[at:])
            parts.append(symbol or text[at])
            at += len(parts[-1])
        whole = [part in self.symbols for part in parts]
        while True:
            merges = [
                (-self.pieces[self.ids[left + right]][1], i)
                for i, (left, right) in enumerate(pairwise(parts))
                if not whole[i] and not whole[i + 1] and left + right in self.ids
            ]
            if not merges:
                return parts
            i = min(merges)[1]
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
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
        ids: list[int] = []
        for part in self.bpe(text) if self.is_bpe else self.viterbi(text):
            if part in self.ids:
                ids.append(self.ids[part])
            elif self.byte_fallback:
                ids += [self.byte_ids[f"<0x{byte:02X}>"] for byte in part.encode()]
            elif not ids or ids[-1] != self.unk:
                ids.append(self.unk)
        return ids
