"""align: links each pair's words. It runs if the config has a section ``align``.

The word alignment model is given, or learned from a sample of the pairs that training reads. Then a task per part
writes the links of its pairs. Corpora of one side have no links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from pydantic import model_serializer

from nmt_prep.base.artefacts import atomic_write, link_or_copy
from nmt_prep.base.columns import TextColumn
from nmt_prep.base.digests import sha256_of
from nmt_prep.base.errors import AlignmentModelError, OutputError
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.align.learning import learn
from nmt_prep.cleaning.align.links import Links, piece_links
from nmt_prep.cleaning.align.model import Model, check_known, model_at, shared_model
from nmt_prep.cleaning.align.settings import LEARNING_VERSION, RUN_SETTINGS, rounds
from nmt_prep.cleaning.align.word_vocabulary import Words, words_of
from nmt_prep.cleaning.pair_sample import PairSample
from nmt_prep.config import AlignSettings, Config, Symmetrization
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.parts import BatchFile, PairFile
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, Job, Result, Stage
from nmt_prep.stages.pair_files import pair_files, pair_stages
from nmt_prep.stages.pair_sample import DrawnFiles, check_memory, draw_samples, reader_of, select_round, threads_for
from nmt_prep.stages.vocab import BuiltVocabulary, Vocabulary, built_vocabularies
from nmt_prep.subwords import WordsTokenizer

MODEL_FILE = "model"  # Name of the file with the model

SOURCE_WORDS, TARGET_WORDS = "source_words", "target_words"
"""Link columns: for each pair two lists with the same length, the indexes of the linked words from 0."""


@dataclass(frozen=True)
class LinkTask:
    """A part whose pairs are linked."""

    key: str
    part: Path
    model: Path | None  # the model; None for a corpus of one side, whose pairs have no links
    given: bool  # true if the config gives the model, which may then not suit the corpora
    symmetrize: Symmetrization  # how the links of the two directions are combined
    output: Path
    vocabularies: tuple[BuiltVocabulary, ...] = ()  # the vocabularies whose steps make the words; none for the text's


@dataclass(frozen=True)
class Linked:
    """Counts of the links that a task wrote."""

    pairs: int
    links: int  # number of their links
    without: int  # pairs without any link
    too_long: int  # pairs that have no links because they are too long to align
    sha256: str


@dataclass(frozen=True)
class AlignedPart:
    """A Parquet file with the links of a part's pairs, in the same order."""

    file: str  # path of the file, relative to the stage's directory
    text: str  # path of the part with the pairs, relative to the run's directory
    corpus: str
    pairs: int
    links: int  # number of their links
    # true for the other direction of a corpus, which exchanges the sides of text and links; else omitted in JSON
    reversed: Literal[True] | None = None

    @model_serializer(mode="wrap")
    def _known(self, as_mapping: Callable[[AlignedPart], dict[str, object]]) -> dict[str, object]:
        return {name: value for name, value in as_mapping(self).items() if name != "reversed" or value}

    def texts(self, run: Path) -> Iterator[pa.RecordBatch]:
        """Yields the text of the pairs, given the run's directory."""
        part = PairFile(str(run / self.text), self.pairs, self.corpus, reversed=self.reversed)
        return part.batches(columns=SIDES)

    def below(self, directory: Path) -> AlignedPart:
        return replace(self, file=str(directory / self.file))

    def linked(self) -> Iterator[Links]:
        """Yields a file's links in batches of pairs; the file's path must be complete."""
        for batch in iter_pairs(Path(self.file)):
            found = links_of(batch)
            yield replace(found, links=np.ascontiguousarray(found.links[:, ::-1])) if self.reversed else found


@dataclass(frozen=True)
class AlignOutput:
    """The parts with each split's links, in the order of the parts with the pairs."""

    parts: dict[str, tuple[AlignedPart, ...]]


