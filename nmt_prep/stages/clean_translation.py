"""The rounds of the stage clean that apply the rule ``translation``.

The corpora of a split that share a model are one text. A model is learned from a sample of its distinct pairs
(:mod:`~nmt_prep.stages.pair_sample`, :mod:`~nmt_prep.stages.alignment`). Then the pairs of each part are scored, each
without what the model learned from it. The scores of pairs with exchanged targets show how misaligned pairs score; from
both histograms follows the threshold of each corpus. In the end a task per part writes it with its scores, and without
the pairs whose scores are too low.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.align.loading import shared_model
from nmt_prep.artefacts import atomic_write, writing
from nmt_prep.cleaning.counts import CleanCounts, Histogram
from nmt_prep.cleaning.dedup.keys import keys_of
from nmt_prep.cleaning.judging import histogram
from nmt_prep.cleaning.rule import Values
from nmt_prep.cleaning.rules.translation import SCORE_EDGES, TranslationOptions, model_path
from nmt_prep.cleaning.translation import TRANSLATION
from nmt_prep.cleaning.translation.mismatched import other_targets
from nmt_prep.cleaning.translation.threshold import auto_threshold, expected
from nmt_prep.columns import TextColumn
from nmt_prep.config import SIDES, Side
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.parts import score_column
from nmt_prep.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.alignment import LearningRounds, shards_for
from nmt_prep.stages.clean_tasks import CorpusTask, PartFiles, PartOutput, PartResult, made_files
from nmt_prep.stages.pair_sample import KEY, ORDER, PairSample, SamplePart, SampleRounds, column_of

LEAST_PAIRS = 1000
"""Least number of distinct pairs that a model can be learned from."""

MISMATCHED_PAIRS = 20_000
"""Number of pairs of a corpus whose targets are exchanged, about."""

_FINE = 10
_EDGES = np.linspace(SCORE_EDGES[0], SCORE_EDGES[-1], _FINE * (len(SCORE_EDGES) - 1) + 1).round(6).tolist()
"""Edges of the histograms that the threshold is found with."""


@dataclass(frozen=True)
class Compared:
    """Histograms with common edges, by what they show."""

    edges: tuple[float, ...]
    series: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class TranslationFacts:
    """How the rule was applied to a corpus.

    Attributes:
        learned_from: number of pairs that the model was learned from; 0 for a model that was given.
        threshold: the lowest score that passes; None if the rule was left out.
        noise: estimated share of misaligned pairs in the corpus.
        found: estimated share of the misaligned pairs that the threshold finds.
        lost: estimated share of the other pairs that it drops.
        compared: histograms of the scores of the pairs (``real``), and of pairs with exchanged targets (``re-paired``).
        left_out: why the rule was left out; empty if it was applied.
    """

    learned_from: int = 0
    threshold: float | None = None
    noise: float | None = None
    found: float | None = None
    lost: float | None = None
    compared: Compared | None = None
    left_out: str = ""


@dataclass(frozen=True)
class TranslationPart:
    """A part that the rule is applied to: stem for the names of its files, the files, and the number of pairs."""

    stem: str
    files: PartFiles
    pairs: int


@dataclass(frozen=True)
class TranslationCorpus:
    """A corpus that the rule is applied to."""

    split: str
    of: CorpusTask
    options: TranslationOptions
    parts: Sequence[TranslationPart]


@dataclass(frozen=True)
class ScoreTask:
    """A part to score.

    Attributes:
        key: name of the task.
        part: file to read.
        model: the model.
        learned: files with the pairs that the model was learned from; empty for a model that was given.
        output: file for the scores.
    """

    key: str
    part: Path
    model: Path
    learned: tuple[Path, ...]
    output: Path


@dataclass(frozen=True)
class Scored:
    """Numbers of scores in fine bins."""

    bins: tuple[int, ...]


@dataclass(frozen=True)
class MismatchTask:
    """A corpus whose targets are exchanged.

    Attributes:
        key: name of the task.
        files: files with a sample of its pairs.
        limit: pairs with smaller random numbers are used.
        model: the model.
    """

    key: str
    files: tuple[Path, ...]
    limit: int
    model: Path


@dataclass(frozen=True)
class DropTask:
    """A part whose pairs are dropped if their score is below the threshold; without both it only gets the column."""

    key: str
    of: CorpusTask
    files: PartFiles
    scores: Path | None
    threshold: float | None


def score_part(task: ScoreTask, tick: Tick) -> Scored:
    """Writes the scores of the pairs of a part. It ticks for each pair.

    Raises:
        AlignmentModelError: the model cannot be read.
        CorpusError: a file cannot be read.
        OutputError: the scores cannot be written.
    """
    model = shared_model(task.model)
    learned = _learned_keys(task.learned)
    scores: list[Values] = [np.zeros(0)]
    for batch in iter_pairs(task.part, columns=["source", "target"]):
        own = np.isin(keys_of(batch, ["pair"], "normalized")["pair"][:, 0], learned).astype(np.int64)
        scores.append(model.score(_text(batch, "source"), _text(batch, "target"), own))
        tick(len(batch))
    values = np.concatenate(scores)
    with atomic_write(task.output) as beside, writing(task.output), beside.open("wb") as file:
        np.save(file, values)
    return Scored(_bins(values))


def score_mismatched(task: MismatchTask, tick: Tick) -> Scored:
    """Scores pairs whose targets were exchanged. It ticks for each pair that it reads.

    Raises:
        AlignmentModelError: the model cannot be read.
        CorpusError: a file cannot be read.
    """
    found = []
    for path in task.files:
        for batch in iter_pairs(path):
            found.append(batch.filter(pa.array(column_of(batch, ORDER) <= np.uint64(task.limit - 1))))
            tick(len(batch))
    if not found:
        return Scored(_bins(np.zeros(0)))
    batch = pa.Table.from_batches(found).combine_chunks().to_batches(max_chunksize=None)[0]
    _, first = np.unique(column_of(batch, KEY), return_index=True)
    batch = batch.take(pa.array(first))
    lengths = pc.utf8_length(batch.column("target")).to_numpy(zero_copy_only=False).astype(np.int64)
    keys = keys_of(batch, SIDES, "normalized")
    own, other = other_targets(lengths, column_of(batch, ORDER), *(keys[side][:, 0] for side in SIDES))
    sources, targets = batch.take(pa.array(own)), batch.take(pa.array(other))
    return Scored(_bins(shared_model(task.model).score(_text(sources, "source"), _text(targets, "target"))))


def drop_misaligned(task: DropTask, tick: Tick) -> PartResult:
    """Writes a part with its scores, and without the pairs whose scores are too low. It ticks for each pair.

    A pair without score is kept.

    Raises:
        CorpusError: the part cannot be read.
        OutputError: a file cannot be written.
    """
    threshold = -np.inf if task.threshold is None else task.threshold
    scores = None if task.scores is None else _read_scores(task.scores)
    bins = np.zeros((1, 2, len(SCORE_EDGES) - 1), np.int64)
    first = dropped = 0
    with PartOutput(task.of, task.files) as output:
        for batch in iter_pairs(task.files.part):
            own = np.full(len(batch), np.nan) if scores is None else scores[first : first + len(batch)]
            kept = ~(own < threshold)
            lost = len(kept) - int(kept.sum())
            scored = batch.schema.append(pa.field(score_column(TRANSLATION), pa.float64()))
            columns = [*batch.columns, pa.array(own, from_pandas=True)]  # NaN becomes null
            names = pa.array([TRANSLATION] * lost, pa.string())
            output.write(pa.record_batch(columns, schema=scored), kept, names, own[~kept], np.full(lost, threshold))
            bins += histogram(own[np.newaxis], SCORE_EDGES, kept)
            first, dropped = first + len(batch), dropped + lost
            tick(len(batch))
    if scores is None:
        return output.result(CleanCounts())
    ((without, with_),) = bins.tolist()
    values = {TRANSLATION: {"pair": Histogram(SCORE_EDGES, tuple(with_), tuple(without))}}
    counts = CleanCounts(0, -dropped, {TRANSLATION: dropped}, {TRANSLATION: {TRANSLATION: dropped}}, {}, values)
    return output.result(counts)


SAMPLE, LEARN = SampleRounds(TRANSLATION), LearningRounds(TRANSLATION)
MISMATCH = Round("translation-mismatched", score_mismatched, Scored)
SCORE = Round("translation-scores", score_part, Scored, made=lambda task, _: [task.output])
DROP = Round("translation", drop_misaligned, PartResult, made=lambda task, result: made_files(task.files, result))
TRANSLATION_ROUNDS: tuple[Round[Any, Any], ...] = (*SAMPLE.rounds, *LEARN.rounds, MISMATCH, SCORE, DROP)


@dataclass(frozen=True)
class _Text:
    """The corpora that share a model, their sample, the model, and the pairs that it was learned from."""

    corpora: Sequence[TranslationCorpus]
    sample: PairSample
    model: Path | None = None
    learned: tuple[Path, ...] = ()

    @property
    def learned_from(self) -> int:
        """Number of pairs that the model was learned from."""
        return sum(self.sample.pairs) if self.learned else 0


Applied = tuple[list[PartResult], TranslationFacts]


def apply_translation(job: Job, corpora: Sequence[TranslationCorpus]) -> Rounds[list[Applied]]:
    """Yields the rounds of the rule; returns the results of the parts of each corpus, and how the rule was applied."""
    texts = yield from _models(job, _by_model(corpora))
    text_of = {id(corpus): text for text in texts for corpus in text.corpora}
    scored = yield from _scores(job, corpora, [text_of[id(corpus)] for corpus in corpora])
    facts = [
        _facts(corpus, text_of[id(corpus)], real, repaired)
        for corpus, (real, repaired) in zip(corpora, scored, strict=True)
    ]
    tasks = [
        DropTask(
            f"translation-{part.stem}",
            corpus.of,
            part.files,
            None if fact.left_out else _scores_file(job, part),
            fact.threshold,
        )
        for corpus, fact in zip(corpora, facts, strict=True)
        for part in corpus.parts
    ]
    results = iter((yield from DROP.run(tasks, _pairs(corpora))))
    return [([next(results) for _ in corpus.parts], fact) for corpus, fact in zip(corpora, facts, strict=True)]


def _by_model(corpora: Sequence[TranslationCorpus]) -> dict[str, list[TranslationCorpus]]:
    """Returns the corpora that share a model, by a name for it."""
    groups: dict[tuple[object, ...], list[TranslationCorpus]] = {}
    for corpus in corpora:
        options = corpus.options
        groups.setdefault((corpus.split, options.model, options.learn, options.pairs), []).append(corpus)
    return {f"{own[0].split}-{number}": own for number, own in enumerate(groups.values())}


def _models(job: Job, groups: Mapping[str, Sequence[TranslationCorpus]]) -> Rounds[list[_Text]]:
    """Yields the rounds that draw samples and learn models."""
    parts = {
        name: [SamplePart(part.files.part, part.pairs, corpus.of.corpus) for corpus in own for part in corpus.parts]
        for name, own in groups.items()
    }
    most = {
        name: own[0].options.pairs if own[0].options.learns else MISMATCHED_PAIRS * len(own)
        for name, own in groups.items()
    }
    shards = {
        name: shards_for(job.config.engine.memory, min(most[name], sum(part.pairs for part in own)))
        for name, own in parts.items()
    }
    samples = yield from SAMPLE.draw(parts, most, shards, job.config.seed, job.scratch / TRANSLATION)
    given = {
        name: None if (model := own[0].options.model) is None else model_path(model, job.base_dir)
        for name, own in groups.items()
    }
    learning = {
        name: (samples[name].shards, sum(samples[name].pairs), given[name])
        for name, own in groups.items()
        if own[0].options.learns and sum(samples[name].pairs) >= LEAST_PAIRS
    }
    models = yield from LEARN.learn(learning, job.scratch / TRANSLATION)
    return [
        _Text(own, samples[name], models.get(name, given[name]), samples[name].shards if name in models else ())
        for name, own in groups.items()
    ]


def _scores(
    job: Job, corpora: Sequence[TranslationCorpus], texts: Sequence[_Text]
) -> Rounds[list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]]:
    """Yields the rounds that score pairs; returns histograms of the scores of each corpus: real, and re-paired."""
    mismatches, scores = [], []
    for corpus, text in zip(corpora, texts, strict=True):
        if text.model is None:
            continue
        name, pairs = corpus.of.corpus, sum(part.pairs for part in corpus.parts)
        limit = min(text.sample.limits.get(name, 0), (1 << 64) * MISMATCHED_PAIRS // max(pairs, 1))
        files = text.sample.selected.get(name, ())
        mismatches.append(MismatchTask(f"mismatched-{corpus.split}-{name}", files, limit, text.model))
        scores += [
            ScoreTask(f"scores-{part.stem}", part.files.part, text.model, text.learned, _scores_file(job, part))
            for part in corpus.parts
        ]
    repaired = iter((yield from MISMATCH.run(mismatches)))
    scored = iter((yield from SCORE.run(scores, _pairs(corpora))))
    return [
        _no_scores() if text.model is None else (_sum([next(scored) for _ in corpus.parts]), _sum([next(repaired)]))
        for corpus, text in zip(corpora, texts, strict=True)
    ]


def _facts(
    corpus: TranslationCorpus, text: _Text, real: npt.NDArray[np.int64], repaired: npt.NDArray[np.int64]
) -> TranslationFacts:
    if text.model is None:
        pairs = sum(text.sample.pairs)
        return TranslationFacts(
            left_out=f"{pairs:,} distinct pairs are too few to learn from; it takes {LEAST_PAIRS:,} or more"
        )
    fixed = corpus.options.min
    compared = Compared(SCORE_EDGES, {"real": _coarse(real), "re-paired": _coarse(repaired)})
    facts = TranslationFacts(text.learned_from, compared=compared)
    if not repaired.sum():
        left_out = "no two pairs have different sources and different targets, so min: auto finds no threshold"
        return replace(facts, left_out=left_out) if fixed == "auto" else replace(facts, threshold=fixed)
    histograms = real.tolist(), repaired.tolist()
    found = auto_threshold(_EDGES, *histograms) if fixed == "auto" else expected(_EDGES, *histograms, fixed)
    return replace(facts, threshold=found.score, noise=found.noise, found=found.found, lost=found.lost)


def _text(batch: pa.RecordBatch, side: Side) -> TextColumn:
    return TextColumn.from_arrow(batch.column(side))


def _learned_keys(shards: Sequence[Path]) -> npt.NDArray[np.uint64]:
    keys = [column_of(batch, KEY) for path in shards for batch in iter_pairs(path, columns=[KEY])]
    return np.concatenate([np.zeros(0, np.uint64), *keys])


def _bins(scores: Values) -> tuple[int, ...]:
    counts = histogram(scores[np.newaxis], _EDGES, np.ones(len(scores), np.bool_))
    return tuple(counts[0, 1].tolist())


def _coarse(bins: npt.NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(bins.reshape(-1, _FINE).sum(axis=1).tolist())


def _sum(scored: Sequence[Scored]) -> npt.NDArray[np.int64]:
    total = np.zeros(len(_EDGES) - 1, np.int64)
    for each in scored:
        total += np.array(each.bins, np.int64)
    return total


def _no_scores() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    return _sum([]), _sum([])


def _read_scores(path: Path) -> Values:
    with writing(path):
        scores: Values = np.load(path)
    return scores


def _scores_file(job: Job, part: TranslationPart) -> Path:
    return job.scratch / TRANSLATION / f"scores-{part.stem}.npy"


def _pairs(corpora: Sequence[TranslationCorpus]) -> int:
    return sum(part.pairs for corpus in corpora for part in corpus.parts)
