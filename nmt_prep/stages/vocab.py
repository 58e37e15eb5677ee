"""vocab: from the sampled lines to one subword vocabulary a side, or one for both."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from nmt_prep.artefacts import as_json, write_json
from nmt_prep.config import SIDES, Config, Side
from nmt_prep.config.vocab import VocabOptions
from nmt_prep.corpora.lines import iter_lines, text_bytes
from nmt_prep.errors import VocabularyError
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job, Result, Stage
from nmt_prep.progress import Meter
from nmt_prep.stages.sample import Sample
from nmt_prep.stages.vocab_counts import COUNT, SampleFile, count_tasks
from nmt_prep.stages.vocab_progress import TrainingMeters
from nmt_prep.subwords import Tokenizer, dialect_named, dialect_of
from nmt_prep.subwords.counts import TextCounts, read_counts
from nmt_prep.subwords.tokenizer import IdLayout

_FAR_FROM_ASKED = 10  # per cent


@dataclass(frozen=True)
class VocabularyTask:
    """One vocabulary to train.

    Attributes:
        key: names the task, and the vocabulary: ``source``, ``target`` or ``shared``.
        samples: files of lines that it is trained on.
        sample_bytes: bytes of all these files.
        counted: files of counts of their lines; empty if the lines are not counted yet.
        output: file to write.
        options: of the vocabulary.
        threads: native threads to use.
        memory: bytes that the training may take.
    """

    key: str
    samples: tuple[Path, ...]
    sample_bytes: int
    counted: tuple[Path, ...]
    output: Path
    options: VocabOptions
    threads: int
    memory: int


@dataclass(frozen=True)
class VocabularyFacts:
    """A trained vocabulary, as ``vocab.json`` and ``dataset.json`` describe it.

    Attributes:
        file: its name in the stage's directory.
        kind: the dialect.
        id_layout: numbering of a SentencePiece model's pieces; None for other dialects.
        size: number of pieces.
        fingerprint: of the tokenizer.
        unicode_version: of the character classes in use, where the dialect depends on them.
        pad_id: None if there is no such piece; so too the other ids.
        eos_id: of the piece that ends a sentence.
        bos_id: of the piece that begins a sentence.
        unk_id: of the piece for what cannot be expressed.
    """

    file: str
    kind: str
    id_layout: IdLayout | None
    size: int
    fingerprint: str
    unicode_version: str | None
    pad_id: int | None
    eos_id: int | None
    bos_id: int | None
    unk_id: int | None


@dataclass(frozen=True)
class TrainedVocabulary:
    """The result of a training task.

    Attributes:
        facts: of the vocabulary.
        pieces: ids of the pieces that the config asks for (``vocab.reserved`` and the like), which frames may use.
    """

    facts: VocabularyFacts
    pieces: dict[str, int]


def vocabulary_name(config: Config, key: str) -> str:
    """File name of a side's vocabulary, with the language where there is one a side."""
    side = "" if key == "shared" else side_suffix(config, "source" if key == "source" else "target")
    return dialect_of(config.vocab).file_name(f"vocab.{config.name}.{config.vocab.size}", side)


def vocabulary_sides(config: Config) -> dict[str, tuple[Side, ...]]:
    """Returns the sides that each vocabulary serves: one vocabulary for both, or one a side."""
    return {"shared": SIDES} if config.vocab.shared else {side: (side,) for side in SIDES}


def side_suffix(config: Config, side: Side) -> str:
    """What tells a side's files from the other's: its language, or the side where both have the same."""
    same = config.languages.source == config.languages.target
    return f".{side if same else getattr(config.languages, side)}"


@dataclass(frozen=True)
class BuiltVocabulary:
    """Where a vocabulary is, and how to tell that it is the right one: what tasks have of it."""

    path: Path
    kind: str
    id_layout: IdLayout | None
    fingerprint: str

    def load(self) -> Tokenizer:
        """The tokenizer, which a process loads only once.

        Raises:
            VocabularyError: the file does not read back as it was built.
        """
        return _loaded(self)


@functools.lru_cache(maxsize=2)
def _loaded(vocabulary: BuiltVocabulary) -> Tokenizer:
    tokenizer = dialect_named(vocabulary.kind).load(vocabulary.path, id_layout=vocabulary.id_layout)
    if tokenizer.fingerprint != vocabulary.fingerprint:
        raise VocabularyError(f"{vocabulary.path} does not read back as it was built; run again with --force vocab")
    return tokenizer


def build_vocabulary(task: VocabularyTask, meter: Meter) -> TrainedVocabulary:
    """Trains and writes one vocabulary; the meter counts steps of the training.

    Raises:
        TrainingError: the vocabulary cannot be trained from these lines, or not within the memory.
        OutputError: the file cannot be written.
    """
    dialect = dialect_of(task.options)
    _train(task, meter).save(task.output)
    layout = dialect.id_layout(task.options)
    tokenizer = dialect.load(task.output, id_layout=layout)
    facts = VocabularyFacts(
        file=task.output.name,
        kind=tokenizer.dialect,
        id_layout=layout,
        size=len(tokenizer),
        fingerprint=tokenizer.fingerprint,
        unicode_version=getattr(tokenizer, "unicode_version", None),
        pad_id=tokenizer.pad_id,
        eos_id=tokenizer.eos_id,
        bos_id=tokenizer.bos_id,
        unk_id=tokenizer.unk_id,
    )
    return TrainedVocabulary(facts, dict(_own_pieces(tokenizer, task.options)))


