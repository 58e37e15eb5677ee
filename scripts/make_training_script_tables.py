"""Writes core/sentencepiece/training_script_tables.cpp: scripts for the training of SentencePiece models.

The sentencepiece library (up to 0.2.3) has the scripts of Unicode 9.0, on which the learnt pieces depend. Ages
and scripts come from the ``unicodedataplus`` package, in any version: newer characters count as Common, and the few
whose script has changed since are listed here. ``--check`` only compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

from table_files import rows, write_or_check

_TARGET = Path(__file__).parents[1] / "nmt_prep" / "_native" / "core" / "sentencepiece" / "training_script_tables.cpp"
_VERSION = 9.0
_CHANGED = {0x0589: "Common", 0x061C: "Common", 0x0953: "Devanagari", 0x0954: "Devanagari"}
_NAMED = ["Common", "Inherited", "Han", "Hiragana", "Katakana"]  # the values of TrainingScript, in order
_PER_ROW = 10


def scripts() -> list[str]:
    """Returns the script of every code point; Common for code points that Unicode 9.0 lacks."""
    import unicodedataplus  # noqa: PLC0415  (only needed to write the table)

    def script(point: int) -> str:
        if point in _CHANGED:
            return _CHANGED[point]
        age = unicodedataplus.age(chr(point))
        known = age.replace(".", "").isdigit() and float(age) <= _VERSION
        found: str = unicodedataplus.script(chr(point)) if known else "Common"
        return "Common" if found == "Unknown" else found

    return [script(point) for point in range(sys.maxunicode + 1)]


def source() -> str:
    """Returns the text of the C++ file."""
    by_point = scripts()
    numbers = {name: number for number, name in enumerate([*_NAMED, *sorted(set(by_point) - set(_NAMED))])}
    starts = [point for point, script in enumerate(by_point) if point == 0 or script != by_point[point - 1]]
    items = [f"0x{point << 8 | numbers[by_point[point]]:x}" for point in starts]
    return f"""// Written by scripts/make_training_script_tables.py from Unicode {_VERSION}; do not edit.
#include "sentencepiece/training_script_tables.h"

// clang-format off
namespace nmt_prep::sentencepiece {{

const std::size_t kScriptRuns = {len(items)};
const std::uint32_t kScriptRunStarts[] = {{
{rows(items, _PER_ROW)}
}};

}}  // namespace nmt_prep::sentencepiece
"""


if __name__ == "__main__":
    sys.exit(write_or_check(_TARGET, source, __doc__))
