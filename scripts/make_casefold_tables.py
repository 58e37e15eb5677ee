"""Writes nmt_prep/_native/core/text/casefold_tables.cpp: the characters that ``str.casefold`` changes, and to what.

Run it with the Python whose ``unicodedata`` is the version wanted. ``--check`` only compares.
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

from table_files import write_or_check

_TARGET = Path(__file__).parents[1] / "nmt_prep" / "_native" / "core" / "text" / "casefold_tables.cpp"


def foldings() -> list[tuple[int, ...]]:
    """Code points that change, each with the code points that it becomes, filled with 0 to three of them."""
    found = []
    for point in range(0x80, sys.maxunicode + 1):
        folded = [ord(character) for character in chr(point).casefold()]
        if folded != [point]:
            found.append((point, *folded, *[0] * (3 - len(folded))))
    return found


def source() -> str:
    """Returns the text of the C++ file."""
    entries = ["{" + ", ".join(f"0x{point:x}" for point in entry) + "}" for entry in foldings()]
    rows = "\n".join("    " + ", ".join(entries[row : row + 4]) + "," for row in range(0, len(entries), 4))
    return f"""// Written by scripts/make_casefold_tables.py from Unicode {unicodedata.unidata_version}; do not edit.
#include "text/casefold.h"

// clang-format off
namespace nmt_prep {{

const std::size_t kFoldings = {len(entries)};

const Folding kFoldingTable[] = {{
{rows}
}};

}}  // namespace nmt_prep
"""


if __name__ == "__main__":
    sys.exit(write_or_check(_TARGET, source, __doc__))
