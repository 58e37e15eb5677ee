"""The `run` command and its summary: a batch, a table and warnings for people, or JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from nmt_prep.base.artefacts import as_json
from nmt_prep.base.runtime import keep_freed_memory
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.interrupts import interruptible
from nmt_prep.cli.plan import ForceOption, VerifyOption, print_new_directory
from nmt_prep.cli.shared_options import (
    ConfigArgument,
    QuietOption,
    SetOption,
    check_outputs,
    files_of_run,
    load_config,
    names_as_usage,
)
from nmt_prep.cli.terminal import SafeConsole, cell, json_line, open_console, plain_table, progress_on
from nmt_prep.config import Config
from nmt_prep.pipeline.drivers import Share
from nmt_prep.pipeline.stage import outputs_in

with delayed_imports():
    from nmt_prep.runs import finished_run, runner
    from nmt_prep.stages import vocab as vocab_stage
    from nmt_prep.subwords import frame, words
    from nmt_prep.training import batches, records

if TYPE_CHECKING:
    from rich.table import Table

    from nmt_prep.pipeline.drivers import Outcome, ShareOutcome
    from nmt_prep.subwords import Tokenizer
    from nmt_prep.training.records.dataset_json import SplitInfo


_WAIT = "Wait for another run on the same directory to end, or fail."
_ROUND = "Run one share of this round's tasks, and nothing else."
_STRICT = "End with exit status 3 if there are warnings about the data; do not publish then."
_EMPTY = "Go on if cleaning drops all pairs of a corpus (clean.allow_empty)."


def run(
    config: ConfigArgument,
    overrides: SetOption = None,
    until: Annotated[str | None, typer.Option(metavar="STAGE", help="Stop after this stage.")] = None,
    force: ForceOption = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of threads; it does not change the result.")
    ] = None,
    verify: VerifyOption = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help=_WAIT)] = True,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help=_EMPTY)] = False,
    round_name: Annotated[str | None, typer.Option("--round", metavar="ROUND", help=_ROUND)] = None,
    task_id: Annotated[int | None, typer.Option(metavar="N", help="With --round: index of the share, from 0.")] = None,
    num_tasks: Annotated[int | None, typer.Option(metavar="N", help="With --round: number of shares.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help=_STRICT)] = False,
    quiet: QuietOption = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List the rounds of each stage, too.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON, and progress to standard error.")
    ] = False,
    log_json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append progress events, as one JSON object per line.")
    ] = None,
) -> None:
    """Run the stages of CONFIG that are not up to date.

    A stage's output is reused unless its config, its inputs or its files changed. nmt-prep plan CONFIG lists the
    stages, and says which would run and why. An interrupted run resumes where it stopped.

    With --round, --task-id and --num-tasks, each member of a job array runs a share of a round's tasks.
    nmt-prep tasks CONFIG lists the rounds. A plain run afterwards runs any missing tasks and completes the stage.
    """
    keep_freed_memory()
    plain_only = bool(until or force or verify or strict or as_json)
    share = _share(round_name, task_id, num_tasks, plain_only=plain_only)
    console = SafeConsole(stderr=True, quiet=quiet) if as_json else open_console(quiet=quiet)
    checked = _allowing_empty(load_config(config, overrides), allow_empty)
    if log_json is not None:
        check_outputs({"--log-json": log_json}, files_of_run(checked))

    def show(outcomes: list[Outcome]) -> None:
        if as_json:
            open_console().print(json_line(summary_json(checked, outcomes)), soft_wrap=True)
        elif not quiet:
            show_summary(console, checked, outcomes, warnings=not strict, rounds=verbose)

    with names_as_usage(), interruptible(), progress_on(console, log_json=log_json) as progress:
        if share is not None:
            outcome = runner.run_share(checked, share, workers=workers, wait=wait, progress=progress)
            console.print(_share_line(outcome))
            return
        print_new_directory(console, checked)
        runner.run(
            checked,
            until=until,
            force=force or (),
            workers=workers,
            verify=verify,
            wait=wait,
            progress=progress,
            strict=strict,
            then=show,
        )


def _share(name: str | None, task_id: int | None, num_tasks: int | None, *, plain_only: bool) -> Share | None:
    """Returns the requested share of a round; None if a plain run is requested.

    Args:
        plain_only: true if options are given that only a plain run takes.
    """
    if name is None and task_id is None and num_tasks is None:
        return None
    if name is None or task_id is None or num_tasks is None:
        raise typer.BadParameter("--round, --task-id and --num-tasks must be given together")
    if plain_only:
        raise typer.BadParameter("--until, --force, --verify, --strict and --json cannot be combined with --round")
    return Share(name, task_id, num_tasks)


def _allowing_empty(config: Config, allowed: bool) -> Config:
    if not allowed:
        return config
    if config.clean is None:
        raise typer.BadParameter("--allow-empty is for cleaning, but the config has no section clean")
    return config.model_copy(update={"clean": config.clean.model_copy(update={"allow_empty": True})})


def _share_line(outcome: ShareOutcome) -> str:
    share, state = outcome.share, outcome.state
    if state is None:
        return f"{share.round}: already complete; there is nothing to do"
    missing = len(state.tasks or ()) - state.done
    rest = f"{missing:,} missing" if missing else "the round is complete"
    tasks = "1 task" if outcome.ran == 1 else f"{outcome.ran:,} tasks"
    return f"{share.round}: share {share.number} of {share.of}: {tasks} run now; {rest}"


SUMMARY_VERSION = 1  # Increased when a key of `summary_json` changes its meaning or is removed
_ROWS = 3  # Number of pairs shown from a batch
_LOOKED_AT = 100  # Rows among which the shown ones are
_WIDTH = 80 - len("  source IDs: ")  # Columns for IDs and text, so that a line has 80 columns


def show_summary(
    console: SafeConsole, config: Config, outcomes: Sequence[Outcome], *, warnings: bool, rounds: bool
) -> None:
    """Prints a batch, the table of stages, the warnings, and where the records and the report are.

    Args:
        warnings: true to show the warnings.
        rounds: true to list each stage's rounds.
    """
    reported = _is_reported(outcomes)
    if any(outcome.ran and outcome.stage == "encode" for outcome in outcomes):
        console.print(batch_preview(config), soft_wrap=True)
    console.print(outcome_table(outcomes, rounds=rounds))
    for warning in (warning for outcome in outcomes if warnings for warning in outcome.warnings):
        console.print(Text.assemble(("warning:", "bold yellow"), f" {warning}"), soft_wrap=True)
    if reported:
        console.print(_shards_in_words(config), soft_wrap=True)
        console.print(f"report: {config.run_dir.absolute() / 'report' / 'index.html'}", soft_wrap=True)


def summary_json(config: Config, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Returns a run's summary as JSON values; docs/inspecting.md describes the keys."""
    return {
        "version": SUMMARY_VERSION,
        "name": config.name,
        "output_dir": str(config.run_dir.absolute()),
        "complete": _is_reported(outcomes),
        "seconds": round(sum(outcome.seconds for outcome in outcomes), 3),
        "stages": [{"ran": outcome.ran, "reason": outcome.reason, **outcome.numbers} for outcome in outcomes],
        "warnings": [
            {"stage": outcome.stage, **as_json(warning)} for outcome in outcomes for warning in outcome.warnings
        ],
        "splits": {
            split: {
                "pairs": info.pairs,
                "source_tokens": info.source_tokens,
                "target_tokens": info.target_tokens,
                "shards": [str(Path("records") / shard.file) for shard in info.shards],
            }
            for split, info in (_splits(config).items() if _is_reported(outcomes) else ())
        },
    }


