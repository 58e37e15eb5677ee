"""Writes nmt_prep/_native/core/moses/newer_tables.cpp: the characters that Unicode assigned after version 14.0.

The Moses steps follow Perl 5.36, whose characters are of Unicode 14.0. Run it with a Python whose ``unicodedata`` has
that version (3.11), and the ``regex`` package of the property tables. ``--check`` only compares.
"""

from __future__ import annotations

import sys
import unicodedata
from itertools import groupby
from pathlib import Path

import regex
from make_property_tables import unicode_version
from table_files import rows, write_or_check

_TARGET = Path(__file__).parents[1] / "nmt_prep" / "_native" / "core" / "moses" / "newer_tables.cpp"


def newer_ranges() -> list[tuple[int, int]]:
    """Returns the first and last code points of each range of newer characters."""
    assigned = regex.compile(r"\P{Cn}")
    text = map(chr, range(sys.maxunicode + 1))
    newer = [ord(each) for each in text if unicodedata.category(each) == "Cn" and assigned.match(each)]
    groups = ([point for _, point in group] for _, group in groupby(enumerate(newer), lambda item: item[1] - item[0]))
    return [(points[0], points[-1]) for points in groups]


def source() -> str:
    """Returns the text of the C++ file."""
    ranges = [f"{{0x{first:x}, 0x{last:x}}}" for first, last in newer_ranges()]
    versions = f"{unicodedata.unidata_version} and {unicode_version()}"
    return f"""// Written by scripts/make_newer_tables.py from Unicode {versions}; do not edit.
#include "moses/characters.h"

// clang-format off
namespace nmt_prep::moses {{

namespace {{
const PointRange kNewerTable[] = {{
{rows(ranges, 6)}
}};
}}  // namespace
const std::span<const PointRange> kNewer(kNewerTable);

}}  // namespace nmt_prep::moses
"""


if __name__ == "__main__":
    sys.exit(write_or_check(_TARGET, source, __doc__))
