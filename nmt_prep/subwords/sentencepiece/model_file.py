"""Writes SentencePiece ``.model`` files: the protocol buffer ``ModelProto``, byte for byte as the library does.

The library writes the fields of all options that were set, even to their defaults, in the order of their numbers. It
ignores deprecated options.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import write_sentencepiece_pieces

from nmt_prep.columns import TextColumn

Value = bool | int | float | str | bytes | tuple[str, ...]

_TRUE = ("true", "t", "1", "yes", "y")
_MODEL_TYPES = {"unigram": 1, "bpe": 2, "word": 3, "char": 4}


MOST_PIECES = 1 << 21
"""Upper limit of the number of ids."""


class PieceType(IntEnum):
    """Types of pieces. No text is encoded to an unused piece."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


class Pieces(NamedTuple):
    """Pieces of a model in order of their ids.

    Attributes:
        texts: the pieces.
        scores: their scores, float32, shape ``[pieces]``.
        types: their types, values of :class:`PieceType`, uint8, shape ``[pieces]``.
    """

    texts: TextColumn
    scores: npt.NDArray[np.float32]
    types: npt.NDArray[np.uint8]


_TRAINER_FIELDS: Mapping[str, tuple[int, type]] = {
    "vocab_size": (4, int),
    "character_coverage": (10, float),
    "input_sentence_size": (11, int),
    "seed_sentencepiece_size": (14, int),
    "shrinking_factor": (15, float),
    "num_threads": (16, int),
    "num_sub_iterations": (17, int),
    "max_sentence_length": (18, int),
    "shuffle_input_sentence": (19, bool),
    "max_sentencepiece_length": (20, int),
    "split_by_unicode_script": (21, bool),
    "split_by_whitespace": (22, bool),
    "split_by_number": (23, bool),
    "treat_whitespace_as_suffix": (24, bool),
    "split_digits": (25, bool),
    "allow_whitespace_only_pieces": (26, bool),
    "control_symbols": (30, tuple),
    "user_defined_symbols": (31, tuple),
    "vocabulary_output_piece_score": (32, bool),
    "hard_vocab_limit": (33, bool),
    "use_all_vocab": (34, bool),
    "byte_fallback": (35, bool),
    "required_chars": (36, str),
    "unk_id": (40, int),
    "bos_id": (41, int),
    "eos_id": (42, int),
    "pad_id": (43, int),
    "unk_surface": (44, str),
    "unk_piece": (45, str),
    "bos_piece": (46, str),
    "eos_piece": (47, str),
    "pad_piece": (48, str),
    "pretokenization_delimiter": (53, str),
    "seed_sentencepieces_file": (54, str),
    "auto_character_coverage": (55, bool),
}
_NORMALIZER_FIELDS: Mapping[str, tuple[int, type]] = {
    "normalization_rule_name": (1, str),
    "precompiled_charsmap": (2, bytes),
    "add_dummy_prefix": (3, bool),
    "remove_extra_whitespaces": (4, bool),
    "escape_whitespaces": (5, bool),
    "normalization_rule_tsv": (6, str),
}


def typed_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options that the library does not ignore, with values parsed from text as the library does."""
    kinds = {name: kind for name, (_, kind) in {**_TRAINER_FIELDS, **_NORMALIZER_FIELDS}.items()}
    typed = {name: _typed(value, kinds[name]) for name, value in settings.items() if name in kinds}
    return typed | {"model_type": settings["model_type"]}


def _typed(value: Any, kind: type) -> Value:
    if kind is bool:
        return str(value).lower() in _TRUE
    if kind is tuple:
        return tuple(value.split(",")) if isinstance(value, str) else tuple(value)
    text: Value = kind(str(value))
    return text


def model_file(pieces: Pieces, settings: Mapping[str, Value], charsmap: bytes) -> bytes:
    """Returns the bytes of a model's file.

    Args:
        pieces: the pieces.
        settings: options as :func:`typed_settings` returns them.
        charsmap: the compiled rules of normalization.
    """
    trainer: list[tuple[int, Value]] = [(3, _MODEL_TYPES[str(settings["model_type"])])]
    trainer += [(number, settings[name]) for name, (number, _) in _TRAINER_FIELDS.items() if name in settings]
    trainer.sort(key=lambda field: field[0])
    normalizer: dict[str, Value] = {**settings, "precompiled_charsmap": charsmap}
    values = [(number, normalizer[name]) for name, (number, _) in _NORMALIZER_FIELDS.items() if name in normalizer]
    written = write_sentencepiece_pieces(pieces.texts.data, pieces.texts.offsets, pieces.scores, pieces.types)
    return b"".join((written, *_message(2, *_fields(trainer)), *_message(3, *_fields(values))))


def _fields(values: Sequence[tuple[int, Value]]) -> Iterator[bytes]:
    for number, value in values:
        if isinstance(value, float):
            yield varint(number << 3 | 5) + struct.pack("<f", value)
        elif isinstance(value, int):
            yield varint(number << 3) + varint(value)
        else:
            items = value if isinstance(value, tuple) else (value,)
            for item in items:
                yield from _message(number, item if isinstance(item, bytes) else item.encode())


def _message(number: int, *contents: bytes) -> Iterator[bytes]:
    """Yields the parts of a field of bytes; joining them here would copy long rules of normalization."""
    yield varint(number << 3 | 2) + varint(sum(map(len, contents)))
    yield from contents


def varint(number: int) -> bytes:
    """Returns the varint of an integer of at most 64 bits, as protocol buffers encode it."""
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])
