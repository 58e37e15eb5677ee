"""The passes of the `clean` stage over a corpus's parts, with the settings that they need.

After the pass of the rules comes ``top``. If a program translates a corpus, values of its lines, ``lines``, ``drawn``
and ``made`` follow.
Then come other rules that need the whole corpus, comparisons of pairs, and computed values: values that rank
duplicates, ``dedup``, ``translation``, ``adequacy``, other values, ``best`` (the ``top`` rule by a score that is
computed here) and ``limits``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nmt_prep.base.errors import CleaningError
from nmt_prep.cleaning.corpus_rules.top import EDGES, TOP, TopOptions, top_threshold
from nmt_prep.cleaning.dedup.records import Comparison
from nmt_prep.cleaning.dedup.spill import SpillFiles
from nmt_prep.cleaning.evaluation_segments import is_decontaminated
from nmt_prep.cleaning.leaks import Against
from nmt_prep.cleaning.presets import effective_dedup
from nmt_prep.cleaning.rule import Values
from nmt_prep.config import Config
from nmt_prep.config.problems import checked_options
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.parts import score_column, scores_of
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import HealthWarning, Job
from nmt_prep.stages.clean.adequacy import Adequacy
from nmt_prep.stages.clean.cleaned_corpora import (
    CleanedCorpus,
    CorpusRule,
    CorpusWork,
    RuleBounds,
    cleaned_corpora,
    group_of,
    is_deduplicated,
    rewrite_parts,
    section_of,
    spill_directory,
)
from nmt_prep.stages.clean.comparing import Ranges
from nmt_prep.stages.clean.computed import computed_passes
from nmt_prep.stages.clean.duplicates import PASSES, comparisons_in
from nmt_prep.stages.clean.parts import CorpusTask, DropBelowTask, PartTask, drop_below, part_round
from nmt_prep.stages.clean.translate import MadePairs
from nmt_prep.stages.clean.translation import Translation
from nmt_prep.stages.clean.untranslated import line_passes
from nmt_prep.stages.compile import Compile

# The `top` rule in the stage clean: a round finds the threshold of each corpus, another applies it to the parts.


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
    """Finds the threshold of one corpus. It reads every part four times, and reports progress per part and reading.

    A pair without score counts as worse than all others.
    """

    def scores() -> Iterator[Values]:
        for part in task.parts:
            for batch in iter_pairs(part, columns=[score_column(task.options.score)]):
                values = scores_of(batch)[task.options.score]
                yield np.where(np.isnan(values), -np.inf, values)
            tick(1)

    # NaN means that there are no pairs; minus infinity, that even pairs without score are among the best.
    score = top_threshold(scores, task.options.keep)
    return Threshold(None if np.isnan(score) else score)


class Top(CorpusRule):
    """The rule, by scores that come with the corpus or by scores that another rule computes."""

    name = TOP

    def __init__(self, this: str, rounds: str, *, computed: bool) -> None:
        """Makes a pass; ``rounds`` is the prefix of its round names."""
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
        lowest: dict[str, float | None] = {}
        for work, threshold in zip(corpora, thresholds, strict=True):
            score = options[work.name].score
            lowest[work.name] = low = None if score in work.unscored else threshold.score
            # The report shows a threshold only if it drops pairs, and JSON has no infinity.
            work.bounds[TOP] = {score: RuleBounds(None if low is None or math.isinf(low) else low)}

        def task_of(work: CorpusWork, task: PartTask) -> DropBelowTask:
            score, low = options[work.name].score, lowest[work.name]
            return DropBelowTask(
                **vars(task), rule=TOP, score=score, threshold=low, column=score, edges=EDGES, unscored=False
            )

        yield from rewrite_parts(job, self.this, self._keep, corpora, task_of)


def _options(corpus: CleanedCorpus) -> TopOptions:
    return checked_options(TOP, TopOptions, corpus.cleaning.corpus_rules[TOP])


if TYPE_CHECKING:
    from nmt_prep.cleaning.cleaner import Cleaner

_MADE, _TOP, _TRANSLATION, _ADEQUACY = MadePairs(), Top("top", "clean", computed=False), Translation(), Adequacy()
_BEST = Top("best", "translation", computed=True)


WITHOUT_COMPUTED = (_MADE, _TOP, _TRANSLATION, _ADEQUACY, _BEST)  # The passes whose rounds do not depend on the config


class CorpusRules(NamedTuple):
    """The passes besides the first one and the comparisons, in order. A rule follows the rule whose score it uses."""

    first: tuple[CorpusRule, ...]  # before programs translate
    early: tuple[CorpusRule, ...]  # before duplicates are dropped
    late: tuple[CorpusRule, ...]

    @classmethod
    def of(cls, config: Config, corpora: Sequence[CleanedCorpus]) -> CorpusRules:
        """Returns the passes that the corpora of a config take."""
        values = computed_passes(config, corpora)
        rules = cls((_TOP, *values.lines), (_MADE, *values.ranking), (_TRANSLATION, _ADEQUACY, *values.others, _BEST))
        return cls(*(tuple(rule for rule in each if any(map(rule.applies, corpora))) for each in rules))


def apply_corpus_rules(job: Job, rules: Sequence[CorpusRule], corpora: Sequence[CorpusWork]) -> Rounds[None]:
    """Yields the rounds of some rules, and adds the results to the corpora that take their passes."""
    for rule in rules:
        taking = [work for work in corpora if rule.this in work.passes]
        if taking:
            yield from rule.apply(job, taking)


def work_on_corpora(job: Job, keys: Mapping[str, Ranges], against: Against | None) -> Iterator[CorpusWork]:
    """Yields the work on each corpus, without results; ``against`` is None if there are no evaluation sets."""
    config, clean = job.config, section_of(job.config)
    compiled, directory = job.read(Compile).parts, job.directory_of(Compile)
    numbers = {split: count() for split in keys}
    corpora = [replace(each, untranslated=each.corpus.translate is not None) for each in cleaned_corpora(config)]
    rules = CorpusRules.of(config, corpora)
    for corpus in corpora:
        split, name = corpus.split, corpus.corpus.name
        parts = [part.below(directory) for part in compiled[split] if part.corpus == name]
        of = CorpusTask(
            name=corpus.name,
            corpus=name,
            cleaning=corpus.first_rules,
            context=corpus.context(config),
            rejects=clean.rejects,
            seed=config.seed,
            group=group_of(config, corpus),
            against=against if is_decontaminated(config, split, corpus.corpus) else None,
            computed=corpus.computed,
            words=corpus.keeps_words(config),
        )
        comparisons = _comparisons(config, corpus)
        spills: list[SpillFiles | None] = [None] * len(parts)
        if comparisons:
            place = spill_directory(job, split)
            spills = [SpillFiles(place, next(numbers[split]), (), keys[split].bits, of.group) for _ in parts]
        first, early, late = ([rule.this for rule in each if rule.applies(corpus)] for each in rules)
        dedup, limits = ([this] if this in comparisons else [] for this in PASSES)
        passes = ("rules", *first, *line_passes(config, corpus.corpus), *early, *dedup, *late, *limits)
        yield CorpusWork(corpus, of, passes, comparisons, parts, list(zip(parts, spills, strict=True)))


def _comparisons(config: Config, corpus: CleanedCorpus) -> Mapping[str, tuple[Comparison, ...]]:
    """Returns a corpus's comparisons with others, by pass."""
    settings = effective_dedup(section_of(config))
    if not is_deduplicated(config, corpus.corpus):
        return {}
    comparisons: dict[str, tuple[Comparison, ...]] = {this: comparisons_in(settings, this) for this in PASSES}
    return {this: chosen for this, chosen in comparisons.items() if chosen}


