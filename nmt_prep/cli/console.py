"""Wording of events, and the tables that the command line prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from nmt_prep.progress import Fields

if TYPE_CHECKING:
    from nmt_prep.pipeline.drivers import RoundState
    from nmt_prep.pipeline.outcomes import ShareOutcome, StageTasks, Step


def _failure(fields: Fields) -> str:
    return f"task {fields['task']} failed on {fields['worker']}: {fields['message']}"


def _workers(fields: Fields) -> str:
    came, went = len(_list(fields["joined"])), len(_list(fields["left"]))
    return f"  workers: {fields['workers']} ({came} joined, {went} left)"


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


_WORDING: Mapping[str, Callable[[Fields], str]] = {
    "stage_started": lambda fields: f"{fields['stage']}: starting ({fields['reason']})",
    "stage_finished": lambda fields: f"{fields['stage']}: done in {fields['seconds']:.1f} s",
    "stage_fresh": lambda fields: f"{fields['stage']}: fresh",
    "tasks_resumed": lambda fields: f"  {fields['round']}: {fields['done']} of {fields['total']} tasks already done",
    "waiting": lambda fields: (
        f"waiting for {fields['holder']}, which is using {fields['directory']}; with --no-wait this is an error"
    ),
    "retry": lambda fields: f"download: {fields['reason']}; retrying in {fields['seconds']:.0f} s",
    "task_retried": lambda fields: f"  {_failure(fields)}; retrying",
    "workers_changed": _workers,
    "task_failed": lambda fields: f"  {_failure(fields)}",
    "rule_left_out": lambda fields: f"  {fields['corpus']}: {fields['message']}",
    "preset_left_out": lambda fields: f"  {fields['message']}",
    "vocab_bisection": lambda fields: (
        f"vocab: {fields['side']}: minimum count {fields['min_count']} gives {fields['size']} pieces"
    ),
    "vocab_step": lambda fields: f"vocab: {fields['side']}: {fields['step']}",
    "vocab_skipped": lambda fields: (
        f"vocab: {fields['side']}: {fields['lines']:,} lines are too long to train SentencePiece on; "
        "raise max_sentence_length in vocab.options to use them"
    ),
    "mended": lambda fields: f"  before cleaning: {fields['message']}",
    "most_dropped": lambda fields: f"  warning: {fields['message']}",
    "warning": lambda fields: f"  warning: {fields['message']}",
}


def describe(name: str, fields: Fields) -> str | None:
    """Returns an event in words; None if it is meant for programs only."""
    wording = _WORDING.get(name)
    return wording(fields) if wording is not None else None


def plan_table(steps: Sequence[Step]) -> Table:
    """Returns the table of the stages of a plan."""
    table = plain_table("stage", "state", "why")
    for step in steps:
        table.add_row(step.stage, "fresh" if step.fresh else "would run", step.reason)
    return table


def tasks_table(stages: Sequence[StageTasks], *, running: bool) -> Table:
    """Returns the table of the tasks of each stage; ``running`` is true while a run is using the directory."""
    table = plain_table("stage", "round", "done", "of", "state")
    for column in table.columns[2:4]:
        column.justify = "right"
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


def share_line(outcome: ShareOutcome) -> str:
    """Returns the outcome of a share in words."""
    share, state = outcome.share, outcome.state
    if state is None:
        return f"{share.round}: already complete; there is nothing to do"
    missing = len(state.tasks or ()) - state.done
    rest = f"{missing:,} missing" if missing else "the round is complete"
    tasks = "1 task" if outcome.ran == 1 else f"{outcome.ran:,} tasks"
    return f"{share.round}: share {share.number} of {share.of}: {tasks} run now; {rest}"


def plain_table(*headers: str) -> Table:
    """Returns an empty table without lines."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers:
        table.add_column(header, overflow="fold")
    return table
