"""GPT-2's spelling of bytes as characters, one character per byte.

Printable Latin-1 characters represent themselves; the other bytes are mapped in order to the characters from U+0100.
"""

from __future__ import annotations

import codecs


def _byte_characters() -> tuple[str, ...]:
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in printable else next(others)) for byte in range(256))


BYTE_CHARACTERS = _byte_characters()
_TO_CHARACTERS = "".join(BYTE_CHARACTERS)
_TO_BYTES = {ord(character): byte for byte, character in enumerate(BYTE_CHARACTERS)}


def spelled(token: bytes) -> str:
    """Returns the characters that spell the bytes of a token."""
    return codecs.charmap_decode(token, "strict", _TO_CHARACTERS)[0]


def unspelled(spelling: str) -> bytes:
    """Returns the bytes of a valid spelling."""
    return spelling.translate(_TO_BYTES).encode("latin-1")


def bytes_of(spelling: str) -> bytes | None:
    """Returns the bytes of a spelling; None if a character in it spells no byte."""
    return unspelled(spelling) if _TO_BYTES.keys() >= set(map(ord, spelling)) else None
