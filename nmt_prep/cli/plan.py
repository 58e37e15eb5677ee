"""The commands that look at a config and its run, and run nothing: plan, tasks and schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
import yaml
from rich import filesize

from nmt_prep.base.errors import RecordsError
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.shared_options import ConfigArgument, QuietOption, SetOption, load_config, names_as_usage
from nmt_prep.cli.terminal import SafeConsole, open_console, plain_table
from nmt_prep.config import Config, ExistingVocab
from nmt_prep.corpora.sources.lockfile import lock_of
from nmt_prep.pipeline.lock import is_running
from nmt_prep.pipeline.manifest import Workspace
from nmt_prep.pipeline.stage import outputs_in

with delayed_imports():
    from nmt_prep import subwords
    from nmt_prep.cleaning import in_full
    from nmt_prep.corpora.sources import hub_files
    from nmt_prep.reporting import report_tables as tables
    from nmt_prep.runs import checks, runner
    from nmt_prep.stages import divide, download
    from nmt_prep.training import curriculum
    from nmt_prep.training.records import dataset_json

if TYPE_CHECKING:
    from rich.table import Table

    from nmt_prep.corpora.sources.hub_files import Listing
    from nmt_prep.pipeline.drivers import RoundState, StageTasks, Step
    from nmt_prep.stages.download import Downloaded


ForceOption = Annotated[
    list[str] | None,
    typer.Option("--force", metavar="STAGE", help="Run this stage even if it is up to date, from its start."),
]
VerifyOption = Annotated[
    bool, typer.Option("--verify", help="Read every published file again instead of trusting its size and times.")
]
_RULES = "Instead, print the cleaning rules of every corpus in full."


def plan(
    config: ConfigArgument,
    overrides: SetOption = None,
    force: ForceOption = None,
    verify: VerifyOption = False,
    show_rules: Annotated[bool, typer.Option("--show-rules", help=_RULES)] = False,
) -> None:
    """List the stages: which are up to date, and which would run and why. Runs nothing.

    With --show-rules, print the section clean of CONFIG in full: its preset with all options of
    all rules, and what differs for single corpora. The output is a section that cleans in the same way.
    """
    if show_rules and (force or verify):
        raise typer.BadParameter("--show-rules cannot be combined with --force or --verify")
    checked, console = load_config(config, overrides), open_console()
    if show_rules:
        console.print(_rules_as_yaml(checked), soft_wrap=True)
    else:
        with names_as_usage():
            steps = runner.plan(checked, force=force or (), verify=verify)
        print_new_directory(console, checked)
        console.print(plan_table(steps))
        _print_computed(console, checked)
        _print_stages(console, checked)
        _print_notes(console, checked)


def print_new_directory(console: SafeConsole, config: Config) -> None:
    """Prints the output directory if no run has published anything in it, because its path may be a mistake."""
    root = config.run_dir.absolute()
    if not any(Workspace(root).manifest("any").parent.glob("*.json")):
        console.print(f"output directory: {root} (no earlier run found there)", soft_wrap=True)


def plan_table(steps: Sequence[Step]) -> Table:
    """Returns a plan's stages as a table."""
    table = plain_table("stage", "state", "why")
    for step in steps:
        table.add_row(step.stage, "up to date" if step.fresh else "would run", step.reason)
    return table


def _print_computed(console: SafeConsole, config: Config) -> None:
    """Prints how many texts computed values are needed for, and how many are stored."""
    for left in runner.computed_left(config):
        texts = "an unknown number of" if left.texts is None else f"{'' if left.exact else 'at most '}{left.texts:,}"
        console.print(f"- {left.name}: {texts} texts to compute, {left.stored:,} values stored", soft_wrap=True)


def _print_stages(console: SafeConsole, config: Config) -> None:
    """Prints the stages of training, with their lengths if the records are made."""
    if not (config.training.stages or config.training.modifiers):
        return
    try:
        info = dataset_json.load_dataset_info(dataset_json.records_in(config.run_dir))
    except RecordsError:
        console.print("- the training stages are computed from the sizes of the corpora, when these are encoded")
        return
    sizes = {corpus.name: corpus.pairs for corpus in info.corpora["train"]}
    stages = curriculum.plan_stages(config.training, sizes, config.seed, config.base_dir).described()
    head = tables.STAGES_HEAD
    table = plain_table(*(f">{name}" if name == "pairs" else name for name in head))
    for row in tables.stage_rows(stages):
        table.add_row(*(f"{cell:,}" if isinstance(cell, int) else cell for cell in row))
    console.print(table)


def _print_notes(console: SafeConsole, config: Config) -> None:
    """Prints notes about hold-outs, the vocabulary, and the files that IDs of the Hugging Face Hub stand for."""
    for line in _divisions(config):
        console.print(line, soft_wrap=True)
    vocab = config.vocab
    if not isinstance(vocab, ExistingVocab) and (note := subwords.dialect_of(vocab).training_note(vocab)):
        console.print(f"- {note}", soft_wrap=True)
    for line in _hub_files(config):
        console.print(line, soft_wrap=True)


