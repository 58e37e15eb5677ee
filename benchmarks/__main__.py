"""Runs the benchmarks one after another on an otherwise idle machine, and writes the tables of the docs from them.

    python -m benchmarks                        # all of them; about 20 minutes on two cores
    python -m benchmarks t2t_vocabulary input   # some; figures of the others stay as they are
    python -m benchmarks --write                # writes the tables again from the stored figures
    python -m benchmarks --check                # exit status 1 if the tables do not show the stored figures

docs/benchmarks.md has a row for every figure, README has a choice of them. Figures are stored in
benchmarks/results.json with the date, the machine and the versions of all programs.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.figures import VARIABLE, Figure, Spent

REPOSITORY = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).with_name("results.json")
README, PAGE = REPOSITORY / "README.md", REPOSITORY / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures: python -m benchmarks -->", "<!-- end of figures -->"
PACKAGES = ("numpy", "pyarrow", "tensorflow", "torch")
"""Packages that both sides use, whose versions matter."""


class Benchmark(NamedTuple):
    """Arguments of a module, and patterns that find the figures for README and the page by task and peer."""

    arguments: tuple[str, ...] = ()
    readme: str = ""
    page: str = ""


NOT_IN_README = "(?!)"

BENCHMARKS: Mapping[str, Benchmark] = {
    "t2t_vocabulary": Benchmark(("--threads", "2"), "general-v22.zh", "general"),
    "t2t_encode": Benchmark(readme="multi30k.en", page="general|multi30k.en"),
    "bpe_encode": Benchmark(readme="English.*tiktoken", page="(English|Chinese).*(tiktoken|tokenizers|buffer)"),
    "bpe_patterns": Benchmark(("--repeat", "3"), NOT_IN_README, "GPT-2|DeepSeek"),
    "bpe_train": Benchmark(readme=NOT_IN_README, page="English|Chinese"),
    "subword_nmt": Benchmark(readme="learning 10,000.*English", page="English"),
    "sentencepiece_encode": Benchmark(readme=NOT_IN_README, page="(English|Chinese).*(bpe|unigram),"),
    "sentencepiece_train": Benchmark(("--sizes", "8000"), "training, unigram, English", "English|Chinese"),
    "words": Benchmark(readme=NOT_IN_README),
    "recipes": Benchmark(readme=NOT_IN_README),
    "monolingual": Benchmark(readme=NOT_IN_README),
    "clean": Benchmark(),
    "dedup": Benchmark(("--pairs", "5000000"), NOT_IN_README),
    "language_identification": Benchmark(readme=NOT_IN_README, page="captions|zh zh"),
    "align": Benchmark(("speed", "scoring"), "word alignment, Multi30k.*eflomal"),
    "records": Benchmark(readme=NOT_IN_README),
    "input": Benchmark(readme="get_iterator", page="peer|pipeline|without TensorFlow|BPE-dropout"),
    "torch": Benchmark(readme="grouped by length", page="of two workers"),
    "rows": Benchmark(readme=NOT_IN_README, page="as they are|strips"),
    "causal": Benchmark(readme="pack_dataset", page="pack_dataset|2 workers"),
    "stream": Benchmark(readme="stream, plain"),
    "whole_run": Benchmark(readme="whole run"),
}
"""The modules, in the order of the tables."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}")
    parser.add_argument("--write", action="store_true", help="only write the tables again")
    parser.add_argument("--check", action="store_true", help="only compare the tables with the stored figures")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in BENCHMARKS]:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    status = 0
    if not (arguments.write or arguments.check):
        status = run_all(arguments.names or list(BENCHMARKS))
    runs = json.loads(RESULTS.read_text(encoding="utf-8"))["runs"]
    for path in (README, PAGE):
        text = path.read_text(encoding="utf-8")
        wanted = with_table(text, runs, chosen=path == README)
        if arguments.check and text != wanted:
            print(f"{path.name} does not show the figures of benchmarks/results.json: python -m benchmarks --write")
            status = 1
        elif not arguments.check:
            path.write_text(wanted, encoding="utf-8")
    return status


