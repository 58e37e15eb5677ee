"""compile: from corpora in any format to Parquet parts with aligned, checked pairs.

The first round of tasks counts lines in large files, the second counts rows in other files before the last slice of a
corpus; the third compiles corpora, and large corpora slice by slice. Pairs with an empty side are dropped and counted,
and so are pairs in which the reader finds a fault. Two more rounds check the health of the data
(:mod:`~nmt_prep.stages.compile.compile_health`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any

from nmt_prep.base.digests import FileSteps
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.health_warnings import drops_most, loss_warning
from nmt_prep.config import Config, Corpus
from nmt_prep.config.section import Languages
from nmt_prep.corpora import column_files, format_of, parts_of, reader_of
from nmt_prep.corpora.parts import PairFile
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, HealthWarning, Job, Outputs, Result, Stage
from nmt_prep.stages.compile.compile_health import (
    IN_TRAIN,
    RECOUNT,
    CompileObserved,
    ObservedCorpus,
    is_judged_cleaned,
    look_at,
)
from nmt_prep.stages.compile.compile_tasks import COMPILE, CompiledSlice, CompileTask, CorpusCounts, check_result
from nmt_prep.stages.compile.joining import JOIN_ROUNDS, Joined, has_pivots, join_corpora
from nmt_prep.stages.compile.slices import LINES, ROWS, CorpusFiles, slice_corpora
from nmt_prep.stages.extract import CorpusFile, Extract, file_names, path_of, wanted_by
from nmt_prep.stages.sentences import Sentences, documents_stages


@dataclass(frozen=True)
class CompileOutput:
    """The compiled pairs."""

    parts: dict[str, tuple[PairFile, ...]]  # Parquet files by split, in order
    corpora: dict[str, dict[str, CorpusCounts]]  # counts by split and corpus name


@dataclass(frozen=True)
class Compiled:
    """The compiling round's results, by corpus, and what the later rounds observed."""

    corpora: list[tuple[CorpusFiles, list[CompiledSlice]]]
    observed: CompileObserved


class Compile(Stage[CompileOutput, Compiled]):
    """Writes ``compiled/<split>/part-<corpus, 3 digits>-<slice, 5 digits>-<part, 5 digits>.parquet``.

    Parts of plain files that are read in place end in ``.json`` and name lines in these files, which are linked as
    ``compiled/inputs/<SHA-256>``.
    """

    name = "compile"
    directory = "compiled"
    reads = (Extract,)
    output = CompileOutput
    observed = CompileObserved
    rounds = (LINES, ROWS, COMPILE, *JOIN_ROUNDS, RECOUNT, IN_TRAIN)
    version = 3

    def rounds_for(self, config: Config) -> tuple[Round[Any, Any], ...]:
        return self.rounds if has_pivots(config) else tuple(each for each in self.rounds if each not in JOIN_ROUNDS)

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        return documents_stages(config)

    def settings(self, config: Config) -> dict[str, object]:
        settings: dict[str, object] = {}
        for split, corpora in config.own_splits.items():
            settings[f"splits.{split}"] = [corpus.name for corpus in corpora]
            for corpus in corpora:
                settings |= reading_settings(f"splits.{split}.{corpus.name}", corpus, config.languages)
                if (weight := _weight_key(config, corpus)) is not None:
                    settings[f"splits.{split}.{corpus.name}.weight"] = weight
                if _has_rows(config, corpus):
                    settings[f"splits.{split}.{corpus.name}.rows"] = True
                if corpus.role == "vocab" and _is_written(config, split, corpus):
                    settings[f"splits.{split}.{corpus.name}.written"] = True
        return settings

    def warnings(self, observed: CompileObserved, config: Config) -> tuple[HealthWarning, ...]:
        return tuple(warning for warning in observed.warnings if not is_judged_cleaned(config, warning))

    def work(self, job: Job) -> Rounds[Compiled]:
        sources = [
            corpus_files(job, split, index, corpus)
            for split, corpora in job.config.own_splits.items()
            for index, corpus in enumerate(corpora)
            if corpus.pivot is None
        ]
        steps = {
            path: known
            for split, corpus in job.config.corpora
            for path, known in file_steps(job, split, corpus).items()
        }
        sliced = yield from slice_corpora(sources, job.config.languages, steps)
        tasks = [
            CompileTask(
                key=f"{source.split}-{source.index:03d}-{number:05d}",
                source=source,
                slice=slice_,
                number=number,
                whole=len(slices) == 1,
                languages=job.config.languages,
                directory=job.directory / source.split,
                written=_is_written(job.config, source.split, source.corpus),
                keys=_keys_file(job, source, number),
                weight=_weight_key(job.config, source.corpus),
            )
            for source, slices in zip(sources, sliced, strict=True)
            for number, slice_ in enumerate(slices)
        ]
        total = sum(source.sizes[path] for source in sources for files in source.files for path in files.values())
        results = yield from COMPILE.run(tasks, total)
        pairs = list(zip(tasks, results, strict=True))
        corpora = [(source, [result for task, result in pairs if task.source is source]) for source in sources]
        if has_pivots(job.config):
            corpora += yield from join_corpora(job, _to_join(job, corpora), partial(_keys_file, job))
        observed = yield from look_at(_observed_corpora(job, corpora))
        return Compiled(corpora, observed)

    def finish(self, job: Job, made: Compiled) -> Result[CompileOutput]:
        parts: dict[str, tuple[PairFile, ...]] = dict.fromkeys(job.config.own_splits, ())
        corpora: dict[str, dict[str, CorpusCounts]] = {split: {} for split in parts}
        digests: dict[str, str] = {}
        for source, slices in made.corpora:
            corpora[source.split][source.corpus.name] = check_result(source, slices)
            parts[source.split] += tuple(part for compiled in slices for part in compiled.parts)
            for compiled in slices:
                digests |= compiled.digests
        losses = tuple(_loss_warnings(corpora))
        total = reduce(add, (counts for split in corpora.values() for counts in split.values()))
        return Result(
            CompileOutput(parts, corpora),
            Counts(pairs_in=total.pairs_in, pairs_out=total.pairs_out, dropped=total.dropped),
            files=list(digests),
            digests=digests,
            observed=replace(made.observed, warnings=losses + made.observed.warnings),
        )


