"""Ways to change files that reach deep into their readers: fields of messages, values of JSON, numbers of arrays.

Digests and checksums are computed anew.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from tests.corpora.formats.fuzzing import mutated
from tests.reference import records
from tests.subwords.sentencepiece import models as sentencepiece

NUMBERS = [0, 1, 2, 127, 128, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 10**30]
FLOATS = [0.0, -0.0, -1.0, 1e-45, 1e-30, 1.5, 3e38, float("inf"), float("-inf"), float("nan")]


def number(size: int, generator: random.Random) -> bytes:
    """Returns a number of four or eight bytes that may matter: near a limit, negative, a float, any."""
    kind = generator.randrange(4)
    if kind == 0 and size == 4:
        return struct.pack("<f", generator.choice(FLOATS))
    whole = generator.choice([generator.choice(NUMBERS), -generator.choice(NUMBERS), generator.getrandbits(8 * size)])
    return (whole % 2 ** (8 * size)).to_bytes(size, "little")


def overwrite(data: bytes, generator: random.Random) -> bytes:
    """Writes numbers over some bytes, mostly near the beginning."""
    content = bytearray(data)
    for _ in range(generator.randint(1, 4)):
        at = generator.randrange(min(len(content), generator.choice([100, 500, len(content)])))
        new = number(generator.choice([4, 8]), generator)
        content[at : at + len(new)] = new
    return bytes(content[: len(data)])


def of_message(data: bytes, generator: random.Random) -> bytes:
    """Changes a field of a message of protocol buffers, or of one in it, if it is well formed."""
    parts = list(wire_fields(data))
    at = generator.randrange(len(parts)) if parts else 0
    if not parts or generator.random() < 0.1:
        return data + wire_field(generator.randrange(1, 50), generator.choice([0, 2, 5]), b"\x01\x02\x03\x04")
    field, kind, value = parts[at]
    action = generator.randrange(5)
    if action == 0:
        del parts[at]
    elif action == 1:
        parts.insert(generator.randrange(len(parts) + 1), parts[at])
    elif kind == 2 and (action == 2 or len(value) > 40) and list(wire_fields(value)):
        parts[at] = field, kind, of_message(value, generator)
    elif kind == 2:
        parts[at] = field, kind, mutated(value, [b"\xc3", b"\xf0\x9f", b"\0", b" "], generator.randrange(2**32))
    elif kind == 5:
        parts[at] = field, kind, number(4, generator)
    else:
        parts[at] = field, kind, sentencepiece.varint(generator.choice(NUMBERS) % 2**64)
    return b"".join(wire_field(*part) for part in parts)


def wire_fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yields the number, type and content of fields, up to the first malformed one."""
    at = 0
    while at < len(data):
        try:
            tag, at = records._read_varint(data, at)
            kind = tag & 7
            if kind == 0:
                value, at = records._read_varint(data, at)
                yield tag >> 3, kind, sentencepiece.varint(value)
                continue
            size = {1: 8, 5: 4}.get(kind)
            if size is None:
                size, at = records._read_varint(data, at)
        except ValueError:
            return
        if kind not in (1, 2, 5) or at + size > len(data):
            return
        yield tag >> 3, kind, data[at : at + size]
        at += size


def wire_field(field: int, kind: int, content: bytes) -> bytes:
    size = sentencepiece.varint(len(content)) if kind == 2 else b""
    return sentencepiece.varint(field << 3 | kind) + size + content


def of_json(data: bytes, generator: random.Random) -> bytes:
    """Changes one value of a JSON file."""
    content = json.loads(data)
    places: list[tuple[Any, Any]] = []
    level: list[Any] = [content]
    while level:
        part = level.pop()
        here = list(part) if isinstance(part, dict) else list(range(len(part)))
        if len(here) > 20:
            here = generator.sample(here, 20)
        places += [(part, key) for key in here]
        level += [part[key] for key in here if isinstance(part[key], dict | list)]
    part, key = generator.choice(places)
    other = generator.choice(places)
    new = generator.choice(
        [None, True, -1, "", "x" * 3000, "\ud800", "\0", [], {}, [[]], *NUMBERS, *FLOATS, other[0][other[1]]]
    )
    if isinstance(part, dict) and generator.random() < 0.2:
        part[generator.choice(["", "a", "\ud800", "<0x41>", str(key) + "x"])] = part.pop(key)
    elif generator.random() < 0.2:
        del part[key]
    else:
        part[key] = new
    try:
        return json.dumps(content).encode()
    except ValueError:  # a value within itself
        return data


def of_arrays(data: bytes, generator: random.Random) -> bytes:
    """Changes numbers of arrays, and sometimes a value of the first line."""
    line, _, rest = data.partition(b"\n")
    header, content, start = json.loads(line), bytearray(rest), len(line) + 1
    listed, places, at = header["arrays"], [], start
    for _, dtype, length in listed:
        at += -at % 64
        size = length * int(dtype[2:])
        places.append((at - start, max(4, int(dtype[2:])), size))
        at += size
    for first, width, size in generator.choices(places, k=generator.randint(1, 3)):
        if size:
            place = first + width * generator.randrange(size // width)
            content[place : place + width] = number(width, generator)
    if generator.random() < 0.1:
        generator.choice(listed)[generator.randrange(3)] = generator.choice([0, -1, "<i8", "slots", 2**62, None, True])
    if generator.random() < 0.1:
        header[generator.choice(list(header))] = generator.choice([None, -1, 3, True, 0.5, "x", [], {}])
    return with_header(header, line, bytes(content))


def with_header(header: Any, before: bytes, rest: bytes) -> bytes:
    """Returns a file with another first line, after which arrays stay aligned."""
    line = json.dumps(header).encode()
    return line + b" " * ((len(before) - len(line)) % 64) + b"\n" + rest


def with_new_digest(data: bytes) -> bytes:
    """Returns a model of alignment with the digest of its bytes."""
    line, _, rest = data.partition(b"\n")
    try:
        header = json.loads(line)
        return with_header(header | {"sha256": sha256(rest).hexdigest()}, line, rest)
    except (TypeError, ValueError, RecursionError):
        return data


def of_records(data: bytes, generator: random.Random) -> bytes:
    """Changes the content of a record, and computes its checksums again."""
    frames, at = [], 0
    while at + 12 <= len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        frames.append(data[at + 12 : at + 12 + size])
        at += 16 + size
    at = generator.randrange(len(frames))
    frames[at] = of_message(frames[at], generator)
    return b"".join(map(records.frame, frames))


def of_spill(data: bytes, generator: random.Random) -> bytes:
    """Changes numbers of a record, and computes its checksum again."""
    found, at = [], 0
    while at < len(data):
        numbers = []
        for _ in range(6):
            value, at = records._read_varint(data, at)
            numbers.append(value)
        end = at + numbers[4] + numbers[5]
        found.append((numbers, data[at:end]))
        at = end + 4
    numbers = generator.choice(found)[0]
    place = generator.randrange(6)
    numbers[place] = generator.choice([*NUMBERS[:-1], numbers[place] + 1, 2**64 - numbers[place]])
    out = b""
    for values, ids in found:
        record = b"".join(map(records.varint, values)) + ids
        out += record + struct.pack("<I", records.masked_crc32c(record))
    return out
