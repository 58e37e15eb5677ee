"""vocab: from the sampled lines to one subword vocabulary a side, or one for both."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pyarrow as pa

from nmt_prep.artefacts import publish_json
from nmt_prep.config import SIDES, ByteBPEVocab, Config, SentencePieceVocab, Side, T2TVocab
from nmt_prep.config.vocab import Vocab
from nmt_prep.corpora.lines import iter_lines, text_bytes
from nmt_prep.engines import HereEngine, Tick
from nmt_prep.errors import VocabularyError
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.stage import Context, Result, Stage
from nmt_prep.pipeline.tasks import Round
from nmt_prep.progress import Progress
from nmt_prep.stages.vocab_counts import CountTask, count_slice, count_tasks
from nmt_prep.stages.vocab_progress import TrainingMeters
from nmt_prep.subwords import (
    ByteBPETokenizer,
    ProgressCallback,
    SentencePieceTokenizer,
    T2TTokenizer,
    Tokenizer,
    load_tokenizer,
)
from nmt_prep.subwords.byte_bpe_pretokenization import GPT2_PATTERN
from nmt_prep.subwords.byte_bpe_training import PretokenCounts
from nmt_prep.subwords.counts import read_counts
from nmt_prep.subwords.sentencepiece_engine import IdLayout
from nmt_prep.subwords.t2t_training import TokenCounts

C = TypeVar("C", TokenCounts, PretokenCounts)

SUFFIXES = {"t2t": "", "byte_bpe": ".tokenizer.json", "sentencepiece": ".model"}
"""How the files' names end, by dialect; Tensor2Tensor's have no suffix."""

_FAR_FROM_ASKED = 10  # per cent


@dataclass(frozen=True)
class VocabularyTask:
    """One vocabulary to build.

    Attributes:
        key: names the task, and the vocabulary.
        samples: the lines that it is built from.
        counted: the tasks that counted what is in them; none where that is still to be done.
        output: file to write.
        options: of the vocabulary.
        progress: is told of the steps.
        threads: native threads to use.
        memory: bytes that the training may take.
    """

    key: str
    samples: tuple[Path, ...]
    counted: tuple[CountTask, ...]
    output: Path
    options: Vocab
    progress: Progress
    threads: int
    memory: int


class Vocabulary(Stage):
    """Builds the vocabulary files, and ``vocab.json`` that describes them.

    Tensor2Tensor's are named as it names them: ``vocab.<problem>.<size>.subwords``.
    """

    name: ClassVar[str] = "vocab"
    inputs: ClassVar[tuple[str, ...]] = ("sample",)
    directory: ClassVar[str] = "vocab"
    rounds: ClassVar[tuple[str, ...]] = ("count",)

    def settings(self, config: Config) -> dict[str, object]:
        options = {f"vocab.{key}": value for key, value in config.vocab.model_dump(mode="json").items()}
        names = {"name": config.name, **{f"languages.{key}": value for key, value in config.languages}}
        return {**options, **names}

    def run(self, context: Context) -> Result:
        config = context.config
        sides = {"shared": SIDES} if config.vocab.shared else {side: (side,) for side in SIDES}
        directory = context.workspace.root / "sample"
        samples = {key: {side: directory / f"{side}.txt" for side in read} for key, read in sides.items()}
        counting = {key: tuple(count_tasks(files, config.vocab, context.scratch)) for key, files in samples.items()}
        slices = [task for tasks in counting.values() for task in tasks]
        total = sum(task.end - task.start for task in slices)
        context.tasks.run(Round("count", count_slice, slices, total, "bytes", made=lambda task, _: [task.output]))
        built: dict[str, dict[str, Any]] = {}
        for key, files in samples.items():  # one after the other: each may need most of the memory
            task = VocabularyTask(
                key=key,
                samples=tuple(files.values()),
                counted=counting[key],
                output=context.directory / vocabulary_name(config, key),
                options=config.vocab,
                progress=context.progress,
                threads=context.engine.threads_here,
                memory=config.engine.memory,
            )
            # In this thread: the trainers look for Ctrl-C there.
            built[key] = context.tasks.run(
                Round(
                    f"vocab {key}",
                    build_vocabulary,
                    [task],
                    unit="steps",
                    engine=HereEngine(),
                    made=lambda task, _: [task.output],
                )
            )[0]
        details: dict[str, object] = {side: built["shared" if config.vocab.shared else side] for side in SIDES}
        publish_json(context.directory / "vocab.json", details)
        for warning in size_warnings(config, details):
            context.progress.event("vocab_size_differs", message=warning)
        sizes = {f"{key}_pieces": int(facts["size"]) for key, facts in built.items()}
        return Result(Counts(other=sizes), details=details)


def size_warnings(config: Config, details: Mapping[str, Any]) -> list[str]:
    """Says of each vocabulary whose size is far from what the config asks for, what was asked for and what it has.

    Args:
        config: of the run.
        details: of the stage, by side.
    """
    asked, warnings = config.vocab.size, []
    for key in ("source",) if config.vocab.shared else SIDES:
        built = int(details[key]["size"])
        if abs(built - asked) * 100 > _FAR_FROM_ASKED * asked:
            few = built < asked
            advice = "sample more text (sample.bytes_per_corpus) or ask for fewer" if few else "ask for more"
            warnings.append(
                f"the {'shared' if config.vocab.shared else key} vocabulary has {built:,} pieces where {asked:,} were "
                f"asked for (vocab.size): the sample gives no {'more' if few else 'fewer'}; {advice}"
            )
    return warnings


def vocabulary_name(config: Config, key: str) -> str:
    """File name of a side's vocabulary, with the language where there is one a side."""
    stem = f"vocab.{config.name}.{config.vocab.size}" + (".subwords" if config.vocab.kind == "t2t" else "")
    suffix = "" if key == "shared" else side_suffix(config, "source" if key == "source" else "target")
    return f"{stem}{suffix}{SUFFIXES[config.vocab.kind]}"