def _loss_warnings(corpora: Mapping[str, Mapping[str, CorpusCounts]]) -> Iterator[HealthWarning]:
    for split, counted in corpora.items():
        for name, counts in counted.items():
            dropped = {reason: n for reason, n in counts.dropped.items() if n and reason != "vocab_only"}
            if drops_most(counts.pairs_in, dropped):
                advice = "check the format and the columns of the corpus, for example with nmt-prep check"
                yield loss_warning(split, name, counts.pairs_in, dropped, "compile", advice)


def _has_rows(config: Config, corpus: Corpus) -> bool:
    """Returns true if a corpus's parts have the rows of its pairs, which later stages, scores and documents use.

    The parts of joined corpora also have them, because these corpora have no files in which a row could be found.

    Other parts do not have them, so that the parts of older configs keep their bytes.
    """
    later = config.clean is not None or config.limits.pieces is not None or corpus.is_divided
    return later or bool(corpus.places) or corpus.pivot is not None


def _weight_key(config: Config, corpus: Corpus) -> str | None:
    """Returns the key of the score that weights a corpus's pairs, or None without weights."""
    name = None if config.weight is None else config.weight.origin.removeprefix("score:")
    return f"scores.{name}" if name in corpus.scores else None


def _is_written(config: Config, split: str, corpus: Corpus) -> bool:
    """Returns true if a corpus's pairs are written to parts. Otherwise, only sample reads it."""
    return corpus.role != "vocab" or config.cleans(split)


def _keys_file(job: Job, source: CorpusFiles, number: int) -> Path | None:
    """Returns the file for a slice's keys; None if no split can share pairs with another."""
    pairs = {split for split, corpora in job.config.own_splits.items() if any(map(_has_pairs, corpora))}
    if len(pairs) < 2 or not _has_pairs(source.corpus):
        return None
    return job.scratch / f"keys-{source.split}-{source.index:03d}-{number:05d}"


def _has_pairs(corpus: Corpus) -> bool:
    return corpus.role == "parallel" and corpus.read_sides == SIDES


def _to_join(job: Job, made: Iterable[tuple[CorpusFiles, Sequence[CompiledSlice]]]) -> list[Joined]:
    compiled = {
        (source.split, source.corpus.name): (source.corpus, [part for each in slices for part in each.parts])
        for source, slices in made
    }
    return [
        Joined.of(corpus_files(job, split, index, corpus), compiled)
        for split, corpora in job.config.own_splits.items()
        for index, corpus in enumerate(corpora)
        if corpus.pivot is not None
    ]


def _observed_corpora(job: Job, made: Iterable[tuple[CorpusFiles, Sequence[CompiledSlice]]]) -> list[ObservedCorpus]:
    same = dict(_same_files(job))
    return [
        ObservedCorpus(
            source.split,
            source.corpus.name,
            source.corpus.spoken(job.config.languages),
            reduce(add, (compiled.facts for compiled in slices)),
            tuple(job.directory / part.file for compiled in slices for part in compiled.parts),
            tuple(filter(None, (_keys_file(job, source, number) for number in range(len(slices))))),
            same.get(source.where),
            source.corpus.pair,
        )
        for source, slices in made
        if _is_written(job.config, source.split, source.corpus)
    ]


