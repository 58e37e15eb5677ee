"""Writes nmt_prep/_native/core/text/casefold_tables.cpp: what ``str.casefold``, ``upper`` and ``lower`` change.

Run it with a Python whose ``unicodedata`` has the wanted version. ``--check`` only compares.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

from table_files import rows, write_or_check

_TARGET = Path(__file__).parents[1] / "nmt_prep" / "_native" / "core" / "text" / "casefold_tables.cpp"


def changes(mapping: Callable[[str], str]) -> list[str]:
    """Returns an entry for each code point that changes: the code point, then its one to three replacements, or 0."""
    found = []
    for point in range(0x80, sys.maxunicode + 1):
        changed = [ord(character) for character in mapping(chr(point))]
        if changed != [point]:
            entry = (point, *changed, *[0] * (3 - len(changed)))
            found.append("{" + ", ".join(f"0x{each:x}" for each in entry) + "}")
    return found


def table(name: str, mapping: Callable[[str], str]) -> str:
    """Returns a table of C++."""
    return f"""namespace {{
const CaseChange k{name}Table[] = {{
{rows(changes(mapping), 4)}
}};
}}  // namespace
const std::span<const CaseChange> k{name}s(k{name}Table);
"""


def source() -> str:
    """Returns the text of the C++ file."""
    mappings = {"Folding": str.casefold, "Upper": str.upper, "Lower": str.lower}
    tables = "\n".join(table(name, mapping) for name, mapping in mappings.items())
    return f"""// Written by scripts/make_casefold_tables.py from Unicode {unicodedata.unidata_version}; do not edit.
#include "text/casefold.h"

// clang-format off
namespace nmt_prep {{

{tables}
}}  // namespace nmt_prep
"""


if __name__ == "__main__":
    sys.exit(write_or_check(_TARGET, source, __doc__))