def _is_reported(outcomes: Sequence[Outcome]) -> bool:
    """Returns true if the run reached the report, so that there are records."""
    return any(outcome.stage == "report" for outcome in outcomes)


def _splits(config: Config) -> dict[str, SplitInfo]:
    """Returns a description of each split in the records, in the config's order."""
    splits = records.load_dataset_info(config.run_dir / "records").splits
    return {split: splits[split] for split in config.splits}


def outcome_table(outcomes: Sequence[Outcome], *, rounds: bool = False) -> Table:
    """Returns a run's stages as a table: time, pairs in and out, drops per reason; for rounds only the time."""
    table = plain_table("stage", ">time", ">processor", ">pairs in", ">pairs out", "dropped", "details")
    for outcome in outcomes:
        counts = outcome.counts
        dropped = "; ".join(f"{reason} {count:,}" for reason, count in sorted(counts.dropped.items()) if count)
        table.add_row(
            outcome.stage,
            f"{outcome.seconds:.2f} s" if outcome.ran else "up to date",
            f"{outcome.processor_seconds:.2f} s" if outcome.ran else "",
            *("" if pairs is None else f"{pairs:,}" for pairs in (counts.pairs_in, counts.pairs_out)),
            Text(dropped, "yellow") if dropped else "0" if counts.pairs_in is not None else "",
            "; ".join(f"{key.replace('_', ' ')} {value:,}" for key, value in sorted(counts.other.items())),
        )
        for taken in outcome.rounds if rounds and len(outcome.rounds) > 1 else ():
            table.add_row(f"  {taken.round}", f"{taken.seconds:.2f} s", f"{taken.processor_seconds:.2f} s")
    return table