def _same_files(job: Job) -> Iterator[tuple[str, str]]:
    """Yields pairs of config keys: a corpus outside of train, and a train corpus with the same files."""
    extracted = job.read(Extract).files
    train: dict[object, str] = {}
    for split, corpus in sorted(job.config.corpora, key=lambda item: item[0] != "train"):
        if not corpus.is_made:
            parts = (extracted[f"{split}/{corpus.name}/{part}"] for part in parts_of(corpus))
            digests = tuple(tuple(stored.sha256 for stored in files) for files in parts)
            where = f"splits.{split}.{corpus.name}"
            if split == "train":
                train.setdefault(digests, where)
            elif digests in train:
                yield where, train[digests]


def corpus_files(job: Outputs, split: str, index: int, corpus: Corpus) -> CorpusFiles:
    """Returns a corpus with its files for a later stage: files that `extract` wrote, or pairs of aligned documents."""
    if corpus.documents is not None:
        return _aligned_files(job, split, index, corpus)
    if corpus.pivot is not None:
        return CorpusFiles(split, index, corpus, [], {}, {})
    files = _files_by_key(job, split, corpus)
    parts = {part: files[f"{split}/{corpus.name}/{part}"] for part in parts_of(corpus)}
    columns = {key: files[f"{split}/{corpus.name}/{key}"] for key in column_files(corpus)}
    return CorpusFiles(
        split,
        index,
        corpus,
        # If a part is several files, the first files of all parts belong together, and so on.
        [dict(zip(parts, together, strict=True)) for together in zip(*parts.values(), strict=True)],
        {path: file.size for listed in files.values() for path, file in listed.items()},
        file_names(job, split, corpus),
        {key: path for key, (path,) in columns.items()},
        _has_rows(job.config, corpus),
        {path: file.sha256 for listed in files.values() for path, file in listed.items()},
    )


def _aligned_files(job: Outputs, split: str, index: int, corpus: Corpus) -> CorpusFiles:
    listed = job.read(Sentences).files[f"{split}/{corpus.name}"]
    files = {job.directory_of(Sentences) / str(file.file): file for file in listed}
    sizes, digests = ({path: getattr(file, what) for path, file in files.items()} for what in ("size", "sha256"))
    names = {path: f"{path.name} (of aligned documents)" for path in files}
    return CorpusFiles(split, index, corpus, [{"both": path} for path in files], sizes, names, {}, True, digests)


def file_steps(job: Outputs, split: str, corpus: Corpus) -> dict[Path, FileSteps]:
    """Returns the steps of a corpus's files that are read in place."""
    if corpus.is_made:
        return {}
    files = _files_by_key(job, split, corpus).values()
    return {path: file.steps for listed in files for path, file in listed.items() if file.steps is not None}


def _files_by_key(job: Outputs, split: str, corpus: Corpus) -> dict[str, dict[Path, CorpusFile]]:
    extracted = job.read(Extract).files
    return {
        wanted.key: {path_of(job, wanted, file): file for file in extracted[wanted.key]}
        for wanted in wanted_by(split, corpus)
    }


def reading_settings(key: str, corpus: Corpus, languages: Languages) -> dict[str, object]:
    """Returns the settings that decide which pairs are read from a corpus's files."""
    kind = format_of(corpus)
    reader = reader_of(kind)
    settings: dict[str, object] = {"format": kind, "role": corpus.role, "swap": corpus.swap, "reader": reader.version}
    settings |= corpus.model_dump(mode="json", include=set(reader.options))
    if reader.section is not None:
        settings["options"] = reader.section.model_validate(corpus.options).model_dump(mode="json")
    if corpus.pivot is not None:
        settings |= {"pivot": corpus.pivot, "corpora": corpus.corpora}
    inside = reader.columns_inside(corpus)
    if corpus.document is not None:
        settings["document"] = inside.get("document")
    if corpus.scores:
        settings["scores"] = {name: inside.get(f"scores.{name}") for name in sorted(corpus.scores)}
    if reader.divides(corpus):
        settings["lines"] = True
    if len(corpus.read_sides) == 1:
        settings["side"] = corpus.read_sides[0]
    if reader.multilingual:
        settings["languages"] = (corpus.languages or languages).model_dump()
    return {f"{key}.{name}": value for name, value in settings.items()}
