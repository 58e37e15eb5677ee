"""The rule ``translation`` in the stage clean.

The corpora of a split that share a model are one text. A model is learned from a sample of its distinct pairs
(:mod:`~nmt_prep.stages.pair_sample`, :mod:`~nmt_prep.stages.learning`). Then the pairs of each part are scored, each
without what the model learned from it. The scores of re-paired pairs (:mod:`~nmt_prep.stages.clean.repaired`) show how
misaligned pairs score; from both histograms follows the threshold of each corpus. In the end a task per part writes it
with its scores, and without the pairs whose scores are too low.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nmt_prep.align.model import check_known, shared_model
from nmt_prep.artefacts import atomic_write, writing
from nmt_prep.cleaning.corpus_rules.threshold import THRESHOLD_VERSION, auto_threshold, expected
from nmt_prep.cleaning.corpus_rules.translation import SCORE_EDGES, TRANSLATION, TranslationOptions
from nmt_prep.cleaning.counts import CleanCounts
from nmt_prep.cleaning.dedup.keys import keys_of
from nmt_prep.cleaning.rule import Values, checked_options
from nmt_prep.columns import TextColumn
from nmt_prep.config import Config
from nmt_prep.corpora import iter_pairs
from nmt_prep.engines import Tick
from nmt_prep.errors import CleaningError, NmtPrepError
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.sides import SIDES
from nmt_prep.stages.clean.corpora import CleanedCorpus, CorpusRule, CorpusWork, RuleBounds
from nmt_prep.stages.clean.parts import DropBelowTask, PartTask, drop_below, part_round
from nmt_prep.stages.clean.repaired import (
    EDGES,
    FINE,
    REPAIRED_PAIRS,
    Bins,
    NullScores,
    NullTask,
    Repaired,
    RepairedScores,
    RepairTask,
    bins_of,
    exchange_targets,
    moved_scores,
    score_repaired,
    total_bins,
)
from nmt_prep.stages.learning import LEARNING_VERSION, SCORE_SETTINGS, LearningRounds, check_memory, shards_for
from nmt_prep.stages.pair_sample import KEY, PairSample, SampleRounds, column_of

LEAST_PAIRS = 1500
"""Least number of distinct pairs that a model can be learned from."""


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


def score_part(task: ScoreTask, tick: Tick) -> Scored:
    """Writes the scores of the pairs of a part. It ticks for each pair.

    Raises:
        AlignmentModelError: the model cannot be read, or was given and knows few words of the part.
        CorpusError: a file cannot be read.
        OutputError: the scores cannot be written.
    """
    model = shared_model(task.model)
    learned = _learned_keys(task.learned)
    scores: list[Values] = [np.zeros(0)]
    for batch in iter_pairs(task.part, columns=SIDES):
        source, target = (TextColumn.from_arrow(batch.column(side)) for side in SIDES)
        if not learned.size and not any(map(len, scores)):
            check_known(model, task.part, source, target)
        copies = np.isin(keys_of(batch, ["pair"], "normalized")["pair"][:, 0], learned).astype(np.int64)
        scores.append(model.score(source, target, copies))
        tick(len(batch))
    values = np.concatenate(scores)
    with atomic_write(task.output) as beside, writing(task.output), beside.open("wb") as file:
        np.save(file, values)
    return Scored(bins_of(values))


def _learned_keys(shards: Sequence[Path]) -> npt.NDArray[np.uint64]:
    keys = [column_of(batch, KEY) for path in shards for batch in iter_pairs(path, columns=[KEY])]
    return np.concatenate([np.zeros(0, np.uint64), *keys])


def _repaired_files(task: RepairTask, result: Repaired) -> list[Path]:
    numbers = (result.learned, result.others)
    return [path for path, pairs in zip(task.files_made, numbers, strict=True) if pairs]


SAMPLE, LEARN = SampleRounds(TRANSLATION), LearningRounds(TRANSLATION, SCORE_SETTINGS)
REPAIR = Round("translation-repair", exchange_targets, Repaired, made=_repaired_files, words="exchanging targets")
NULL = Round("translation-repaired", score_repaired, NullScores, words="scoring exchanged targets")
SCORE = Round(
    "translation-scores", score_part, Scored, made=lambda task, _: [task.output], words="scoring translations"
)
DROP = part_round("translation", drop_below, "dropping misaligned pairs")


@dataclass
class _Text:
    """The corpora that share a model. The rounds add to it what they find.

    Attributes:
        name: its name, for names of tasks.
        corpora: the corpora.
        options: the options of the rule, which are the same for all but the threshold.
        given: the model that the config names; None if there is none.
        sample: a sample of their pairs.
        repaired: for each corpus, the task that exchanges targets, and its result; empty if the rule is left out.
        learned: the model that was learned; None if none was.
    """

    name: str
    corpora: Sequence[CorpusWork]
    options: TranslationOptions
    given: Path | None
    sample: PairSample = field(init=False)
    repaired: Sequence[tuple[RepairTask, Repaired]] = ()
    learned: Path | None = None

    @property
    def pairs(self) -> int:
        """Number of pairs in the sample."""
        return sum(self.sample.pairs)

    @property
    def learns(self) -> bool:
        """True if a model is to be learned and there are enough pairs."""
        return self.options.learns and self.pairs >= LEAST_PAIRS

    @property
    def model(self) -> Path | None:
        """The model to score with; None if there are too few pairs to learn from."""
        return self.learned or (None if self.options.learns else self.given)


class Translation(CorpusRule):
    """The rule, with its own model or with models that are learned from the corpora."""

    name = this = TRANSLATION
    rounds = (*SAMPLE.rounds, REPAIR, *LEARN.rounds, NULL, SCORE, DROP)

    def settings(self, config: Config) -> dict[str, object]:
        return {"seed": config.seed, "clean.translation.version": [LEARNING_VERSION, THRESHOLD_VERSION]}

    def check(self, corpus: CleanedCorpus, base_dir: Path) -> None:
        try:
            for path in self.files(corpus, base_dir).values():
                shared_model(path)
        except NmtPrepError as error:
            where = f"{corpus.cleaning.keys[TRANSLATION]}{TRANSLATION}.model, for the corpus {corpus.corpus.name}"
            raise CleaningError(f"{where}: {error}") from error

    def files(self, corpus: CleanedCorpus, base_dir: Path) -> dict[str, Path]:
        path = _options(corpus).model_file(base_dir)
        return {} if path is None else {str(_options(corpus).model): path}

    def learns_from(self, spec: object) -> int:
        options = checked_options(TRANSLATION, TranslationOptions, spec)
        return options.pairs if options.learns else 0

    def apply(self, job: Job, corpora: Sequence[CorpusWork]) -> Rounds[None]:
        texts = yield from _samples(job, corpora)
        yield from _repair(job, texts)
        yield from _learn(job, texts)
        repaired = yield from _repaired_scores(texts)
        real = yield from _scores(job, texts)
        tasks: dict[str, list[DropBelowTask]] = {work.name: [] for work in corpora}
        for text in texts:
            for work in text.corpora:
                facts = _facts(work.corpus, text, total_bins(real.get(work.name, [])), repaired.get(work.name))
                _note(work, facts)
                for task in work.tasks(job, self.this, f"{self.this}-"):
                    scores = None if facts.compared is None else _scores_file(job, task)
                    given = (TRANSLATION, TRANSLATION, facts.threshold, "pair", SCORE_EDGES)
                    tasks[work.name].append(
                        DropBelowTask(task.key, task.of, task.files, *given, unscored=True, computed=scores)
                    )
        results = yield from DROP.run_groups(tasks, _pairs(corpora))
        for work in corpora:
            parts = results[work.name]
            if TRANSLATION in work.unscored:  # the rule is left out, so it counts nothing
                parts = [replace(part, counts=CleanCounts()) for part in parts]
            work.passed(job, self.this, parts)


def _options(corpus: CleanedCorpus) -> TranslationOptions:
    return checked_options(TRANSLATION, TranslationOptions, corpus.cleaning.corpus_rules[TRANSLATION])


def _samples(job: Job, corpora: Sequence[CorpusWork]) -> Rounds[list[_Text]]:
    """Yields the rounds that draw samples; returns the texts."""
    groups: dict[tuple[object, ...], list[CorpusWork]] = {}
    for work in corpora:
        options = _options(work.corpus)
        groups.setdefault((work.split, options.model, options.learn, options.pairs), []).append(work)
    texts, most, drawn = list[_Text](), dict[str, int](), dict[str, int]()
    for number, works in enumerate(groups.values()):
        name, options = f"{works[0].split}-{number}", _options(works[0].corpus)
        texts.append(_Text(name, works, options, options.model_file(job.config.base_dir)))
        most[name] = options.pairs if options.learns else REPAIRED_PAIRS * len(works)
        drawn[name] = min(most[name], _pairs(works))
        if options.learns:
            check_memory(job, drawn[name], "clean.rules.translation", len(groups))
    shards = {name: shards_for(job.config.engine.memory, pairs) for name, pairs in drawn.items()}
    parts = {text.name: [part for work in text.corpora for part, _ in work.parts] for text in texts}
    samples = yield from SAMPLE.draw(parts, most, shards, job.config.seed, job.scratch / TRANSLATION)
    for text in texts:
        text.sample = samples[text.name]
    return texts


def _repair(job: Job, texts: Sequence[_Text]) -> Rounds[None]:
    """Yields the round that exchanges the targets of pairs; adds its results to the texts."""
    tasks = {
        text.name: [
            RepairTask.of(
                f"repaired-{work.split}-{work.of.corpus}",
                text.sample.selected.get(work.of.corpus, ()),
                work.pairs,
                text.sample.limits.get(work.of.corpus, 0),
                job.scratch / TRANSLATION,
                learns=text.learns,
            )
            for work in text.corpora
            if text.learns or not text.options.learns
        ]
        for text in texts
    }
    results = yield from REPAIR.run_groups(tasks)
    for text in texts:
        text.repaired = list(zip(tasks[text.name], results[text.name], strict=True))


def _learn(job: Job, texts: Sequence[_Text]) -> Rounds[None]:
    """Yields the rounds that learn models; adds them to the texts."""
    learning = {}
    for text in texts:
        if text.learns:
            added = [(task.files_made[0], made.learned) for task, made in text.repaired if made.learned]
            shards = [*text.sample.shards, *(path for path, _ in added)]
            learning[text.name] = (shards, text.pairs + sum(pairs for _, pairs in added), text.given)
    models = yield from LEARN.learn(learning, job.scratch / TRANSLATION)
    for text in texts:
        text.learned = models.get(text.name)


def _repaired_scores(texts: Sequence[_Text]) -> Rounds[dict[str, RepairedScores]]:
    """Yields the round that scores re-paired pairs; returns their scores by the name of the corpus."""
    tasks = {
        text.name: [
            NullTask(
                f"null-{task.key}",
                text.model,
                task.files_made[0] if made.learned else None,
                task.files_made[1] if made.others else None,
            )
            for task, made in text.repaired
            if text.model is not None
        ]
        for text in texts
    }
    results = yield from NULL.run_groups(tasks)
    return {
        work.name: scores
        for text in texts
        for work, scores in zip(text.corpora, moved_scores(results[text.name]), strict=False)
    }


def _scores(job: Job, texts: Sequence[_Text]) -> Rounds[dict[str, list[tuple[int, ...]]]]:
    """Yields the round that scores pairs; returns fine histograms of the parts by the name of the corpus."""
    tasks = {
        work.name: [
            ScoreTask(
                f"scores-{task.key}",
                task.files.part.path,
                text.model,
                text.sample.shards if text.learned else (),
                _scores_file(job, task),
            )
            for task in work.tasks(job, TRANSLATION)
        ]
        for text in texts
        for work in text.corpora
        if text.model is not None
    }
    total = sum(_pairs(text.corpora) for text in texts if text.model is not None)
    results = yield from SCORE.run_groups(tasks, total)
    return {name: [scored.bins for scored in parts] for name, parts in results.items()}


def _scores_file(job: Job, task: PartTask) -> Path:
    part = task.files.part.path
    return job.scratch / TRANSLATION / f"scores-{task.files.kept.parent.name}-{part.stem}.npy"


def _facts(corpus: CleanedCorpus, text: _Text, real: Bins, scored: RepairedScores | None) -> TranslationFacts:
    """Returns the facts about the rule in a corpus.

    Args:
        corpus: the corpus.
        text: its text.
        real: numbers of scores of its pairs in fine bins.
        scored: scores of its re-paired pairs; None if there are none.
    """
    if text.model is None:
        return TranslationFacts(
            left_out=f"{text.pairs:,} distinct pairs are too few to learn from; it takes {LEAST_PAIRS:,} or more"
        )
    lowest, repaired = _options(corpus).min, total_bins([]) if scored is None else scored.bins
    compared = Compared(SCORE_EDGES, {"real": _coarse(real), "re-paired": _coarse(repaired)})
    facts = TranslationFacts(text.pairs if text.learned else 0, compared=compared)
    if scored is None or not repaired.sum():
        left_out = "no two pairs have different sources and different targets, so min: auto finds no threshold"
        return replace(facts, left_out=left_out) if lowest == "auto" else replace(facts, threshold=lowest)
    histograms = real.tolist(), repaired.tolist()
    if lowest == "auto":
        estimate = auto_threshold(EDGES, *histograms, scored.certain)
    else:
        estimate = expected(EDGES, *histograms, lowest, scored.certain)
    return replace(facts, threshold=estimate.score, noise=estimate.noise, found=estimate.found, lost=estimate.lost)


def _note(work: CorpusWork, facts: TranslationFacts) -> None:
    """Notes the facts about the rule in a corpus, for later passes and the report."""
    work.facts[TRANSLATION] = facts
    work.bounds[TRANSLATION] = {"pair": RuleBounds(facts.threshold)}
    if facts.compared is None:
        work.unscored.add(TRANSLATION)
    if facts.left_out:
        work.left_out[TRANSLATION] = facts.left_out


def _coarse(bins: Bins) -> tuple[int, ...]:
    return tuple(bins.reshape(-1, FINE).sum(axis=1).tolist())


def _pairs(corpora: Sequence[CorpusWork]) -> int:
    return sum(work.pairs for work in corpora)
