"""The corpora that the `clean` stage cleans, and the work on each corpus: its passes, files and results."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from nmt_prep.base.digests import seed_of
from nmt_prep.base.errors import OutputError
from nmt_prep.base.sides import Side
from nmt_prep.cleaning.computed_rules import ComputedUse, ShortFormOptions, divided, named_scores
from nmt_prep.cleaning.corpus_rules import COMPUTED_SCORES, CORPUS_RULES
from nmt_prep.cleaning.dedup.records import ALL, Comparison, Group
from nmt_prep.cleaning.dedup.spill import SpillFiles
from nmt_prep.cleaning.leaks import Leaks, total_leaks
from nmt_prep.cleaning.presets import Cleaning, cleaning_of, effective_dedup
from nmt_prep.cleaning.rejects import CleanCounts, RejectNotes, merged
from nmt_prep.cleaning.rule import Bounds, Context
from nmt_prep.config import CleanSettings, ComputedValue, Config, Corpus
from nmt_prep.config.limits import TOKENS
from nmt_prep.corpora.parts import PairFile
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.clean.parts import REJECTED, CorpusTask, PartResult, PartTask, T
from nmt_prep.text.computed import sides_of

FIRST_PAIRS = 1_000_000  # Number of pairs after which it is an error if all pairs of the corpus were dropped


def section_of(config: Config) -> CleanSettings:
    """Returns the ``clean`` section."""
    if config.clean is None:
        raise OutputError("the config has no section clean")
    return config.clean


@dataclass(frozen=True)
class CleanedCorpus:
    """A corpus to clean."""

    split: str
    index: int  # corpus index in its split
    corpus: Corpus
    cleaning: Cleaning
    computed: Mapping[str, ComputedUse] = field(default_factory=dict)  # the values that are computed for it, by name
    untranslated: bool = False  # true for a corpus before a program translates it

    @property
    def name(self) -> str:
        """Key of the corpus in the config, such as ``splits.train.news``."""
        return f"splits.{self.split}.{self.corpus.name}"

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides to clean."""
        return self.corpus.read_sides if self.untranslated else self.corpus.pair_sides

    def keeps_words(self, config: Config) -> bool:
        """Returns true if its parts keep the words that ``limits.tokens`` counts: an override may count others."""
        rules = section_of(config).rules if config.limits.tokens is not None and self.corpus.pair is None else {}
        return not self.untranslated and TOKENS in rules and self.cleaning.rules.get(TOKENS) == rules[TOKENS]

    def context(self, config: Config) -> Context:
        """Returns the context that rules are built for."""
        return Context(config.languages_of(self.corpus), self.sides, config.base_dir, config.computed)

    @property
    def first_rules(self) -> Cleaning:
        """The cleaning without the rules on computed values."""
        rules, _ = divided(self.cleaning.rules, [*self.computed])
        return replace(self.cleaning, rules=rules)

    def has_rule(self, name: str) -> bool:
        """Returns true if a rule that needs the whole corpus applies to the corpus."""
        has_pairs = self.corpus.role == "parallel"
        return name in self.cleaning.corpus_rules and (has_pairs or not CORPUS_RULES[name].compares)

    def has_computed(self, score: str) -> bool:
        """Returns true if a score is computed for the corpus's pairs."""
        return score in self.computed or (score in COMPUTED_SCORES and self.has_rule(score))

    def missing(self, score: str) -> str:
        """Returns a problem if the corpus comes without a score, or an empty text if it has the score."""
        if score in self.corpus.scores or score in self.computed:
            return ""
        known = ", ".join(sorted(self.corpus.scores)) or "none"
        return (
            f"the corpus {self.name} has no score {score!r} (its scores: {known}); name it below scores of the corpus"
        )


def cleaned_corpora(config: Config) -> Iterator[CleanedCorpus]:
    """Yields each corpus that is cleaned."""
    clean = section_of(config)
    for split in clean.splits:
        for index, corpus in enumerate(config.own_splits.get(split, ())):
            cleaning = cleaning_of(clean, config.languages_of(corpus), corpus.name)
            yield CleanedCorpus(split, index, corpus, cleaning, _computed(config, corpus, cleaning))


