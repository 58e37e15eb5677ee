"""The round that draws a sample of distinct pairs from parts (:mod:`nmt_prep.cleaning.pair_sample`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from nmt_prep.base.errors import AlignmentModelError
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.align.settings import RUN_SETTINGS
from nmt_prep.cleaning.pair_sample import KEY, Read, drawn, first_by, sample_limits
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.parts import BatchFile, PairFile
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.engines.engine import BASE_MEMORY
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job


@dataclass(frozen=True)
class SelectTask:
    """A part to draw pairs from."""

    key: str
    part: Path
    limit: int  # pairs with smaller random numbers are in the sample
    seed: int  # seed of the random numbers
    output: Path


@dataclass(frozen=True)
class DrawnFiles:
    """The files with the pairs that were drawn from a corpus's parts. Several files may have the same pairs."""

    files: tuple[Path, ...]  # the files, with the columns `source`, `target`, `key` and `order`
    drawn: int  # number of pairs in the files
    pairs: int  # pair count of the corpus
    limit: int  # its pairs with smaller random numbers were drawn
    teaches: bool = True  # false for pairs that a program made: models do not learn from them


def reader_of(corpora: Sequence[DrawnFiles]) -> Read:
    """Returns a function that yields the drawn pairs of corpora."""

    def read(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for corpus in corpora:
            for path in corpus.files:
                yield from iter_pairs(path, columns=columns)

    return read


def select_pairs(task: SelectTask, tick: Tick) -> int:
    """Writes the distinct pairs of a part that are in the sample; returns their number. Reports progress per pair."""
    chosen: list[pa.RecordBatch] = []
    for batch in iter_pairs(task.part, columns=SIDES):
        chosen.append(drawn(batch, task.limit, task.seed))
        tick(len(batch))
    with BatchFile(task.output) as output:
        if any(map(len, chosen)):
            output.write(first_by(KEY, chosen))
    return output.pairs


def _selected_file(task: SelectTask, pairs: int) -> list[Path]:
    return [task.output] if pairs else []


def select_round(prefix: str) -> Round[SelectTask, int]:
    """Returns the round of a stage or rule that draws samples."""
    return Round(f"{prefix}-select", select_pairs, int, made=_selected_file, words="choosing pairs to learn from")


def draw_samples(
    selecting: Round[SelectTask, int],
    texts: Mapping[str, Sequence[PairFile]],
    most: Mapping[str, int],
    seed: int,
    scratch: Path,
    made: Collection[str] = (),
) -> Rounds[dict[str, dict[str, DrawnFiles]]]:
    """Yields the round; returns the drawn pairs for each corpus and text, in the order of their parts.

    The corpora ``made``, which teach nothing, take no share of the sample from the others.
    """
    pairs: dict[str, dict[str, int]] = {name: {} for name in texts}
    tasks: dict[str, list[SelectTask]] = {}
    for name, parts in texts.items():
        for part in parts:
            pairs[name][part.corpus] = pairs[name].get(part.corpus, 0) + part.pairs
        shares = ({each: size for each, size in pairs[name].items() if (each in made) is own} for own in (False, True))
        limits = {each: limit for share in shares for each, limit in sample_limits(share, most[name]).items()}
        keys = [f"{selecting.name}-{name}-{number:05d}" for number in range(len(parts))]
        tasks[name] = [
            SelectTask(key, part.path, limits[part.corpus], seed, scratch / f"{key}.parquet")
            for key, part in zip(keys, parts, strict=True)
        ]
    selected = yield from selecting.run_groups(tasks, sum(sum(sizes.values()) for sizes in pairs.values()))
    samples: dict[str, dict[str, DrawnFiles]] = {name: {} for name in texts}
    for name, parts in texts.items():
        for part, task, number in zip(parts, tasks[name], selected[name], strict=True):
            before = samples[name].get(part.corpus, DrawnFiles((), 0, pairs[name][part.corpus], task.limit))
            files = (*before.files, *_selected_file(task, number))
            drawn, teaches = before.drawn + number, part.corpus not in made
            samples[name][part.corpus] = DrawnFiles(files, drawn, before.pairs, before.limit, teaches)
    return samples


_CELL_MEMORY = 140  # Approximate bytes, for making a model, per pair of words in its table
_PAIR_CELLS = 100  # Estimated number of word pairs that a line pair adds to a table that is not full
_PAIR_MEMORY = 300  # Approximate bytes per line pair, for its word IDs
_SMALL_MODEL = 100_000_000  # Bytes that making a model may take even if the engine has less memory


def check_memory(job: Job, pairs: int, section: str, models: int = 1) -> None:
    """Checks that the tasks that make models fit the engine's memory."""
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
    """Returns how many threads learn each text, given the texts' pair counts.

    A local engine runs all tasks in one process, so a text gets workers by its share of the pairs.
    """
    workers = job.engine.workers if job.config.engine.kind == "local" else 1
    total = max(sum(pairs.values()), 1)
    return {name: max(-(-workers * size // total), 1) for name, size in pairs.items()}
