from __future__ import annotations

from pathlib import Path

import pytest
from native_layers import NATIVE, problems

PAGE = """
```layers
top | other
base
```

| part | entry file |
|---|---|
| `top` | [top.h](core/top/top.h) |
| `other` | [other.h](core/other/other.h) |
| `base` | [base.h](core/base/base.h) |
"""


@pytest.fixture
def native(tmp_path: Path) -> Path:
    """Returns a folder of three parts that keep their layers."""
    (tmp_path / "README.md").write_text(PAGE)
    for part, text in (("top", '#include "base/base.h"\n'), ("other", "#include <vector>\n"), ("base", "")):
        (tmp_path / "core" / part).mkdir(parents=True)
        (tmp_path / "core" / part / f"{part}.h").write_text(text)
    return tmp_path


def test_the_core_keeps_its_layers() -> None:
    assert list(problems(NATIVE)) == []


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("core/top/top.h", '#include "base/base.h"\n#include "top/more.h"\n', None),
        ("core/base/a.cpp", '#include "top/top.h"\n', "includes top/top.h: top is not in a layer below base"),
        (
            "core/top/deep/a.cpp",
            ' # include "other/other.h"\n',
            "includes other/other.h: other is not in a layer below",
        ),
        ("core/base/a.h", "#include <Python.h>\n", "includes Python.h: the core knows nothing of Python"),
        ("core/base/a.h", "#include <nanobind/stl/string.h>\n", "includes nanobind/stl/string.h: the core knows"),
        ("core/new/a.h", "", "README.md: the block of layers lacks new"),
        ("README.md", PAGE.replace("| `other`", "| other"), "README.md: the table lacks other"),
        ("README.md", PAGE.replace("base\n```", "base | gone\n```"), "names gone, which is not in core/"),
        ("README.md", PAGE.replace("core/base/base.h", "core/base/b.h"), "of base, core/base/b.h, does not exist"),
        ("README.md", "# Core\n", "README.md: it has no block of layers"),
    ],
)
def test_problems(native: Path, file: str, text: str, problem: str | None) -> None:
    (native / file).parent.mkdir(exist_ok=True)
    (native / file).write_text(text)
    found = list(problems(native))
    assert (found == []) if problem is None else (found and problem in found[0])
