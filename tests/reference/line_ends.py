"""Readable twins of the native functions for blocks of lines."""

from __future__ import annotations

_ODD = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB)
_MASK = 2**64 - 1


def hash_bytes(data: bytes) -> int:
    """Returns the hash of some bytes: folded 128-bit products of their words."""
    hashed = len(data) * _ODD[0] & _MASK
    words = [int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data), 8)]
    for word in words[: len(data) // 8]:
        hashed = fold((hashed ^ word) * _ODD[1])
    rest = words[-1] if len(data) % 8 else 0
    return fold((hashed ^ rest ^ _ODD[0]) * _ODD[1])


def hash_block(data: bytes) -> int:
    """Returns the hash of a block: four chains, each over every fourth word, and the hash of the rest."""
    whole = len(data) // 32 * 32
    chains = list(_ODD)
    for at in range(0, whole, 8):
        chain = at // 8 % 4
        word = int.from_bytes(data[at : at + 8], "little")
        chains[chain] = fold((chains[chain] ^ word) * _ODD[chain])
    first = fold((chains[0] ^ hash_bytes(data[whole:])) * (chains[1] ^ _ODD[3]))
    second = fold(chains[2] * (chains[3] ^ _ODD[0]))
    return fold((first ^ len(data)) * second)


def kept_lines(data: bytes, left_out: set[int], strip_returns: bool) -> list[bytes]:
    """Returns the lines of a block without their ends, except those with the given numbers."""
    parts = data.split(b"\n")
    ended = [part.removesuffix(b"\r") if strip_returns else part for part in parts[:-1]]
    lines = [*ended, *filter(None, parts[-1:])]
    return [line for number, line in enumerate(lines) if number not in left_out]


def spans(data: bytes, starts: list[int], ends: list[int]) -> list[bytes]:
    """Returns spans of a block."""
    return [data[start:end] for start, end in zip(starts, ends, strict=True)]


def fold(product: int) -> int:
    """Returns the lower half of a product of 64-bit numbers, combined with the upper one."""
    return product & _MASK ^ product >> 64
