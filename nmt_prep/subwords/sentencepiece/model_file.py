"""Writes SentencePiece ``.model`` files: the protocol buffer ``ModelProto``, byte for byte as the library does.

The library writes the fields of all options that were set, even to their defaults, in the order of their numbers. It
ignores deprecated options.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import write_sentencepiece_pieces

from nmt_prep.base.columns import TextColumn
from nmt_prep.subwords.sentencepiece.options import NORMALIZER_OPTIONS, TRAINER_OPTIONS, Option

Value = bool | int | float | str | bytes | tuple[str, ...]

_MODEL_TYPES = {"unigram": 1, "bpe": 2, "word": 3, "char": 4}


MOST_PIECES = 1 << 21  # Upper limit for the ID count


class PieceType(IntEnum):
    """Types of pieces. No text is encoded to an unused piece."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


class Pieces(NamedTuple):
    """A model's pieces in ID order."""

    texts: TextColumn  # the pieces
    scores: npt.NDArray[np.float32]  # their scores, float32, shape `[pieces]`
    types: npt.NDArray[np.uint8]  # their types, values of `PieceType`, uint8, shape `[pieces]`


def model_file(pieces: Pieces, settings: Mapping[str, Value], charsmap: bytes) -> bytes:
    """Returns the bytes of a model's file."""
    trainer: list[tuple[int, Value]] = [(3, _MODEL_TYPES[str(settings["model_type"])])]
    trainer += _numbered(settings, TRAINER_OPTIONS)
    normalizer = [(2, charsmap), *_numbered(settings, NORMALIZER_OPTIONS)]
    written = write_sentencepiece_pieces(pieces.texts.data, pieces.texts.offsets, pieces.scores, pieces.types)
    return b"".join((written, *message(2, *fields(trainer)), *message(3, *fields(normalizer))))


def _numbered(settings: Mapping[str, Value], options: Mapping[str, Option]) -> list[tuple[int, Value]]:
    """Returns the numbers of fields, and their values."""
    numbers = {name: option.field for name, option in options.items() if name in settings}
    return [(number, settings[name]) for name, number in numbers.items() if number is not None]


def fields(values: Sequence[tuple[int, Value]]) -> Iterator[bytes]:
    """Yields a protocol buffer's fields in the order of their numbers."""
    for number, value in sorted(values, key=lambda field: field[0]):
        if isinstance(value, float):
            yield varint(number << 3 | 5) + struct.pack("<f", value)
        elif isinstance(value, int):
            yield varint(number << 3) + varint(value)
        else:
            items = value if isinstance(value, tuple) else (value,)
            for item in items:
                yield from message(number, item if isinstance(item, bytes) else item.encode())


def message(number: int, *contents: bytes) -> Iterator[bytes]:
    """Yields the parts of a bytes field; joining them here would copy long normalization rules."""
    yield varint(number << 3 | 2) + varint(sum(map(len, contents)))
    yield from contents


def varint(number: int) -> bytes:
    """Returns the varint for an integer with at most 64 bits, as protocol buffers encode it."""
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])
