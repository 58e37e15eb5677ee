"""The `vocab` stage: one subword vocabulary per side, or a shared one, trained from the sampled lines or existing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from nmt_prep.base.artefacts import as_json, atomic_write, write_json
from nmt_prep.base.errors import ConfigError, VocabularyError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.config import Config, Corpus, ExistingVocab
from nmt_prep.config.problems import checked_options
from nmt_prep.config.vocab import SubwordNMTVocab, VocabOptions, steps_of_tokens
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, HealthWarning, Job, Outputs, Result, Stage, Warnings
from nmt_prep.stages.divide import divided_stages
from nmt_prep.stages.download import Download, downloaded_files, needed_vocabularies
from nmt_prep.stages.sample import Sample, has_words
from nmt_prep.stages.vocab.chat_files import CHAT_FILE, chat_files, chat_settings, chat_template, has_chat_template
from nmt_prep.stages.vocab.vocab_existing import (
    given_vocabularies,
    keys_of,
    layout_of,
    load_existing,
    named_tags,
    tags_of,
)
from nmt_prep.stages.vocab.vocab_resizing import PROVE, RESIZE, USE, resize_rounds
from nmt_prep.stages.vocab.vocab_training import (
    COUNT,
    TRAIN,
    WORDS,
    SampleFile,
    VocabularyTask,
    WordsTask,
    count_tasks,
    without_training,
    write_words,
)
from nmt_prep.subwords import WordsTokenizer, dialect_named, dialect_of
from nmt_prep.subwords.chat.shapes import Shape
from nmt_prep.subwords.facts import BuiltVocabulary, DescribedVocabulary, VocabularyFacts, describe_vocabulary
from nmt_prep.subwords.frame import Frame
from nmt_prep.subwords.words import SUFFIX as WORDS_SUFFIX
from nmt_prep.subwords.words import copy_chain, files_of, is_words
from nmt_prep.text.chain import Chain
from nmt_prep.text.step import StepContext
from nmt_prep.text.steps.truecase import TruecaseOptions

RESIZING: tuple[Round[Any, Any], ...] = (USE, RESIZE, PROVE)
RESIZING_VERSION = 2
"""Increases when the same settings prune or extend otherwise, so that vocabularies of other kinds are not made anew."""


def existing_settings(config: Config, options: ExistingVocab) -> dict[str, object]:
    """Returns the settings of the stage: the options, and the tags, whose IDs it records."""
    return {
        "vocab.kind": options.kind,
        "vocab.id_layout": options.id_layout,
        "vocab.from": sorted(options.keys),
        **({} if options.threshold is None else {"vocab.threshold": options.threshold}),
        **({} if options.ids is None else {"vocab.ids": sorted({options.ids_key(side) for side in SIDES})}),
        **({} if options.prune is None else {"vocab.prune": options.prune.model_dump(mode="json")}),
        **({} if options.extend is None else {"vocab.extend": options.extend.model_dump(mode="json")}),
        **({"resizing": RESIZING_VERSION} if options.resized else {}),
        **{f"tags.{side}": sorted(set(named_tags(config, side).values())) for side in SIDES},
        **words_settings(config),
    }


def words_settings(config: Config) -> dict[str, object]:
    """Returns the steps before the vocabularies, as settings."""
    specs = {side: config.vocab.words.of(side) for side in SIDES}
    return {f"vocab.words.{side}": [getattr(config.languages, side), *steps] for side, steps in specs.items() if steps}


def words_name(config: Config, side: Side) -> str:
    """Returns the name of the file with a side's steps."""
    return f"vocab.{config.name}{side_suffix(config, side)}{WORDS_SUFFIX}"