_COUNTED = {
    "corpus": "pair number divisible by",
    "split": "pair number in train divisible by",
    "lines": "line number in train divisible by",
}


def _divisions(config: Config) -> Iterator[str]:
    """Yields each corpus's hold-outs and limits, with pair counts if they are known."""
    outputs = outputs_in(config.run_dir, [divide.Divide], config)
    dropped = outputs.read(divide.Divide).dropped if outputs.manifests else {}
    for split, corpus in config.corpora:
        what = [
            (f"{each.pairs:,} pairs" if each.every is None else f"every {_COUNTED[each.positions]} {each.every}")
            + f" held out for {each.split}{' (duplicates stay)' if each.duplicates == 'keep' else ''}"
            for each in corpus.hold_out
        ]
        what += [f"at most {corpus.limit:,} pairs stay"] if corpus.limit is not None else []
        counts = ((reason, n) for reason, n in dropped.get(split, {}).get(corpus.name, {}).items() if n)
        told = ", ".join(f"{reason} {number:,}" for reason, number in counts)
        if what:
            yield f"- splits.{split}.{corpus.name}: {', '.join(what)}{f'; {told}' if told else ''}"


def _hub_files(config: Config) -> Iterator[str]:
    """Yields the files that IDs of the Hugging Face Hub stand for, as far as they are known; asks no server."""
    outputs, lock = outputs_in(config.run_dir, [download.Download], config), lock_of(config)
    entries = outputs.read(download.Download).files if outputs.manifests else {}
    for needed in (needed for needed in download.needed_files(config) if needed.is_repository):
        entry, locked = entries.get(needed.key), lock.find(needed.mirrors)
        path = entry and outputs.directory_of(download.Download) / entry.sha256 / entry.name
        if entry and path and path.exists() and (locked is None or locked.sha256 == entry.sha256):
            chosen = [entries[key] for key in sorted(entries) if key.startswith(f"{needed.key}/")]
            what = _described(hub_files.read_listing(path), chosen)
        elif locked is not None and locked.commit is not None:
            what = f"at commit {locked.commit}"
        else:
            what = "(its commit is looked up when it is downloaded)"
        yield f"{needed.where}: {needed.mirrors[0]} {what}"


def _described(listing: Listing, files: Sequence[Downloaded]) -> str:
    if not files:
        return f"at commit {listing.commit}"
    listed = f"{files[0].name} to {files[-1].name}, {len(files)} files" if len(files) > 1 else files[0].name
    licence = "" if listing.licence is None else f", license {listing.licence} (from its card)"
    return f"at commit {listing.commit}: {listed}, {filesize.decimal(sum(file.size for file in files))}{licence}"


def _rules_as_yaml(config: Config) -> str:
    """Returns the ``clean`` section of a config in full, as YAML; a YAML comment if the config has no such section."""
    if config.clean is None:
        return "# The config has no section clean: nothing is cleaned."
    section = {"clean": in_full.section_in_full(config, config.clean)}
    text = yaml.safe_dump(section, sort_keys=False, allow_unicode=True, width=100, default_flow_style=None)
    return str(text).rstrip()


def tasks(
    config: ConfigArgument,
    overrides: SetOption = None,
    every: Annotated[bool, typer.Option("--list", help="Also list every task, as done or missing.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Show the task progress of each stage. Runs nothing.

    A stage's tasks are known once the stages above it are up to date.
    """
    checked = load_config(config, overrides)
    stages = runner.tasks(checked)
    console = open_console(quiet=quiet)
    console.print(tasks_table(stages, running=is_running(Workspace(checked.run_dir))))
    if every:
        for key, done in (task for stage in stages for state in stage.rounds for task in state.tasks or ()):
            console.print(f"{'done   ' if done else 'missing'} {key}", soft_wrap=True)


def tasks_table(stages: Sequence[StageTasks], *, running: bool) -> Table:
    """Returns each stage's tasks as a table; ``running`` is true while a run is using the directory."""
    table = plain_table("stage", "round", ">done", ">of", "state")
    for stage in stages:
        if not stage.rounds:
            table.add_row(stage.stage, "", "", "", "complete" if stage.complete else stage.reason)
        waits = stage.reason
        for state in stage.rounds:
            if state.tasks is None:
                table.add_row(stage.stage, state.round, "", "", waits)
                continue
            waits = f"waits for {state.round}"
            counts = f"{state.done:,}", f"{len(state.tasks):,}"
            table.add_row(stage.stage, state.round, *counts, _round_state(stage, state, running=running))
    return table


def _round_state(stage: StageTasks, state: RoundState, *, running: bool) -> str:
    """Returns the state of a round whose tasks are known, in words."""
    if not state.tasks:
        return "nothing to do"
    missing = len(state.tasks) - state.done
    if missing:
        return f"{missing:,} missing"
    last = state.round == stage.rounds[-1].round
    rest = f"a run continues with {stage.stage}" if running else "a plain run continues from there"
    return f"all done; {rest}" if last else "all done"


def schema() -> None:
    """Print the JSON schema of a config; editors use it to complete and check the YAML."""
    open_console().print(json.dumps(checks.json_schema(), indent=2), soft_wrap=True)