def _own_pieces(tokenizer: Tokenizer, options: VocabOptions) -> Iterator[tuple[str, int]]:
    """Yields the pieces that the config asks for, with their ids, as far as they are single pieces."""
    for piece in options.own_pieces:
        with suppress(VocabularyError):
            yield piece, tokenizer.piece_id(piece)


def _train(task: VocabularyTask, meter: Meter) -> Tokenizer:
    dialect = dialect_of(task.options)
    with TrainingMeters(meter, task.key) as report:
        counts = dialect.new_counts(task.options)
        text = _lines(task, meter) if counts is None else _filled(counts, task, meter)
        return dialect.train(text, task.options, progress=report, memory=task.memory)


def _filled(counts: TextCounts, task: VocabularyTask, meter: Meter) -> TextCounts:
    """Fills empty counts: with those of the tasks that counted, or from the samples."""
    if not task.counted:
        counts.add(_lines(task, meter), task.threads)
    for counted in task.counted:
        counts.add_counted(read_counts(counted))
        counts.check_memory(task.memory)  # before they fill it by themselves
    return counts


def _lines(task: VocabularyTask, meter: Meter) -> Iterator[pa.Array]:
    with meter.part(f"vocab {task.key}: reading the sample", task.sample_bytes, "bytes") as read:
        for path in task.samples:
            for lines in iter_lines(path):
                yield lines
                read.advance(text_bytes(lines) + len(lines))


TRAIN = Round("train", build_vocabulary, TrainedVocabulary, unit="steps", made=lambda task, _: [task.output], here=True)


@dataclass(frozen=True)
class VocabOutput:
    """The vocabulary of each side; the same twice if it is shared.

    Attributes:
        source: of the source side.
        target: of the target side.
        pieces: by side, the ids of the pieces that the config asks for.
    """

    source: VocabularyFacts
    target: VocabularyFacts
    pieces: dict[Side, dict[str, int]]

    def sides(self) -> dict[Side, VocabularyFacts]:
        """Returns the vocabularies by side."""
        return {"source": self.source, "target": self.target}


class Vocabulary(Stage[VocabOutput, VocabOutput]):
    """Trains the vocabularies, and describes them in ``vocab.json``."""

    name = "vocab"
    directory = "vocab"
    reads = (Sample,)
    output = VocabOutput
    rounds = (COUNT, TRAIN)
    version = 2

    def settings(self, config: Config) -> dict[str, object]:
        options = {f"vocab.{key}": value for key, value in config.vocab.model_dump(mode="json").items()}
        names = {"name": config.name, **{f"languages.{key}": value for key, value in config.languages}}
        return {**options, **names}

    def work(self, job: Job) -> Rounds[VocabOutput]:
        config, sampled, directory = job.config, job.read(Sample), job.directory_of(Sample)
        sizes: dict[Side, int] = {"source": sampled.source.bytes, "target": sampled.target.bytes}
        samples = {
            key: [SampleFile(side, directory / f"{side}.txt", sizes[side]) for side in read]
            for key, read in vocabulary_sides(config).items()
        }
        counting = {key: tuple(count_tasks(files, config.vocab, job.scratch)) for key, files in samples.items()}
        slices = [task for tasks in counting.values() for task in tasks]
        yield from COUNT.run(slices, sum(task.end - task.start for task in slices))
        # One after another: each may need most of the memory.
        tasks = [
            VocabularyTask(
                key=key,
                samples=tuple(file.path for file in files),
                sample_bytes=sum(file.size for file in files),
                counted=tuple(task.output for task in counting[key]),
                output=job.directory / vocabulary_name(config, key),
                options=config.vocab,
                threads=job.engine.threads_here,
                memory=config.engine.memory,
            )
            for key, files in samples.items()
        ]
        trained = yield from TRAIN.run(tasks)
        source, target = trained[0], trained[-1]
        return VocabOutput(source.facts, target.facts, {"source": source.pieces, "target": target.pieces})

    def finish(self, job: Job, made: VocabOutput) -> Result[VocabOutput]:
        write_json(job.directory / "vocab.json", {side: as_json(facts) for side, facts in made.sides().items()})
        for warning in size_warnings(job.config, made):
            job.progress.event("vocab_size_differs", message=warning)
        if job.config.vocab.shared:
            sizes = {"shared_pieces": made.source.size}
        else:
            sizes = {f"{side}_pieces": facts.size for side, facts in made.sides().items()}
        return Result(made, Counts(other=sizes))


def size_warnings(config: Config, built: VocabOutput) -> list[str]:
    """Returns a warning for each vocabulary whose size is far from what the config asks for."""
    asked, warnings = config.vocab.size, list[str]()
    served: tuple[Side, ...] = ("source",) if config.vocab.shared else SIDES
    for key in served:
        size = built.sides()[key].size
        if abs(size - asked) * 100 > _FAR_FROM_ASKED * asked:
            few = size < asked
            advice = "sample more text (sample.bytes_per_corpus) or ask for fewer" if few else "ask for more"
            warnings.append(
                f"the {'shared' if config.vocab.shared else key} vocabulary has {size:,} pieces where {asked:,} were "
                f"asked for (vocab.size): the sample gives no {'more' if few else 'fewer'}; {advice}"
            )
    return warnings


def built_vocabularies(job: Job) -> dict[Side, BuiltVocabulary]:
    """Returns the vocabularies that the vocab stage trained, for the stages below it."""
    output, directory = job.read(Vocabulary), job.directory_of(Vocabulary)
    return {
        side: BuiltVocabulary(directory / facts.file, facts.kind, facts.id_layout, facts.fingerprint)
        for side, facts in output.sides().items()
    }
