"""Checks that parts of the native core include only parts of lower layers, as nmt_prep/_native/README.md lists them.

    python scripts/native_layers.py

The page has the layers in a block, the highest first; parts of one layer are separated by ``|`` and do not include each
other. The script also checks that the core includes no headers of Python, that every part has a row in the page's
table, and that the entry files named there exist.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

NATIVE = Path(__file__).parents[1] / "nmt_prep" / "_native"

_BLOCK = re.compile(r"```layers\n(.*?)```", re.DOTALL)
_ROW = re.compile(r"^\| `(\w+)` \| \[[^]]+\]\(([^)]+)\)", re.MULTILINE)
_INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)
_PYTHON = re.compile(r"Python\.h|nanobind/")


def problems(native: Path) -> Iterator[str]:
    """Yields the problems of a native folder, which has ``README.md`` and ``core/``."""
    page = (native / "README.md").read_text("utf-8")
    block = _BLOCK.search(page)
    if block is None:
        yield "README.md: it has no block of layers"
        return
    lines = block.group(1).splitlines()
    level = {part.strip(): len(lines) - number for number, line in enumerate(lines) for part in line.split("|")}
    folders = {path.name for path in (native / "core").iterdir() if path.is_dir()}
    entries = dict(_ROW.findall(page))
    for name, parts in (("block of layers", level.keys()), ("table", entries.keys())):
        for part in sorted(folders - parts):
            yield f"README.md: the {name} lacks {part}"
        for part in sorted(parts - folders):
            yield f"README.md: the {name} names {part}, which is not in core/"
    for part, file in sorted(entries.items()):
        if not (native / file).is_file():
            yield f"README.md: the entry file of {part}, {file}, does not exist"
    for path in sorted((native / "core").rglob("*")):
        if path.suffix in {".h", ".cpp"}:
            yield from _problems_of(path, native, level)


def _problems_of(path: Path, native: Path, level: Mapping[str, int]) -> Iterator[str]:
    where, part = path.relative_to(native), path.relative_to(native / "core").parts[0]
    for header in _INCLUDE.findall(path.read_text("utf-8")):
        if _PYTHON.match(header):
            yield f"{where} includes {header}: the core knows nothing of Python"
        other = header.partition("/")[0]
        if part in level and other in level and other != part and level[other] >= level[part]:
            yield f"{where} includes {header}: {other} is not in a layer below {part}"


if __name__ == "__main__":
    found = list(problems(NATIVE))
    print("\n".join(found) or "the layers of the native core are kept")
    sys.exit(bool(found))
