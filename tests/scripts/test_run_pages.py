"""The blocks of pages run and give the output that is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
import run_pages
from run_pages import as_pattern, run_page

from tests.conftest import REPOSITORY

PAGE = """
<!-- before: echo 1 >number -->
```sh
cat number; echo 'two   words'
```

```text
…
two words
```

<!-- file: config/a.yaml -->
```yaml
a: 1
```

```python
text = open("config/a.yaml").read()
```

1. A block in a list:

   ```python
   print(text.strip())
   ```

   ```text
   a: …
   ```

<!-- not run: it would fail -->
```sh
exit 3
```

<!-- needs: no_such_module -->
```python
import no_such_module
```
"""


def write_page(directory: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(run_pages, "REPOSITORY", directory)
    for name in ("configs", "data", "docs/examples"):
        (directory / name).mkdir(parents=True)
    path = directory / "docs" / "page.md"
    path.write_text(text, "utf-8")
    return path


def test_blocks_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_page(write_page(tmp_path, PAGE, monkeypatch)) == (3, [])


@pytest.mark.parametrize(
    ("old", "new", "failure"),
    [
        ("cat number", "cat numbers", "docs/page.md, line 3: the block fails:"),
        ("two words", "three words", "docs/page.md, line 3: other output than shown:"),
        ("a: …", "b: …", "docs/page.md, line 23: other output than shown:"),
        ('open("config/a.yaml")', "1 / 0", "docs/page.md, line 17: the block fails:"),
    ],
)
def test_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, failure: str) -> None:
    assert run_page(write_page(tmp_path, PAGE.replace(old, new), monkeypatch))[1][0].startswith(failure)


def test_any_lines_and_any_text() -> None:
    pattern = as_pattern("…\nb … d\n…")
    assert pattern.fullmatch("b  c d\n")
    assert pattern.fullmatch("a\nb x y d\ne\n")
    assert not pattern.fullmatch("b c\n")


def test_the_tutorial_runs() -> None:
    assert run_page(REPOSITORY / "docs" / "tutorial.md")[1] == []
