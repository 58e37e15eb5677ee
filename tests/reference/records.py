"""Readable twin of the native records: CRC-32C, frames, Examples written and read, and rows within special IDs.

See ``core/records/crc32c.cpp``, ``core/records/example.cpp``, ``core/records/reader.cpp`` and
``core/records/framed_rows.cpp``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

Pair = tuple[list[int], list[int]]


class DamagedError(ValueError):
    """An error of the native reader: byte of the record, and the reason."""


def frame_rows(rows: list[list[int]], before: list[int], after: list[int]) -> list[list[int]]:
    return [[*before, *row, *after] for row in rows]


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def frame(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc32c(length)) + data + struct.pack("<I", masked_crc32c(data))


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(tag: int, content: bytes) -> bytes:
    return bytes([tag]) + varint(len(content)) + content


def serialize_feature(key: str, ids: list[int]) -> bytes:
    packed = b"".join(map(varint, ids))
    values = message(0x0A, packed) if ids else b""
    return message(0x0A, message(0x0A, key.encode()) + message(0x12, message(0x1A, values)))


def serialize_example(inputs: list[int], targets: list[int]) -> bytes:
    return message(0x0A, serialize_feature("inputs", inputs) + serialize_feature("targets", targets))


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at == len(data):
            raise ValueError("a number is cut off")
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value & ((1 << 64) - 1), at
    raise ValueError("a number is longer than ten bytes")


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        if not 8 <= tag < 1 << 32:
            raise ValueError("a field has an impossible number")
        kind = tag & 7
        if kind == 0:
            value, at = _read_varint(data, at)
            yield tag, value
            continue
        if kind not in (1, 2, 5):
            raise ValueError("a field has an unknown wire type")
        size = 8 if kind == 1 else 4
        if kind == 2:
            size, at = _read_varint(data, at)
        if size > len(data) - at:
            raise ValueError("a field is longer than its message")
        yield tag, data[at : at + size]
        at += size


def _int32(value: int) -> int:
    signed = value - (1 << 64) if value >> 63 else value
    if not -(1 << 31) <= signed < 1 << 31:
        raise ValueError("an id does not fit 32 bits")
    return signed


def _int64_list(data: bytes) -> Iterator[int]:
    for tag, value in _fields(data):
        if tag == 0x08:
            yield _int32(value)
        if tag == 0x0A:
            at = 0
            while at < len(value):
                number, at = _read_varint(value, at)
                yield _int32(number)


def parse_example(data: bytes) -> Pair:
    found: dict[str, list[int] | None] = {"inputs": None, "targets": None}
    for features in (value for tag, value in _fields(data) if tag == 0x0A):
        for entry in (value for tag, value in _fields(features) if tag == 0x0A):
            fields = list(_fields(entry))
            key = ([b"", *(value for tag, value in fields if tag == 0x0A)])[-1].decode("latin-1")
            if key not in found:
                continue
            ids: list[int] | None = None
            for feature in (value for tag, value in fields if tag == 0x12):
                for tag, value in _fields(feature):
                    if tag in (0x0A, 0x12):
                        ids = None
                    if tag == 0x1A:
                        ids = (ids or []) + list(_int64_list(value))
            found[key] = ids
    for key, ids in found.items():
        if ids is None:
            raise ValueError(f"the Example has no int64 feature '{key}'")
    return found["inputs"] or [], found["targets"] or []


def _read_frame(data: bytes, at: int) -> bytes:
    if len(data) - at < 12:
        raise ValueError("the file ends within it")
    length, crc = struct.unpack_from("<QI", data, at)
    if crc != masked_crc32c(data[at : at + 8]):
        raise ValueError("the checksum of a record's length does not match")
    if length > 0x7FFFFFFF:
        raise ValueError("a record claims more than 2 GiB")
    if len(data) - at < 16 + length:
        raise ValueError("the file ends within it")
    record = data[at + 12 : at + 12 + length]
    if struct.unpack_from("<I", data, at + 12 + length)[0] != masked_crc32c(record):
        raise ValueError("the checksum of a record's data does not match")
    return record


def parse_shard(data: bytes) -> list[Pair]:
    pairs: list[Pair] = []
    at = 0
    while at < len(data):
        try:
            record = _read_frame(data, at)
            pairs.append(parse_example(record))
        except ValueError as error:
            raise DamagedError(f"record at byte {at}: {error}") from error
        at += 16 + len(record)
    return pairs
