"""sentences: aligns the sentences in document corpora, and writes their pairs. It skips other corpora."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from nmt_prep.base.errors import AlignmentModelError, CorpusError
from nmt_prep.base.runtime import check_extra
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.align.model import model_at
from nmt_prep.cleaning.align.settings import LEARNING_VERSION, SCORE_SETTINGS, rounds
from nmt_prep.cleaning.sentences.aligner import Level
from nmt_prep.cleaning.sentences.document_texts import files_of_directories, pairs_of_list
from nmt_prep.cleaning.sentences.search import BeadTotals
from nmt_prep.config import Config, Corpus
from nmt_prep.config.documents import Documents
from nmt_prep.corpora import parts_of
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, HealthWarning, Job, Outputs, Result, Stage
from nmt_prep.stages.extract import CorpusFile, Extract, file_names, path_of, wanted_by
from nmt_prep.stages.pair_sample import check_memory, threads_for
from nmt_prep.stages.sentences.observed import SentencesObserved, corpus_note, doubts_of, joined_notes, warnings_of
from nmt_prep.stages.sentences.reading import READ, RawShard, ReadDocuments, ReadTask, Shard, total_bytes
from nmt_prep.stages.sentences.sentences_tasks import (
    AGAIN,
    FIRST,
    LEARN,
    PAIRS,
    AlignedPairs,
    AlignTask,
    FirstShards,
    FirstTask,
    LearnTask,
    Prior,
)
from nmt_prep.text.blocks import TextPolicy


@dataclass(frozen=True)
class SentencesOutput:
    """The files of pairs by ``<split>/<corpus>``, in order: columns ``source``, ``target``, ``document``, ``score``."""

    files: dict[str, tuple[CorpusFile, ...]]


@dataclass(frozen=True)
class DocumentCorpus:
    """A corpus of documents."""

    split: str
    corpus: Corpus
    documents: Documents
    languages: tuple[str, str]  # the languages on both sides of its files
    prior: Path | None  # file of the prior model; None without one

    @property
    def where(self) -> str:
        """Key of the corpus in the config."""
        return f"splits.{self.split}.{self.corpus.name}"

    @property
    def name(self) -> str:
        return f"{self.split}/{self.corpus.name}"

    @property
    def stem(self) -> str:
        """Prefix of its file names."""
        return self.name.replace("/", ".")


@dataclass(frozen=True)
class Aligned:
    """A corpus's results."""

    of: DocumentCorpus
    read: ReadDocuments
    first: tuple[FirstShards, ...]
    level: Level
    written: tuple[tuple[Path, AlignedPairs], ...]