def named_in(config: Config, *, rules: bool = True) -> set[str]:
    """Returns the names of the scores that rank duplicates or weigh pairs, and by default those that rules use."""
    clean = section_of(config)
    named = {*clean.dedup.keep, *([] if config.weight is None else [config.weight.origin.removeprefix("score:")])}
    layers = (clean.rules, *(override.rules for override in clean.overrides.values())) if rules else ()
    return named.union(*map(named_scores, layers))


def _computed(config: Config, corpus: Corpus, cleaning: Cleaning) -> dict[str, ComputedUse]:
    """Returns the values that are computed for a corpus: all except those that only rules of other corpora use."""
    _, limited = divided(cleaning.rules, config.computed)
    own = {*limited, *named_scores(cleaning.corpus_rules), *named_in(config, rules=False)}
    ranking = {each.translate.best for _, each in config.corpora if each.translate is not None}
    elsewhere = (named_in(config) | ranking) - own
    used = {
        name: ComputedUse(value, limited.get(name, {}), f"computed.{name}", name)
        for name, value in config.computed.items()
        if value.output == "number" and name not in elsewhere
    }
    for name in (name for name in limited if name not in config.computed):
        from nmt_prep.cleaning.rules import rule_options  # noqa: PLC0415  (loads all rules)

        ((key, spec),) = limited[name].items()
        options = rule_options(key, spec)
        assert isinstance(options, ShortFormOptions)
        used[name] = ComputedUse(options.value, limited[name], f"{cleaning.keys[key]}{key}", key, short=True)
    return {name: use for name, use in used.items() if _applies(use.value, corpus.pair_sides, config.base_dir)}


def _applies(value: ComputedValue, sides: Sequence[Side], base_dir: Path) -> bool:
    try:
        return bool(sides_of(value, sides, base_dir))
    except ValueError:  # the check of the stage reports it
        return True


def differently_cleaned(config: Config) -> Iterator[CleanedCorpus]:
    """Yields one corpus for each distinct set of cleaning settings."""
    seen = set()
    for corpus in cleaned_corpora(config):
        cleaning = corpus.cleaning
        distinct = [
            cleaning.fix,
            cleaning.rules,
            cleaning.corpus_rules,
            corpus.sides,
            corpus.corpus.translate,
            sorted(corpus.corpus.scores),
            corpus.corpus.pair,
        ]
        if (text := json.dumps(distinct, default=str)) not in seen:
            seen.add(text)
            yield corpus


def group_of(config: Config, corpus: CleanedCorpus) -> Group:
    """Returns the group of pairs that a corpus is compared with: pairs in the same languages.

    Corpora used in one direction are compared with corpora used in both directions, whose pairs they never drop. If a
    split has corpora for each single direction, this holds for one of the two directions, which have no pairs in
    common.
    """
    pair = corpus.corpus.pair
    if pair is None:
        return ALL
    others = config.own_splits[corpus.split]
    both, single = ({each.pair for each in others if (each.reverse is None) is one_way} for one_way in (False, True))
    exchanged = pair.reverse in both and pair.reverse not in single
    stored = pair.reverse if exchanged else pair
    behind = corpus.corpus.reverse is None if stored in both and {stored, stored.reverse} & single else None
    salt = seed_of(str(stored))
    return Group(salt, exchanged, behind)


def is_deduplicated(config: Config, corpus: Corpus) -> bool:
    """Returns true if a corpus's pairs are compared with others. Corpora of role ``vocab`` are not."""
    return effective_dedup(section_of(config)).active and corpus.role != "vocab"


@dataclass(frozen=True)
class RuleBounds:
    """Limits for a rule's passing values in one column; None stands for no limit."""

    low: float | None
    high: float | None = None
    above: bool = False  # true if `low` itself does not pass
    below: bool = False  # true if `high` itself does not pass

    @classmethod
    def of(cls, bounds: Bounds) -> RuleBounds:
        """Returns bounds without infinite limits, which JSON does not have."""
        low, high = (limit if math.isfinite(limit) else None for limit in (bounds.low, bounds.high))
        return cls(low, high, bounds.above, bounds.below)


