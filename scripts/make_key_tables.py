"""Writes nmt_prep/_native/core/clean/key_tables.cpp: what each character becomes in the normalized key of a line.

Run it with a Python whose ``unicodedata`` has the version of the core's other tables. ``--check`` only compares.
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

from table_files import rows, write_or_check

_TARGET = Path(__file__).parents[1] / "nmt_prep" / "_native" / "core" / "clean" / "key_tables.cpp"
_PAGE = 256
_IOTA = "\u0345"
"""A mark that folds to a letter. It stays a mark, so that its position among other marks does not matter."""


def replacement(character: str) -> str:
    """Returns the text that a character becomes: its folded compatibility decomposition, without ignored characters."""
    decomposed = unicodedata.normalize("NFKD", character)
    folded = "".join(each if each == _IOTA else each.casefold() for each in decomposed)
    kept = (each for each in unicodedata.normalize("NFKD", folded) if unicodedata.category(each)[0] in "LMN")
    return "".join("0" if unicodedata.category(each) == "Nd" else each for each in kept)


def pages() -> tuple[list[int], list[int], list[str]]:
    """Returns the page of every 256 code points, the codes of the characters of distinct pages, and the replacements.

    The code of a character is 0 if it is dropped, 1 if it stays, else 2 more than the number of its replacement.
    Hangul syllables have the code 1.
    """
    codes: dict[str, int] = {}
    numbers: dict[tuple[int, ...], int] = {}
    index = []
    for start in range(0, sys.maxunicode + 1, _PAGE):
        page = []
        for point in range(start, start + _PAGE):
            if point in range(0xAC00, 0xD7A4):
                page.append(1)
                continue
            found = "" if point in range(0xD800, 0xE000) else replacement(chr(point))
            page.append(0 if not found else 1 if found == chr(point) else 2 + codes.setdefault(found, len(codes)))
        index.append(numbers.setdefault(tuple(page), len(numbers)))
    return index, [code for page in numbers for code in page], list(codes)


def source() -> str:
    """Returns the text of the C++ file."""
    index, codes, replacements = pages()
    starts, points = [0], []
    for each in replacements:
        points += map(ord, each)
        starts.append(len(points))
    version = unicodedata.unidata_version
    return f"""// Written by scripts/make_key_tables.py from Unicode {version}; do not edit.
#include "clean/key_tables.h"

// clang-format off
namespace nmt_prep::clean {{

const char kKeysVersion[] = "{version}";

const std::uint8_t kKeyPage[{len(index)}] = {{
{rows(map(str, index), 32)}
}};

const std::uint16_t kKeyCode[] = {{
{rows(map(str, codes), 24)}
}};

const std::uint16_t kReplacementStart[] = {{
{rows(map(str, starts), 24)}
}};

const char32_t kReplacementPoints[] = {{
{rows((f"0x{point:X}" for point in points), 16)}
}};

}}  // namespace nmt_prep::clean
"""


if __name__ == "__main__":
    sys.exit(write_or_check(_TARGET, source, __doc__))
