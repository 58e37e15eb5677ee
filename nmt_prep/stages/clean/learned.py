"""Rules that score pairs by a word alignment model, which is given or learned from the corpora.

The corpora of a split that share a model are treated as one text. A task per part draws a sample of its pairs
(:mod:`~nmt_prep.stages.pair_sample`), and a task per text learns a model from the sample in memory. Then the pairs of
each part are scored, each pair without its own counts in the model. At the end, a task per part writes the part with
the scores, without the pairs whose scores are too low.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.base.artefacts import atomic_write, writing
from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import CleaningError, NmtPrepError
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.align.model import Model, check_known
from nmt_prep.cleaning.align.settings import SCORE_SETTINGS, rounds
from nmt_prep.cleaning.align.word_vocabulary import Integers
from nmt_prep.cleaning.corpus_rules.translation import SCORE_EDGES, AutoThreshold, TranslationOptions
from nmt_prep.cleaning.dedup.records import keys_of
from nmt_prep.cleaning.pair_sample import PairSample
from nmt_prep.cleaning.rejects import CleanCounts
from nmt_prep.cleaning.repaired import FINE, LEAST_PAIRS, REPAIRED_PAIRS, BadScores, Bins, bins_of, total_bins
from nmt_prep.cleaning.rule import Values
from nmt_prep.config import Config
from nmt_prep.config.problems import checked_options
from nmt_prep.corpora import iter_pairs
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.clean.cleaned_corpora import (
    CleanedCorpus,
    Compared,
    CorpusRule,
    CorpusWork,
    LearnedFacts,
    RuleBounds,
    pairs_in,
)
from nmt_prep.stages.clean.parts import DropBelowTask, PartResult, PartTask
from nmt_prep.stages.pair_sample import DrawnFiles, SelectTask, check_memory, draw_samples, reader_of, threads_for


@dataclass(frozen=True)
class LearnTask:
    """A text to learn from, or to make bad pairs of for a given model."""

    key: str
    corpora: tuple[DrawnFiles, ...]
    given: Path | None  # the model that the config names; None without one
    learns: bool  # true to learn a model; it starts from the given one
    seed: int  # seed of the random numbers
    threads: int
    output: Path  # file for the model

    @property
    def keys(self) -> Path:
        """File for the keys of the pairs that the model is learned from."""
        return self.output.with_suffix(".keys.npy")

    def sample(self) -> PairSample:
        """Returns the distinct pairs of the text."""
        return PairSample.of(reader_of([corpus for corpus in self.corpora if corpus.teaches]))


@dataclass(frozen=True)
class LearnedText:
    """The result of a text."""

    pairs: int  # number of pairs that a model was learned from; 0 if none was learned
    # scores of artificial bad pairs, for each corpus or for all together; empty without a model
    bad: tuple[BadScores, ...] = ()
    left_out: str = ""  # why there is no model; empty if there is one


def too_few(sample: PairSample) -> LearnedText | None:
    """Returns the result of a text with too few pairs to learn from; None if there are enough."""
    if len(sample.keys) >= LEAST_PAIRS:
        return None
    few = f"{len(sample.keys):,} distinct pairs are too few to learn from; at least {LEAST_PAIRS:,} are needed"
    return LearnedText(0, left_out=few)


def learn_round(rule: str, work: Callable[[LearnTask, Tick], LearnedText], words: str) -> Round[LearnTask, LearnedText]:
    """Returns the round of a rule that learns, with a task per text."""
    return Round(
        f"{rule}-learn",
        work,
        LearnedText,
        made=lambda task, result: [task.output, task.keys] if result.pairs else [],
        words=words,
    )


@dataclass(frozen=True)
class ScoreTask:
    """A part to score."""

    key: str
    part: Path
    model: Path
    learned: Path | None  # file with the keys of the pairs that the model was learned from; None for a given model
    output: Path  # file for the scores


Scored: TypeAlias = tuple[int, ...]  # Histogram of a part's scores in fine bins


def write_scores(
    task: ScoreTask, model: Model, score: Callable[[TextColumn, TextColumn, Integers], Values], tick: Tick
) -> Scored:
    """Writes the scores of a part's pairs. Reports progress per pair."""
    learned = np.zeros(0, np.uint64) if task.learned is None else np.load(task.learned)
    scores: list[Values] = [np.zeros(0)]
    for batch in iter_pairs(task.part, columns=SIDES):
        source, target = (TextColumn.from_arrow(batch.column(side)) for side in SIDES)
        if task.learned is None and not any(map(len, scores)):
            check_known(model, task.part, source, target)
        # Leave-one-out: a pair that the model was learned from counts as evidence for itself, and would score high even
        # if it is wrong. `learned` is sorted, so a pair is in it if both searches differ; its counts are then excluded.
        keys = keys_of(batch, ["pair"], "normalized")["pair"][:, 0]
        copies = np.searchsorted(learned, keys, "right") > np.searchsorted(learned, keys)
        scores.append(score(source, target, copies.astype(np.int64)))
        tick(len(batch))
    values = np.concatenate(scores)
    save_array(task.output, values)
    return bins_of(values)


