"""The summary at the end of a run: a table and warnings for people, or JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from nmt_prep.cli.console import plain_table
from nmt_prep.cli.terminal import SafeConsole
from nmt_prep.config import Config
from nmt_prep.typed_json import as_json

if TYPE_CHECKING:
    from nmt_prep.pipeline.outcomes import Outcome
    from nmt_prep.records import SplitInfo

SUMMARY_VERSION = 1
"""Increased when a key of :func:`summary_json` changes its meaning or goes."""


def show_summary(
    console: SafeConsole, config: Config, outcomes: Sequence[Outcome], *, preview: bool, warnings: bool
) -> None:
    """Prints a batch, the table of the stages, the warnings, and where the records and the report are.

    Args:
        console: where to print.
        config: of the run.
        outcomes: of its stages.
        preview: true to show a batch, if there are records.
        warnings: true to show the warnings.

    Raises:
        NmtPrepError: the records are damaged.
    """
    from nmt_prep.cli.preview import batch_preview  # noqa: PLC0415  (loads pyarrow)

    reported = _is_reported(outcomes)
    if reported and preview:
        console.print(batch_preview(config), soft_wrap=True)
    console.print(outcome_table(outcomes))
    for warning in (warning for outcome in outcomes if warnings for warning in outcome.warnings):
        console.print(Text.assemble(("warning:", "bold yellow"), f" {warning}"), soft_wrap=True)
    if reported:
        console.print(where_records_are(config), soft_wrap=True)
        console.print(f"report: {config.run_dir / 'report' / 'index.html'}", soft_wrap=True)


def summary_json(config: Config, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Returns the summary of a run as JSON values; docs/inspecting.md describes the keys.

    Raises:
        RecordsError: ``dataset.json`` cannot be read.
    """
    return {
        "version": SUMMARY_VERSION,
        "name": config.name,
        "output_dir": str(config.run_dir.absolute()),
        "complete": _is_reported(outcomes),
        "seconds": round(sum(outcome.seconds for outcome in outcomes), 3),
        "stages": [
            {
                "stage": outcome.stage,
                "ran": outcome.ran,
                "reason": outcome.reason,
                "seconds": round(outcome.seconds, 3),
                **as_json(outcome.counts),
            }
            for outcome in outcomes
        ],
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
    """Returns true if the run went as far as the report, so that there are records."""
    return any(outcome.stage == "report" for outcome in outcomes)


def _splits(config: Config) -> dict[str, SplitInfo]:
    """Returns the description of each split of the records, in the order of the config."""
    from nmt_prep.records import load_dataset_info  # noqa: PLC0415  (loads pyarrow)

    splits = load_dataset_info(config.run_dir / "records").splits
    return {split: splits[split] for split in config.splits}


def outcome_table(outcomes: Sequence[Outcome]) -> Table:
    """Returns the table of the stages of a run: time, pairs in and out, drops by reason."""
    table = plain_table("stage", "time", "pairs in", "pairs out", "dropped", "details")
    for name in ("time", "pairs in", "pairs out"):
        next(column for column in table.columns if column.header == name).justify = "right"
    for outcome in outcomes:
        counts = outcome.counts
        dropped = "; ".join(f"{reason} {count:,}" for reason, count in sorted(counts.dropped.items()) if count)
        other = "; ".join(f"{key.replace('_', ' ')} {value:,}" for key, value in sorted(counts.other.items()))
        table.add_row(
            outcome.stage,
            f"{outcome.seconds:.2f} s" if outcome.ran else "fresh",
            _number(counts.pairs_in),
            _number(counts.pairs_out),
            Text(dropped, "yellow") if dropped else "0" if counts.pairs_in is not None else "",
            other,
        )
    return table


def where_records_are(config: Config) -> str:
    """Returns the shards of each split in words."""
    lines = [f"records: {config.run_dir / 'records'}"]
    for split, info in _splits(config).items():
        first, last = info.shards[0].file, info.shards[-1].file
        names = first if first == last else f"{first} … {last}"
        shards = "1 shard" if first == last else f"{len(info.shards)} shards"
        pairs = "1 pair" if info.pairs == 1 else f"{info.pairs:,} pairs"
        lines.append(f"  {split}: {pairs} in {shards}: {names}")
    return "\n".join(lines)


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
