"""The rounds of the stage clean that apply the rule ``translation``.

The corpora of a split that share a model are one text. A model is learned from a sample of its distinct pairs
(:mod:`~nmt_prep.stages.pair_sample`, :mod:`~nmt_prep.stages.alignment`). Then the pairs of each part are scored, each
without what the model learned from it. The scores of re-paired pairs, with exchanged targets, show how misaligned pairs
score; from both histograms follows the threshold of each corpus. In the end a task per part writes it with its scores,
and without the pairs whose scores are too low.

A pair that the model learned from scores higher than others, even without its own counts, because it changed what the
model learned from similar pairs. So a few re-paired pairs are learned from too, and the histogram of the others is
moved by the difference of the means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.cleaning.translation import TRANSLATION
from nmt_prep.cleaning.translation.options import SCORE_EDGES, TranslationOptions, model_path
from nmt_prep.cleaning.translation.threshold import auto_threshold, expected
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.alignment import SCORE_SETTINGS, LearningRounds, check_memory, shards_for
from nmt_prep.stages.clean_tasks import CorpusTask, PartFiles, PartResult, made_files
from nmt_prep.stages.clean_translation_tasks import (
    EDGES,
    FINE,
    DropTask,
    NullScores,
    NullTask,
    Repaired,
    RepairTask,
    Scored,
    ScoreTask,
    drop_misaligned,
    exchange_targets,
    score_part,
    score_repaired,
)
from nmt_prep.stages.pair_sample import PairSample, SamplePart, SampleRounds

LEAST_PAIRS = 1500
"""Least number of distinct pairs that a model can be learned from."""

REPAIRED_PAIRS = 20_000
"""Number of pairs of a corpus whose targets are exchanged, about."""

_LEARNED_SHARE, _LEAST_LEARNED, _MOST_LEARNED = 0.05, 100, 5000

Bins: TypeAlias = "npt.NDArray[np.int64]"


@dataclass(frozen=True)
class _Repaired:
    """Scores of re-paired pairs of a corpus.

    Attributes:
        bins: their numbers in fine bins.
        certain: number of scores that vouch for their mean.
    """

    bins: Bins
    certain: int


@dataclass(frozen=True)
class Compared:
    """Histograms with common edges, by what they show."""

    edges: tuple[float, ...]
    series: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class TranslationFacts:
    """Facts about the rule ``translation`` in one corpus.

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


def _made(task: RepairTask, result: Repaired) -> list[Path]:
    numbers = (result.learned, result.others)
    return [path for path, pairs in zip(task.files_made, numbers, strict=True) if pairs]


SAMPLE, LEARN = SampleRounds(TRANSLATION), LearningRounds(TRANSLATION, SCORE_SETTINGS)
REPAIR = Round("translation-repair", exchange_targets, Repaired, made=_made)
NULL = Round("translation-repaired", score_repaired, NullScores)
SCORE = Round("translation-scores", score_part, Scored, made=lambda task, _: [task.output])
DROP = Round("translation", drop_misaligned, PartResult, made=lambda task, result: made_files(task.files, result))
TRANSLATION_ROUNDS: tuple[Round[Any, Any], ...] = (*SAMPLE.rounds, REPAIR, *LEARN.rounds, NULL, SCORE, DROP)


@dataclass(frozen=True)
class _Text:
    """The corpora that share a model.

    Attributes:
        corpora: the corpora.
        sample: a sample of their pairs.
        given: the model that the config names; None if there is none.
        repaired: for each corpus, the task that exchanged targets, and its result; empty if the rule is left out.
        learned: the model that was learned; None if none was.
    """

    corpora: Sequence[TranslationCorpus]
    sample: PairSample
    given: Path | None
    repaired: Sequence[tuple[RepairTask, Repaired]] = ()
    learned: Path | None = None

    @property
    def learns(self) -> bool:
        """True if a model is to be learned and there are enough pairs."""
        return self.corpora[0].options.learns and sum(self.sample.pairs) >= LEAST_PAIRS

    @property
    def model(self) -> Path | None:
        """The model to score with; None if there are too few pairs to learn from."""
        return self.learned or (None if self.corpora[0].options.learns else self.given)

    @property
    def learned_from(self) -> int:
        """Number of pairs that the model was learned from."""
        return sum(self.sample.pairs) if self.learned else 0


