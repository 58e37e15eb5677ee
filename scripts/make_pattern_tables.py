"""Writes nmt_prep/_native/core/byte_bpe/gpt2_tables.cpp: letters, numbers and white space as defined by ``regex``.

Run it with the wanted version of ``regex``. The version of Unicode is part of every tokenizer's fingerprint, so another
version invalidates existing vocabularies. ``--check`` only compares.
"""

from __future__ import annotations

import argparse
import re
import sys
from importlib.metadata import metadata
from pathlib import Path

import regex

_TARGET = Path(__file__).parents[1] / "nmt_prep" / "_native" / "core" / "byte_bpe" / "gpt2_tables.cpp"
_PAGE = 256
_WORD = 32  # code points of two bits each in 64 bits
_CLASSES = {r"\p{L}": 0, r"\p{N}": 1, r"\s": 2}
_OTHER = 3


def unicode_version() -> str:
    """Returns the version of Unicode that the ``regex`` package states in its metadata."""
    facts = metadata("regex")
    # Some packages replace the reader of importlib.metadata, and move the text from the payload to a header.
    text = f"{facts.get('Description')}\n{facts.get_payload()}"
    found = re.search(r"supports Unicode (\d+\.\d+\.\d+)", text)
    if found is None:
        raise SystemExit("the metadata of the regex package does not name a version of Unicode")
    return found[1]


def class_pages() -> tuple[list[int], list[int]]:
    """Returns the page number of each 256 code points, and the 64-bit words of the distinct pages, eight per page."""
    classes = [_OTHER] * (sys.maxunicode + 1)
    text = "".join(chr(point) for point in range(sys.maxunicode + 1))
    for pattern, number in _CLASSES.items():
        for match in regex.finditer(pattern, text):
            classes[match.start()] = number
    numbers: dict[tuple[int, ...], int] = {}
    index = []
    for start in range(0, len(classes), _PAGE):
        words = [0] * (_PAGE // _WORD)
        for offset in range(_PAGE):
            words[offset // _WORD] |= classes[start + offset] << (2 * (offset % _WORD))
        index.append(numbers.setdefault(tuple(words), len(numbers)))
    return index, [word for page in numbers for word in page]


def _rows(items: list[str], per_row: int) -> str:
    return "\n".join("    " + ", ".join(items[row : row + per_row]) + "," for row in range(0, len(items), per_row))


def source() -> str:
    """Returns the text of the C++ file."""
    index, words = class_pages()
    return f"""// Written by scripts/make_pattern_tables.py from Unicode {unicode_version()}; do not edit.
#include "byte_bpe/gpt2_classes.h"

// clang-format off
namespace nmt_prep::gpt2 {{

const char kUnicodeVersion[] = "{unicode_version()}";

const std::uint8_t kClassPage[{len(index)}] = {{
{_rows([str(number) for number in index], 32)}
}};

const std::uint64_t kClassWords[] = {{
{_rows([f"0x{word:016x}" for word in words], 4)}
}};

}}  // namespace nmt_prep::gpt2
"""


def main() -> int:
    """Writes or checks the file; returns 1 if a check finds it out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the file is not up to date; write nothing")
    if parser.parse_args().check:
        return int(_TARGET.read_text(encoding="utf-8") != source())
    _TARGET.write_text(source(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
