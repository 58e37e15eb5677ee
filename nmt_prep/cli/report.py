"""The `report` command: a run's figures, and how they differ from another run."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from nmt_prep.base.artefacts import parse_json
from nmt_prep.base.errors import OutputError
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.shared_options import STANDARD_OUTPUT, ConfigArgument, SetOption, check_outputs, load_config
from nmt_prep.cli.terminal import SafeConsole, open_console, plain_table, print_remark
from nmt_prep.reporting import Json, about
from nmt_prep.reporting.report_tables import TABLES, Table, render_text


@dataclass(frozen=True)
class Difference:
    """A value that differs between two runs; None stands for a value that one run does not have."""

    what: str  # name of the value, such as `train/news: pairs out`
    one: object
    other: object

    @property
    def change(self) -> str:
        """The change from the second run to the first in percent; empty if one of the values is not a number."""
        one, other = self.one, self.other
        if not (isinstance(one, int | float) and isinstance(other, int | float)) or isinstance(one, bool) or not other:
            return ""
        return f"{100 * (one - other) / other:+.1f}%"


@dataclass(frozen=True)
class Comparison:
    """The differences between two runs, by section. Sections without differences are left out."""

    same_data: bool  # true if both runs have the same signature
    sections: dict[str, list[Difference]]  # differences by title of the section


def compare(one: Json, other: Json) -> Comparison:
    """Returns the differences between the contents of two files ``summary.json``."""
    values = {"signature": (_signature(one), _signature(other)), "config": (_config(one), _config(other))}
    for made in TABLES:
        first, second = made(one), made(other)
        values[first.title.lower()] = (_cells(first), _cells(second))
    values["warnings"] = (_warnings(one), _warnings(other))
    sections = {title: list(_differences(dict(first), dict(second))) for title, (first, second) in values.items()}
    sections = {title: differences for title, differences in sections.items() if differences}
    return Comparison(one["signature"] == other["signature"], sections)


def _differences(one: Mapping[str, object], other: Mapping[str, object]) -> Iterator[Difference]:
    for key in dict.fromkeys([*one, *other]):
        if one.get(key) != other.get(key):
            yield Difference(key, one.get(key), other.get(key))


def _signature(summary: Json) -> Iterator[tuple[str, object]]:
    for field in summary["signature"].split("|"):
        name, _, value = field.partition(":")
        yield name, value


def _config(summary: Json) -> Iterator[tuple[str, object]]:
    yield from _flat("", summary["provenance"]["config"])


def _flat(key: str, value: Any) -> Iterator[tuple[str, object]]:
    """Yields the single values of a config by dotted key; corpora are named by their names."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(f"{key}.{name}" if key else str(name), inner)
    elif isinstance(value, list) and value and all(isinstance(item, Mapping) and "name" in item for item in value):
        for item in value:
            yield from _flat(f"{key}.{item['name']}", {name: inner for name, inner in item.items() if name != "name"})
    else:
        yield key, str(value) if isinstance(value, list) else value


def _cells(table: Table) -> Iterator[tuple[str, object]]:
    """Yields a table's cells by row and heading, such as ``train/news: pairs in``."""
    for row in table.rows:
        for heading, cell in zip(table.head[table.keys :], row[table.keys :], strict=True):
            yield ": ".join([*map(str, row[: table.keys]), heading]), cell


def _warnings(summary: Json) -> Iterator[tuple[str, object]]:
    for warning in summary["warnings"]:
        where = "/".join(filter(None, [about(warning), warning["side"]]))
        yield f"{where}: {warning['code']}" if where else warning["code"], warning["text"]


with delayed_imports():
    from nmt_prep import stages
    from nmt_prep.pipeline import run_notes
    from nmt_prep.stages import report as report_stage


def report(
    config: ConfigArgument,
    overrides: SetOption = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    other: Annotated[
        Path | None,
        typer.Option(
            "--compare",
            metavar="OTHER_RUN",
            help="The directory of another run, or its summary.json: show what has changed since that run.",
            exists=True,
        ),
    ] = None,
) -> None:
    """Print the figures of a complete run, and the path of its report page."""
    console = open_console()
    directory = load_config(config, overrides).run_dir / "report"
    page = (directory / "index.html").absolute()
    summary = _summary(directory / "summary.json", f"run nmt-prep run {config} first")
    if other is not None:
        path = other / "report" / "summary.json" if other.is_dir() else other
        check_outputs(STANDARD_OUTPUT, {"--compare": path})
        compared = _summary(path, "name the directory of a complete run")
        with _complete(f"{directory / 'summary.json'} or {path}"):
            comparison = compare(summary, compared)
        _print_comparison(console, comparison, str(other))
    else:
        with _complete(str(directory / "summary.json")):
            text = render_text(summary)
        console.print(Text(text.rstrip("\n")), soft_wrap=True)
        _print_times(console, directory)
        console.print(f"\npage: {page}", soft_wrap=True)
    if open_page and not webbrowser.open(page.as_uri()):
        print_remark(f"no browser was found; the page is {page}")


def _summary(path: Path, advice: str) -> dict[str, Any]:
    try:
        summary = parse_json(path.read_bytes())
    except OSError as error:
        raise OutputError(f"cannot read {path}: {error.strerror}; {advice}") from error
    except ValueError as error:
        raise OutputError(f"{path} is not a report: {error}; {advice}") from error
    schema, known = summary.get("schema") if isinstance(summary, dict) else None, report_stage.SCHEMA
    if not isinstance(summary, dict) or schema != known:
        raise OutputError(f"{path} has schema {schema}, but this version reads {known}; run that config again")
    return summary


@contextmanager
def _complete(what: str) -> Iterator[None]:
    """Turns errors about keys that are missing or of another type into an error about the file.

    A summary of the same schema may lack keys that were added later.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise OutputError(
            f"{what} does not have all numbers that this version reads; run that config again with --force report"
        ) from error


def _print_times(console: SafeConsole, directory: Path) -> None:
    """Prints time, memory and host of the stages, where they are known."""
    notes = run_notes.read_run_notes(directory / run_notes.RUN_FILE)["stages"]
    table = plain_table("stage", ">time", ">peak memory", ">workers", "host")
    for stage, note in ((stage.name, notes[stage.name]) for stage in stages.STAGES if stage.name in notes):
        memory = f"{note['peak_memory'] / 1e6:,.0f} MB"
        table.add_row(stage, f"{note['seconds']:.2f} s", memory, str(note["workers"]), str(note["host"]))
    if table.rows:
        console.print()
        console.print(table)


def _print_comparison(console: SafeConsole, comparison: Comparison, name: str) -> None:
    if comparison.same_data:
        console.print("the signatures are equal: both runs made the same data")
    if not comparison.sections:
        console.print("nothing differs")
    for title, differences in comparison.sections.items():
        table = plain_table(title, f">{name} (base)", ">this run", ">change")
        for difference in differences:
            table.add_row(difference.what, _value(difference.other), _value(difference.one), difference.change)
        console.print(table)
        console.print()


def _value(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "-" if value is None else str(value)
