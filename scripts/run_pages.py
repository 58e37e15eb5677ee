"""Runs the code blocks of pages, and compares their output with the output that the pages show.

    python scripts/run_pages.py [PAGE …]      all pages of docs/ and README.md without arguments

Each page gets a directory of its own with the example configs and corpora. Its blocks run in order: ``sh`` in bash, and
all ``python`` blocks of a page in one interpreter. A ``text`` block after a block is its expected output. In it, a line
``…`` stands for any lines, ``…`` within a line for any text, and a run of spaces for any number of spaces.

An HTML comment before a block changes what happens:

    <!-- not run: REASON -->       the block is skipped
    <!-- needs: MODULE -->         the block is skipped if the module is not installed
    <!-- slow: REASON -->          the block runs only with --slow
    <!-- differs: REASON -->       the output may differ, but must have as many lines or more
    <!-- file: NAME -->            the block is written to a file
    <!-- before: COMMAND -->       the command runs first; it prepares what the reader is assumed to have
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
RUNNABLE = ("sh", "python")
SECONDS = 1200  # for one block; the longest ones train a model
_BLOCK = re.compile(
    r"(?P<comments>(?:<!--[^\n]*-->\n)*)(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)\n? *```\n", re.DOTALL
)
_COMMENT = re.compile(r"<!-- (not run|needs|slow|differs|file|before): (.*?) -->")
_READER = """
import sys, traceback
names = {"__name__": "__main__"}
for path in sys.stdin:
    path = path.rstrip()
    try:
        exec(compile(open(path, encoding="utf-8").read(), path, "exec"), names)
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        print("block failed")
    print("\\x04", flush=True)
"""


class Block(NamedTuple):
    """A code block of a page."""

    line: int
    language: str
    code: str
    comments: dict[str, str]


def blocks_of(page: str) -> Iterator[Block]:
    """Yields the code blocks of a page."""
    for found in _BLOCK.finditer(page):
        indent = found["indent"]
        code = "\n".join(line.removeprefix(indent) for line in found["code"].split("\n"))
        line = page.count("\n", 0, found.end("comments")) + 1
        yield Block(line, found["language"], code, dict(_COMMENT.findall(found["comments"])))


def as_pattern(expected: str) -> re.Pattern[str]:
    """Returns the pattern of an output."""
    lines = []
    for line in expected.strip().split("\n"):
        if line.strip() == "…":
            lines.append(r"(?:.*\n)*?")
            continue
        words = (r"[^\n]*?".join(map(re.escape, word.split("…"))) for word in line.split())
        lines.append(r"[ \t]*" + r"[ \t]+".join(words) + r"[ \t]*\n")
    return re.compile("".join(lines))


class Page:
    """A page whose blocks run in a directory."""

    def __init__(self, path: Path, directory: Path, *, slow: bool) -> None:
        self.path, self.directory, self.slow = path, directory, slow
        self.failures: list[str] = []
        self.ran = 0
        for name in ("configs", "data", "docs/examples"):
            shutil.copytree(REPOSITORY / name, directory / name)
        program = directory / "scripts" / "run"
        program.parent.mkdir()
        program.write_text('#!/bin/sh\nexec nmt-prep run "$@"\n', "utf-8")  # the environment is there already
        program.chmod(0o755)
        paths = [str(Path(sys.executable).parent), os.environ["PATH"]]
        more = {
            "PATH": os.pathsep.join(paths),
            "PYTHONPATH": str(REPOSITORY),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "COLUMNS": "200",
        }
        self.environment = {**os.environ, **more}
        self._python: subprocess.Popen[str] | None = None

    def run(self) -> None:
        """Runs all blocks, and notes each failure."""
        blocks = [*blocks_of(self.path.read_text("utf-8"))]
        for block, following in zip(blocks, [*blocks[1:], None], strict=True):
            comments = block.comments
            if "file" in comments:
                path = self.directory / comments["file"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.code + "\n", "utf-8")
            if "before" in comments:
                self._check(block, self._shell(comments["before"]), None)
            if block.language not in RUNNABLE or "not run" in comments or ("slow" in comments and not self.slow):
                continue
            if "needs" in comments and importlib.util.find_spec(comments["needs"]) is None:
                continue
            output = self._shell(block.code) if block.language == "sh" else self._exec(block.code)
            shown = following.code if following and following.language == "text" else None
            if following and shown and "differs" in following.comments and output.count("\n") >= shown.count("\n"):
                shown = None
            self._check(block, output, shown)
            self.ran += 1
        if self._python is not None:
            self._python.communicate()

    def _check(self, block: Block, output: str, shown: str | None) -> None:
        place = f"{self.path.relative_to(REPOSITORY)}, line {block.line}"
        if output.endswith("block failed\n"):
            self.failures.append(f"{place}: the block fails:\n{block.code}\n--- output\n{output}")
        elif shown is not None and as_pattern(shown).fullmatch(output.strip("\n") + "\n") is None:
            self.failures.append(f"{place}: other output than shown:\n{shown}\n--- output\n{output}")

    def _shell(self, code: str) -> str:
        done = subprocess.run(
            ["bash", "-e", "-c", code],
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            timeout=SECONDS,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.stdout + ("block failed\n" if done.returncode else "")

    def _exec(self, code: str) -> str:
        if self._python is None:
            self._python = subprocess.Popen(
                [sys.executable, "-u", "-c", _READER],
                cwd=self.directory,
                env=self.environment,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        path = self.directory / "block.py"
        path.write_text(code + "\n", "utf-8")
        assert self._python.stdin is not None
        assert self._python.stdout is not None
        self._python.stdin.write(f"{path}\n")
        self._python.stdin.flush()
        return "".join(iter(self._python.stdout.readline, "\x04\n"))


def run_page(path: Path, *, slow: bool = False) -> tuple[int, list[str]]:
    """Runs a page; returns the number of blocks that ran, and the failures."""
    with tempfile.TemporaryDirectory() as directory:
        page = Page(path, Path(directory), slow=slow)
        page.run()
        return page.ran, page.failures


def main() -> None:
    """Runs pages, and exits with status 1 if a block fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path, default=PAGES, help="Markdown files")
    parser.add_argument("--slow", action="store_true", help="run the blocks that take minutes, too")
    failures = []
    options = parser.parse_args()
    for path in options.pages:
        ran, failed = run_page(path.resolve(), slow=options.slow)
        print(f"{path.name}: {ran} blocks, {len(failed)} failures", flush=True)
        failures += failed
    sys.exit("\n\n".join(failures))


if __name__ == "__main__":
    main()
