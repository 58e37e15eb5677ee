"""Shows the report of a run, and compares it with that of another."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.text import Text

from nmt_prep.artefacts import parse_json
from nmt_prep.checks import load_config
from nmt_prep.cli.console import plain_table
from nmt_prep.cli.terminal import SafeConsole, open_console, print_remark
from nmt_prep.errors import OutputError
from nmt_prep.pipeline.run_notes import RUN_FILE, read_run_notes
from nmt_prep.reporting.compare import Comparison, compare
from nmt_prep.reporting.text import render_text
from nmt_prep.stages import STAGES
from nmt_prep.stages.report_summary import SCHEMA


def show_report(config: Path, overrides: Iterable[str], other: Path | None, *, open_page: bool) -> None:
    """Prints the report of a run, or what differs from another run.

    Args:
        config: the YAML file.
        overrides: keys of the config to override.
        other: directory of the other run, or its ``summary.json``; None to print the report.
        open_page: true to open the page in a browser.

    Raises:
        OutputError: there is no report, it was written by another version, or it lacks numbers.
    """
    console = open_console()
    directory = load_config(config, overrides).run_dir / "report"
    page = directory / "index.html"
    summary = _summary(directory / "summary.json", f"run nmt-prep run {config} first")
    if other is not None:
        path = other / "report" / "summary.json" if other.is_dir() else other
        compared = _summary(path, "name the directory of a complete run")
        with _complete(f"{directory / 'summary.json'} or {path}"):
            found = compare(summary, compared)
        _print_comparison(console, found, str(other))
    else:
        with _complete(str(directory / "summary.json")):
            text = render_text(summary)
        console.print(Text(text.rstrip("\n")), soft_wrap=True)
        _print_times(console, directory)
        console.print(f"\npage: {page.absolute()}", soft_wrap=True)
    if open_page and not webbrowser.open(page.absolute().as_uri()):
        print_remark(f"no browser was found; the page is {page.absolute()}")


def _print_times(console: SafeConsole, directory: Path) -> None:
    """Prints time, memory and host of the stages, as far as they are known."""
    stages = read_run_notes(directory / RUN_FILE)["stages"]
    if not stages:
        return
    table = plain_table("stage", "time", "peak memory", "workers", "host")
    for column in table.columns[1:4]:
        column.justify = "right"
    for stage in (stage.name for stage in STAGES if stage.name in stages):
        note = stages[stage]
        memory = f"{note['peak_memory'] / 1e6:,.0f} MB"
        table.add_row(stage, f"{note['seconds']:.2f} s", memory, str(note["workers"]), str(note["host"]))
    console.print()
    console.print(table)


def _summary(path: Path, advice: str) -> dict[str, Any]:
    """Returns the content of a ``summary.json``.

    Raises:
        OutputError: there is none, or it was written by another version.
    """
    try:
        summary = parse_json(path.read_bytes())
    except OSError as error:
        raise OutputError(f"cannot read {path}: {error.strerror}; {advice}") from error
    except ValueError as error:
        raise OutputError(f"{path} is not a report: {error}; {advice}") from error
    if not isinstance(summary, dict) or summary.get("schema") != SCHEMA:
        found = summary.get("schema") if isinstance(summary, dict) else None
        raise OutputError(f"{path} has schema {found}, but this version reads {SCHEMA}; run that config again")
    return summary


@contextmanager
def _complete(what: str) -> Iterator[None]:
    """Turns errors about keys that are missing or of another type into an error about the file.

    A summary of the same schema may lack keys that were added later.

    Raises:
        OutputError: such an error occurred.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise OutputError(
            f"{what} does not have all numbers that this version reads; run that config again with --force report"
        ) from error


def _print_comparison(console: SafeConsole, found: Comparison, name: str) -> None:
    if found.same_data:
        console.print("the signatures are equal: both runs made the same data")
    if not found.sections:
        console.print("nothing differs")
    for title, differences in found.sections.items():
        table = plain_table(title, "this run", name, "change")
        for column in table.columns[1:]:
            column.justify = "right"
        for each in differences:
            table.add_row(each.what, *_cells((each.one, each.other)), each.change)
        console.print(table)
        console.print()


def _cells(values: Iterable[object]) -> Iterable[str]:
    for value in values:
        if value is None:
            yield "-"
        elif isinstance(value, int) and not isinstance(value, bool):
            yield f"{value:,}"
        else:
            yield str(value)