Applied: TypeAlias = "tuple[list[PartResult], TranslationFacts]"


def apply_translation(job: Job, corpora: Sequence[TranslationCorpus]) -> Rounds[list[Applied]]:
    """Yields the rounds of the rule; returns the results of the parts of each corpus, and how the rule was applied."""
    texts = yield from _samples(job, corpora)
    texts = yield from _repaired(job, texts)
    texts = yield from _learned(job, texts)
    repaired = yield from _null_scores(texts)
    real = yield from _scores(job, texts)
    facts = {
        id(corpus): _facts(corpus, text, real[id(corpus)], repaired.get(id(corpus)))
        for text in texts.values()
        for corpus in text.corpora
    }
    tasks = [
        DropTask(
            f"translation-{part.stem}",
            corpus.of,
            part.files,
            None if facts[id(corpus)].compared is None else _scores_file(job, part),
            facts[id(corpus)].threshold,
        )
        for corpus in corpora
        for part in corpus.parts
    ]
    results = iter((yield from DROP.run(tasks, sum(map(_pairs, corpora)))))
    return [([next(results) for _ in corpus.parts], facts[id(corpus)]) for corpus in corpora]


def _samples(job: Job, corpora: Sequence[TranslationCorpus]) -> Rounds[dict[str, _Text]]:
    """Yields the rounds that draw samples; returns the texts by name."""
    groups: dict[tuple[object, ...], list[TranslationCorpus]] = {}
    for corpus in corpora:
        options = corpus.options
        groups.setdefault((corpus.split, options.model, options.learn, options.pairs), []).append(corpus)
    named = {f"{own[0].split}-{number}": own for number, own in enumerate(groups.values())}
    parts, most, shards = {}, {}, {}
    for name, own in named.items():
        options = own[0].options
        parts[name] = [
            SamplePart(part.files.part, part.pairs, corpus.of.corpus) for corpus in own for part in corpus.parts
        ]
        most[name] = options.pairs if options.learns else REPAIRED_PAIRS * len(own)
        drawn = min(most[name], sum(map(_pairs, own)))
        if options.learns:
            check_memory(job, drawn, "clean.rules.translation", len(named))
        shards[name] = shards_for(job.config.engine.memory, drawn)
    samples = yield from SAMPLE.draw(parts, most, shards, job.config.seed, job.scratch / TRANSLATION)
    return {
        name: _Text(own, samples[name], model_path(own[0].options.model, job.base_dir)) for name, own in named.items()
    }


def _repaired(job: Job, texts: Mapping[str, _Text]) -> Rounds[dict[str, _Text]]:
    """Yields the round that exchanges the targets of pairs; adds its results to the texts."""
    tasks = {
        name: [_repair_task(job, text, corpus) for corpus in text.corpora]
        if text.learns or not text.corpora[0].options.learns
        else []
        for name, text in texts.items()
    }
    results = iter((yield from REPAIR.run([task for own in tasks.values() for task in own])))
    return {
        name: replace(text, repaired=[(task, next(results)) for task in tasks[name]]) for name, text in texts.items()
    }


