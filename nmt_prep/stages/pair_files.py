"""Finds the pairs that the stages after cleaning read: the limited, divided, cleaned or compiled parts."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from nmt_prep.base.sides import SIDES
from nmt_prep.config import Config
from nmt_prep.corpora import PairBatch, iter_pairs
from nmt_prep.corpora.parts import PairFile, scores_of
from nmt_prep.pipeline.stage import AnyStage, Outputs
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.divide import directed, divided_files, divided_stages, whole_parts
from nmt_prep.stages.limits import Limits


def pair_stages(config: Config) -> tuple[type[AnyStage], ...]:
    """Returns the stages whose output :func:`pair_files` reads."""
    return (*divided_stages(config), *((Limits,) if config.limits.pieces is not None else ()))


def pair_files(job: Outputs) -> dict[str, list[PairFile]]:
    """Returns the files of the pairs that go into the records, by split, in order.

    The files of a corpus that is used in both directions come twice, as two corpora's files.
    """
    return files_after(job, "limits")


def files_after(job: Outputs, stage: str) -> dict[str, list[PairFile]]:
    """Returns the same files as ``clean``, ``divide`` or ``limits`` left them."""
    directory = job.directory_of(Limits)
    found = divided_files(job)
    if stage == Clean.name:
        found = {split: [part.below(directory) for part in parts] for split, parts in whole_parts(job).items()}
    elif stage == Limits.name and job.config.limits.pieces is not None:
        limited = job.read(Limits).parts.items()
        found |= {split: [part.below(directory) for part in parts] for split, parts in limited}
    return {split: list(directed(job.config.splits[split], parts)) for split, parts in found.items()}


def compiled_files(job: Outputs) -> dict[str, list[PairFile]]:
    """Returns the compiled files, by split, in order."""
    directory = job.directory_of(Compile)
    return {split: [part.below(directory) for part in parts] for split, parts in job.read(Compile).parts.items()}


def compiled_pairs(job: Outputs, split: str, corpus: str) -> Iterator[PairBatch]:
    """Yields the compiled pairs of a corpus, whose parts have rows, with their scores."""
    for part in compiled_files(job)[split]:
        for batch in iter_pairs(part.path) if part.corpus == corpus else ():
            source, target = (batch.column(side).cast(pa.large_string()) for side in SIDES)
            scores = {f"scores.{name}": pa.array(values) for name, values in scores_of(batch).items()}
            yield PairBatch(source, target, rows=batch.column("row").to_numpy(), columns=scores)
