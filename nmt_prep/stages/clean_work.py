"""The work of the stage clean on each corpus: its tasks, the places of its files, and its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import count
from operator import add
from pathlib import Path, PurePosixPath
from typing import Literal

from nmt_prep.cleaning.cleaning import cleaning_of
from nmt_prep.cleaning.counts import CleanCounts
from nmt_prep.cleaning.decontamination.leaks import Against, Leaks, total_leaks
from nmt_prep.cleaning.decontamination.sets import is_decontaminated
from nmt_prep.cleaning.dedup.records import Comparison, comparisons_of
from nmt_prep.cleaning.dedup.spill import SpillFiles
from nmt_prep.cleaning.nearest import RejectNotes
from nmt_prep.cleaning.presets import effective_dedup
from nmt_prep.cleaning.rule import Context
from nmt_prep.cleaning.translation import TRANSLATION
from nmt_prep.config import CleanSettings, Corpus, DedupSettings
from nmt_prep.pipeline.stage import Job
from nmt_prep.sides import SIDES
from nmt_prep.stages import clean_tasks
from nmt_prep.stages.clean_corpora import (
    cleaned_corpora,
    is_deduplicated,
    scores_translation,
    section_of,
    sides_of,
    tops_translation,
)
from nmt_prep.stages.clean_tasks import CleanedFile, CleanTask, CorpusTask, PartFiles, PartResult
from nmt_prep.stages.clean_translation import TranslationFacts
from nmt_prep.stages.compile import Compile

REJECTED = "rejected"
"""The directory of rejected pairs."""

Pass = Literal["rules", "top", "dedup", "translation", "best", "limits"]
"""A pass over the parts of a corpus. Each reads what the one before wrote.