def _repair_task(job: Job, text: _Text, corpus: TranslationCorpus) -> RepairTask:
    name, pairs = corpus.of.corpus, _pairs(corpus)
    limit = min(text.sample.limits.get(name, 0), (1 << 64) * REPAIRED_PAIRS // max(pairs, 1))
    drawn = (pairs * text.sample.limits.get(name, 0)) >> 64
    learned = min(max(int(_LEARNED_SHARE * drawn), min(_LEAST_LEARNED, drawn // 10)), _MOST_LEARNED)
    key = f"repaired-{corpus.split}-{name}"
    files = job.scratch / TRANSLATION / f"{key}-learned.parquet", job.scratch / TRANSLATION / f"{key}.parquet"
    return RepairTask(key, text.sample.selected.get(name, ()), limit, learned if text.learns else 0, files)


def _learned(job: Job, texts: Mapping[str, _Text]) -> Rounds[dict[str, _Text]]:
    """Yields the rounds that learn models; adds them to the texts."""
    learning = {}
    for name, text in texts.items():
        if text.learns:
            added = [(task.files_made[0], made.learned) for task, made in text.repaired if made.learned]
            shards = [*text.sample.shards, *(path for path, _ in added)]
            learning[name] = (shards, sum(text.sample.pairs) + sum(pairs for _, pairs in added), text.given)
    models = yield from LEARN.learn(learning, job.scratch / TRANSLATION)
    return {name: replace(text, learned=models.get(name)) for name, text in texts.items()}


def _null_scores(texts: Mapping[str, _Text]) -> Rounds[dict[int, _Repaired]]:
    """Yields the round that scores re-paired pairs; returns their scores by corpus."""
    tasks = {
        name: [
            NullTask(
                f"null-{task.key}",
                text.model,
                task.files_made[0] if made.learned else None,
                task.files_made[1] if made.others else None,
            )
            for task, made in text.repaired
            if text.model is not None
        ]
        for name, text in texts.items()
    }
    results = iter((yield from NULL.run([task for own in tasks.values() for task in own])))
    histograms = {}
    for name, text in texts.items():
        scored = [next(results) for _ in tasks[name]]
        learned = sum(each.learned for each in scored)
        higher = sum(each.learned * (each.learned_mean - each.mean) for each in scored) / max(learned, 1)
        for corpus, each in zip(text.corpora, scored, strict=False):
            histograms[id(corpus)] = _Repaired(_moved(_bins([each.bins]), higher), learned or sum(each.bins))
    return histograms


def _moved(bins: Bins, by: float) -> Bins:
    """Returns a fine histogram of the scores with a number added to each."""
    places = np.arange(len(bins)) + round(by / (EDGES[1] - EDGES[0]))
    moved = np.zeros_like(bins)
    np.add.at(moved, np.clip(places, 0, len(bins) - 1), bins)
    return moved


def _scores(job: Job, texts: Mapping[str, _Text]) -> Rounds[dict[int, Bins]]:
    """Yields the round that scores pairs; returns fine histograms of their scores by corpus."""
    chosen = [(text, corpus) for text in texts.values() for corpus in text.corpora if text.model is not None]
    tasks = [
        ScoreTask(
            f"scores-{part.stem}",
            part.files.part,
            text.model,
            text.sample.shards if text.learned else (),
            _scores_file(job, part),
        )
        for text, corpus in chosen
        for part in corpus.parts
        if text.model is not None
    ]
    scored = iter((yield from SCORE.run(tasks, sum(_pairs(corpus) for _, corpus in chosen))))
    histograms = {id(corpus): _bins([next(scored).bins for _ in corpus.parts]) for _, corpus in chosen}
    return {id(corpus): histograms.get(id(corpus), _bins([])) for text in texts.values() for corpus in text.corpora}


def _facts(corpus: TranslationCorpus, text: _Text, real: Bins, scored: _Repaired | None) -> TranslationFacts:
    if text.model is None:
        pairs = sum(text.sample.pairs)
        return TranslationFacts(
            left_out=f"{pairs:,} distinct pairs are too few to learn from; it takes {LEAST_PAIRS:,} or more"
        )
    fixed, repaired = corpus.options.min, _bins([]) if scored is None else scored.bins
    compared = Compared(SCORE_EDGES, {"real": _coarse(real), "re-paired": _coarse(repaired)})
    facts = TranslationFacts(text.learned_from, compared=compared)
    if scored is None or not repaired.sum():
        left_out = "no two pairs have different sources and different targets, so min: auto finds no threshold"
        return replace(facts, left_out=left_out) if fixed == "auto" else replace(facts, threshold=fixed)
    histograms = real.tolist(), repaired.tolist()
    if fixed == "auto":
        found = auto_threshold(EDGES, *histograms, scored.certain)
    else:
        found = expected(EDGES, *histograms, fixed, scored.certain)
    return replace(facts, threshold=found.score, noise=found.noise, found=found.found, lost=found.lost)


def _coarse(bins: Bins) -> tuple[int, ...]:
    return tuple(bins.reshape(-1, FINE).sum(axis=1).tolist())


def _bins(counts: Sequence[Sequence[int]]) -> Bins:
    """Returns the sum of fine histograms."""
    total = np.zeros(len(EDGES) - 1, np.int64)
    for each in counts:
        total += np.array(each, np.int64)
    return total


def _scores_file(job: Job, part: TranslationPart) -> Path:
    return job.scratch / TRANSLATION / f"scores-{part.stem}.npy"


def _pairs(corpus: TranslationCorpus) -> int:
    return sum(part.pairs for part in corpus.parts)