def link_part(task: LinkTask, tick: Tick) -> Linked:
    """Writes the links of a part's pairs. Reports progress per pair."""
    model = None if task.model is None else shared_model(task.model)
    numbers = pa.list_(pa.field("item", pa.int32(), nullable=False))
    schema = pa.schema([pa.field(name, numbers, nullable=False) for name in (SOURCE_WORDS, TARGET_WORDS)])
    pairs = total = without = too_long = 0
    with BatchFile(task.output) as output:
        for batch in iter_pairs(task.part, columns=SIDES):
            if model is None:
                links, offsets = np.zeros((0, 2), np.int32), np.zeros(len(batch) + 1, np.int64)
            else:
                texts = [TextColumn.from_arrow(batch.column(side)) for side in SIDES]
                source, target = changed = _changed(texts, task.vocabularies)
                if task.given and not pairs:
                    check_known(model, task.part, source, target)
                found = model.align(source, target, task.symmetrize)
                if task.vocabularies:
                    found = _of_text(found, texts, changed, task.vocabularies)
                links, offsets, too_long = found.links, found.offsets, too_long + found.too_long
            ends = pa.array(offsets.astype(np.int32))
            lists = [
                pa.ListArray.from_arrays(ends, pa.array(np.ascontiguousarray(links[:, side])), type=field.type)
                for side, field in enumerate(schema)
            ]
            output.write(pa.record_batch(lists, schema=schema))
            pairs, total = pairs + len(batch), total + len(links)
            without += int((np.diff(offsets) == 0).sum())
            tick(len(batch))
    return Linked(pairs, total, without, too_long, sha256_of(task.output))


def _changed(texts: Sequence[TextColumn], vocabularies: Sequence[BuiltVocabulary]) -> list[TextColumn]:
    """Returns lines after the steps of vocabularies; without vocabularies, unchanged."""
    if not vocabularies:
        return [*texts]
    pairs = zip(texts, (built.load() for built in vocabularies), strict=True)
    return [
        TextColumn.from_arrow(words.changed(text.to_arrow(), 1)) if isinstance(words, WordsTokenizer) else text
        for text, words in pairs
    ]


def _of_text(
    links: Links,
    texts: Sequence[TextColumn],
    changed: Sequence[TextColumn],
    vocabularies: Sequence[BuiltVocabulary],
) -> Links:
    """Converts links between step-made words to links between the text's words."""
    made = []
    for text, after, built in zip(texts, changed, vocabularies, strict=True):
        words, tokenizer = words_of(after, pretokenized=True), built.load()
        if isinstance(tokenizer, WordsTokenizer):
            begins, ends, _ = tokenizer.traced(text, after, words.begins, words.ends, words.offsets)
            words = Words(begins, ends, words.offsets)
        made.append(words)
    source, target = (words_of(text) for text in texts)
    return piece_links(links, (made[0], made[1]), (source, target))


def links_of(batch: pa.RecordBatch) -> Links:
    """Returns the links in a batch of an aligned part."""
    columns = [batch.column(name) for name in (SOURCE_WORDS, TARGET_WORDS)]
    values = [column.flatten().to_numpy(zero_copy_only=False) for column in columns]
    lengths = columns[0].value_lengths().to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Links(np.column_stack(values).astype(np.int32).reshape(-1, 2), offsets, 0)


@dataclass(frozen=True)
class LearnTask:
    """A text to learn a model from."""

    key: str
    corpora: tuple[DrawnFiles, ...]
    prior: Path | None  # file of the model to start from; None for none
    threads: int
    output: Path  # file for the model
    vocabularies: tuple[BuiltVocabulary, ...] = ()  # as in `LinkTask`


def learn_text(task: LearnTask, tick: Tick) -> int:
    """Writes a text's model; returns its pair count. Reports progress per pair in each round of learning."""
    sample = PairSample.of(reader_of(task.corpora))
    prior = None if task.prior is None else shared_model(task.prior)
    settings = replace(RUN_SETTINGS, pretokenized=bool(task.vocabularies))

    def text() -> Iterator[tuple[TextColumn, TextColumn]]:
        for pair in sample.text():
            source, target = _changed(pair, task.vocabularies)
            yield source, target

    learn(text, settings, prior, task.threads, tick).save(task.output)
    return len(sample.keys)