def save_array(path: Path, array: npt.NDArray[Any]) -> None:
    """Writes an array to a file."""
    with atomic_write(path) as beside, writing(path), beside.open("wb") as file:
        np.save(file, array)


@dataclass
class Text:
    """The corpora that share a model."""

    name: str  # its name, for names of tasks
    corpora: Sequence[CorpusWork]
    options: TranslationOptions  # the options of the rule, which are the same for all but the threshold
    task: LearnTask = field(init=False)
    result: LearnedText = field(init=False)

    @property
    def model(self) -> Path | None:
        """The model to score with; None if there is none."""
        if self.result.left_out:
            return None
        return self.task.output if self.result.pairs else self.task.given

    def facts(
        self,
        real: Sequence[Scored],
        bad: tuple[str, Bins],
        lowest: float | None,
        estimate: Callable[[Bins], AutoThreshold],
        without: str,
    ) -> LearnedFacts:
        """Returns the facts about a corpus with a model; ``lowest`` is the threshold in the config, None to find it."""
        kind, made = bad
        pairs = total_bins(real)
        compared = Compared(SCORE_EDGES, {"real": coarse(pairs), kind: coarse(made)})
        if not made.sum():
            left_out = f"{without}, so min: auto finds no threshold" if lowest is None else ""
            return LearnedFacts(self.result.pairs, lowest, compared=compared, left_out=left_out)
        found = estimate(pairs)
        return LearnedFacts(self.result.pairs, found.score, found.noise, found.found, found.lost, compared)


class LearnedRule(CorpusRule):
    """A rule with a word alignment model that is given, or learned from the corpora.

    Attributes:
        tells_unanswered: true if its scores come with the words that have no counterpart on the other side.
    """

    tells_unanswered = False
    options_type: type[TranslationOptions]
    sampling: Round[SelectTask, int]
    learning: Round[LearnTask, LearnedText]
    scoring: Round[ScoreTask, Scored]
    dropping: Round[Any, PartResult]

    @abstractmethod
    def facts_of(self, text: Text, number: int, lowest: float | None, real: Sequence[Scored]) -> LearnedFacts:
        """Returns the facts about the ``number``-th corpus of a text that has a model."""

    @abstractmethod
    def load(self, path: Path, *, learns: bool) -> object:
        """Reads a model that the config names; ``learns`` is true if learning starts from it.

        Raises:
            AlignmentModelError: the file cannot be used.
        """

    def options(self, corpus: CleanedCorpus) -> TranslationOptions:
        """Returns the options for a corpus."""
        return checked_options(self.name, self.options_type, corpus.cleaning.corpus_rules[self.name])

    def check(self, corpus: CleanedCorpus, config: Config) -> None:
        try:
            for path in self.files(corpus, config).values():
                self.load(path, learns=self.options(corpus).learns)
        except NmtPrepError as error:
            where = f"{corpus.cleaning.keys[self.name]}{self.name}.model, for the corpus {corpus.corpus.name}"
            raise CleaningError(f"{where}: {error}") from error

    def files(self, corpus: CleanedCorpus, config: Config) -> dict[str, Path]:
        options = self.options(corpus)
        path = options.model_file(config.base_dir)
        return {} if path is None else {str(options.model): path}

    def apply(self, job: Job, corpora: Sequence[CorpusWork]) -> Rounds[None]:
        texts = yield from learned_texts(job, self, corpora)
        real = yield from scored_parts(job, self, texts)
        facts = {
            work.name: LearnedFacts(left_out=text.result.left_out)
            if text.result.left_out
            else self.facts_of(text, number, self.options(work.corpus).lowest, real.get(work.name, []))
            for text in texts
            for number, work in enumerate(text.corpora)
        }
        corpora = [work for text in texts for work in text.corpora]
        tasks: dict[str, list[DropBelowTask]] = {work.name: [] for work in corpora}
        for work in corpora:
            of = facts[work.name]
            lowest = of.threshold if self.options(work.corpus).action == "drop" else None
            self._note(work, of, lowest)
            for task in work.tasks(job, self.this):
                scores = None if of.compared is None else scores_file(job, self.name, task)
                tasks[work.name].append(
                    DropBelowTask(
                        **vars(task),
                        rule=self.name,
                        score=self.name,
                        threshold=lowest,
                        column="pair",
                        edges=SCORE_EDGES,
                        unscored=True,
                        computed=scores,
                        unanswered=unanswered_file(scores) if scores is not None and self.tells_unanswered else None,
                    )
                )
        results = yield from self.dropping.run_groups(tasks, pairs_in(corpora))
        for work in corpora:
            parts = results[work.name]
            if self.name in work.unscored:  # the rule is left out, so it counts nothing
                parts = [replace(part, counts=CleanCounts()) for part in parts]
            work.passed(job, self.this, parts)

    def _note(self, work: CorpusWork, facts: LearnedFacts, lowest: float | None) -> None:
        work.facts[self.name] = facts
        work.bounds[self.name] = {"pair": RuleBounds(lowest)}
        if facts.compared is None:
            work.unscored.add(self.name)
        if facts.left_out:
            work.left_out[self.name] = facts.left_out


