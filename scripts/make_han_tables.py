"""Writes nmt_prep/_native/core/clean/han_tables.cpp: the Chinese characters that only one of the two scripts has.

A character is Simplified only if OpenCC's dictionaries (Apache-2.0) have another Traditional form for it, and Big5
lacks it; it is Traditional only if they have another Simplified form, and GB 2312 lacks it. So 后 and 乾, which both
scripts have, are neither. Run it with ``opencc``. ``--check`` only compares.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

from table_files import rows, write_or_check

_TARGET = Path(__file__).parents[1] / "nmt_prep" / "_native" / "core" / "clean" / "han_tables.cpp"
_FIRST, _END = 0x3400, 0xA000


def words_of_bits(points: set[int]) -> list[str]:
    """Returns a set of characters as words of 64 bits, from the first character of the table on."""
    bits = sum(1 << (point - _FIRST) for point in points)
    return [f"0x{bits >> shift & (1 << 64) - 1:x}" for shift in range(0, _END - _FIRST, 64)]


def only_in(conversion: str, other: str) -> set[int]:
    """Returns the characters that a conversion changes, and that the character set of the other script lacks."""
    import opencc  # noqa: PLC0415

    convert = opencc.OpenCC(conversion).convert
    changed = (point for point in range(_FIRST, _END) if convert(chr(point)) != chr(point))
    return {point for point in changed if not chr(point).encode(other, "ignore")}


def source() -> str:
    """Returns the text of the C++ file."""
    simplified, traditional = only_in("s2t", "big5"), only_in("t2s", "gb2312")
    tables = {"kSimplifiedOnly": simplified - traditional, "kTraditionalOnly": traditional - simplified}
    arrays = "\n".join(
        f"const std::uint64_t {name}[kHanWords] = {{\n{rows(words_of_bits(points), 6)}\n}};"
        for name, points in tables.items()
    )
    return f"""// Written by scripts/make_han_tables.py from dictionaries of OpenCC {version("opencc")}; do not edit.
#include "clean/han.h"

// clang-format off
namespace nmt_prep::clean {{

{arrays}

}}  // namespace nmt_prep::clean
"""


if __name__ == "__main__":
    sys.exit(write_or_check(_TARGET, source, __doc__))