``best`` is the rule ``top`` by the score of the rule ``translation``; ``limits`` are those for the pairs with the same
source or target if that score ranks the pairs; otherwise ``dedup`` includes them.
"""


@dataclass
class CorpusWork:
    """The tasks of a corpus and their results.

    Attributes:
        split: the split of the corpus.
        index: number of the corpus in its split.
        of: the settings that all tasks of the corpus share.
        passes: the passes over its parts, in order.
        comparisons: the comparisons with other pairs, by the pass that makes them.
        tasks: the tasks of the first two rounds, in order.
        pairs: number of compiled pairs of each task.
        spills: the spill files of each part in ``results``; None if its pairs are not compared with others.
        results: for each part, the result of the last round that has processed it, in order.
        rejected: files of rejected pairs: those of the parts, or after the last round their sample.
        counts: sum of the counts so far.
        translation: how the rule ``translation`` was applied; None if the corpus does not have it.
        leaks: what the corpus contains of evaluation sets.
        notes: notes about its rejected pairs so far.
        top_threshold: lowest score that the rule ``top`` keeps; None without this rule.
    """

    split: str
    index: int
    of: CorpusTask
    passes: tuple[Pass, ...]
    comparisons: Mapping[Pass, tuple[Comparison, ...]]
    tasks: list[CleanTask]
    pairs: list[int]
    spills: list[SpillFiles | None]
    results: list[PartResult]
    rejected: list[CleanedFile]
    counts: CleanCounts
    translation: TranslationFacts | None = None
    leaks: Leaks = field(default_factory=dict)
    notes: RejectNotes = field(default_factory=RejectNotes)
    top_threshold: float | None = None

    @property
    def first(self) -> int:
        """Number of the tasks that belong to the first round."""
        total = 0
        for number, pairs in enumerate(self.pairs, 1):
            total += pairs
            if total >= clean_tasks.FIRST_PAIRS:
                return number
        return len(self.pairs)

    def kept(self) -> Iterator[tuple[SpillFiles | None, CleanedFile]]:
        """Yields the files of kept pairs, with the spill files of their parts."""
        for spill, result in zip(self.spills, self.results, strict=True):
            if result.kept is not None:
                yield spill, result.kept

    def place(self, job: Job, this: Pass) -> Path:
        """Returns the directory for the pairs that a pass keeps: the scratch directory unless it is the last pass."""
        return job.directory if this == self.passes[-1] else job.scratch / this

    def files(self, job: Job, this: Pass, part: Path, name: str, spill: SpillFiles | None) -> PartFiles:
        """Returns the files of a pass over a part.

        Args:
            job: the job.
            this: the pass.
            part: file to read.
            name: path of the part, relative to the directories of passes.
            spill: the spill files of the part, if its pairs are compared with others. They are written by the pass
                before the comparison.
        """
        following = self.passes[self.passes.index(this) + 1 :][:1]
        compared = self.comparisons.get(following[0], ()) if following else ()
        return PartFiles(
            part,
            self.place(job, this) / name,
            place_of_rejected(job, self.of, self.split, f"{Path(name).stem}-{this}"),
            None if spill is None or not compared else replace(spill, comparisons=compared),
        )

    def kept_files(self, job: Job, this: Pass) -> list[PartFiles]:
        """Returns the files of a pass over each part that the pass before kept any pairs of."""
        before = self.place(job, self.passes[self.passes.index(this) - 1])
        return [self.files(job, this, before / made.file, made.file, spill) for spill, made in self.kept()]

    def passed(self, results: Sequence[PartResult]) -> None:
        """Replaces the results by those of a further pass over the parts with kept pairs."""
        self.spills = [spill for spill, _ in self.kept()]
        self.results.clear()
        self.ended(results)

    def ended(self, results: Sequence[PartResult]) -> None:
        """Adds results of parts."""
        self.results.extend(results)
        self.rejected.extend(result.rejected for result in results if result.rejected is not None)
        self.counts = reduce(add, (result.counts for result in results), self.counts)
        self.leaks = total_leaks([self.leaks, *(result.leaks for result in results)])
        self.notes = reduce(add, (result.notes for result in results), self.notes)


def work_on_corpora(job: Job, bits: Mapping[str, int], against: Against | None) -> Iterator[CorpusWork]:
    """Yields the tasks of each corpus, without results.

    Args:
        job: the job.
        bits: for each split to deduplicate, the number of leading bits of a key that are the number of its range.
        against: the evaluation sets that pairs are compared with; None for none.
    """
    config, clean = job.config, section_of(job.config)
    compiled, directory = job.read(Compile).parts, job.directory_of(Compile)
    numbers = {split: count() for split in bits}
    for split, index, corpus in cleaned_corpora(config):
        parts = [part for part in compiled[split] if part.corpus == corpus.name]
        of = CorpusTask(
            name=f"splits.{split}.{corpus.name}",
            corpus=corpus.name,
            cleaning=cleaning_of(clean, config.languages, corpus.name),
            context=Context(config.languages, sides_of(corpus), job.base_dir),
            rejects=clean.rejects,
            seed=config.seed,
            against=against if is_decontaminated(config, split, corpus) else None,
        )
        passes, comparisons = _passes(clean, of, corpus)
        spills: list[SpillFiles | None] = [None] * len(parts)
        if comparisons:
            place = spill_directory(job, split)
            spills = [SpillFiles(place, next(numbers[split]), (), bits[split]) for _ in parts]
        work = CorpusWork(
            split, index, of, passes, comparisons, [], [part.pairs for part in parts], spills, [], [], CleanCounts()
        )
        for part, spill in zip(parts, spills, strict=True):
            name = PurePosixPath(part.file).with_suffix(".parquet").as_posix()
            files = work.files(job, "rules", directory / part.file, name, spill)
            work.tasks.append(CleanTask(f"{split}-{Path(part.file).stem}", of, files))
        yield work


def _passes(
    clean: CleanSettings, of: CorpusTask, corpus: Corpus
) -> tuple[tuple[Pass, ...], dict[Pass, tuple[Comparison, ...]]]:
    """Returns the passes over the parts of a corpus, and the comparisons of those that compare pairs."""
    settings = effective_dedup(clean)
    comparisons: dict[Pass, tuple[Comparison, ...]] = {}
    if is_deduplicated(settings, corpus):
        early, late = comparisons_by_pass(settings)
        two_sided = len(of.context.sides) == len(SIDES)
        early = tuple(each for each in early if each.compared == "pair" or two_sided)
        found: dict[Pass, tuple[Comparison, ...]] = {"dedup": early, "limits": late if two_sided else ()}
        comparisons = {name: own for name, own in found.items() if own}
    best = tops_translation(of.cleaning, corpus)
    wanted: dict[Pass, bool] = {
        "rules": True,
        "top": of.cleaning.top is not None and not best,
        "dedup": "dedup" in comparisons,
        "translation": scores_translation(of.cleaning, corpus),
        "best": best,
        "limits": "limits" in comparisons,
    }
    return tuple(name for name, chosen in wanted.items() if chosen), comparisons


def comparisons_by_pass(settings: DedupSettings) -> tuple[tuple[Comparison, ...], tuple[Comparison, ...]]:
    """Returns the comparisons before the rule ``translation``, and those after it, which its score ranks pairs for."""
    comparisons = comparisons_of(settings)
    if TRANSLATION not in settings.keep:
        return comparisons, ()
    known = tuple(score for score in settings.keep[:-1] if score != TRANSLATION)
    pairs = tuple(replace(each, scores=known) for each in comparisons if each.compared == "pair")
    return pairs, tuple(each for each in comparisons if each.compared != "pair")


def spill_directory(job: Job, split: str) -> Path:
    """Returns the directory of the spill files of a split, and of the pairs that deduplication drops."""
    return job.scratch / "dedup" / split


def place_of_rejected(job: Job, of: CorpusTask, split: str, stem: str) -> Path:
    """Returns the file for rejected pairs of a part."""
    directory = job.beside(REJECTED) if of.rejects == "all" else job.scratch / REJECTED
    return directory / split / f"{stem}.parquet"