SAMPLE = select_round("align")
LEARN = Round("align-learn", learn_text, int, words="learning alignment")
LINK = Round("align", link_part, Linked, words="linking words")


Aligned: TypeAlias = "tuple[dict[str, list[tuple[PairFile, LinkTask, Linked]]], dict[str, Path | None]]"
"""Each split's parts with their tasks and results, and the models by language pair; None if nothing could be
learned. Both directions of a corpus share one task per part."""


class Align(Stage[AlignOutput, Aligned]):
    """Writes ``aligned/<split>/part-*.parquet``, each with the links of one part of pairs, and the model it learned."""

    name = "align"
    directory = "aligned"
    output = AlignOutput
    rounds: ClassVar[tuple[Round[Any, Any], ...]] = (SAMPLE, LEARN, LINK)

    def rounds_for(self, config: Config) -> tuple[Round[Any, Any], ...]:
        return self.rounds if section_of(config).learns else (LINK,)

    def applies(self, config: Config) -> bool:
        return config.align is not None

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        return (*pair_stages(config), *([Vocabulary] if section_of(config).words == "vocab" else []))

    def settings(self, config: Config) -> dict[str, object]:
        settings = section_of(config)
        return {
            "seed": config.seed,
            "align.splits": list(aligned_splits(config)),
            "align.symmetrize": settings.symmetrize,
            "align.pairs": settings.pairs,
            "align.model": settings.model,
            "align.learn": settings.learn,
            "align.version": LEARNING_VERSION,
            **({} if settings.words == "text" else {"align.words": settings.words}),
            **{
                f"splits.{split}.{corpus.name}.role": corpus.role
                for split in aligned_splits(config)
                for corpus in config.splits[split]
            },
            **{
                f"splits.{split}.{corpus.name}.pair": str(corpus.pair)
                for split in (aligned_splits(config) if config.pairs else ())
                for corpus in config.directed(split)
            },
        }

    def check(self, config: Config) -> None:
        if (path := _given(config)) is not None:
            check_words(model_at("align.model", path), path, spaced=section_of(config).words == "vocab")

    def local_files(self, config: Config) -> dict[str, Path]:
        path = _given(config)
        return {} if path is None else {"align.model": path}

    def work(self, job: Job) -> Rounds[Aligned]:
        settings = section_of(job.config)
        vocabularies = tuple(built_vocabularies(job).values()) if settings.words == "vocab" else ()
        parts = {split: listed for split, listed in pair_files(job).items() if split in aligned_splits(job.config)}
        stored = {split: [part for part in listed if not part.reversed] for split, listed in parts.items()}
        pair_of = {
            (split, corpus.name): str(corpus.pair or "")
            for split in parts
            for corpus in job.config.splits[split]
            if corpus.role == "parallel"
        }
        models: dict[str, Path | None] = dict.fromkeys(pair_of.values(), _given(job.config))
        if settings.learns:
            texts: dict[str, list[PairFile]] = {pair: [] for pair in models}
            for split, listed in stored.items():
                for part in listed:
                    if (split, part.corpus) in pair_of:
                        texts[pair_of[split, part.corpus]].append(replace(part, corpus=f"{split}.{part.corpus}"))
            models = yield from _learned(job, settings, texts, models, vocabularies)
        tasks = {
            split: [
                LinkTask(
                    f"links-{split}-{part.path.stem}",
                    part.path,
                    models[pair_of[split, part.corpus]] if (split, part.corpus) in pair_of else None,
                    not settings.learns,
                    settings.symmetrize,
                    job.directory / split / f"{part.path.stem}.parquet",
                    vocabularies,
                )
                for part in listed
            ]
            for split, listed in stored.items()
        }
        linked = yield from LINK.run_groups(tasks, sum(part.pairs for listed in stored.values() for part in listed))
        made = {
            split: {task.part: (task, result) for task, result in zip(tasks[split], linked[split], strict=True)}
            for split in parts
        }
        return {split: [(part, *made[split][part.path]) for part in parts[split]] for split in parts}, models

    def finish(self, job: Job, made: Aligned) -> Result[AlignOutput]:
        splits, models = made
        for pair, model in models.items():
            if model is not None and model.is_relative_to(job.scratch):  # a learned model
                with atomic_write(job.directory / (f"{MODEL_FILE}.{pair}" if pair else MODEL_FILE)) as beside:
                    link_or_copy(model, beside)
        every = [linked for listed in splits.values() for linked in listed if not linked[0].reversed]
        pairs, links, without, too_long = (
            sum(getattr(result, name) for _, _, result in every) for name in ("pairs", "links", "without", "too_long")
        )
        parts = {
            split: tuple(
                AlignedPart(
                    task.output.relative_to(job.directory).as_posix(),
                    part.path.relative_to(job.root).as_posix(),
                    part.corpus,
                    result.pairs,
                    result.links,
                    part.reversed,
                )
                for part, task, result in listed
            )
            for split, listed in splits.items()
        }
        digests = {task.output.relative_to(job.directory).as_posix(): result.sha256 for _, task, result in every}
        counts = Counts(pairs, pairs, other={"links": links, "without_links": without, "too_long": too_long})
        return Result(AlignOutput(parts), counts, digests=digests)