def words_files(config: Config) -> dict[str, Path]:
    """Checks the steps before the vocabularies; returns the files that they name."""
    files: dict[str, Path] = {}
    for side in SIDES if config.vocab.words else ():
        specs, trained = without_training(config.vocab.words.of(side))
        key = f"vocab.words.{side}"
        if trained is not None and isinstance(config.vocab, ExistingVocab):
            raise VocabularyError(f"{key}: truecase: train is for a vocabulary that is trained; name a model")
        try:
            if trained is not None:
                spec = config.vocab.words.of(side)[trained]
                given = None if isinstance(spec, str) else spec["truecase"]
                checked_options("truecase", TruecaseOptions, given if isinstance(given, Mapping) else {"model": given})
            chain = Chain.of(specs, StepContext(getattr(config.languages, side), config.base_dir))
        except ValueError as error:
            raise VocabularyError("\n".join(f"{key}: {line}" for line in str(error).splitlines())) from error
        files |= {f"{key}: {name}": path for step in chain.steps for name, path in step.files.items()}
    return files


def check_local(config: Config, options: ExistingVocab) -> None:
    """Checks the local files among the vocabularies, before any stage runs."""
    paths: dict[str, Path | None] = {}
    for needed in needed_vocabularies(config):
        try:
            paths[needed.key] = needed.local(config.base_dir)
        except ConfigError as error:
            raise VocabularyError(f"{needed.key}: {error}") from error
    for key in options.keys:
        files = {part: paths[part] for part in keys_of(key, options) if part in paths}
        local = {part: path for part, path in files.items() if path is not None}
        if len(local) == len(files):
            tokenizer = load_existing(local, key, config, options)
            if has_chat_template(config):
                for turns in (1, 2) if config.documents is not None else (1,):
                    Shape.of(chat_template(config, [*local.values()]), config.records.system and "", turns, tokenizer)


def _own_chains(config: Config) -> dict[str, Path]:
    """Returns the local vocabularies that have steps before them."""
    local = {needed.key: needed.local(config.base_dir) for needed in needed_vocabularies(config)}
    return {key: path for key, path in local.items() if path is not None and is_words(path)}


def write_chat(job: Job) -> None:
    """Writes the chat template, if the rows have one."""
    if has_chat_template(job.config):
        needed = needed_vocabularies(job.config)
        fetched = [path for file in needed for path, _ in downloaded_files(job, file)]
        write_json(job.directory / CHAT_FILE, as_json(chat_template(job.config, fetched)))


def install_existing(job: Job, options: ExistingVocab) -> dict[Side, DescribedVocabulary]:
    """Verifies the files and copies them to the stage's directory; returns their descriptions by side."""
    described: dict[Side, DescribedVocabulary] = {}
    for side, given in given_vocabularies(job, options).items():
        tokenizer = load_existing(dict(given.files), given.key, job.config, options)
        name, words = given.name, None
        if len(given.files) > 1:
            name += tokenizer.suffix_of_all
            tokenizer.save(job.directory / name)
        elif isinstance(tokenizer, WordsTokenizer):
            name, words = copy_chain(given.path, job.directory), given.path.name
        else:
            with atomic_write(job.directory / name) as beside:
                shutil.copyfile(given.path, beside)
        tags = tags_of(job.config, options, side)
        made = describe_vocabulary(tokenizer, name, layout_of(tokenizer, options), tags)
        described[side] = replace(made, facts=replace(made.facts, words=words))
    for task in words_tasks(job, {side: made.facts.file for side, made in described.items()}, {}):
        write_words(task, lambda _: None)
    return described


def words_tasks(job: Job, vocabularies: Mapping[Side, str], samples: Mapping[Side, SampleFile]) -> Iterator[WordsTask]:
    """Yields the tasks that write the steps before the vocabularies, given the names of their files."""
    config = job.config
    for side in SIDES:
        specs = config.vocab.words.of(side)
        if specs:
            _, trained = without_training(specs)
            yield WordsTask(
                f"words-{side}",
                None if trained is None else samples[side],
                specs,
                getattr(config.languages, side),
                config.base_dir,
                job.directory / words_name(config, side),
                vocabularies[side],
            )


_FAR_FROM_ASKED = 10  # percent


