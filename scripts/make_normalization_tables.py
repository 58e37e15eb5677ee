"""Writes nmt_prep/_native/core/text/normalization_tables.cpp: the data of Unicode's normal form C.

Run it with a Python whose ``unicodedata`` has the version of the core's other tables. ``--check`` only compares.
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

from table_files import rows, write_or_check

_TARGET = Path(__file__).parents[1] / "nmt_prep" / "_native" / "core" / "text" / "normalization_tables.cpp"
_PAGE = 256
_VOWELS_AND_FINALS = [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]
"""Conjoining jamo, which may combine with the character before them."""


def decompositions() -> list[tuple[int, int, int, bool]]:
    """Returns (code point, first, second or 0, whether first and second combine to it) for every decomposition."""
    found = []
    for point in range(sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(point)).split()
        if not parts or parts[0].startswith("<"):
            continue
        first, second = int(parts[0], 16), int(parts[1], 16) if len(parts) == 2 else 0
        found.append((point, first, second, unicodedata.normalize("NFC", chr(point)) == chr(point)))
    return found


def pages() -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Returns the page of every 256 code points, the kinds of the characters of the distinct pages, and the kinds.

    A kind is the combining class of a character, and 0 if normal form C always keeps it, 1 if it may combine with a
    character before it, 2 if it never occurs in normal form C.
    """
    combining = {second for _, _, second, composes in decompositions() if composes} | {*_VOWELS_AND_FINALS}
    kinds: dict[tuple[int, int], int] = {(0, 0): 0}
    numbers: dict[tuple[int, ...], int] = {}
    index = []
    for start in range(0, sys.maxunicode + 1, _PAGE):
        page = []
        for point in range(start, start + _PAGE):
            changes = point not in range(0xD800, 0xE000) and unicodedata.normalize("NFC", chr(point)) != chr(point)
            kind = unicodedata.combining(chr(point)), 2 if changes else int(point in combining)
            page.append(kinds.setdefault(kind, len(kinds)))
        index.append(numbers.setdefault(tuple(page), len(numbers)))
    return index, [kind for page in numbers for kind in page], list(kinds)


def source() -> str:
    """Returns the text of the C++ file."""
    index, flat, kinds = pages()
    pairs = decompositions()
    version = unicodedata.unidata_version
    return f"""// Written by scripts/make_normalization_tables.py from Unicode {version}; do not edit.
#include "text/normalization.h"

// clang-format off
namespace nmt_prep {{

const char kNormalizationVersion[] = "{version}";

const NormalizationKind kNormalizationKinds[] = {{
{rows((f"{{{combining}, {composition}}}" for combining, composition in kinds), 10)}
}};

const std::uint8_t kNormalizationPage[{len(index)}] = {{
{rows(map(str, index), 32)}
}};

const std::uint8_t kNormalizationKindOf[] = {{
{rows(map(str, flat), 32)}
}};

const std::size_t kDecompositionCount = {len(pairs)};
const Decomposition kDecompositions[] = {{
{rows((f"{{0x{p:X}, 0x{a:X}, 0x{b:X}, {str(c).lower()}}}" for p, a, b, c in pairs), 4)}
}};

}}  // namespace nmt_prep
"""


if __name__ == "__main__":
    sys.exit(write_or_check(_TARGET, source, __doc__))