def _learned(
    job: Job,
    settings: AlignSettings,
    texts: Mapping[str, list[PairFile]],
    priors: dict[str, Path | None],
    vocabularies: tuple[BuiltVocabulary, ...],
) -> Rounds[dict[str, Path | None]]:
    """Yields the rounds that learn a model for each text; returns the model files, for empty texts the given model."""
    names = {pair: f"pairs-{pair}" if pair else "pairs" for pair in texts}
    for text in texts.values():
        check_memory(job, min(settings.pairs, sum(part.pairs for part in text)), "align", len(texts))
    parts, most = {names[pair]: text for pair, text in texts.items()}, dict.fromkeys(names.values(), settings.pairs)
    samples = yield from draw_samples(SAMPLE, parts, most, job.config.seed, job.scratch)
    sizes = {name: sum(corpus.drawn for corpus in sample.values()) for name, sample in samples.items()}
    threads = threads_for(job, sizes)
    tasks = {
        pair: LearnTask(
            f"align-learn-{name}",
            tuple(samples[name].values()),
            priors[pair],
            threads[name],
            job.scratch / f"{name}.model",
            vocabularies,
        )
        for pair, name in names.items()
        if sizes[name]
    }
    yield from LEARN.run(tasks.values(), sum(sizes.values()) * len(rounds(RUN_SETTINGS)))
    return {pair: tasks[pair].output if pair in tasks else priors[pair] for pair in names}


def check_words(model: Model, path: Path, *, spaced: bool = False) -> None:
    """Checks that a given model splits lines into words as a run does."""
    if model.settings.pretokenized and not spaced:
        raise AlignmentModelError(
            f"align.model: {path} was learned with --pretokenized, and the text of a run is not tokenized; learn one "
            "without --pretokenized"
        )
    if spaced and not model.settings.pretokenized:
        raise AlignmentModelError(
            f"align.model: {path} was learned without --pretokenized, and align.words is vocab; learn one from words"
        )


def section_of(config: Config) -> AlignSettings:
    """Returns the ``align`` section."""
    if config.align is None:
        raise OutputError("the config has no section align")
    return config.align


def aligned_splits(config: Config) -> tuple[str, ...]:
    """Returns the splits to align."""
    return section_of(config).splits or tuple(config.splits)


def _given(config: Config) -> Path | None:
    model = section_of(config).model
    return None if model is None else config.base_dir / Path(model).expanduser()