def vocabulary_name(config: Config, options: VocabOptions, key: str) -> str:
    """Returns the file name of a trained vocabulary; it contains the language unless the sides share the vocabulary."""
    side = "" if key == "shared" else side_suffix(config, "source" if key == "source" else "target")
    return dialect_of(options).file_name(options, f"vocab.{config.name}.{options.size_in_names}", side)


def vocabulary_sides(config: Config) -> dict[str, tuple[Side, ...]]:
    """Returns the sides that use each vocabulary: both sides of a shared one, or one side each."""
    one = isinstance(config.vocab, VocabOptions) and config.vocab.one_file
    return {"shared": SIDES} if one else {side: (side,) for side in SIDES}


def side_suffix(config: Config, side: Side) -> str:
    """Returns a side's file suffix: its language, or the side's name if both languages are the same."""
    same = config.languages.source == config.languages.target
    return f".{side if same else getattr(config.languages, side)}"


@dataclass(frozen=True)
class VocabOutput:
    """Each side's vocabulary; both are the same if it is shared."""

    source: VocabularyFacts
    target: VocabularyFacts
    pieces: dict[Side, dict[str, int]]  # for each side, the IDs of the pieces that the config names

    @classmethod
    def of(cls, described: Mapping[Side, DescribedVocabulary]) -> VocabOutput:
        """Returns the output for each side's vocabulary."""
        pieces = {side: described[side].pieces for side in SIDES}
        return cls(described["source"].facts, described["target"].facts, pieces)

    def sides(self) -> dict[Side, VocabularyFacts]:
        return {"source": self.source, "target": self.target}


Made: TypeAlias = tuple[VocabOutput, Warnings, dict[str, int]]
"""The vocabularies, and the warnings and numbers of their making."""


