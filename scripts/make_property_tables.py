"""Writes nmt_prep/_native/core/text/property_tables.cpp: category, script, letters and white space of code points.

Categories, scripts and Alphabetic come from the ``regex`` package, white space from ``str.isspace``. Run it
with the version of ``regex`` wanted; a new version of Unicode changes the values of rules for new characters, and is
part of the fingerprint of every byte-level BPE vocabulary. ``--check`` only compares.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import metadata
from pathlib import Path

import regex
from table_files import rows, write_or_check

_TARGET = Path(__file__).parents[1] / "nmt_prep" / "_native" / "core" / "text" / "property_tables.cpp"
_PAGE = 128
_CATEGORIES = [
    *("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"),
    *("Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"),
]
_ALPHABETIC = 1 << 5
_SPACE = 1 << 6
_SCRIPT_SHIFT = 8


def unicode_version() -> str:
    """Returns the version of Unicode that the ``regex`` package states in its metadata."""
    facts = metadata("regex")
    # Some packages replace the reader of importlib.metadata, and move the text from the payload to a header.
    text = f"{facts.get('Description')}\n{facts.get_payload()}"
    found = re.search(r"supports Unicode (\d+\.\d+\.\d+)", text)
    if found is None:
        raise SystemExit("the metadata of the regex package does not name a version of Unicode")
    return found[1]


def scripts() -> list[tuple[str, str]]:
    """Returns long and short names of scripts that have characters: Common, Inherited, Unknown, then others by name."""
    names: dict[int, list[str]] = {}
    for name, number in regex._regex_core.PROPERTIES["SCRIPT"][1].items():
        names.setdefault(number, []).append(name)
    pairs = [(spelled[0], next((name for name in spelled if len(name) == 4), spelled[0])) for spelled in names.values()]
    first = ["COMMON", "INHERITED", "UNKNOWN"]
    return sorted(pairs, key=lambda pair: (first.index(pair[0]) if pair[0] in first else len(first), pair[0]))


def properties(names: list[str]) -> list[int]:
    """Returns sixteen bits for every code point: category, Alphabetic, white space, script."""
    text = "".join(chr(point) for point in range(sys.maxunicode + 1))
    found = [_CATEGORIES.index("Cn")] * len(text)
    for number, category in enumerate(_CATEGORIES):
        for match in regex.finditer(rf"\p{{{category}}}", text):
            found[match.start()] = number
    for match in regex.finditer(r"\p{Alphabetic}", text):
        found[match.start()] |= _ALPHABETIC
    for number, script in enumerate(names):
        for match in regex.finditer(rf"\p{{Script={script}}}", text):
            found[match.start()] |= number << _SCRIPT_SHIFT
    return [value | (_SPACE if text[point].isspace() else 0) for point, value in enumerate(found)]


def source() -> str:
    """Returns the text of the C++ file."""
    named = scripts()
    values = properties([name for name, _ in named])
    numbers: dict[tuple[int, ...], int] = {}
    pages = (tuple(values[start : start + _PAGE]) for start in range(0, len(values), _PAGE))
    index = [numbers.setdefault(page, len(numbers)) for page in pages]
    flat = [f"0x{value:04x}" for page in numbers for value in page]
    return f"""// Written by scripts/make_property_tables.py from Unicode {unicode_version()}; do not edit.
#include "text/properties.h"

// clang-format off
namespace nmt_prep {{

const char kPropertiesUnicodeVersion[] = "{unicode_version()}";

const std::size_t kScripts = {len(named)};

// Names as in Scripts.txt, in upper case without underscores, and codes of ISO 15924.
const char* const kScriptNames[][2] = {{
{rows([f'{{"{name}", "{short}"}}' for name, short in named], 4)}
}};

const std::uint16_t kPropertyPage[{len(index)}] = {{
{rows([str(number) for number in index], 24)}
}};

const std::uint16_t kPropertyValues[] = {{
{rows(flat, 14)}
}};

}}  // namespace nmt_prep
"""


if __name__ == "__main__":
    sys.exit(write_or_check(_TARGET, source, __doc__))
