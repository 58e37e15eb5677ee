"""compile: from corpora of any format to Parquet parts of aligned, checked pairs.

Two rounds of tasks: the lines of large files are counted; then corpora are compiled, large ones a slice at a time.
Pairs with an empty side are dropped and counted, as are those that the reader finds fault with. Nothing is altered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar, TypeAlias

from nmt_prep.config import Config, Corpus
from nmt_prep.config.section import Languages
from nmt_prep.corpora import iter_pairs, reader_of, row_groups
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, Job, Result, Stage
from nmt_prep.stages.compile_slices import LINES, CorpusFiles, slice_corpora
from nmt_prep.stages.compile_tasks import (
    COMPILE,
    DROP_REASONS,
    CompiledPart,
    CompiledSlice,
    CompileTask,
    CorpusCounts,
    no_pairs,
)
from nmt_prep.stages.extract import Extract, file_names

__all__ = ["DROP_REASONS", "Compile", "iter_pairs", "row_groups"]


@dataclass(frozen=True)
class CompileOutput:
    """The compiled pairs.

    Attributes:
        parts: Parquet files by split, in order.
        corpora: counts by split and name of the corpus.
    """

    parts: dict[str, tuple[CompiledPart, ...]]
    corpora: dict[str, dict[str, CorpusCounts]]


Compiled: TypeAlias = "list[tuple[CorpusFiles, list[CompiledSlice]]]"
"""The results of the second round, by corpus."""


class Compile(Stage[CompileOutput, Compiled]):
    """Writes ``compiled/<split>/part-<corpus, 3 digits>-<slice, 5 digits>-<part, 5 digits>.parquet``."""

    name: ClassVar[str] = "compile"
    directory: ClassVar[str] = "compiled"
    output: ClassVar[type[CompileOutput]] = CompileOutput
    rounds: ClassVar[tuple[Round[Any, Any], ...]] = (LINES, COMPILE)
    version: ClassVar[int] = 2

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        return (Extract,)

    def settings(self, config: Config) -> dict[str, object]:
        settings: dict[str, object] = {}
        for split, corpora in config.splits.items():
            settings[f"splits.{split}"] = [corpus.name for corpus in corpora]
            for corpus in corpora:
                settings |= reading_settings(f"splits.{split}.{corpus.name}", corpus, config.languages)
        return settings

    def work(self, job: Job) -> Rounds[Compiled]:
        sources = [
            corpus_files(job, split, index, corpus)
            for split, corpora in job.config.splits.items()
            for index, corpus in enumerate(corpora)
        ]
        sliced = yield from slice_corpora(sources)
        tasks = [
            CompileTask(
                key=f"{source.split}-{source.index:03d}-{number:05d}",
                source=source,
                slice=slice_,
                number=number,
                whole=len(slices) == 1,
                languages=job.config.languages,
                directory=job.directory / source.split,
            )
            for source, slices in zip(sources, sliced, strict=True)
            for number, slice_ in enumerate(slices)
        ]
        total = sum(source.sizes[path] for source in sources for files in source.files for path in files.values())
        results = yield from COMPILE.run(tasks, total)
        pairs = list(zip(tasks, results, strict=True))
        return [(source, [result for task, result in pairs if task.source is source]) for source in sources]

    def finish(self, job: Job, made: Compiled) -> Result[CompileOutput]:
        for held_out, train in _same_files(job):
            job.progress.event("same_as_train", corpus=held_out, train=train)
        parts: dict[str, tuple[CompiledPart, ...]] = dict.fromkeys(job.config.splits, ())
        corpora: dict[str, dict[str, CorpusCounts]] = {split: {} for split in job.config.splits}
        digests: dict[str, str] = {}
        for source, slices in made:
            counts = reduce(add, (each.counts for each in slices))
            written = [part for each in slices for part in each.parts]
            if not written and source.corpus.role != "vocab":
                raise no_pairs(source, counts)
            parts[source.split] += tuple(written)
            corpora[source.split][source.corpus.name] = counts
            for each in slices:
                digests |= each.digests
        total = reduce(add, (counts for split in corpora.values() for counts in split.values()))
        return Result(
            CompileOutput(parts, corpora),
            Counts(pairs_in=total.pairs_in, pairs_out=total.pairs_out, dropped=total.dropped),
            files=list(digests),
            digests=digests,
        )


def _same_files(job: Job) -> Iterator[tuple[str, str]]:
    """Yields the config keys of corpora outside of train whose files equal those of one in train, with that one's."""
    extracted = job.read(Extract).files
    train: dict[object, str] = {}
    for split, corpora in sorted(job.config.splits.items(), key=lambda item: item[0] != "train"):
        for corpus in corpora:
            parts = (extracted[f"{split}/{corpus.name}/{part}"] for part in corpus.parts)
            digests = tuple(tuple(stored.sha256 for stored in files) for files in parts)
            where = f"splits.{split}.{corpus.name}"
            if split == "train":
                train.setdefault(digests, where)
            elif digests in train:
                yield where, train[digests]


def corpus_files(job: Job, split: str, index: int, corpus: Corpus) -> CorpusFiles:
    """Returns a corpus with its files, for a stage that reads those of extract."""
    extracted = job.read(Extract)
    directory = job.directory_of(Extract)
    parts = {part: extracted.files[f"{split}/{corpus.name}/{part}"] for part in corpus.parts}
    return CorpusFiles(
        split,
        index,
        corpus,
        # If a part is several files, the first files of all parts belong together, and so on.
        [
            {part: directory / stored.file for part, stored in zip(parts, together, strict=True)}
            for together in zip(*parts.values(), strict=True)
        ],
        {directory / stored.file: stored.size for files in parts.values() for stored in files},
        file_names(job, split, corpus),
    )


def reading_settings(key: str, corpus: Corpus, languages: Languages) -> dict[str, object]:
    """The settings that decide which pairs the files of a corpus hold."""
    reader = reader_of(corpus.resolved_format)
    settings = {"format": corpus.resolved_format, "role": corpus.role, "swap": corpus.swap, "reader": reader.version}
    settings |= corpus.model_dump(mode="json", include=set(reader.options))
    if corpus.role == "monolingual":
        settings["placeholder"] = corpus.placeholder
    if reader.multilingual:
        settings["languages"] = (corpus.languages or languages).model_dump()
    return {f"{key}.{name}": value for name, value in settings.items()}