class Sentences(Stage[SentencesOutput, list[Aligned]]):
    """Writes ``sentences/<split>/<corpus>-<shard, 5 digits>.parquet``."""

    name = "sentences"
    version = 3
    directory = "sentences"
    reads = (Extract,)
    output = SentencesOutput
    observed = SentencesObserved
    rounds: ClassVar[tuple[Round[Any, Any], ...]] = (READ, FIRST, LEARN[0], AGAIN, LEARN[1], PAIRS)

    def applies(self, config: Config) -> bool:
        return any(True for _ in corpora_of_documents(config))

    def settings(self, config: Config) -> dict[str, object]:
        settings: dict[str, object] = {"version": LEARNING_VERSION}
        for of in corpora_of_documents(config):
            described = of.documents.model_dump(mode="json")
            settings |= {f"{of.where}.documents.{name}": value for name, value in described.items()}
            settings |= {f"{of.where}.encoding": of.corpus.encoding, f"{of.where}.languages": list(of.languages)}
        return settings

    def check(self, config: Config) -> None:
        for of in corpora_of_documents(config):
            if of.documents.split != "lines":
                check_extra("sentencex", "documents", f"{of.where}.documents.split: {of.documents.split}")
            if of.documents.format == "html":
                check_extra("lxml", "documents", f"{of.where}.documents.format: html")
            key = f"{of.where}.documents.model"
            if of.prior is not None and model_at(key, of.prior).settings.pretokenized:
                raise AlignmentModelError(f"{key}: {of.prior} is for tokenized text")
            if of.corpus.is_local:
                _local_files(config, of)

    def local_files(self, config: Config) -> dict[str, Path]:
        files: dict[str, Path] = {}
        for of in corpora_of_documents(config):
            if of.prior is not None:
                files[f"{of.where}.documents.model"] = of.prior
            if of.corpus.is_local:
                if of.documents.format == "list":
                    files[of.where] = _local(config, of.corpus, "both")
                for number, (_, paths) in enumerate(_local_files(config, of)):
                    files |= {f"{of.where}.{side}.{number}": path for side, path in paths.items()}
        return files

    def work(self, job: Job) -> Rounds[list[Aligned]]:
        corpora = {of.name: of for of in corpora_of_documents(job.config)}
        results = yield from READ.run([_read_task(job, of) for of in corpora.values()])
        read = dict(zip(corpora, results, strict=True))
        firsts = {name: _first_tasks(job, of, read[name].shards) for name, of in corpora.items()}
        first = yield from FIRST.run_groups(firsts, total_bytes(results))
        shards = {name: [shard for result in first[name] for shard in result.shards] for name in corpora}
        _check_sizes(job, corpora, shards)
        priors = {
            name: Prior(of.prior, sum(shard.sentences for shard in shards[name]))
            for name, of in corpora.items()
            if of.prior is not None
        }
        tasks = yield from _learned(job, 0, corpora, shards, priors)
        total = sum(shard.count for listed in shards.values() for shard in listed)
        shards = yield from AGAIN.run_groups(tasks, total)
        tasks = yield from _learned(job, 1, corpora, shards, priors)
        total = sum(shard.count for listed in shards.values() for shard in listed)
        written = yield from PAIRS.run_groups(tasks, total)
        return [
            Aligned(
                of,
                read[name],
                tuple(first[name]),
                Level.sum(shard.level for shard in shards[name]),
                tuple((task.output, result) for task, result in zip(tasks[name], written[name], strict=True)),
            )
            for name, of in corpora.items()
        ]

    def finish(self, job: Job, made: list[Aligned]) -> Result[SentencesOutput]:
        files: dict[str, tuple[CorpusFile, ...]] = {}
        notes: dict[str, dict[str, Any]] = {}
        doubts: list[HealthWarning] = []
        for aligned in made:
            of = aligned.of
            files[of.name] = tuple(
                CorpusFile(path.relative_to(job.directory).as_posix(), result.sha256, result.size)
                for path, result in aligned.written
                if result.pairs
            )
            if not files[of.name]:
                weak = sum(result.weak for _, result in aligned.written)
                problem = f"all {weak} pairs have a score below documents.min; lower it"
                other = "no documents translate each other; compare their sides"
                raise CorpusError(f"{of.where}: {problem if weak else other}")
            documents = list(joined_notes(note for _, result in aligned.written for note in result.notes))
            pairs, weak = (sum(getattr(result, what) for _, result in aligned.written) for what in ("pairs", "weak"))
            empty = ((document, "empty") for result in aligned.first for document in result.empty)
            refused = (*aligned.read.refused, *empty)
            left_out = {note.name for note in documents if not note.translated}
            found = (each for result in aligned.first for each in result.strange)
            strange = [each for each in found if each[0] not in left_out]
            notes.setdefault(of.split, {})[of.corpus.name] = corpus_note(documents, pairs, weak, refused)
            doubts += doubts_of(of.split, of.corpus.name, strange, len(documents), aligned.level)
        digests = {str(file.file): file.sha256 for listed in files.values() for file in listed}
        every = [note for corpora in notes.values() for note in corpora.values()]
        counts = Counts(
            pairs_out=sum(note.pairs for note in every),
            other={
                "documents": sum(note.documents for note in every),
                "weak": sum(note.weak for note in every),
                "cut_sentences": sum(aligned.level.cut for aligned in made),
            },
        )
        observed = SentencesObserved(notes, (*warnings_of(notes), *doubts))
        return Result(SentencesOutput(files), counts, list(digests), digests, observed)


def documents_stages(config: Config) -> tuple[type[AnyStage], ...]:
    """Returns the stages whose output contains the files of corpora."""
    return (Extract, Sentences) if Sentences().applies(config) else (Extract,)


def corpora_of_documents(config: Config) -> Iterator[DocumentCorpus]:
    """Yields the document corpora."""
    for split, corpus in config.corpora:
        if corpus.documents is not None:
            known, model = corpus.spoken(config.languages), corpus.documents.model
            languages = (known.target, known.source) if corpus.swap else (known.source, known.target)
            prior = None if model is None else config.base_dir / Path(model).expanduser()
            yield DocumentCorpus(split, corpus, corpus.documents, languages, prior)