class Vocabulary(Stage[VocabOutput, Made | None]):
    """Trains the vocabularies, or verifies and copies existing ones, and describes them in ``vocab.json``."""

    name = "vocab"
    directory = "vocab"
    reads = (Sample,)
    output = VocabOutput
    observed = Warnings
    rounds = (WORDS, COUNT, TRAIN, *RESIZING)
    version = 2

    def rounds_for(self, config: Config) -> tuple[Round[Any, Any], ...]:
        if isinstance(config.vocab, ExistingVocab):
            return RESIZING if config.vocab.resized else ()
        return (WORDS, COUNT, TRAIN) if words_settings(config) else (COUNT, TRAIN)

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        if not isinstance(config.vocab, ExistingVocab):
            return self.reads
        return (Download, *divided_stages(config)) if config.vocab.resized else (Download,)

    def check(self, config: Config) -> None:
        words_files(config)
        if isinstance(config.vocab, ExistingVocab):
            check_local(config, config.vocab)

    def local_files(self, config: Config) -> dict[str, Path]:
        own = {f"{key}: {file.name}": file for key, path in _own_chains(config).items() for file in files_of(path)}
        return words_files(config) | own | chat_files(config)

    def settings(self, config: Config) -> dict[str, object]:
        if isinstance(config.vocab, ExistingVocab):
            return existing_settings(config, config.vocab) | chat_settings(config)
        given = config.vocab.model_dump(mode="json", exclude={"frame", "compare", "words"})
        options = {f"vocab.{key}": value for key, value in given.items()} | words_settings(config)
        names = {"name": config.name, **{f"languages.{key}": value for key, value in config.languages}}
        return {**options, **names}

    def work(self, job: Job) -> Rounds[Made | None]:
        options = job.config.vocab
        if isinstance(options, ExistingVocab):
            if not options.resized:
                return None  # there is nothing to train
            described, warnings, counts = yield from resize_rounds(job, options)
            return VocabOutput.of(described), warnings, counts
        config, sampled, directory = job.config, job.read(Sample), job.directory_of(Sample)
        sizes: dict[Side, int] = {"source": sampled.source.bytes, "target": sampled.target.bytes}
        made = {side: len(steps_of_tokens(options.words.of(side))) * has_words(config, side) for side in SIDES}
        sampled_lines = {
            side: SampleFile(side, directory / f"{side}.txt", sizes[side], made=made[side]) for side in SIDES
        }
        names = {
            side: vocabulary_name(config, options, key)
            for key, read in vocabulary_sides(config).items()
            for side in read
        }
        words = [*words_tasks(job, names, sampled_lines)]
        if words:
            yield from WORDS.run(words, sum(task.sample.size for task in words if task.sample is not None))
            for side in SIDES:
                if options.words.of(side):
                    path = job.directory / words_name(config, side)
                    sampled_lines[side] = replace(sampled_lines[side], words=path, base_dir=config.base_dir)
        samples = {key: [sampled_lines[side] for side in read] for key, read in vocabulary_sides(config).items()}
        counting = {key: tuple(count_tasks(files, options, job.scratch)) for key, files in samples.items()}
        slices = [task for tasks in counting.values() for task in tasks]
        yield from COUNT.run(slices, sum(task.end - task.start for task in slices))
        # These run one after another, because each may need most of the memory.
        tasks = [
            VocabularyTask(
                key=key,
                samples=tuple(files),
                counted=tuple(task.output for task in counting[key]),
                output=job.directory / vocabulary_name(config, options, key),
                options=options,
                threads=job.engine.threads_here,
                memory=config.engine.memory,
            )
            for key, files in samples.items()
        ]
        if isinstance(options, SubwordNMTVocab) and options.joint:
            tasks = [replace(task, other=other) for task, other in zip(tasks, reversed(tasks), strict=True)]
        trained = yield from TRAIN.run(tasks)
        source, target = trained[0], trained[-1]
        return VocabOutput.of({"source": source, "target": target}), Warnings(), {}

    def finish(self, job: Job, made: Made | None) -> Result[VocabOutput]:
        if isinstance(job.config.vocab, ExistingVocab):
            write_chat(job)
        if made is None:
            assert isinstance(job.config.vocab, ExistingVocab)
            made = VocabOutput.of(install_existing(job, job.config.vocab)), Warnings(), {}
        output, observed, counts = made
        source, target = (_after_words(job, side, facts) for side, facts in output.sides().items())
        output = replace(output, source=source, target=target)
        write_json(job.directory / "vocab.json", {side: as_json(facts) for side, facts in output.sides().items()})
        warnings = (*observed.warnings, *size_warnings(job.config, output))
        if job.config.vocab.shared:
            sizes = {"shared_pieces": output.source.size}
        else:
            sizes = {f"{side}_pieces": facts.size for side, facts in output.sides().items()}
        return Result(output, Counts(other={**sizes, **counts}), observed=Warnings(warnings))


def _after_words(job: Job, side: Side, facts: VocabularyFacts) -> VocabularyFacts:
    """Returns the facts of a vocabulary together with the steps before it."""
    if not job.config.vocab.words.of(side):
        return facts
    path = job.directory / words_name(job.config, side)
    tokenizer = WordsTokenizer.load(
        path, lambda inner: dialect_named(facts.kind).load(inner, id_layout=facts.id_layout), job.config.base_dir
    )
    return replace(facts, words=path.name, fingerprint=tokenizer.fingerprint)


def size_warnings(config: Config, built: VocabOutput) -> tuple[HealthWarning, ...]:
    """Returns a warning for each vocabulary whose size differs from the configured size by more than 10%."""
    if isinstance(config.vocab, ExistingVocab):
        return ()
    asked, warnings = config.vocab.asked_size, list[HealthWarning]()
    if asked is None:
        return ()
    served: tuple[Side, ...] = ("source",) if config.vocab.shared else SIDES
    for key in served:
        size = built.sides()[key].size
        if abs(size - asked) * 100 > _FAR_FROM_ASKED * asked:
            few = size < asked
            advice = "sample more text (sample.bytes_per_corpus) or request fewer" if few else "request more"
            text = (
                f"the {'shared' if config.vocab.shared else key} vocabulary has {size:,} pieces, but {asked:,} were "
                f"requested (vocab.size): the sample gives no {'more' if few else 'fewer'}; {advice}"
            )
            code = "small_vocabulary" if few else "large_vocabulary"
            side = None if config.vocab.shared else key
            warnings.append(HealthWarning(code, text, side=side, value=size))
    return tuple(warnings)


