"""The rule ``top`` in the stage clean: a round finds the threshold of each corpus, another applies it to the parts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nmt_prep.cleaning.corpus_rules.top import EDGES, TOP, TopOptions, top_threshold
from nmt_prep.cleaning.rule import Values, checked_options
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.parts import score_column, scores_of
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.clean.cleaned_corpora import CleanedCorpus, CorpusRule, CorpusWork, RuleBounds
from nmt_prep.stages.clean.parts import DropBelowTask, drop_below, part_round


@dataclass(frozen=True)
class ThresholdTask:
    """A corpus, and the files of its pairs that pass all other rules."""

    key: str
    options: TopOptions
    parts: tuple[Path, ...]


@dataclass(frozen=True)
class Threshold:
    """The lowest score that passes; None for a corpus in which no pair passes the other rules."""

    score: float | None


def find_threshold(task: ThresholdTask, tick: Tick) -> Threshold:
    """Finds the threshold of one corpus. It reads every part four times, and ticks once per part and reading.

    A pair without score counts as worse than all others.
    """

    def scores() -> Iterator[Values]:
        for part in task.parts:
            for batch in iter_pairs(part, columns=[score_column(task.options.score)]):
                values = scores_of(batch)[task.options.score]
                yield np.where(np.isnan(values), -np.inf, values)
            tick(1)

    score = top_threshold(scores, task.options.keep)
    return Threshold(None if np.isnan(score) else score)


class Top(CorpusRule):
    """The rule, by scores that come with the corpus or by scores that another rule computes."""

    name = TOP

    def __init__(self, this: str, rounds: str, *, computed: bool) -> None:
        """Makes a pass; ``rounds`` is the start of the names of its rounds."""
        self.this, self._computed = this, computed
        self._find = Round(
            f"{rounds}-threshold", find_threshold, Threshold, unit="parts", words="finding the best pairs"
        )
        self._keep = part_round(f"{rounds}-top", drop_below, "keeping the best pairs")
        self.rounds = (self._find, self._keep)

    def applies(self, corpus: CleanedCorpus) -> bool:
        return corpus.has_rule(TOP) and corpus.has_computed(_options(corpus).score) == self._computed

    def scores(self, corpus: CleanedCorpus) -> tuple[str, ...]:
        return () if self._computed else (_options(corpus).score,)

    def apply(self, job: Job, corpora: Sequence[CorpusWork]) -> Rounds[None]:
        options = {work.name: _options(work.corpus) for work in corpora}
        thresholds = yield from self._find.run(
            ThresholdTask(
                f"{self._find.name}-{work.key}", options[work.name], tuple(part.path for part, _ in work.parts)
            )
            for work in corpora
        )
        tasks: dict[str, list[DropBelowTask]] = {}
        for work, threshold in zip(corpora, thresholds, strict=True):
            score = options[work.name].score
            lowest = None if score in work.unscored else threshold.score
            low = None if lowest is None or math.isinf(lowest) else lowest
            work.bounds[TOP] = {score: RuleBounds(low)}
            tasks[work.name] = [
                DropBelowTask(
                    **vars(task), rule=TOP, score=score, threshold=lowest, column=score, edges=EDGES, unscored=False
                )
                for task in work.tasks(job, self.this)
            ]
        results = yield from self._keep.run_groups(tasks, sum(work.pairs for work in corpora))
        for work in corpora:
            work.passed(job, self.this, results[work.name])


def _options(corpus: CleanedCorpus) -> TopOptions:
    return checked_options(TOP, TopOptions, corpus.cleaning.corpus_rules[TOP])