def _taken(shards: Sequence[Shard], most: int) -> list[Shard]:
    """Returns the shards to learn from: every n-th shard if all together have more than ``most`` beads."""
    return list(shards[:: max(-(-sum(shard.count for shard in shards) // most), 1)])


def _local(config: Config, corpus: Corpus, part: str) -> Path:
    return config.base_dir / Path(getattr(corpus.url, part)[0]).expanduser()


def _local_files(config: Config, of: DocumentCorpus) -> list[tuple[str, dict[str, Path]]]:
    """Returns the documents in directories or in a list of paths: names, and the files on both sides."""
    try:
        if of.documents.format == "list":
            listed = _local(config, of.corpus, "both")
            base = f"{listed.parent.as_posix()}/"
            named = [(pair[0].as_posix().removeprefix(base), pair) for pair in pairs_of_list(listed)]
        else:
            directories = (_local(config, of.corpus, side) for side in SIDES)
            named = list(files_of_directories(*directories).items())
    except CorpusError as error:
        raise CorpusError(f"{of.where}: {error}") from error
    return [(name, dict(zip(SIDES, pair, strict=True))) for name, pair in named]


def _read_task(job: Job, of: DocumentCorpus) -> ReadTask:
    names: Mapping[Path, str] = {}
    if of.corpus.is_local:
        files = _local_files(job.config, of)
    else:
        names = file_names(job, of.split, of.corpus)
        files = _extracted_files(job, of)
    read_as = of.documents.model_copy(update={"format": "text"}) if of.documents.format == "list" else of.documents
    key = f"read-{of.split}-{of.corpus.name}"
    policies = {
        part: replace(TextPolicy.of(of.corpus, part), crlf="strip", max_line_bytes=None) for part in ("both", *SIDES)
    }
    return ReadTask(key, of.where, tuple(files), dict(names), read_as, policies, job.scratch)


def _first_tasks(job: Job, of: DocumentCorpus, shards: Sequence[RawShard]) -> list[FirstTask]:
    return [
        FirstTask(f"first-{shard.file.stem}", of.where, shard.file, of.documents, of.languages, of.prior, job.scratch)
        for shard in shards
    ]


def _check_sizes(job: Job, corpora: Mapping[str, DocumentCorpus], shards: Mapping[str, Sequence[Shard]]) -> None:
    """Checks that each corpus has sentences, and that the memory is enough to learn from them."""
    for name, of in corpora.items():
        if not shards[name]:
            raise CorpusError(f"{of.where}: no document has sentences on both sides")
        most = min(of.documents.pairs, sum(shard.count for shard in shards[name]))
        check_memory(job, most, f"{of.where}.documents", len(corpora))


def _learned(
    job: Job,
    number: int,
    corpora: Mapping[str, DocumentCorpus],
    shards: Mapping[str, Sequence[Shard]],
    priors: Mapping[str, Prior],
) -> Rounds[dict[str, list[AlignTask]]]:
    """Yields the rounds that learn the ``number``-th models; returns the tasks that align each corpus by its model."""
    taken = {name: _taken(shards[name], of.documents.pairs) for name, of in corpora.items()}
    counts = {name: sum(shard.count for shard in listed) for name, listed in taken.items()}
    threads = threads_for(job, counts)
    learning = LEARN[number]
    tasks = {
        name: LearnTask(
            f"{learning.name}-{of.stem}",
            tuple(shard.pairs for shard in taken[name]),
            priors.get(name),
            threads[name],
            job.scratch / f"{of.stem}-{number + 1}.model",
        )
        for name, of in corpora.items()
    }
    yield from learning.run(tasks.values(), sum(counts.values()) * len(rounds(SCORE_SETTINGS)))
    return {
        name: _align_tasks(job, number, of, shards[name], taken[name], tasks[name].output, priors.get(name))
        for name, of in corpora.items()
    }


def _align_tasks(
    job: Job,
    number: int,
    of: DocumentCorpus,
    shards: Sequence[Shard],
    taken: Sequence[Shard],
    model: Path,
    prior: Prior | None,
) -> list[AlignTask]:
    """Returns the tasks that align a corpus with its ``number``-th model; the last model's tasks write pairs."""
    last = number + 1 == len(LEARN)
    priors = BeadTotals.sum(shard.totals for shard in shards).priors()
    level = Level.sum(shard.level for shard in shards) if last else None
    return [
        AlignTask(
            f"align-{number + 1}-{of.stem}-{at:05d}",
            shard,
            model,
            prior,
            shard in taken,
            priors,
            level,
            of.languages,
            of.documents.min,
            job.directory / of.split / f"{of.corpus.name}-{at:05d}.parquet" if last else job.scratch,
        )
        for at, shard in enumerate(shards)
    ]


def _extracted_files(job: Outputs, of: DocumentCorpus) -> list[tuple[str, dict[str, Path]]]:
    extracted = job.read(Extract).files
    wanted = {file.key.rpartition("/")[2]: file for file in wanted_by(of.split, of.corpus)}
    paths = {
        part: [path_of(job, wanted[part], file) for file in extracted[wanted[part].key]] for part in parts_of(of.corpus)
    }
    files = [dict(zip(paths, group, strict=True)) for group in zip(*paths.values(), strict=True)]
    named = {next(iter(group.values())).name[17:]: group for group in files}
    if len(named) < len(files):
        raise CorpusError(
            f"{of.where}: members of {next(iter(paths))} in several directories have one name; rename them"
        )
    return list(named.items())
