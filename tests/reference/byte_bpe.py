"""Byte-level BPE by its definition: finds the best pair, merges it, and repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import regex

GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""

Drop = Callable[[int, int], bool]


def pretokens(line: str, pattern: str = GPT2) -> list[str]:
    """Returns the matches of a pattern in the syntax of tiktoken, where ``$`` is the end of the text only."""
    return [match[0] for match in regex.finditer(pattern.replace("$", r"\Z"), line, regex.VERSION1)]


class Vocabulary:
    """Returns the tokens by ID, and the merges (left ID, right ID, merged ID) in the order of rank."""

    def __init__(self, tokens: Sequence[bytes], merges: Iterable[Sequence[int]]) -> None:
        self.tokens = list(tokens)
        self.bytes = {token[0]: i for i, token in enumerate(self.tokens) if len(token) == 1}
        self.rules = {(left, right): (rank, merged) for rank, (left, right, merged) in enumerate(merges)}

    def merge(self, word: bytes, drop: Drop = lambda step, position: False) -> list[int]:
        symbols = [(self.bytes[byte], position) for position, byte in enumerate(word)]
        step = 0
        while True:
            possible = [
                (*self.rules[left, right], i)
                for i, ((left, position), (right, _)) in enumerate(pairwise(symbols))
                if (left, right) in self.rules and not drop(step, position)
            ]
            if not possible:
                return [symbol for symbol, _ in symbols]
            _, merged, i = min(possible, key=lambda found: (found[0], found[2]))
            symbols[i : i + 2] = [(merged, symbols[i][1])]
            step += 1

    def encode(self, line: str) -> list[int]:
        return [i for word in pretokens(line) for i in self.merge(word.encode())]

    def encode_with_dropout(self, line: str, dropout: float, seed: int) -> list[int]:
        ids = []
        at, hashed = 0, hash_bytes(line.encode())
        for word in pretokens(line):
            key = draw(hashed, seed, at)
            ids += self.merge(word.encode(), lambda step, i, key=key: draw(key, step, i) >> 11 < int(dropout * 2**53))
            at += len(word.encode())
        return ids


def merges_of_ranks(tokens: Sequence[bytes]) -> list[tuple[int, int, int]]:
    """Returns the merges that produce tokens whose IDs are their ranks: the halves that all other tokens leave."""
    ids = {token: number for number, token in enumerate(tokens)}
    merges = []
    for number, token in enumerate(tokens):
        parts = [bytes([byte]) for byte in token]
        if not all(part in ids for part in parts):
            continue
        while possible := [
            (ids[left + right], i)
            for i, (left, right) in enumerate(pairwise(parts))
            if left + right in ids and left + right != token
        ]:
            i = min(possible)[1]
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        if len(parts) == 2:
            merges.append((ids[parts[0]], ids[parts[1]], number))
    return merges


def mix(a: int, b: int) -> int:
    product = a * b
    return (product ^ product >> 64) & (2**64 - 1)


def hash_bytes(data: bytes) -> int:
    odd = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03
    value = len(data) * odd[0] % 2**64
    while len(data) >= 8:
        value = mix(value ^ int.from_bytes(data[:8], "little"), odd[1])
        data = data[8:]
    return mix(value ^ int.from_bytes(data, "little") ^ odd[0], odd[1])


def draw(key: int, a: int, b: int) -> int:
    return mix(mix(key ^ 0x9E3779B97F4A7C15, a ^ 0xD1B54A32D192ED03), b ^ 0xA0761D6478BD642F)