def _shards_in_words(config: Config) -> str:
    lines = [f"records: {config.run_dir.absolute() / 'records'}"]
    for split, info in _splits(config).items():
        first, last = info.shards[0].file, info.shards[-1].file
        names = first if first == last else f"{first} … {last}"
        shards = "1 shard" if first == last else f"{len(info.shards)} shards"
        pairs = "1 pair" if info.pairs == 1 else f"{info.pairs:,} pairs"
        lines.append(f"  {split}: {pairs} in {shards}: {names}")
    return "\n".join(lines)


def batch_preview(config: Config) -> str:
    """Returns a description of the first ``read_records`` batch: padded shapes, and the first pairs decoded."""
    if config.records.layout == "causal":
        return _row_preview(config)
    options = config.input.model_dump() | {"documents": config.training.is_plain}  # refused with stages or modifiers
    with words.trusting(vocab_stage.steps_dir(config)):
        batch = next(batches.read_records(config.run_dir, "train", **options, packed=False), None)
    if batch is None:
        return f"no pair of train is within input.max_length = {config.input.max_length}; there is no batch to show"
    shapes = [[len(side), int(side.lengths.max())] for side in batch]
    lines = [f"a batch: source {shapes[0]}, target {shapes[1]}, int32"]
    outputs = outputs_in(config.run_dir, [vocab_stage.Vocabulary], config)
    tokenizers = {side: built.load() for side, built in vocab_stage.built_vocabularies(outputs).items()}
    for row in range(min(_ROWS, len(batch.source))):
        for side, rows in zip(SIDES, batch, strict=True):
            ids = rows[row].tolist()
            lines.append(f"  {side} IDs: {cell(' '.join(map(str, ids)), _WIDTH)}")
            lines.append(f"  {side}:     {cell(_text(config, side, tokenizers[side], ids), _WIDTH)}")
    return "\n".join(lines)


def _row_preview(config: Config) -> str:
    """Returns the first rows with layout causal, divided into context and loss."""
    lines = []
    shown = finished_run.open_run(config.run_dir).pairs("encode", first=_LOOKED_AT).to_pylist()
    for row in [row for row in shown if row["target"]][:_ROWS]:  # a turn of a document is in another pair's row
        lines += [
            "a row:",
            *(f"  {name}: {cell(row[side], _WIDTH)}" for name, side in (("context", "source"), ("loss   ", "target"))),
        ]
    return "\n".join(lines)


def _text(config: Config, side: Side, tokenizer: Tokenizer, ids: list[int]) -> str:
    """Returns a row's text without its frame. A tag is added by name, because not every tokenizer type decodes it."""
    description = config.vocab.frame.of(side)
    for tag in sorted({corpus.tags[side] for corpus in config.directed("train") if side in corpus.tags}):
        inside = frame.Frame.parse(tokenizer, description, tag).inside(ids)
        if inside is not None:
            return f"{tag} {tokenizer.decode(inside)}"
    inside = frame.Frame.parse(tokenizer, description).inside(ids)
    return tokenizer.decode(ids if inside is None else inside)
