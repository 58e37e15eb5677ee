"""Estimates and constants as the command line prints them."""

from __future__ import annotations

from rich.table import Table

from nmt_prep.estimates.advice import gigabytes
from nmt_prep.estimates.calibration import Calibration
from nmt_prep.estimates.outcome import Estimate


def estimate_table(found: Estimate) -> Table:
    """Time, memory and disk by stage."""
    table = _table("stage", "tasks", "time", "of it in one process", "memory of a machine", "scratch", "published")
    for stage in found.stages:
        table.add_row(
            stage.stage,
            f"{stage.tasks:,}" if stage.tasks else "",
            duration(stage.seconds),
            duration(stage.alone),
            gigabytes(stage.memory),
            gigabytes(stage.scratch) if stage.scratch else "",
            gigabytes(stage.published) if stage.published else "",
        )
    alone = sum(stage.alone for stage in found.stages)
    disk = f"{gigabytes(found.peak_disk)} at once"
    tasks = sum(stage.tasks for stage in found.stages)
    table.add_row(
        "in all", f"{tasks:,}", duration(found.seconds), duration(alone), gigabytes(found.peak_memory), "", disk
    )
    return table


def calibration_table(constants: Calibration) -> Table:
    """The speed of each round, and the rest in words."""
    table = _table("work", "MB/s a core", "seconds a task", "slower with all cores", "memory of a worker")
    for name, cost in sorted(constants.rounds.items()):
        rate = 1e-6 / cost.cpu_per_byte if cost.cpu_per_byte else float("inf")
        table.add_row(name, f"{rate:,.0f}", f"{cost.cpu_per_task:.4f}", f"{cost.slowdown:.2f}", gigabytes(cost.memory))
    return table


def calibration_lines(constants: Calibration) -> list[str]:
    """What the table does not say."""
    text, sizes, disk = constants.text, constants.sizes, constants.disk
    rates = f"writes {disk.write_rate / 1e6:,.0f} MB/s, reads {disk.read_rate / 1e6:,.0f} MB/s"
    ratios = f"compiled {sizes.compiled:.2f}, spilled {sizes.spill:.2f}, records {sizes.records:.2f}"
    lines = [
        f"text: {text.origin}; {text.pairs:,} pairs, {text.bytes / text.pairs:.0f} bytes a pair",
        f"disk: {rates}, publishes a file in {disk.file_seconds * 1e3:.1f} ms",
        f"bytes on disk for each byte of text: {ratios}; gzip {sizes.gzip:.2f}",
    ]
    for side, training in constants.training.items():
        exponents = f"{training.seconds_exponent:.2f} and {training.memory_exponent:.2f}"
        lines.append(
            f"vocabulary, {side}: {training.seconds:.1f} s and {gigabytes(training.memory)} for a sample of "
            f"{gigabytes(training.sample_bytes)}; both grow with its size to the powers {exponents}"
        )
    if constants.busy:
        lines.append("other programs were using the machine: calibrate again when it is quiet for surer figures")
    return lines


def duration(seconds: float) -> str:
    """Seconds in words."""
    if seconds < 100:
        return f"{seconds:,.1f} s"
    if seconds < 2 * 3600:
        return f"{seconds / 60:,.0f} min"
    return f"{seconds / 3600:,.1f} h"


def _table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, header in enumerate(headers):
        table.add_column(header, overflow="fold", justify="right" if number else "left")
    return table
