"""Learning word alignment in one task per text: its memory and its threads."""

from __future__ import annotations

from collections.abc import Mapping

from nmt_prep.base.errors import AlignmentModelError
from nmt_prep.cleaning.align.settings import RUN_SETTINGS
from nmt_prep.pipeline.engines.engine import BASE_MEMORY
from nmt_prep.pipeline.stage import Job

_CELL_MEMORY = 140  # Approximate bytes, for making a model, per pair of words in its table
_PAIR_CELLS = 100  # Estimated pairs of words that a pair of lines adds to a table that is not full
_PAIR_MEMORY = 300  # Approximate bytes per pair of lines, for the numbers of its words
_SMALL_MODEL = 100_000_000  # Bytes that making a model may take even if the engine has less memory


def check_memory(job: Job, pairs: int, section: str, models: int = 1) -> None:
    """Checks that the tasks that make models fit the memory of the engine."""
    engine, workers = job.config.engine, job.engine.workers
    side_by_side = min(models, workers)
    base = BASE_MEMORY * (1 if engine.kind == "local" else workers)
    share = max((engine.memory - base) // side_by_side, _SMALL_MODEL)
    table, per_pair = _CELL_MEMORY * RUN_SETTINGS.table, _CELL_MEMORY * _PAIR_CELLS
    needed = min(table, per_pair * pairs) + _PAIR_MEMORY * pairs
    if needed <= share:
        return
    fitting = max(share // (per_pair + _PAIR_MEMORY), (share - table) // _PAIR_MEMORY)
    raise AlignmentModelError(
        f"{section}: learning from {pairs:,} pairs takes about {-(-(base + needed * side_by_side) // 10**6):,} MB of "
        f"memory, but engine.memory is {engine.memory / 1e6:,.0f} MB; raise engine.memory, set {section}.pairs to "
        f"{fitting:,} or less, or name a model that was learned before ({section}.model)"
    )


def threads_for(job: Job, pairs: Mapping[str, int]) -> dict[str, int]:
    """Returns the number of threads that learns each text, given their numbers of pairs.

    A local engine runs all tasks in one process, so a text gets workers by its share of the pairs.
    """
    workers = job.engine.workers if job.config.engine.kind == "local" else 1
    total = max(sum(pairs.values()), 1)
    return {name: max(-(-workers * size // total), 1) for name, size in pairs.items()}
