"""Prints what was found about the corpora of a config, in 80 columns or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.table import Table

from nmt_prep.cli.terminal import SafeConsole, json_line, open_console
from nmt_prep.cli.view_print import shown, table_console
from nmt_prep.config import Languages
from nmt_prep.inspection import CorpusFacts, FileFacts, Inspection
from nmt_prep.sides import SIDES
from nmt_prep.typed_json import as_json

_CUT = 108
"""Cells of a text in a table, which are three lines of a column."""

_SHOWN_MEMBERS = 5


def print_json(config: Path, found: Inspection) -> None:
    """Prints what was found as JSON on one line."""
    facts = {"config": str(config), **as_json(found)}
    open_console().print(json_line(facts), soft_wrap=True)


def print_inspection(found: Inspection, languages: Languages) -> None:
    """Prints what was found: a paragraph for each corpus, and a line that counts problems."""
    console = table_console()
    for corpus in found.corpora:
        _print_corpus(console, corpus, languages)
        console.print()
    for file in found.vocabularies:
        console.print(f"{file.part}: {_file_line(file)}", soft_wrap=True)
    for problem in found.problems:
        console.print(f"problem: {problem}", soft_wrap=True)
    if found.model is None and any(corpus.first for corpus in found.corpora):
        console.print("no model of languages is installed, so they were not identified: pip install 'nmt-prep[clean]'")
    console.print(_total(found))


def _print_corpus(console: SafeConsole, corpus: CorpusFacts, languages: Languages) -> None:
    pairs = "" if corpus.pairs is None else f", {corpus.pairs:,} pair{'s' * (corpus.pairs != 1)}"
    where = "/".join(filter(None, [corpus.split.rstrip(":"), corpus.name]))
    console.print(f"{where}: {corpus.format}{pairs}", soft_wrap=True)
    for line in _file_lines(corpus):
        console.print(f"  {line}", soft_wrap=True)
    for side, facts in corpus.languages.items():
        if facts.lines:
            spoken = ", ".join(f"{name} {share:.0%}" for name, share in facts.found.items())
            unknown = "" if facts.fitting is not None else f" (the model does not know {facts.language})"
            console.print(f"  languages of {side}: {spoken} of {facts.lines} lines{unknown}", soft_wrap=True)
    if corpus.first:
        console.print(_table(corpus.first, languages))
    for label, lines in (("problem", corpus.problems), ("warning", corpus.warnings), ("not seen", corpus.unseen)):
        for line in lines:
            console.print(f"  {label}: {line}", soft_wrap=True)


def _file_lines(corpus: CorpusFacts) -> Iterator[str]:
    for file in corpus.files:
        part = "" if file.part == "both" else f"{file.part}: "
        yield f"{part}{_file_line(file)}"
    repository = any(file.kind == "repository" for file in corpus.files)
    for part, members in corpus.members.items():
        for name, size in members[:_SHOWN_MEMBERS]:
            yield f"  {'' if part == 'both' else f'{part}: '}{name}{'' if size is None else f', {_bytes(size)}'}"
        if len(members) > _SHOWN_MEMBERS:
            yield f"  {part}: and {len(members) - _SHOWN_MEMBERS} more {'files' if repository else 'members'}"


def _file_line(file: FileFacts) -> str:
    facts = [file.address]
    facts += [_bytes(file.size)] if file.size is not None else ["size not known"] * (file.kind is not None)
    if file.kind in ("tar", "zip"):
        many = f"{file.members:,} member{'s' * (file.members != 1)}"
        seen = f"{file.kind} with {many} seen" if file.members else file.kind
        facts.append(f"{file.kind} of {many}" if file.complete else seen)
    if file.kind == "repository":
        facts.append(f"{file.members:,} file{'s' * (file.members != 1)} of a repository")
    facts += ["remote"] if file.place == "remote" else ["fetched before"] if file.place == "fetched" else []
    return ", ".join(facts)


def _table(pairs: Sequence[tuple[str | None, str | None]], languages: Languages) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1), expand=True)
    for side in SIDES:
        table.add_column(f"{side} ({getattr(languages, side)})", ratio=1, overflow="fold")
    for pair in pairs:
        table.add_row(*("(not seen)" if text is None else shown(text, _CUT) for text in pair))
    return table


def _bytes(size: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"


def _total(found: Inspection) -> str:
    problems = len(list(found.all_problems()))
    warnings = sum(len(corpus.warnings) for corpus in found.corpora)
    counts = [(len(found.corpora), "corpora", "corpus"), (problems, "problems", "problem")]
    counts.append((warnings, "warnings", "warning"))
    return ", ".join(f"{number} {one if number == 1 else many}" for number, many, one in counts)