def side_suffix(config: Config, side: Side) -> str:
    """What tells a side's files from the other's: its language, or the side where both have the same."""
    same = config.languages.source == config.languages.target
    return f".{side if same else getattr(config.languages, side)}"


@dataclass(frozen=True)
class BuiltVocabulary:
    """Where a vocabulary is, and how to tell that it is the right one: what tasks have of it."""

    path: Path
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
    tokenizer = load_tokenizer(vocabulary.path, id_layout=vocabulary.id_layout)
    if tokenizer.fingerprint != vocabulary.fingerprint:
        raise VocabularyError(f"{vocabulary.path} does not read back as it was built; run again with --force vocab")
    return tokenizer


def built_vocabularies(context: Context) -> dict[Side, BuiltVocabulary]:
    """The vocabularies that the vocab stage built, for the stages below it."""
    details = context.manifests["vocab"].details
    directory = context.workspace.root / "vocab"
    return {
        side: BuiltVocabulary(directory / facts["file"], facts["id_layout"], facts["fingerprint"])
        for side, facts in ((side, details[side]) for side in SIDES)
    }


def build_vocabulary(task: VocabularyTask, tick: Tick) -> dict[str, Any]:
    """Trains and writes one vocabulary; returns what ``dataset.json`` says of it. Ticks are steps of the training."""
    tokenizer = _train(task, tick)
    tokenizer.save(task.output)
    layout = task.options.id_layout if isinstance(task.options, SentencePieceVocab) else None
    tokenizer = load_tokenizer(task.output, id_layout=layout)
    return {
        "file": task.output.name,
        "kind": tokenizer.dialect,
        "id_layout": layout,
        "size": len(tokenizer),
        "fingerprint": tokenizer.fingerprint,
        "unicode_version": getattr(tokenizer, "unicode_version", None),
        "pad_id": tokenizer.pad_id,
        "eos_id": tokenizer.eos_id,
        "bos_id": tokenizer.bos_id,
        "unk_id": tokenizer.unk_id,
    }


def _train(task: VocabularyTask, tick: Tick) -> Tokenizer:
    with TrainingMeters(task.progress, task.key, tick) as report:
        return _trained(task, report)


def _trained(task: VocabularyTask, report: ProgressCallback) -> Tokenizer:
    options = task.options
    if isinstance(options, T2TVocab):
        return T2TTokenizer.from_counts(
            _counts(task, TokenCounts()),
            options.size,
            max_subtoken_length=options.max_subtoken_length,
            reserved=options.reserved,
            progress=report,
            memory=task.memory,
        )
    if isinstance(options, ByteBPEVocab):
        return ByteBPETokenizer.from_counts(
            _counts(task, PretokenCounts(options.pattern or GPT2_PATTERN)),
            options.size,
            min_frequency=options.min_frequency,
            pad=options.pad,
            eos=options.eos,
            bos=options.bos,
            reserved=options.reserved,
            progress=report,
            memory=task.memory,
        )
    return SentencePieceTokenizer.train(
        _lines(task),
        options.size,
        model_type=options.model_type,
        character_coverage=options.character_coverage,
        byte_fallback=options.byte_fallback,
        user_defined_symbols=options.reserved,
        normalization_rule_name=options.normalization,
        progress=report,
        memory=task.memory,
        **{**{f"{name}_id": number for name, number in options.special_ids.items()}, **options.options},
    )


def _counts(task: VocabularyTask, counts: C) -> C:
    """Fills empty counts: with those of the tasks that counted, or from the samples."""
    if not task.counted:
        counts.add(_lines(task), task.threads)
    for counted in task.counted:
        counts.add_counted(read_counts(counted.output))
        counts.check_memory(task.memory)  # before they fill it by themselves
    return counts


def _lines(task: VocabularyTask) -> Iterator[pa.Array]:
    size = sum(path.stat().st_size for path in task.samples)
    with task.progress.meter(f"vocab {task.key}: reading the sample", size, "bytes") as meter:
        for path in task.samples:
            for lines in iter_lines(path):
                yield lines
                meter.advance(text_bytes(lines) + len(lines))