def build_cleaner(config: Config, corpus: CleanedCorpus) -> Cleaner:
    """Returns a corpus's cleaner."""
    from nmt_prep.cleaning.cleaner import Cleaner  # noqa: PLC0415  (loads all rules)

    cleaner = Cleaner(corpus.cleaning, corpus.context(config), corpus.name)
    needed = {rule.key: rule.scores for rule in cleaner.rules}
    for rule in corpus_rules_of(config, corpus):
        needed[rule.name] = rule.scores(corpus)
        if corpus.has_computed(rule.name) and rule.name in corpus.corpus.scores:
            key = corpus.computed[rule.name].key if rule.name in corpus.computed else ""
            raise CleaningError(
                f"{key or f'{corpus.cleaning.keys[rule.name]}{rule.name}'}: the corpus {corpus.name} already has a "
                f"score of that name; rename it below scores of the corpus{f', or set {rule.name}: off' * (not key)}"
            )
        rule.check(corpus, config)
    for name, scores in needed.items():
        for problem in filter(None, map(corpus.missing, scores)):
            overrides = f"clean.overrides.{corpus.corpus.name}.rules"
            raise CleaningError(f"{corpus.cleaning.keys[name]}{name}: {problem}, or set {name}: off below {overrides}")
    return cleaner


def corpus_rules_of(config: Config, corpus: CleanedCorpus) -> list[CorpusRule]:
    """Returns the passes of a corpus besides the first one and the comparisons, in order."""
    return [rule for rules in CorpusRules.of(config, [corpus]) for rule in rules]


def unknown_scores(config: Config, corpus: CleanedCorpus) -> Iterator[str]:
    """Yields a problem for each score that ranks the pairs of a corpus and that the corpus does not have."""
    settings = effective_dedup(section_of(config))
    for name in settings.keep[:-1] if is_deduplicated(config, corpus.corpus) else ():
        problem = corpus.missing(name)
        if problem and not corpus.has_computed(name):
            yield f"clean.dedup.keep: {problem}, or remove it here"


def left_out(job: Job, corpora: Sequence[CorpusWork]) -> Iterator[HealthWarning]:
    """Reports the corpora for which a rule was left out; yields a warning if the config names the rule."""
    for work in corpora:
        for rule, reason in work.left_out.items():
            key = work.of.cleaning.keys[rule]
            text = f"{key}{rule} is skipped: {reason}"
            if key.startswith("clean.preset"):
                job.progress.event("rule_left_out", corpus=work.name, message=text)
            else:
                yield HealthWarning("rule_left_out", text, work.of.corpus, work.split)