@dataclass(frozen=True)
class Compared:
    """Histograms with common edges, by the name of their values."""

    edges: tuple[float, ...]
    series: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class LearnedFacts:
    """Facts about a rule that learns from the corpora, ``translation`` or ``adequacy``, in one corpus."""

    learned_from: int = 0  # number of pairs that the model was learned from; 0 for a model that was given
    threshold: float | None = None  # the lowest score that passes; None if the rule was left out
    # estimated share of bad pairs in the corpus: misaligned pairs for `translation`, incomplete pairs for `adequacy`
    noise: float | None = None
    found: float | None = None  # estimated share of the bad pairs that the threshold finds
    lost: float | None = None  # estimated share of the other pairs that it drops
    # histograms of the scores of the pairs (`real`), and of artificial bad pairs: with exchanged targets (`re-paired`)
    # for `translation`, with other defects (`defective`) for `adequacy`
    compared: Compared | None = None
    left_out: str = ""  # why the rule was left out; empty if it was applied


@dataclass(frozen=True)
class MadeTexts:
    """Counts texts that a program made, in a corpus or in a part of it."""

    texts: int = 0
    empty: int = 0
    copies: int = 0  # texts that are equal to the line that they were made from
    miscounted: int = 0  # answers that have more or fewer candidates than promised

    def __add__(self, other: MadeTexts) -> MadeTexts:
        return MadeTexts(**merged(vars(self), vars(other)))


@dataclass
class CorpusWork:
    """The tasks of a corpus and their results."""

    corpus: CleanedCorpus
    of: CorpusTask  # the settings that all its tasks share
    passes: tuple[str, ...]  # the passes over its parts, in order. Each reads the output of the previous pass.
    comparisons: Mapping[str, tuple[Comparison, ...]]  # the comparisons with other pairs, by the pass that makes them
    compiled: list[PairFile]
    # the parts that still have pairs, with their spill files; None if pairs are not compared with others
    parts: list[tuple[PairFile, SpillFiles | None]]
    results: list[PartResult] = field(default_factory=list)  # the results of the last pass
    # the parts' files of rejected pairs, and in the end the file with their sample
    rejected: list[PairFile] = field(default_factory=list)
    counts: CleanCounts = field(default_factory=CleanCounts)  # sum of the counts so far
    lines: CleanCounts | None = None  # sum of the counts before a program translated it; None if none did
    texts: MadeTexts | None = None  # counts of the translations, likewise
    leaks: Leaks = field(default_factory=dict)
    notes: RejectNotes = field(default_factory=RejectNotes)
    # the bounds that rules for the whole corpus found, by rule and column
    bounds: dict[str, dict[str, RuleBounds]] = field(default_factory=dict)
    # other facts about rules that learn from the corpora, by rule
    facts: dict[str, LearnedFacts] = field(default_factory=dict)
    unscored: set[str] = field(default_factory=set)  # names of the scores that could not be computed for its pairs
    left_out: dict[str, str] = field(default_factory=dict)  # why rules for the whole corpus were left out, by rule

    @property
    def name(self) -> str:
        """Key of the corpus in the config."""
        return self.corpus.name

    @property
    def split(self) -> str:
        """The corpus's split."""
        return self.corpus.split

    @property
    def key(self) -> str:
        """Split and corpus index, for task names."""
        return f"{self.split}-{self.corpus.index:03d}"

    @property
    def first(self) -> int:
        """Number of the compiled parts with the first million pairs."""
        total = 0
        for number, part in enumerate(self.compiled, 1):
            total += part.pairs
            if total >= FIRST_PAIRS:
                return number
        return len(self.compiled)

    @property
    def early(self) -> int:
        """How many compiled parts the first round covers: all parts if the second round would be shorter."""
        return len(self.compiled) if len(self.compiled) <= 2 * self.first else self.first

    @property
    def pairs(self) -> int:
        """Number of pairs that are left."""
        return sum(part.pairs for part, _ in self.parts)

    def tasks(self, job: Job, this: str) -> list[PartTask]:
        """Returns a task of a pass for each part that still has pairs."""
        following = self.passes[self.passes.index(this) + 1 :][:1]
        compared = self.comparisons.get(following[0], ()) if following else ()
        directory = self._directory(job, this) / self.split
        rejected = job.beside(REJECTED) if self.of.rejects == "all" else job.scratch / REJECTED
        prefix = "" if this == "rules" else f"{this}-"
        return [
            PartTask(
                f"{prefix}{self.split}-{part.path.stem}",
                self.of,
                part,
                directory / part.path.with_suffix(".parquet").name,
                rejected / self.split / f"{part.path.stem}-{this}.parquet",
                not following,
                replace(spill, comparisons=compared) if spill is not None and compared else None,
            )
            for part, spill in self.parts
        ]

    def begin_pairs(self, config: Config) -> None:
        """Ends the work on lines, from which a program makes pairs."""
        self.corpus, self.lines, self.counts = replace(self.corpus, untranslated=False), self.counts, CleanCounts()
        self.of = replace(self.of, context=self.corpus.context(config), words=self.corpus.keeps_words(config))

    def add(self, results: Sequence[PartResult]) -> None:
        """Adds results of parts."""
        self.rejected.extend(result.rejected for result in results if result.rejected is not None)
        self.counts = reduce(add, (result.counts for result in results), self.counts)
        self.leaks = total_leaks([self.leaks, *(result.leaks for result in results)])
        self.notes = reduce(add, (result.notes for result in results), self.notes)
        self.results.extend(results)

    def passed(self, job: Job, this: str, results: Sequence[PartResult]) -> None:
        """Adds the results of a pass; the next one reads the pairs that it kept."""
        self.results.clear()
        self.add(results)
        self.end(job, this)

    def end(self, job: Job, this: str) -> None:
        """Ends a pass after all its results were added."""
        directory = self._directory(job, this)
        self.parts = [
            (result.kept.below(directory), spill)
            for (_, spill), result in zip(self.parts, self.results, strict=True)
            if result.kept is not None
        ]

    def _directory(self, job: Job, this: str) -> Path:
        """Returns the directory for the pairs that a pass keeps: the scratch directory unless it is the last pass."""
        return job.directory if this == self.passes[-1] else job.scratch / this


