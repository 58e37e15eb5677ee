"""Writes nmt_prep/_native/core/text/unicode_tables.cpp: the letters and numbers (categories L* and N*) of Unicode.

Run it with a Python whose ``unicodedata`` has the wanted version. The version is part of every tokenizer's fingerprint,
so another version invalidates existing vocabularies. ``--check`` only compares.
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

from table_files import rows, write_or_check

_TARGET = Path(__file__).parents[1] / "nmt_prep" / "_native" / "core" / "text" / "unicode_tables.cpp"
_PAGE = 256
_WORD = 64


def alphanumeric_pages() -> tuple[list[int], list[int]]:
    """Returns the page number of each 256 code points, and the 64-bit words of the distinct pages, four per page."""
    numbers: dict[tuple[int, ...], int] = {}
    index = []
    for start in range(0, sys.maxunicode + 1, _PAGE):
        words = [0] * (_PAGE // _WORD)
        for offset in range(_PAGE):
            if unicodedata.category(chr(start + offset))[0] in "LN":
                words[offset // _WORD] |= 1 << (offset % _WORD)
        index.append(numbers.setdefault(tuple(words), len(numbers)))
    return index, [word for page in numbers for word in page]


def source() -> str:
    """Returns the text of the C++ file."""
    index, words = alphanumeric_pages()
    return f"""// Written by scripts/make_unicode_tables.py from Unicode {unicodedata.unidata_version}; do not edit.
#include "text/unicode.h"

// clang-format off
namespace nmt_prep {{

const char kUnicodeVersion[] = "{unicodedata.unidata_version}";

const std::uint8_t kAlphanumericPage[{len(index)}] = {{
{rows([str(number) for number in index], 32)}
}};

const std::uint64_t kAlphanumericWords[] = {{
{rows([f"0x{word:016x}" for word in words], 4)}
}};

}}  // namespace nmt_prep
"""


if __name__ == "__main__":
    sys.exit(write_or_check(_TARGET, source, __doc__))