def run_all(names: Sequence[str]) -> int:
    """Runs benchmarks and stores their figures; returns 1 if one failed, whose earlier figures stay."""
    stored = json.loads(RESULTS.read_text(encoding="utf-8"))["runs"] if RESULTS.exists() else {}
    failed = []
    for name in names:
        print(f"== {command(name)}", flush=True)
        load, started = os.getloadavg()[0], time.perf_counter()
        figures = run(name)
        if figures is None:
            failed.append(name)
            continue
        stored[name] = {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "seconds": round(time.perf_counter() - started),
            "load_before": round(load, 2),
            "machine": machine(),
            "figures": figures,
        }
        runs = {each: stored[each] for each in BENCHMARKS if each in stored}
        RESULTS.write_text(json.dumps({"runs": runs}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if failed:
        print(f"failed, or gave other results than the peer: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def command(name: str) -> str:
    return " ".join(["python -m", f"benchmarks.{name}", *BENCHMARKS[name].arguments])


def run(name: str) -> list[dict[str, Any]] | None:
    """Runs a benchmark in a process of its own; returns its figures, or None if it failed."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "figures")
        process = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}", *BENCHMARKS[name].arguments],
            cwd=REPOSITORY,
            env={**os.environ, VARIABLE: str(file)},
            check=False,
        )
        if process.returncode or not file.exists():
            return None
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def machine() -> dict[str, Any]:
    """Returns the processor, the number of its cores, the memory, and the versions of system, Python and packages."""
    found = {"python": platform.python_version(), "system": f"{platform.system()} {platform.release()}"}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "versions": found,
    }


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def with_table(text: str, runs: Mapping[str, Any], *, chosen: bool) -> str:
    """Returns a page with the table between its markers replaced.

    Args:
        text: the page.
        runs: the stored figures.
        chosen: True for README, False for the page.
    """
    before, _, rest = text.partition(BEGIN)
    _, marker, after = rest.partition(END)
    if not marker:
        raise SystemExit(f"the page has no lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{table(runs, chosen=chosen)}{END}{after}"


def table(runs: Mapping[str, Any], *, chosen: bool) -> str:
    """Returns the machines and a Markdown table with a row for each figure that README or the page shows.

    On the page, the figures of a benchmark follow a row with its name and with what they have in common.
    """
    columns = ["what", "nmt_prep", "peer", "times as fast: wall-clock (processor time)"]
    columns += ["command"] if chosen else []
    if chosen:
        runs = {name: found for name, found in runs.items() if BENCHMARKS[name].readme != NOT_IN_README}
    lines = [f"{describe(runs)}\n", row(columns), f"|{'---|' * len(columns)}"]
    for name, run_of in runs.items():
        pattern = BENCHMARKS[name].readme if chosen else BENCHMARKS[name].page
        figures = [*map(Figure.from_json, run_of["figures"])]
        figures = [each for each in figures if re.search(pattern, f"{each.what}, {each.peer}")]
        if chosen:
            lines += [row([figure.what, *cells(figure), f"`{command(name)}`"]) for figure in figures]
            continue
        parts = [figure.what.split(", ") for figure in figures]
        same = [part for part in parts[0] if all(part in others for others in parts)]
        title = f"**{', '.join(same)}** `{name}`".removeprefix("**** ")
        if len(figures) == 1:
            lines.append(row([title, *cells(figures[0])]))
            continue
        peer = figures[0].peer if len({figure.peer for figure in figures}) == 1 else ""
        lines.append(row([title, "", peer, ""]))
        for figure, each in zip(figures, parts, strict=True):
            own = replace(figure, peer="" if peer else figure.peer)
            lines.append(row([", ".join(part for part in each if part not in same), *cells(own)]))
    return "\n".join(lines) + "\n"


def cells(figure: Figure) -> list[str]:
    """Returns our amounts, the peer with its amounts, and the ratios of a figure."""
    theirs = ": ".join(filter(None, [figure.peer, amounts(figure, figure.theirs)]))
    return [amounts(figure, figure.ours), theirs, " / ".join(map(ratio, figure.ratios()))]


def row(values: Sequence[str]) -> str:
    return f"| {' | '.join(values)} |"


def describe(runs: Mapping[str, Any]) -> str:
    """Returns a sentence on dates and machines."""
    dates = sorted({found["date"] for found in runs.values()})
    machines = {f"{m['processor']}, {m['cores']} cores": None for m in (found["machine"] for found in runs.values())}
    days = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"Measured {days} on {'; '.join(machines)}."


def amounts(figure: Figure, times: Sequence[Spent]) -> str:
    """Returns times or speeds by the clock, each once, with one unit if they have the same."""
    found = [*dict.fromkeys(amount(figure, spent) for spent in times)]
    units = {text.partition(" ")[2] for text in found}
    if len(units) == 1:
        return " / ".join(text.partition(" ")[0] for text in found) + f" {units.pop()}"
    return " / ".join(found)


def amount(figure: Figure, spent: Spent) -> str:
    """Returns a time or a speed by the clock, with its unit."""
    if figure.unit == "s":
        return f"{digits(spent.clock)} s"
    speed = figure.amount / spent.clock
    if speed >= 1e6:
        return f"{digits(speed / 1e6)} M {figure.unit}"
    return f"{digits(speed)} {figure.unit}"


def ratio(found: Spent) -> str:
    """Returns a ratio by the clock, and the ratio by processor time where it differs."""
    clock, processor = digits(found.clock), digits(found.processor)
    return clock if clock == processor else f"{clock} ({processor})"


def digits(value: float) -> str:
    """Returns a number with two significant digits; more say nothing, since times scatter by several percent."""
    if value >= 100:
        return f"{float(f'{value:.2g}'):,.0f}"
    return f"{value:#.2g}".rstrip(".")


if __name__ == "__main__":
    sys.exit(main())
