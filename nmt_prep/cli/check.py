"""The `check` command: prints what :mod:`nmt_prep.runs.inspection` finds in the corpora."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich import filesize
from rich.table import Table

from nmt_prep.base.artefacts import as_json as as_json_values
from nmt_prep.base.runtime import installing
from nmt_prep.base.sides import SIDES
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.interrupts import interruptible
from nmt_prep.cli.shared_options import ConfigArgument, JsonOption, SetOption, load_config
from nmt_prep.cli.terminal import cell, json_line, open_console

with delayed_imports():
    from nmt_prep.cleaning import evaluation_segments as segments
    from nmt_prep.runs import inspection

if TYPE_CHECKING:
    from nmt_prep.config import Config, Languages
    from nmt_prep.runs.inspection import CorpusFacts, FileFacts, Inspection

_CUT = 108  # Maximum width of a text in a table, in columns: three lines of its cell
_MEMBERS = 5  # Maximum number of archive members that are named


def check(
    config: ConfigArgument,
    overrides: SetOption = None,
    number: Annotated[int, typer.Option("-n", min=0, help="How many pairs per corpus to show.")] = 3,
    as_json: JsonOption = False,
) -> None:
    """Look at the corpora of CONFIG: sizes, archive members, first pairs, languages. Writes and fetches nothing.

    Local files are read, small ones in full. Of remote files, only parts are read: the first megabyte, and the
    directory of a zip. Parts of an archive that cannot be seen without fetching it are listed.

    The exit status is 1 if something is wrong that a run would fail with, such as a missing file or member. A language
    that does not fit the config is a warning.
    """
    checked = load_config(config, overrides)
    with interruptible("interrupted; nothing was written"):
        facts = inspection.inspect_config(checked, pairs=number)
    console = open_console(log_width=80)
    if as_json:
        console.print(json_line({"config": str(config), **as_json_values(facts)}), soft_wrap=True)
    else:
        for line in _lines(facts, checked):
            console.print(line, soft_wrap=isinstance(line, str))
    if any(facts.all_problems()):
        raise typer.Exit(1)


def _lines(facts: Inspection, config: Config) -> Iterator[str | Table]:
    """Yields a paragraph for each corpus; for several corpora, also all problems and warnings with their numbers."""
    spoken = {(split, each.name): config.languages_of(each) for split, each in config.corpora}
    for corpus in facts.corpora:
        if corpus.split in config.splits:
            yield from _corpus_lines(corpus, spoken[corpus.split, corpus.name])
            yield ""
    sets = [segments.set_name(entry) for entry in segments.against_of(config) if not segments.is_id(entry)]
    sets += [_evaluation_set(corpus) for corpus in facts.corpora if corpus.split not in config.splits]
    if sets:
        yield f"evaluation sets: {', '.join(sets)}"
    for file in facts.vocabularies:
        yield f"{file.part}: {_file_line(file)}"
    for problem in facts.problems:
        yield f"problem: {problem}"
    if facts.model is None and any(corpus.first for corpus in facts.corpora):
        yield f"no model identifies languages; install one: {installing('clean')}"
    for corpus in facts.corpora if len(facts.corpora) > 1 else ():
        yield from (f"problem: {_where(corpus)}: {problem}" for problem in corpus.problems)
        yield from (f"warning: {_where(corpus)}: {warning}" for warning in corpus.warnings)
    yield from (f"warning: {warning}" for warning in facts.warnings)
    warnings = len(facts.warnings) + sum(len(corpus.warnings) for corpus in facts.corpora)
    problems = len(list(facts.all_problems()))
    counts = (_count(len(facts.corpora), "corpus", "corpora"), _count(problems, "problem"), _count(warnings, "warning"))
    yield ", ".join(counts)


def _corpus_lines(corpus: CorpusFacts, languages: Languages) -> Iterator[str | Table]:
    counts = [] if corpus.read is None else [_count(corpus.read, "pair")]
    if corpus.read != corpus.pairs:
        counts.append(f"{corpus.pairs:,} of them with text on both sides")
    yield f"{_where(corpus)}: {', '.join([corpus.format, *counts])}"
    for file in corpus.files:
        yield f"  {_label(file.part)}{_file_line(file)}"
    what = "file" if any(file.kind == "repository" for file in corpus.files) else "member"
    for part, members in corpus.members.items():
        for name, size in members[:_MEMBERS]:
            yield f"    {_label(part)}{name}{'' if size is None else f', {filesize.decimal(size)}'}"
        if len(members) > _MEMBERS:
            yield f"    {_label(part)}and {len(members) - _MEMBERS} more {what}s"
    for side, seen in corpus.languages.items():
        if seen.lines:
            shares = ", ".join(f"{name} {share:.0%}" for name, share in seen.shares.items())
            unknown = "" if seen.fitting is not None else f" (the model does not include {seen.language})"
            yield f"  languages of {side}: {shares} of {seen.lines} lines{unknown}"
    if corpus.first:
        yield _table(corpus.first, languages, "(not seen)" if corpus.unseen else "(none)")
    for label, lines in (("problem", corpus.problems), ("warning", corpus.warnings), ("not seen", corpus.unseen)):
        yield from (f"  {label}: {line}" for line in lines)


def _where(corpus: CorpusFacts) -> str:
    return "/".join(filter(None, [corpus.split.rstrip(":"), corpus.name]))


def _evaluation_set(corpus: CorpusFacts) -> str:
    return corpus.name if corpus.read is None else f"{corpus.name} ({_count(corpus.read, 'segment')})"


def _label(part: str) -> str:
    return "" if part == "both" else f"{part}: "


def _file_line(file: FileFacts) -> str:
    facts = [file.address]
    if file.size is not None or file.kind is not None:
        facts.append("size not known" if file.size is None else filesize.decimal(file.size))
    if file.kind in ("tar", "zip"):
        members = _count(file.members, "member")
        seen = f"{file.kind} with {members} seen" if file.members else file.kind
        facts.append(f"{file.kind} of {members}" if file.complete else seen)
    if file.kind == "repository":
        facts.append(f"{_count(file.members, 'file')} of a repository")
    facts += {"remote": ["remote"], "fetched": ["fetched before"], "local": []}[file.place]
    return ", ".join(facts)


def _table(pairs: Sequence[tuple[str | None, str | None]], languages: Languages, missing: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1), expand=True)
    for side in SIDES:
        table.add_column(f"{side} ({getattr(languages, side)})", ratio=1, overflow="fold")
    for pair in pairs:
        table.add_row(*(missing if text is None else cell(text, _CUT) for text in pair))
    return table


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"