def built_vocabularies(job: Outputs) -> dict[Side, BuiltVocabulary]:
    """Returns the vocabularies that the vocab stage trained, for the stages that depend on it."""
    output, directory = job.read(Vocabulary), job.directory_of(Vocabulary)
    code = steps_dir(job.config)
    return {side: BuiltVocabulary(directory / facts.file, facts, code) for side, facts in output.sides().items()}


def steps_dir(config: Config | None) -> Path | None:
    """Returns the directory of code that the steps before vocabularies may run; None for steps from elsewhere."""
    if config is None:
        return None
    own = [bool(config.vocab.words.of(side)) for side in SIDES]
    return config.base_dir if all(own) or (any(own) and not isinstance(config.vocab, ExistingVocab)) else None


def tag_settings(config: Config) -> dict[str, object]:
    """Returns the config's language pairs, tags and frames, as settings for a stage that inserts them."""
    frames = config.vocab.frame.model_dump(exclude_none=True)
    pairs = {
        f"splits.{split}.pairs": {corpus.name: str(corpus.pair) for corpus in config.directed(split)}
        for split in (config.splits if config.pairs else ())
    }
    return (
        {f"vocab.frame.{side}": text for side, text in frames.items()}
        | pairs
        | {
            f"splits.{split}.{corpus.name}.tag.{side}": tag
            for split in config.splits
            for corpus in config.directed(split)
            for side, tag in corpus.tags.items()
        }
    )


def corpus_frames(job: Job) -> dict[str, dict[str, dict[Side, Frame]]]:
    """Returns the frames by split, corpus and side, for a stage after vocab."""
    vocab = job.read(Vocabulary)
    vocabularies = built_vocabularies(job)
    if job.config.records.layout == "causal" or has_chat_template(job.config):  # rows have no frame but their own
        own = {
            split: [corpus for corpus in job.config.directed(split) if corpus.role != "vocab"]
            for split in job.config.splits
        }
        return {
            split: {corpus.name: dict.fromkeys(SIDES, Frame()) for corpus in listed} for split, listed in own.items()
        }
    framed = [side for side in SIDES if job.config.vocab.frame.of(side) is not None]
    ends = {side: _end(facts) for side, facts in vocab.sides().items() if side not in framed}

    def frame(split: str, corpus: Corpus, side: Side) -> Frame:
        tag = corpus.tags.get(side)
        text = job.config.vocab.frame.of(side)
        if text is not None:
            try:
                return Frame.parse(vocabularies[side].load(), text, tag)
            except VocabularyError as error:
                raise VocabularyError(f"vocab.frame.{side}: {error}") from error
        if tag is None:
            return Frame((), ends[side])
        if tag not in vocab.pieces[side]:
            raise VocabularyError(
                f"splits.{split}.{corpus.name}.tag.{side}: {tag!r} is not a piece of {vocab.sides()[side].file}; "
                "add it to vocab.reserved"
            )
        return Frame((vocab.pieces[side][tag],), ends[side])

    return {
        split: {
            corpus.name: {side: frame(split, corpus, side) for side in SIDES}
            for corpus in job.config.directed(split)
            if corpus.role != "vocab"
        }
        for split in job.config.splits
    }


def _end(facts: VocabularyFacts) -> tuple[int]:
    if facts.eos_id is None:
        raise VocabularyError(
            f"{facts.file} has no eos piece, which must end every row; train the vocabulary with an eos piece"
        )
    return (facts.eos_id,)
