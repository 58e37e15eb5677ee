"""Runs the code blocks of pages, and compares their output with the output that the pages show.

    python scripts/run_pages.py [PAGE …]      all pages of docs/, README.md and CONTRIBUTING.md without arguments

Each page gets a directory of its own with the example configs and corpora. Its blocks run in order:

    sh        commands for bash; a ``text`` block after it is their expected output
    console   commands after ``$ ``, each followed by its expected output, if any
    python    all blocks of a page run in one interpreter; a ``text`` block after one is its expected output
    yaml      a config or a part of it, which is completed and checked; a list contains corpora; a key that occurs again
              begins an alternative
    json, toml, bash    only parsed, as all blocks are that do not run

In an expected output, a line ``…`` stands for any lines, ``…`` within a line for any text, and a run of spaces for any
number of spaces.

An HTML comment before a block changes what happens:

    <!-- not run: REASON -->       the block is only parsed
    <!-- network: WHAT -->         the block runs only with --network
    <!-- needs: NAME -->           the block runs only if this module or program is installed
    <!-- slow: REASON -->          the block runs only with --slow
    <!-- differs: REASON -->       the output may differ, but must have as many lines or more
    <!-- file: NAME -->            the block is written to a file
    <!-- before: COMMAND -->       the command runs first; it prepares what the reader is assumed to have
    <!-- within: KEY.KEY -->       the YAML belongs to this section of a config, such as clean.rules
    <!-- with: YAML -->            the rest of the config, such as {splits: {train: [{name: news, url: news.tsv}]}}
    <!-- not a config: REASON -->  the YAML is only parsed
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Any, NamedTuple

import yaml

from nmt_prep.base.errors import NmtPrepError
from nmt_prep.runs.checks import check_config

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
RUNNABLE = ("sh", "console", "python")
SECONDS = 1200  # for one block; the longest ones train a model
_BLOCK = re.compile(
    r"(?P<comments>(?:<!--[^\n]*-->\n)*)(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)\n? *```\n", re.DOTALL
)
_COMMENT = re.compile(r"<!-- (not run|network|needs|slow|differs|file|before|within|with|not a config): (.*?) -->")
_READER = """
import os, sys, traceback
names = {"__name__": "__main__"}
commands = os.fdopen(os.dup(0))
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # blocks have no input
for path in commands:
    path = path.rstrip()
    try:
        exec(compile(open(path, encoding="utf-8").read(), path, "exec"), names)
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        print("block failed")
    print("\\x04", flush=True)
