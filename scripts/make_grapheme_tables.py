"""Writes nmt_prep/_native/core/text/grapheme_tables.cpp: the properties that the boundaries of graphemes depend on.

The properties come from the ``regex`` package. Run it with the version of ``regex`` wanted. ``--check`` only compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

import regex
from make_property_tables import unicode_version
from table_files import rows, write_or_check

_TARGET = Path(__file__).parents[1] / "nmt_prep" / "_native" / "core" / "text" / "grapheme_tables.cpp"
_PAGE = 128
_CLASSES = [
    r"\p{GCB=Control}",
    r"\p{GCB=CR}",
    r"\p{GCB=LF}",
    r"\p{GCB=Extend}",
    r"\p{GCB=ZWJ}",
    r"\p{GCB=SpacingMark}",
    r"\p{GCB=Prepend}",
    r"\p{GCB=L}",
    r"\p{GCB=V}",
    r"\p{GCB=T}",
    r"\p{GCB=LV}",
    r"\p{GCB=LVT}",
    r"\p{GCB=Regional_Indicator}",
    r"\p{Extended_Pictographic}",
    r"\p{InCB=Consonant}",
]  # from 1 on; the last two have GCB=Other
_LINKER, _CONJOINING = 16, 32


def properties() -> list[int]:
    """Returns a byte for every code point: its class, and flags for InCB=Linker and for InCB=Extend or Linker."""
    text = "".join(chr(point) for point in range(sys.maxunicode + 1))
    found = [0] * len(text)
    for number, pattern in enumerate(_CLASSES, 1):
        for match in regex.finditer(pattern, text):
            found[match.start()] = found[match.start()] or number
    for pattern, flags in ((r"\p{InCB=Linker}", _LINKER | _CONJOINING), (r"\p{InCB=Extend}", _CONJOINING)):
        for match in regex.finditer(pattern, text):
            found[match.start()] |= flags
    return found


def source() -> str:
    """Returns the text of the C++ file."""
    values = properties()
    numbers: dict[tuple[int, ...], int] = {}
    pages = (tuple(values[start : start + _PAGE]) for start in range(0, len(values), _PAGE))
    index = [numbers.setdefault(page, len(numbers)) for page in pages]
    flat = [str(value) for page in numbers for value in page]
    return f"""// Written by scripts/make_grapheme_tables.py from Unicode {unicode_version()}; do not edit.
#include "text/graphemes.h"

// clang-format off
namespace nmt_prep {{

const std::uint8_t kGraphemePage[{len(index)}] = {{
{rows([str(number) for number in index], 24)}
}};

const std::uint8_t kGraphemeValues[] = {{
{rows(flat, 24)}
}};

}}  // namespace nmt_prep
"""


if __name__ == "__main__":
    sys.exit(write_or_check(_TARGET, source, __doc__))
