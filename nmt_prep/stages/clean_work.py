"""The work of the stage clean on each corpus: its tasks, the places of its files, and its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count
from operator import add
from pathlib import Path

from nmt_prep.cleaning.cleaning import cleaning_of
from nmt_prep.cleaning.counts import CleanCounts
from nmt_prep.cleaning.dedup.records import comparisons_of
from nmt_prep.cleaning.dedup.spill import SpillFiles
from nmt_prep.cleaning.presets import effective_dedup
from nmt_prep.cleaning.rule import Context
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages import clean_tasks
from nmt_prep.stages.clean_corpora import cleaned_corpora, is_deduplicated, section_of, sides_of
from nmt_prep.stages.clean_tasks import CleanedFile, CleanTask, CorpusTask, PartFiles, PartResult
from nmt_prep.stages.compile import Compile

REJECTED = "rejected"
"""The directory of rejected pairs."""


@dataclass
class CorpusWork:
    """The tasks of a corpus and their results.

    Attributes:
        split: the split of the corpus.
        index: number of the corpus in its split.
        of: the settings that all tasks of the corpus share.
        tasks: the tasks of the first two rounds, in order.
        pairs: number of compiled pairs of each task.
        spills: the spill files of each part in ``results``; None if its pairs are not compared with others.
        results: for each part, the result of the last round that has processed it, in order.
        rejected: files of rejected pairs: those of the parts, or after the last round their sample.
        counts: sum of the counts so far.
        dedup: true if its pairs are compared with others after the rules.
    """

    split: str
    index: int
    of: CorpusTask
    tasks: list[CleanTask]
    pairs: list[int]
    spills: list[SpillFiles | None]
    results: list[PartResult]
    rejected: list[CleanedFile]
    counts: CleanCounts
    dedup: bool

    @property
    def first(self) -> int:
        """Number of the tasks that belong to the first round."""
        total = 0
        for number, pairs in enumerate(self.pairs, 1):
            total += pairs
            if total >= clean_tasks.FIRST_PAIRS:
                return number
        return len(self.pairs)

    def passed(self) -> list[tuple[CleanTask, SpillFiles | None]]:
        """Returns the tasks that kept any pairs, with the spill files of their parts."""
        ended = zip(self.tasks, self.spills, self.results, strict=True)
        return [(task, spill) for task, spill, result in ended if result.kept is not None]

    def kept(self) -> Iterator[tuple[SpillFiles | None, CleanedFile]]:
        """Yields the files of kept pairs, with the spill files of their parts."""
        for spill, result in zip(self.spills, self.results, strict=True):
            if result.kept is not None:
                yield spill, result.kept

    def ended(self, results: Sequence[PartResult]) -> None:
        """Adds results of parts."""
        self.results.extend(results)
        self.rejected.extend(result.rejected for result in results if result.rejected is not None)
        self.counts = reduce(add, (result.counts for result in results), self.counts)


def work_on_corpora(job: Job, bits: Mapping[str, int]) -> Iterator[CorpusWork]:
    """Yields the tasks of each corpus, without results.

    Args:
        job: the job.
        bits: for each split to deduplicate, the number of leading bits of a key that are the number of its range.
    """
    config, clean = job.config, section_of(job.config)
    compiled, directory = job.read(Compile).parts, job.directory_of(Compile)
    numbers = {split: count() for split in bits}
    comparisons = comparisons_of(effective_dedup(clean))
    for split, index, corpus in cleaned_corpora(config):
        parts = [part for part in compiled[split] if part.corpus == corpus.name]
        of = CorpusTask(
            name=f"splits.{split}.{corpus.name}",
            corpus=corpus.name,
            cleaning=cleaning_of(clean, config.languages, corpus.name),
            context=Context(config.languages, sides_of(corpus), job.base_dir),
            rejects=clean.rejects,
            seed=config.seed,
        )
        dedup = is_deduplicated(effective_dedup(clean), corpus)
        spills: list[SpillFiles | None] = [None] * len(parts)
        if dedup:
            own = tuple(each for each in comparisons if each.compared == "pair" or len(of.context.sides) == 2)
            place = spill_directory(job, split)
            spills = [SpillFiles(place, next(numbers[split]), own, bits[split]) for _ in parts]
        tasks = []
        for part, spill in zip(parts, spills, strict=True):
            stem = Path(part.file).stem
            kept = place_of_passed(job, of, dedup=dedup, top=False) / part.file
            rejected = place_of_rejected(job, of, split, f"{stem}-rules")
            files = PartFiles(directory / part.file, kept, rejected, spill if of.cleaning.top is None else None)
            tasks.append(CleanTask(f"{split}-{stem}", of, files))
        yield CorpusWork(split, index, of, tasks, [part.pairs for part in parts], spills, [], [], CleanCounts(), dedup)


def spill_directory(job: Job, split: str) -> Path:
    """Returns the directory of the spill files of a split, and of the pairs that deduplication drops."""
    return job.scratch / "dedup" / split


def place_of_passed(job: Job, of: CorpusTask, *, dedup: bool, top: bool) -> Path:
    """Returns the directory for the pairs that pass: the scratch directory if a later round may still drop pairs."""
    if top or of.cleaning.top is None:
        return job.scratch / "judged" if dedup else job.directory
    return job.scratch / "passed"


def place_of_rejected(job: Job, of: CorpusTask, split: str, stem: str) -> Path:
    """Returns the file for rejected pairs of a part."""
    directory = job.beside(REJECTED) if of.rejects == "all" else job.scratch / REJECTED
    return directory / split / f"{stem}.parquet"