"""


class Options(NamedTuple):
    """Which blocks run."""

    slow: bool = False
    network: bool = False
    parse_only: bool = False


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


def merged(first: Any, second: Any) -> Any:
    """Returns two configs in one: mappings and lists are joined, and other values of the second one count."""
    if isinstance(first, dict) and isinstance(second, dict):
        return {**first, **second, **{key: merged(first[key], second[key]) for key in first.keys() & second.keys()}}
    return first + second if isinstance(first, list) and isinstance(second, list) else second


def configs_of(block: Block) -> Iterator[dict[str, Any]]:
    """Yields the configs that YAML stands for, completed by the required keys."""
    text = block.code
    if re.match(r"(\s*#.*\n)*\s*- ", text):
        text = "splits:\n  train:\n" + (text if text.startswith(" ") else indent(text, "    "))
    alternatives: list[dict[str, str]] = [{}]
    for entry in re.split(r"^(?=\w)", text, flags=re.MULTILINE):
        key = entry.partition(":")[0]
        alternatives += [{}] if key in alternatives[-1] else []
        alternatives[-1][key] = entry
    for alternative in alternatives:
        part = yaml.safe_load("".join(alternative.values()))
        for key in reversed(block.comments["within"].split(".") if "within" in block.comments else []):
            part = {key: part}
        part = merged(yaml.safe_load(block.comments.get("with", "{}")), part)
        required: dict[str, Any] = {"name": "page", "output_dir": "run", "seed": 1}
        splits = {}
        if "pairs" not in part:
            required["languages"] = {"source": "en", "target": "zh"}
            splits = {name: [{"name": name, "url": f"{name}.tsv"}] for name in ("train", "dev", "test")}
        yield {**required, **part, "splits": {**splits, **part.get("splits", {})}}


def parse(block: Block) -> bool:
    """Returns true for a block that can be parsed; raises an error if it is not valid in its language."""
    match block.language:
        case "python":
            compile(block.code, "block", "exec")
        case "yaml" if "not a config" in block.comments:
            yaml.safe_load(block.code)
        case "yaml":
            for config in configs_of(block):
                try:
                    check_config(config, "block")
                except NmtPrepError as error:
                    if [line for line in str(error).splitlines()[1:] if "pip install" not in line]:
                        raise
        case "json":
            json.loads(block.code)
        case "toml":
            tomllib.loads(block.code)
        case "sh" | "bash":
            subprocess.run(["bash", "-n"], input=block.code, text=True, check=True, stderr=subprocess.PIPE)
        case "text" if block.code.startswith("$ "):
            raise ValueError("commands with their output are a console block")
        case _:
            return False
    return True


def steps_of(block: Block, following: Block | None) -> Iterator[tuple[str, str | None]]:
    """Yields what a block runs, each with its expected output."""
    if block.language != "console":
        yield block.code, following.code if following and following.language == "text" else None
        return
    for step in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
        found = re.match(r"((?:[^\n]*\\\n)*[^\n]*)\n?(.*)", step, re.DOTALL)
        assert found is not None
        yield found[1], found[2].strip("\n") or None


class Page:
    """A page whose blocks run in a directory."""

    def __init__(self, path: Path, directory: Path, options: Options) -> None:
        self.path, self.directory, self._options = path, directory, options
        self.failures: list[str] = []
        self.ran = self.parsed = 0
        for name in () if options.parse_only else ("configs", "data", "docs/examples"):
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
        for block, following in itertools.zip_longest(blocks, blocks[1:]):
            try:
                self.parsed += parse(block)
            except (NmtPrepError, ValueError, SyntaxError, yaml.YAMLError, subprocess.CalledProcessError) as error:
                self._fail(block, f"not valid {block.language}", str(error))
            if self._options.parse_only:
                continue
            if "file" in block.comments:
                path = self.directory / block.comments["file"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.code + "\n", "utf-8")
            if "before" in block.comments:
                self._check(block, self._shell(block.comments["before"]), None)
            if self._runs(block):
                execute = self._exec if block.language == "python" else self._shell
                for code, expected in steps_of(block, following):
                    output = execute(code)
                    differs = "differs" in {*block.comments, *(following.comments if following else {})}
                    self._check(block, output, expected, differs=differs)
                self.ran += 1
        if self._python is not None:
            self._python.communicate()

    def _runs(self, block: Block) -> bool:
        comments = block.comments
        if block.language not in RUNNABLE or "not run" in comments:
            return False
        if ("slow" in comments and not self._options.slow) or ("network" in comments and not self._options.network):
            return False
        needed = comments.get("needs")
        return needed is None or bool(importlib.util.find_spec(needed) or shutil.which(needed))

    def _check(self, block: Block, output: str, shown: str | None, *, differs: bool = False) -> None:
        if output.endswith("block failed\n"):
            self._fail(block, "the block fails", output)
        elif shown is None or (differs and output.count("\n") >= shown.count("\n")):
            return
        elif as_pattern(shown).fullmatch(output.strip("\n") + "\n") is None:
            self._fail(block, f"other output than shown:\n{shown}", output)

    def _fail(self, block: Block, problem: str, output: str) -> None:
        place = f"{self.path.relative_to(REPOSITORY)}, line {block.line}"
        self.failures.append(f"{place}: {problem}\n--- output\n{output}")

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


def run_page(path: Path, **options: bool) -> tuple[int, list[str]]:
    """Runs or parses a page's blocks; returns how many, and the failures."""
    with tempfile.TemporaryDirectory() as directory:
        page = Page(path, Path(directory), Options(**options))
        page.run()
        return page.parsed if options.get("parse_only") else page.ran, page.failures


def main() -> None:
    """Runs pages, and exits with status 1 if a block fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path, default=PAGES, help="Markdown files")
    parser.add_argument("--slow", action="store_true", help="run the blocks that take minutes, too")
    parser.add_argument("--network", action="store_true", help="run the blocks that need the network, too")
    parser.add_argument("--parse-only", action="store_true", help="run nothing")
    options = vars(parser.parse_args())
    failures = []
    for path in options.pop("pages"):
        done, failed = run_page(path.resolve(), **options)
        print(f"{path.name}: {done} blocks, {len(failed)} failures", flush=True)
        failures += failed
    sys.exit("\n\n".join(failures) or 0)


if __name__ == "__main__":
    main()
