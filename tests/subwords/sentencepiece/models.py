"""Model files made by hand, and the library to compare with."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

import sentencepiece

from tests.reference.sentencepiece import BYTE, UNKNOWN

UNIGRAM, BPE, WORD, CHAR = 1, 2, 3, 4
UNK = ("<unk>", 0.0, UNKNOWN)
BYTES = [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number: int, value: int | float | str | bytes) -> bytes:
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def model_file(
    pieces: Iterable[tuple[str, float, int]],
    kind: int = UNIGRAM,
    *,
    byte_fallback: bool = False,
    suffix: bool = False,
    dummy_prefix: bool = True,
    collapse: bool = True,
    escape: bool = True,
    charsmap: bytes = b"",
    self_tests: Sequence[tuple[str, str]] = (),
    denormalizer: bytes | None = None,
) -> bytes:
    out = b"".join(
        field(1, field(1, text) + field(2, float(score)) + field(3, piece_type)) for text, score, piece_type in pieces
    )
    out += field(2, field(3, kind) + field(24, int(suffix)) + field(35, int(byte_fallback)))
    out += field(3, field(2, charsmap) + field(3, int(dummy_prefix)) + field(4, int(collapse)) + field(5, int(escape)))
    if self_tests:
        out += field(4, b"".join(field(1, field(1, text) + field(2, expected)) for text, expected in self_tests))
    if denormalizer is not None:
        out += field(5, denormalizer)
    return out


def library(file: bytes) -> sentencepiece.SentencePieceProcessor:
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(file)
    return processor


def trained(lines: Iterable[str], size: int, **options: object) -> bytes:
    from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer

    tokenizer = SentencePieceTokenizer.train(lines, size, hard_vocab_limit=False, **options)  # type: ignore[arg-type]
    return tokenizer.model_bytes