def pairs_in(corpora: Sequence[CorpusWork]) -> int:
    """Returns the number of pairs that are left in corpora."""
    return sum(work.pairs for work in corpora)


def rewrite_parts(
    job: Job,
    this: str,
    which: Round[T, PartResult],
    corpora: Sequence[CorpusWork],
    task_of: Callable[[CorpusWork, PartTask], T],
) -> Rounds[None]:
    """Yields the round that writes the parts of a pass, and adds its results to the corpora."""
    tasks = {work.name: [task_of(work, task) for task in work.tasks(job, this)] for work in corpora}
    results = yield from which.run_groups(tasks, pairs_in(corpora))
    for work in corpora:
        work.passed(job, this, results[work.name])


def spill_directory(job: Job, split: str) -> Path:
    """Returns the directory for a split's spill files, and for the pairs that deduplication drops."""
    return job.scratch / "dedup" / split


class CorpusRule(ABC):
    """A rule that needs the whole corpus."""

    name: str
    this: str  # name of its pass, in the names of tasks and files
    rounds: tuple[Round[Any, Any], ...]  # the rounds that apply it, in order. Their names are unique within the stage.

    def applies(self, corpus: CleanedCorpus) -> bool:
        """Returns true if the pass applies to a corpus."""
        return corpus.has_rule(self.name)

    def scores(self, corpus: CleanedCorpus) -> tuple[str, ...]:
        """Returns the names of the scores that a corpus must come with."""
        return ()

    def settings(self, config: Config) -> dict[str, object]:
        """Returns the settings that the result depends on, besides the rule's options."""
        return {}

    def check(self, corpus: CleanedCorpus, config: Config) -> None:  # noqa: B027  (most rules read no files)
        """Checks the local files that the rule reads for a corpus."""

    def files(self, corpus: CleanedCorpus, config: Config) -> dict[str, Path]:
        """Returns the local files that the rule reads for a corpus, by their names in the config."""
        return {}

    @abstractmethod
    def apply(self, job: Job, corpora: Sequence[CorpusWork]) -> Rounds[None]:
        """Yields the rounds, and adds the results to the corpora.

        Args:
            job: the job.
            corpora: the corpora that the pass applies to.
        """
