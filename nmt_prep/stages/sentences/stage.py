"""sentences: aligns the sentences of corpora of documents, and writes their pairs. Other corpora pass it by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from nmt_prep.align.model import shared_model
from nmt_prep.config import Config, Corpus
from nmt_prep.config.documents import Documents
from nmt_prep.corpora import parts_of
from nmt_prep.errors import AlignmentModelError, CorpusError
from nmt_prep.health.warning import HealthWarning
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, Job, Outputs, Result, Stage
from nmt_prep.runtime import check_extra
from nmt_prep.sentences.aligner import Level
from nmt_prep.sentences.documents import files_of_directories, pairs_of_list
from nmt_prep.sentences.search import BeadTotals
from nmt_prep.sides import SIDES
from nmt_prep.stages.extract import CorpusFile, Extract, file_names, path_of, wanted_by
from nmt_prep.stages.learning import LEARNING_VERSION, SCORE_SETTINGS, LearningRounds, check_memory
from nmt_prep.stages.sentences.observed import SentencesObserved, corpus_note, doubts_of, joined_notes, warnings_of
from nmt_prep.stages.sentences.reading import READ, RawShard, ReadDocuments, ReadTask, total_bytes
from nmt_prep.stages.sentences.shards import Shard
from nmt_prep.stages.sentences.tasks import (
    AGAIN,
    CAP,
    FIRST,
    PAIRS,
    AlignedPairs,
    AlignTask,
    CapTask,
    FirstShards,
    FirstTask,
)

Entry: TypeAlias = tuple[str, Corpus, Documents]
"""The split of a corpus, the corpus, and its section ``documents``."""

LEARNING = (LearningRounds("sentences-1", SCORE_SETTINGS), LearningRounds("sentences-2", SCORE_SETTINGS))


@dataclass(frozen=True)
class SentencesOutput:
    """The files of pairs by ``<split>/<corpus>``, in order: columns ``source``, ``target``, ``document``, ``score``."""

    files: dict[str, tuple[CorpusFile, ...]]


@dataclass(frozen=True)
class Aligned:
    """The results of a corpus."""

    read: ReadDocuments
    first: tuple[FirstShards, ...]
    unrelated: bool
    written: tuple[tuple[Path, AlignedPairs], ...]


class Sentences(Stage[SentencesOutput, dict[str, Aligned]]):
    """Writes ``sentences/<split>/<corpus>-<shard, 5 digits>.parquet``."""

    name = "sentences"
    version = 2
    directory = "sentences"
    reads = (Extract,)
    output = SentencesOutput
    observed = SentencesObserved
    rounds: ClassVar[tuple[Round[Any, Any], ...]] = (
        READ,
        FIRST,
        CAP,
        *LEARNING[0].rounds,
        AGAIN,
        *LEARNING[1].rounds,
        PAIRS,
    )

    def applies(self, config: Config) -> bool:
        return any(True for _ in corpora_of_documents(config))

    def learns_from(self, config: Config) -> int:
        return max((documents.pairs for _, _, documents in corpora_of_documents(config)), default=0)

    def learning_options(self, config: Config) -> list[str]:
        return [f"{_where(split, corpus)}.documents.pairs" for split, corpus, _ in corpora_of_documents(config)]

    def settings(self, config: Config) -> dict[str, object]:
        settings: dict[str, object] = {"version": LEARNING_VERSION}
        for split, corpus, documents in corpora_of_documents(config):
            settings |= {
                f"{_where(split, corpus)}.documents.{name}": value
                for name, value in documents.model_dump(mode="json").items()
            }
            settings[f"{_where(split, corpus)}.encoding"] = corpus.encoding
            settings[f"{_where(split, corpus)}.languages"] = list(_languages(config, corpus))
        return settings

    def check(self, config: Config) -> None:
        for split, corpus, documents in corpora_of_documents(config):
            if documents.split != "lines":
                check_extra("sentencex", "documents", f"{_where(split, corpus)}.documents.split: {documents.split}")
            if documents.format == "html":
                check_extra("inscriptis", "documents", f"{_where(split, corpus)}.documents.format: html")
            prior = _prior(config, documents)
            if prior is not None and shared_model(prior).settings.pretokenized:
                raise AlignmentModelError(f"{_where(split, corpus)}.documents.model: {prior} is for tokenized text")

    def local_files(self, config: Config) -> dict[str, Path]:
        files: dict[str, Path] = {}
        for split, corpus, documents in corpora_of_documents(config):
            where = _where(split, corpus)
            if (prior := _prior(config, documents)) is not None:
                files[f"{where}.documents.model"] = prior
            if corpus.is_local:
                if documents.format == "list":
                    files[where] = _local(config, corpus, "both")
                for number, (_, paths) in enumerate(_local_files(config, corpus, documents, where)):
                    files |= {f"{where}.{side}.{number}": path for side, path in paths.items()}
        return files

    def work(self, job: Job) -> Rounds[dict[str, Aligned]]:
        config = job.config
        corpora = {
            f"{split}/{corpus.name}": (split, corpus, documents)
            for split, corpus, documents in corpora_of_documents(config)
        }
        reads = [_read_task(job, *corpus) for corpus in corpora.values()]
        results = yield from READ.run(reads)
        read = dict(zip(corpora, results, strict=True))
        languages = {name: _languages(config, corpus) for name, (_, corpus, _) in corpora.items()}
        priors = {name: _prior(config, documents) for name, (_, _, documents) in corpora.items()}
        firsts = {
            name: _first_tasks(job, corpus, read[name].shards, languages[name], priors[name])
            for name, corpus in corpora.items()
        }
        first = yield from FIRST.run_groups(firsts, total_bytes(results))
        shards = {name: [shard for result in first[name] for shard in result.shards] for name in corpora}
        _check_sizes(job, corpora, shards)
        caps = {
            name: CapTask(
                f"cap-{_file(name)}",
                prior,
                sum(shard.sentences for shard in shards[name]),
                job.scratch / f"{_file(name)}.prior",
            )
            for name, prior in priors.items()
            if prior is not None
        }
        yield from CAP.run(caps.values())
        for number, learning in enumerate(LEARNING):
            taken = {name: _taken(shards[name], documents.pairs) for name, (_, _, documents) in corpora.items()}
            texts = {
                _file(name): (
                    [shard.pairs for shard in taken[name]],
                    sum(shard.count for shard in taken[name]),
                    caps[name].output if name in caps else None,
                )
                for name in corpora
            }
            models = yield from learning.learn(texts, job.scratch / f"learning-{number + 1}")
            tasks = {
                name: _align_tasks(
                    job, number, corpus, shards[name], taken[name], languages[name], models, caps.get(name)
                )
                for name, corpus in corpora.items()
            }
            total = sum(shard.count for listed in shards.values() for shard in listed)
            if number + 1 == len(LEARNING):
                written = yield from PAIRS.run_groups(tasks, total)
            else:
                shards = yield from AGAIN.run_groups(tasks, total)
        return {
            name: Aligned(
                read[name],
                tuple(first[name]),
                Level.sum(shard.level for shard in shards[name]).unrelated,
                tuple((task.output, result) for task, result in zip(tasks[name], written[name], strict=True)),
            )
            for name in corpora
        }

    def finish(self, job: Job, made: dict[str, Aligned]) -> Result[SentencesOutput]:
        files: dict[str, tuple[CorpusFile, ...]] = {}
        notes: dict[str, dict[str, Any]] = {}
        doubts: list[HealthWarning] = []
        for name, aligned in made.items():
            split, _, corpus = name.partition("/")
            files[name] = tuple(
                CorpusFile(path.relative_to(job.directory).as_posix(), result.sha256, result.size)
                for path, result in aligned.written
                if result.pairs
            )
            if not files[name]:
                weak = sum(result.weak for _, result in aligned.written)
                problem = f"all {weak} pairs have a score below documents.min; lower it"
                other = "no documents translate each other; compare their sides"
                raise CorpusError(f"splits.{split}.{corpus}: {problem if weak else other}")
            documents = list(joined_notes(note for _, result in aligned.written for note in result.notes))
            pairs, weak = (sum(getattr(result, what) for _, result in aligned.written) for what in ("pairs", "weak"))
            empty = ((document, "empty") for result in aligned.first for document in result.empty)
            refused = (*aligned.read.refused, *empty)
            left_out = {note.name for note in documents if not note.translated}
            found = (each for result in aligned.first for each in result.strange)
            strange = [each for each in found if each[0] not in left_out]
            notes.setdefault(split, {})[corpus] = corpus_note(documents, pairs, weak, refused)
            doubts += doubts_of(split, corpus, strange, len(documents), unrelated=aligned.unrelated)
        digests = {str(file.file): file.sha256 for listed in files.values() for file in listed}
        every = [note for corpora in notes.values() for note in corpora.values()]
        counts = Counts(
            pairs_out=sum(note.pairs for note in every),
            other={"documents": sum(note.documents for note in every), "weak": sum(note.weak for note in every)},
        )
        observed = SentencesObserved(notes, (*warnings_of(notes), *doubts))
        return Result(SentencesOutput(files), counts, list(digests), digests, observed)


def documents_stages(config: Config) -> tuple[type[AnyStage], ...]:
    """Returns the stages whose output the files of corpora are in."""
    return (Extract, Sentences) if Sentences().applies(config) else (Extract,)


def corpora_of_documents(config: Config) -> Iterator[Entry]:
    """Yields the corpora of documents with their splits."""
    for split, corpus in config.corpora:
        if corpus.documents is not None:
            yield split, corpus, corpus.documents


def _where(split: str, corpus: Corpus) -> str:
    return f"splits.{split}.{corpus.name}"


def _file(name: str) -> str:
    return name.replace("/", ".")


def _languages(config: Config, corpus: Corpus) -> tuple[str, str]:
    """Returns the languages of the sides of the files of a corpus."""
    known = corpus.spoken(config.languages)
    return (known.target, known.source) if corpus.swap else (known.source, known.target)


def _prior(config: Config, documents: Documents) -> Path | None:
    return None if documents.model is None else config.base_dir / Path(documents.model).expanduser()


def _taken(shards: Sequence[Shard], most: int) -> list[Shard]:
    """Returns the shards to learn from: every n-th one if all have more than ``most`` beads."""
    return list(shards[:: max(-(-sum(shard.count for shard in shards) // most), 1)])


def _local(config: Config, corpus: Corpus, part: str) -> Path:
    return config.base_dir / Path(getattr(corpus.url, part)[0]).expanduser()


def _local_files(config: Config, corpus: Corpus, documents: Documents, where: str) -> list[tuple[str, dict[str, Path]]]:
    """Returns the documents in directories or in a list of paths: names, and the files of both sides.

    Raises:
        CorpusError: a directory or the list cannot be read, or a file has no counterpart.
    """
    try:
        if documents.format == "list":
            pairs = pairs_of_list(_local(config, corpus, "both"))
            named = [(source.as_posix(), (source, target)) for source, target in pairs]
            base = _local(config, corpus, "both").parent.as_posix()
            named = [(name.removeprefix(f"{base}/"), pair) for name, pair in named]
        else:
            directories = (_local(config, corpus, side) for side in SIDES)
            named = list(files_of_directories(*directories).items())
    except CorpusError as error:
        raise CorpusError(f"{where}: {error}") from error
    return [(name, dict(zip(SIDES, pair, strict=True))) for name, pair in named]


def _read_task(job: Job, split: str, corpus: Corpus, documents: Documents) -> ReadTask:
    where = _where(split, corpus)
    names: Mapping[Path, str] = {}
    if corpus.is_local:
        files = _local_files(job.config, corpus, documents, where)
    else:
        names = file_names(job, split, corpus)
        files = _extracted_files(job, split, corpus, where)
    read_as = documents.model_copy(update={"format": "text"}) if documents.format == "list" else documents
    return ReadTask(
        f"read-{split}-{corpus.name}", where, tuple(files), dict(names), read_as, corpus.encoding, job.scratch
    )


def _first_tasks(
    job: Job, entry: Entry, shards: Sequence[RawShard], languages: tuple[str, str], prior: Path | None
) -> list[FirstTask]:
    """Returns the tasks that divide the documents of a corpus into sentences, and find first paths."""
    split, corpus, documents = entry
    where = _where(split, corpus)
    return [
        FirstTask(f"first-{shard.file.stem}", where, shard.file, documents, languages, prior, job.scratch)
        for shard in shards
    ]


def _check_sizes(job: Job, corpora: Mapping[str, Entry], shards: Mapping[str, Sequence[Shard]]) -> None:
    """Checks that each corpus has sentences, and that the memory is enough to learn from them.

    Raises:
        CorpusError: no document of a corpus has sentences on both sides.
        AlignmentModelError: the memory is not enough.
    """
    for name, (split, corpus, documents) in corpora.items():
        if not shards[name]:
            raise CorpusError(f"{_where(split, corpus)}: no document has sentences on both sides")
        most = min(documents.pairs, sum(shard.count for shard in shards[name]))
        check_memory(job, most, f"{_where(split, corpus)}.documents", len(corpora))


def _align_tasks(
    job: Job,
    number: int,
    entry: Entry,
    shards: Sequence[Shard],
    taken: Sequence[Shard],
    languages: tuple[str, str],
    models: Mapping[str, Path],
    cap: CapTask | None,
) -> list[AlignTask]:
    """Returns the tasks that find the paths of a corpus by a model; the tasks of the last round write pairs.

    Args:
        job: the job.
        number: number of the round of learning, from 0.
        entry: split, corpus and settings.
        shards: the shards of the corpus.
        taken: the shards that the model learned from.
        languages: the languages of both sides.
        models: the models by the names of files of their corpora.
        cap: the task that capped the prior; None without a prior.
    """
    split, corpus, documents = entry
    file, last = _file(f"{split}/{corpus.name}"), number + 1 == len(LEARNING)
    priors = BeadTotals.sum(shard.totals for shard in shards).priors()
    level = Level.sum(shard.level for shard in shards) if last else None
    return [
        AlignTask(
            f"align-{number + 1}-{file}-{at:05d}",
            shard,
            models[file],
            None if cap is None else cap.output,
            shard in taken,
            priors,
            level,
            languages,
            documents.min,
            job.directory / split / f"{corpus.name}-{at:05d}.parquet" if last else job.scratch,
        )
        for at, shard in enumerate(shards)
    ]


def _extracted_files(job: Outputs, split: str, corpus: Corpus, where: str) -> list[tuple[str, dict[str, Path]]]:
    """Returns the extracted files of a corpus: names, and the files of its parts.

    Raises:
        CorpusError: the members of the sides have different names.
    """
    extracted = job.read(Extract).files
    wanted = {file.key.rpartition("/")[2]: file for file in wanted_by(split, corpus)}
    paths = {
        part: [path_of(job, wanted[part], file) for file in extracted[wanted[part].key]] for part in parts_of(corpus)
    }
    named = {part: {path.name[17:]: path for path in listed} for part, listed in paths.items()}
    first = next(iter(paths))
    if all(len(listed) == 1 for listed in paths.values()):
        (name,) = named[first]
        return [(name, {part: path for part, (path,) in paths.items()})]
    for part, listed in paths.items():
        if len(named[part]) < len(listed):
            raise CorpusError(f"{where}: members of {part} in several directories have one name; rename them")
        if strange := sorted(named[part].keys() ^ named[first].keys()):
            raise CorpusError(f"{where}: {strange[0]} is a member of one side only; both need files of the same names")
    return [(name, {part: named[part][name] for part in paths}) for name in sorted(named[first])]
