"""The stage vocab: one subword vocabulary per side, or a shared one, trained from the sampled lines or existing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nmt_prep.base.artefacts import as_json, write_json
from nmt_prep.base.errors import VocabularyError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.config import Config, Corpus, ExistingVocab
from nmt_prep.config.vocab import VocabOptions
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, Job, Outputs, Result, Stage
from nmt_prep.pipeline.warning import HealthWarning, Warnings
from nmt_prep.stages.download import Download
from nmt_prep.stages.sample import Sample
from nmt_prep.stages.vocab.existing import check_local, existing_settings, install_existing
from nmt_prep.stages.vocab.vocab_training import COUNT, TRAIN, SampleFile, VocabularyTask, count_tasks
from nmt_prep.subwords import dialect_of
from nmt_prep.subwords.facts import BuiltVocabulary, VocabularyFacts
from nmt_prep.subwords.frame import Frame

_FAR_FROM_ASKED = 10  # percent


def vocabulary_name(config: Config, options: VocabOptions, key: str) -> str:
    """Returns the file name of a trained vocabulary; it contains the language unless the sides share the vocabulary."""
    side = "" if key == "shared" else side_suffix(config, "source" if key == "source" else "target")
    return dialect_of(options).file_name(options, f"vocab.{config.name}.{options.size_in_names}", side)


def vocabulary_sides(config: Config) -> dict[str, tuple[Side, ...]]:
    """Returns the sides that use each vocabulary: both sides of a shared one, or one side each."""
    return {"shared": SIDES} if config.vocab.shared else {side: (side,) for side in SIDES}


def side_suffix(config: Config, side: Side) -> str:
    """Returns the file suffix of a side: its language, or the name of the side if both languages are the same."""
    same = config.languages.source == config.languages.target
    return f".{side if same else getattr(config.languages, side)}"


@dataclass(frozen=True)
class VocabOutput:
    """The vocabulary of each side; both are the same if it is shared."""

    source: VocabularyFacts  # vocabulary of the source side
    target: VocabularyFacts  # vocabulary of the target side
    pieces: dict[Side, dict[str, int]]  # for each side, the ids of the pieces that the config names

    def sides(self) -> dict[Side, VocabularyFacts]:
        """Returns the vocabularies by side."""
        return {"source": self.source, "target": self.target}


class Vocabulary(Stage[VocabOutput, VocabOutput | None]):
    """Trains the vocabularies, or verifies and copies existing ones, and describes them in ``vocab.json``."""

    name = "vocab"
    directory = "vocab"
    reads = (Sample,)
    output = VocabOutput
    observed = Warnings
    rounds = (COUNT, TRAIN)
    version = 2

    def rounds_for(self, config: Config) -> tuple[Round[Any, Any], ...]:
        return () if isinstance(config.vocab, ExistingVocab) else self.rounds

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        return (Download,) if isinstance(config.vocab, ExistingVocab) else self.reads

    def check(self, config: Config) -> None:
        if isinstance(config.vocab, ExistingVocab):
            check_local(config, config.vocab)

    def settings(self, config: Config) -> dict[str, object]:
        if isinstance(config.vocab, ExistingVocab):
            return existing_settings(config, config.vocab)
        options = {
            f"vocab.{key}": value for key, value in config.vocab.model_dump(mode="json", exclude={"frame"}).items()
        }
        names = {"name": config.name, **{f"languages.{key}": value for key, value in config.languages}}
        return {**options, **names}

    def work(self, job: Job) -> Rounds[VocabOutput | None]:
        options = job.config.vocab
        if isinstance(options, ExistingVocab):
            return None  # there is nothing to train
        config, sampled, directory = job.config, job.read(Sample), job.directory_of(Sample)
        sizes: dict[Side, int] = {"source": sampled.source.bytes, "target": sampled.target.bytes}
        samples = {
            key: [SampleFile(side, directory / f"{side}.txt", sizes[side]) for side in read]
            for key, read in vocabulary_sides(config).items()
        }
        counting = {key: tuple(count_tasks(files, options, job.scratch)) for key, files in samples.items()}
        slices = [task for tasks in counting.values() for task in tasks]
        yield from COUNT.run(slices, sum(task.end - task.start for task in slices))
        # These run one after another, because each may need most of the memory.
        tasks = [
            VocabularyTask(
                key=key,
                samples=tuple(file.path for file in files),
                sample_bytes=sum(file.size for file in files),
                counted=tuple(task.output for task in counting[key]),
                output=job.directory / vocabulary_name(config, options, key),
                options=options,
                threads=job.engine.threads_here,
                memory=config.engine.memory,
            )
            for key, files in samples.items()
        ]
        trained = yield from TRAIN.run(tasks)
        source, target = trained[0], trained[-1]
        return VocabOutput(source.facts, target.facts, {"source": source.pieces, "target": target.pieces})

    def finish(self, job: Job, made: VocabOutput | None) -> Result[VocabOutput]:
        if made is None:
            assert isinstance(job.config.vocab, ExistingVocab)
            copied = install_existing(job, job.config.vocab)
            facts, pieces = ({side: getattr(copied[side], name) for side in SIDES} for name in ("facts", "pieces"))
            made = VocabOutput(facts["source"], facts["target"], pieces)
        write_json(job.directory / "vocab.json", {side: as_json(facts) for side, facts in made.sides().items()})
        warnings = size_warnings(job.config, made)
        if job.config.vocab.shared:
            sizes = {"shared_pieces": made.source.size}
        else:
            sizes = {f"{side}_pieces": facts.size for side, facts in made.sides().items()}
        return Result(made, Counts(other=sizes), observed=Warnings(warnings))


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
            advice = "sample more text (sample.bytes_per_corpus) or ask for fewer" if few else "ask for more"
            text = (
                f"the {'shared' if config.vocab.shared else key} vocabulary has {size:,} pieces, but {asked:,} were "
                f"asked for (vocab.size): the sample gives no {'more' if few else 'fewer'}; {advice}"
            )
            code = "small_vocabulary" if few else "large_vocabulary"
            side = None if config.vocab.shared else key
            warnings.append(HealthWarning(code, text, side=side, value=size))
    return tuple(warnings)


def built_vocabularies(job: Outputs) -> dict[Side, BuiltVocabulary]:
    """Returns the vocabularies that the vocab stage trained, for the stages that depend on it."""
    output, directory = job.read(Vocabulary), job.directory_of(Vocabulary)
    return {side: BuiltVocabulary(directory / facts.file, facts) for side, facts in output.sides().items()}


def tag_settings(config: Config) -> dict[str, object]:
    """Returns the pairs of languages, tags and frames in the config, as settings of a stage that inserts them."""
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
        raise VocabularyError(f"{facts.file} has no eos piece, which must end every row; train it with one")
    return (facts.eos_id,)
