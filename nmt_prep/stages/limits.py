"""limits: drops pairs with too many pieces, or too different piece counts, if the config has ``limits.pieces``.

It reads the text that cleaning and hold-outs leave, and the vocabularies. It limits pairs of train, and of splits that
are held out of train.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.base.errors import CleaningError
from nmt_prep.base.sides import Side
from nmt_prep.cleaning.cleaner import Cleaner
from nmt_prep.cleaning.presets import Cleaning
from nmt_prep.cleaning.rejects import CleanCounts, RejectNotes
from nmt_prep.cleaning.rule import Context, Pairs, Rule, Values
from nmt_prep.cleaning.rules.length import LENGTHS
from nmt_prep.cleaning.rules.limits import limit_bounds, token_ratios
from nmt_prep.config import Config, Corpus
from nmt_prep.config.limits import PieceLimits
from nmt_prep.corpora import strip_lines
from nmt_prep.corpora.parts import PairFile
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, Job, Outputs, Result, Stage
from nmt_prep.stages.clean import REJECTED, Clean
from nmt_prep.stages.clean.first_rules import cleaned_part
from nmt_prep.stages.clean.parts import CorpusTask, PartResult, PartTask, RejectsTask, part_round, sample_rejects
from nmt_prep.stages.divide import divided_files, divided_stages
from nmt_prep.stages.vocab import BuiltVocabulary, Vocabulary, built_vocabularies
from nmt_prep.subwords.words import after_words

REJECTED_PIECES = "rejected_pieces"  # The directory of pairs beyond the limits
RULE = "limits/pieces"


class PiecesRule(Rule[PieceLimits]):
    """The numbers of pieces of both sides, and their ratio."""

    options = PieceLimits
    edges = LENGTHS
    key = RULE

    def __init__(self, options: PieceLimits, context: Context, vocabularies: Mapping[Side, BuiltVocabulary]) -> None:
        self._tokenizers = {side: vocabularies[side].load() for side in context.sides}
        self.columns, self.bounds = limit_bounds(options, context.sides)

    def values(self, pairs: Pairs) -> Values:
        lengths = np.stack([self._line_values(pairs, side) for side in self._tokenizers])
        return lengths if len(lengths) < 2 else np.concatenate([lengths, token_ratios(*lengths)[np.newaxis]])

    def _line_values(self, pairs: Pairs, side: Side) -> npt.NDArray[np.float64]:
        tokenizer, lines = self._tokenizers[side], strip_lines(pairs.arrow(side))
        if side in pairs.words:
            tokenizer, lines = after_words(tokenizer), pairs.words[side]
        return tokenizer.encode_batch(lines, threads=1).lengths.astype(np.float64)


@dataclass(frozen=True)
class LimitTask(PartTask):
    """A part whose pairs are limited."""

    limits: PieceLimits
    vocabularies: dict[Side, BuiltVocabulary]


def limit_part(task: LimitTask, tick: Tick) -> PartResult:
    """Writes the pairs of a part that are within the limits. Ticks are pairs."""
    rule = PiecesRule(task.limits, task.of.context, task.vocabularies)
    return cleaned_part(task, Cleaner(task.of.cleaning, task.of.context, task.of.name, [rule]), None, tick)


LIMIT = part_round("limits", limit_part, "counting pieces")
REJECTS = Round("limits-rejects", sample_rejects, PairFile, words="sampling dropped pairs")


@dataclass(frozen=True)
class LimitsOutput:
    """The pairs within the limits."""

    parts: dict[str, tuple[PairFile, ...]]  # files by split, in order
    corpora: dict[str, dict[str, CleanCounts]]  # counts by split and name of the corpus


@dataclass(frozen=True)
class LimitsObserved:
    """Notes about the dropped pairs, by split and name of the corpus."""

    rejected: dict[str, dict[str, RejectNotes]] = field(default_factory=dict)


Limited: TypeAlias = "tuple[dict[tuple[str, str], list[PartResult]], list[PairFile]]"
"""The results by split and name of the corpus, and the files of dropped pairs."""


class Limits(Stage[LimitsOutput, Limited]):
    """Writes ``limited/<split>/part-*.parquet`` and ``rejected_pieces/<split>/part-*.parquet``."""

    name = "limits"
    directory = "limited"
    beside = (REJECTED_PIECES,)
    output = LimitsOutput
    observed = LimitsObserved
    rounds: ClassVar[tuple[Round[Any, Any], ...]] = (LIMIT, REJECTS)

    def applies(self, config: Config) -> bool:
        return config.limits.pieces is not None

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        return (*divided_stages(config), Vocabulary)

    def settings(self, config: Config) -> dict[str, object]:
        assert config.limits.pieces is not None
        settings = {f"limits.pieces.{key}": value for key, value in config.limits.pieces.model_dump().items()}
        return {**settings, "rejects": _rejects(config), "splits": limited_splits(config), "seed": config.seed}

    def work(self, job: Job) -> Rounds[Limited]:
        tasks: dict[tuple[str, str], list[LimitTask]] = {}
        for split, task in _tasks(job):
            tasks.setdefault((split, task.of.corpus), []).append(task)
        made = yield from LIMIT.run_groups(tasks, sum(task.part.pairs for each in tasks.values() for task in each))
        rejected = [result.rejected for results in made.values() for result in results if result.rejected is not None]
        if _rejects(job.config) == "sample":
            sampling = []
            for (split, corpus), each in tasks.items():
                results = zip(each, made[split, corpus], strict=True)
                if files := tuple(task.rejected for task, result in results if result.rejected is not None):
                    output = job.beside(REJECTED_PIECES) / split / f"part-{corpus}.parquet"
                    sampling.append(RejectsTask(f"limits-rejects-{split}-{corpus}", each[0].of, files, output))
            rejected = yield from REJECTS.run(sampling)
        return made, rejected

    def finish(self, job: Job, made: Limited) -> Result[LimitsOutput]:
        found, rejected = made
        parts: dict[str, list[PairFile]] = {split: [] for split in limited_splits(job.config)}
        corpora: dict[str, dict[str, CleanCounts]] = {split: {} for split in parts}
        notes: dict[str, dict[str, RejectNotes]] = {split: {} for split in parts}
        for (split, corpus), results in found.items():
            corpora[split][corpus] = reduce(add, (result.counts for result in results))
            notes[split][corpus] = reduce(add, (result.notes for result in results))
            parts[split] += [result.kept for result in results if result.kept is not None]
        for name, counts in corpora["train"].items():
            if not counts.pairs_out:
                raise CleaningError(
                    f"limits.pieces drops all {counts.pairs_in:,} pairs of splits.train.{name}; raise max"
                )
        total = reduce(add, (counts for by_name in corpora.values() for counts in by_name.values()), CleanCounts())
        digests = {file.file: file.sha256 or "" for listed in parts.values() for file in listed}
        digests |= {f"../{REJECTED_PIECES}/{file.file}": file.sha256 or "" for file in rejected}
        without = {split: tuple(replace(file, sha256=None) for file in listed) for split, listed in parts.items()}
        dropped = {reason: number for reason, number in total.dropped.items() if reason == RULE}
        counted = Counts(total.pairs_in, total.pairs_out, dropped)
        return Result(LimitsOutput(without, corpora), counted, [*digests], digests, LimitsObserved(notes))


def limited_splits(config: Config) -> list[str]:
    """Returns train, and the splits that are held out of it."""
    return [
        split
        for split, corpora in config.splits.items()
        if split == "train" or any(each.is_held_out for each in corpora)
    ]


def rejected_files(outputs: Outputs) -> list[tuple[str, Path]]:
    """Returns the files of the pairs that cleaning and limits dropped, with their splits."""
    directories = ((Clean, REJECTED), (Limits, REJECTED_PIECES))
    return [
        (file.partition("/")[0], outputs.root / directory / file)
        for stage, directory in directories
        if stage.name in outputs.manifests
        for file in sorted(outputs.manifest(stage).files_in(directory))
    ]


def _rejects(config: Config) -> Any:
    return "sample" if config.clean is None else config.clean.rejects


def _tasks(job: Job) -> Iterator[tuple[str, LimitTask]]:
    config, vocabularies = job.config, built_vocabularies(job)
    assert config.limits.pieces is not None
    rejected = job.beside(REJECTED_PIECES) if _rejects(config) == "all" else job.scratch / REJECTED_PIECES
    for split, parts in divided_files(job).items():
        corpora: dict[str, Corpus] = {corpus.name: corpus for corpus in config.splits[split]}
        for part in parts if split in limited_splits(config) else ():
            corpus = corpora[part.corpus]
            context = Context(config.languages_of(corpus), corpus.pair_sides, config.base_dir)
            of = CorpusTask(
                f"splits.{split}.{part.corpus}", part.corpus, Cleaning(()), context, _rejects(config), config.seed
            )
            name = part.path.with_suffix(".parquet").name
            paths = job.directory / split / name, rejected / split / name
            key, pieces = f"{split}-{part.path.stem}", config.limits.pieces
            yield split, LimitTask(key, of, part, *paths, True, None, pieces, vocabularies)