def learned_texts(job: Job, rule: LearnedRule, corpora: Sequence[CorpusWork]) -> Rounds[list[Text]]:
    """Yields the rounds that draw samples and learn from them; returns the texts."""
    # Corpora are learned from together if nothing that the model depends on differs. Thresholds may differ.
    groups: dict[tuple[object, ...], list[CorpusWork]] = {}
    for work in corpora:
        options = rule.options(work.corpus)
        groups.setdefault(
            (work.split, work.corpus.corpus.pair, options.model, options.learn, options.pairs), []
        ).append(work)
    texts, most = list[Text](), dict[str, int]()
    for number, works in enumerate(groups.values()):
        name, options = f"{works[0].split}-{number}", rule.options(works[0].corpus)
        texts.append(Text(name, works, options))
        # A given model needs pairs only to make bad ones from, which give the threshold.
        most[name] = options.pairs if options.learns else REPAIRED_PAIRS * len(works)
        if options.learns:
            check_memory(job, min(most[name], pairs_in(works)), f"clean.rules.{rule.name}", len(groups))
    parts = {text.name: [part for work in text.corpora for part, _ in work.parts] for text in texts}
    scratch, seed = job.scratch / rule.name, job.config.seed
    made = {work.of.corpus for work in corpora if work.corpus.corpus.translate is not None}
    samples = yield from draw_samples(rule.sampling, parts, most, seed, scratch, made)
    sizes = {name: sum(corpus.drawn for corpus in sample.values()) for name, sample in samples.items()}
    threads = threads_for(job, sizes)
    for text in texts:
        sample, name = samples[text.name], text.name
        drawn = tuple(sample.get(work.of.corpus, DrawnFiles((), 0, work.pairs, 0)) for work in text.corpora)
        given, output = text.options.model_file(job.config.base_dir), scratch / f"{name}.model"
        key = f"{rule.learning.name}-{name}"
        text.task = LearnTask(key, drawn, given, text.options.learns, seed, threads[name], output)
    total = sum(sizes.values()) * len(rounds(SCORE_SETTINGS))
    results = yield from rule.learning.run([text.task for text in texts], total)
    for text, result in zip(texts, results, strict=True):
        text.result = result
    return texts


def scored_parts(job: Job, rule: LearnedRule, texts: Sequence[Text]) -> Rounds[dict[str, list[Scored]]]:
    """Yields the round that scores pairs; returns the parts' fine histograms by corpus name."""
    scored = [(text, path) for text in texts if (path := text.model) is not None]
    tasks = {
        work.name: [
            ScoreTask(
                f"{rule.scoring.name}-{task.stem}",
                task.part.path,
                path,
                text.task.keys if text.result.pairs else None,
                scores_file(job, rule.name, task),
            )
            for task in work.tasks(job, rule.name)
        ]
        for text, path in scored
        for work in text.corpora
    }
    return (yield from rule.scoring.run_groups(tasks, sum(pairs_in(text.corpora) for text, _ in scored)))


def scores_file(job: Job, rule: str, task: PartTask) -> Path:
    """Returns the file for a part's scores."""
    return job.scratch / rule / f"scores-{task.stem}.npy"


def unanswered_file(scores: Path) -> Path:
    """Returns the file for the positions of words without counterpart, given the file for the scores."""
    return scores.with_suffix(".unanswered.npy")


def coarse(bins: Bins) -> tuple[int, ...]:
    """Returns a histogram with the bins that are reported."""
    return tuple(bins.reshape(-1, FINE).sum(axis=1).tolist())
