"""The blocks of pages run and give the output that is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
import run_pages
from run_pages import as_pattern, run_page

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
seed: 1
```

```python
text = open("config/a.yaml").read()
```

1. A block in a list:

   ```python
   print(text.strip())
   ```

   ```text
   seed: …
   ```

<!-- not run: it would fail -->
```sh
exit 3
```

<!-- needs: no_such_module -->
```python
import no_such_module
```

<!-- network: example.org -->
```console
$ false
```

```console
$ echo a \\
    b
a b
$ true
```

<!-- within: clean -->
<!-- with: {splits: {train: [{name: a, url: a.tsv, scores: {quality: 2}}]}} -->
```yaml
dedup: {keep: [quality, corpus]}
dedup: {pair: "off"}
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
    page = write_page(tmp_path, PAGE, monkeypatch)
    assert run_page(page) == (4, [])
    assert run_page(page, parse_only=True) == (7, [])
    monkeypatch.setattr("sys.argv", ["run_pages", "--parse-only", str(page)])
    with pytest.raises(SystemExit) as ended:
        run_pages.main()
    assert ended.value.code == 0


@pytest.mark.parametrize(
    ("edits", "failures"),
    [
        (
            [
                ("cat number", "cat numbers"),
                ("```text\n…", "```text\n$ true"),
                ('text = open("config/a.yaml").read()', "1 / 0"),
                ("exit 3", "if"),
                ("import no_such_module", "import"),
                ('pair: "off"', "pair: nearly"),
            ],
            [
                "line 3: the block fails",
                "line 7: not valid text",
                "line 17: the block fails",
                "line 23: the block fails",
                "line 32: not valid sh",
                "line 37: not valid python",
                "line 55: not valid yaml",
            ],
        ),
        (
            [("two words", "three words"), ("seed: …", "seeds: …"), ("\na b\n", "\nb\n")],
            [f"line {line}: other output than shown:" for line in (3, 23, 46)],
        ),
    ],
)
def test_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edits: list[tuple[str, str]], failures: list[str]
) -> None:
    text = PAGE
    for old, new in edits:
        text = text.replace(old, new, 1)
    found = run_page(write_page(tmp_path, text, monkeypatch))[1]
    assert [failure.splitlines()[0].removeprefix("docs/page.md, ") for failure in found] == failures


def test_any_lines_and_any_text() -> None:
    pattern = as_pattern("…\nb … d\n…")
    assert pattern.fullmatch("b  c d\n")
    assert pattern.fullmatch("a\nb x y d\ne\n")
    assert not pattern.fullmatch("b c\n")


@pytest.mark.parametrize("page", run_pages.PAGES, ids=lambda page: page.name)
def test_pages_are_valid(page: Path) -> None:
    assert run_page(page, parse_only=True)[1] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", run_pages.PAGES, ids=lambda page: page.name)
def test_pages_run(page: Path) -> None:
    assert run_page(page)[1] == []
