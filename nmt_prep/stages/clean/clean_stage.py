"""clean: repairs the text of pairs, and drops pairs by rules. It runs if the config has a section ``clean``.

The compiled parts of a split are cleaned one by one, in passes (:mod:`~nmt_prep.stages.clean.passes`). The first pass's
tasks also drop pairs that contain evaluation-set segments (`clean_leaks`). The last rounds sample the rejected pairs,
and look at the remaining ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from _nmt_prep_core import KEYS_UNICODE_VERSION

from nmt_prep.base.errors import CleaningError
from nmt_prep.cleaning.presets import effective_dedup, plain_fixes
from nmt_prep.cleaning.rejects import CleanCounts, RejectNotes
from nmt_prep.config import Config
from nmt_prep.corpora.parts import PairFile
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, HealthWarning, Job, Result, Stage
from nmt_prep.stages.clean.clean_health import HEALTH_ROUNDS, look_again, mended
from nmt_prep.stages.clean.clean_leaks import (
    SEGMENTS,
    Leak,
    decontamination_settings,
    evaluation_files,
    evaluation_problems,
    gather,
    is_active,
    leak_warnings,
    leaks_of,
    preset_left_out,
)
from nmt_prep.stages.clean.cleaned_corpora import (
    CorpusWork,
    LearnedFacts,
    MadeTexts,
    RuleBounds,
    cleaned_corpora,
    differently_cleaned,
    section_of,
)
from nmt_prep.stages.clean.comparing import PLAN, ComparedSplit, Duplicates, Overlap
from nmt_prep.stages.clean.computed import VERSION
from nmt_prep.stages.clean.duplicates import DEDUP_ROUNDS, DROP, dedup_rounds, deduplicate, plan_splits
from nmt_prep.stages.clean.first_rules import CHECK, CLEAN, FIRST, apply_rules, loss_warnings
from nmt_prep.stages.clean.parts import REJECTED, REJECTS, RejectsTask
from nmt_prep.stages.clean.passes import (
    WITHOUT_COMPUTED,
    CorpusRules,
    apply_corpus_rules,
    build_cleaner,
    corpus_rules_of,
    left_out,
    unknown_scores,
    work_on_corpora,
)
from nmt_prep.stages.clean.translate import copy_warnings, translate_settings
from nmt_prep.stages.clean.untranslated import drop_lines
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.extract import Extract

if TYPE_CHECKING:
    from nmt_prep.cleaning.cleaner import Cleaner


@dataclass(frozen=True)
class CleanOutput:
    """The cleaned pairs."""

    parts: dict[str, tuple[PairFile, ...]]  # Parquet files of each split that is cleaned, in order
    corpora: dict[str, dict[str, CleanCounts]]  # counts by split and corpus name
    # counts of lines in corpora that a program translates, before it does, by split and corpus name
    untranslated: dict[str, dict[str, CleanCounts]] = field(default_factory=dict)
    translations: dict[str, dict[str, MadeTexts]] = field(default_factory=dict)  # counts of the translations, likewise
    # by split, the pair count of one corpus in another, before duplicates are dropped; empty where pairs are not
    # compared
    overlap: dict[str, Overlap] = field(default_factory=dict)


@dataclass(frozen=True)
class RuleFacts:
    """A rule as it was applied to a corpus."""

    columns: dict[str, RuleBounds]  # the values that pass, by column
    options: dict[str, Any]


@dataclass(frozen=True)
class CleanObserved:
    """Facts that the report shows besides the counts; all but the warnings by split and corpus name."""

    # rules that the config names and that were left out, corpora that lose most of their pairs or contain much of a
    # test set, and warnings of compile that still hold
    warnings: tuple[HealthWarning, ...] = ()
    translation: dict[str, dict[str, LearnedFacts]] = field(default_factory=dict)
    adequacy: dict[str, dict[str, LearnedFacts]] = field(default_factory=dict)
    # the segments of evaluation sets in the corpora, by split
    leaks: dict[str, tuple[Leak, ...]] = field(default_factory=dict)
    rejected: dict[str, dict[str, RejectNotes]] = field(default_factory=dict)  # notes about the rejected pairs
    rules: dict[str, dict[str, dict[str, RuleFacts]]] = field(default_factory=dict)  # the rules by their keys
    duplicates: dict[str, Duplicates] = field(default_factory=dict)  # the duplicates by split, where pairs are compared
    mended: tuple[HealthWarning, ...] = ()  # warnings of compile that no longer hold


@dataclass(frozen=True)
class Cleaned:
    """The results of the rounds."""

    corpora: list[CorpusWork]
    deduplicated: list[ComparedSplit]  # the splits in which duplicates were dropped
    remaining: tuple[HealthWarning, ...]  # warnings about the remaining pairs
    explained: dict[str, str]  # explanations why most pairs were lost, by corpus name


class Clean(Stage[CleanOutput, Cleaned]):
    """Writes ``cleaned/<split>/part-*.parquet``, each named after the compiled part that it comes from.

    Rejected pairs are in ``rejected/<split>/part-*.parquet``: all of them in a file per part and round, or a sample in
    a file per corpus.
    """

    name = "clean"
    version = 9
    directory = "cleaned"
    beside = (REJECTED,)
    reads = (Compile,)
    output = CleanOutput
    observed = CleanObserved
    rounds: ClassVar[tuple[Round[Any, Any], ...]] = (
        *(PLAN, SEGMENTS, FIRST, CHECK, CLEAN),
        *(round_ for rule in WITHOUT_COMPUTED for round_ in rule.rounds),
        *DEDUP_ROUNDS,
        *(DROP["limits"], REJECTS, *HEALTH_ROUNDS),
    )

    def applies(self, config: Config) -> bool:
        return config.clean is not None

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        return (*self.reads, Extract) if is_active(config) else self.reads

    def rounds_for(self, config: Config) -> tuple[Round[Any, Any], ...]:
        clean, rules = section_of(config), CorpusRules.of(config, [*cleaned_corpora(config)])
        first, early, late = ([round_ for rule in each for round_ in rule.rounds] for each in rules)
        segments = (SEGMENTS,) if is_active(config) else ()
        sample = (REJECTS,) if clean.rejects == "sample" else ()
        return (
            *(PLAN, *segments, FIRST, CHECK, CLEAN),
            *(*first, *early, *dedup_rounds(config, "dedup")),
            *(*late, *dedup_rounds(config, "limits"), *sample, *HEALTH_ROUNDS),
        )

    def settings(self, config: Config) -> dict[str, object]:
        clean = section_of(config)
        settings: dict[str, object] = {
            "clean.splits": [*clean.splits],
            "clean.rejects": clean.rejects,
            "languages.source": config.languages.source,
            "languages.target": config.languages.target,
        }
        if clean.rejects == "sample":
            settings["seed"] = config.seed
        dedup = effective_dedup(clean)
        if dedup.active:
            settings |= {f"clean.dedup.{key}": value for key, value in dedup.in_full().items()}
            settings["clean.dedup.unicode"] = KEYS_UNICODE_VERSION
            settings |= {} if config.documents is None else {"documents": True}
        settings |= decontamination_settings(config)
        for corpus in cleaned_corpora(config):
            cleaning, key = corpus.cleaning, corpus.name
            if corpus.corpus.pair is not None:
                settings[f"{key}.languages"] = [*corpus.corpus.pair]
            settings[f"{key}.sides"] = [*corpus.sides]
            settings[f"{key}.fix"] = plain_fixes(cleaning.fix)
            settings[f"{key}.rules"] = [*cleaning.rules]
            settings |= {f"{key}.rules.{rule}": spec for rule, spec in cleaning.rules.items()}
            for rule in corpus_rules_of(config, corpus):
                if rule.name in cleaning.corpus_rules:
                    settings[f"{key}.rules.{rule.name}"] = cleaning.corpus_rules[rule.name]
                settings |= rule.settings(config)
            settings |= {
                f"{key}.computed.{name}": [VERSION, use.value.definition] for name, use in corpus.computed.items()
            }
            settings |= translate_settings(config, corpus)
        return settings

    def check(self, config: Config) -> None:
        problems: list[str] = []
        for corpus in differently_cleaned(config):
            try:
                build_cleaner(config, corpus)
            except CleaningError as error:
                problems.extend(str(error).splitlines())
        for corpus in cleaned_corpora(config):
            problems.extend(unknown_scores(config, corpus))
        problems.extend(evaluation_problems(config))
        if problems:
            raise CleaningError("\n".join(problems))

    def local_files(self, config: Config) -> dict[str, Path]:
        files = evaluation_files(config)
        for corpus in differently_cleaned(config):
            files |= build_cleaner(config, corpus).files
            for corpus_rule in corpus_rules_of(config, corpus):
                files |= corpus_rule.files(corpus, config)
        return files

    def work(self, job: Job) -> Rounds[Cleaned]:
        plan = yield from plan_splits(job)
        against = yield from gather(job)
        corpora = list(work_on_corpora(job, plan.keys, against))
        rules = CorpusRules.of(job.config, [work.corpus for work in corpora])
        explained = yield from apply_rules(job, corpora)
        yield from apply_corpus_rules(job, rules.first, corpora)
        yield from drop_lines(job, corpora, plan.keys)
        yield from apply_corpus_rules(job, rules.early, corpora)
        deduplicated = yield from deduplicate(job, corpora, plan, "dedup")
        yield from apply_corpus_rules(job, rules.late, corpora)
        yield from deduplicate(job, corpora, plan, "limits")
        yield from _sample_rejects(job, corpora)
        remaining = yield from look_again(job, corpora)
        return Cleaned(corpora, deduplicated, remaining, explained)

    def finish(self, job: Job, made: Cleaned) -> Result[CleanOutput]:
        parts: dict[str, tuple[PairFile, ...]] = dict.fromkeys(section_of(job.config).splits, ())
        corpora: dict[str, dict[str, CleanCounts]] = {split: {} for split in parts}
        digests: dict[str, str | None] = {}
        for work in made.corpora:
            kept = [result.kept for result in work.results if result.kept is not None]
            parts[work.split] += tuple(replace(file, sha256=None) for file in kept)
            corpora[work.split][work.of.corpus] = work.counts
            digests |= {file.file: file.sha256 for file in kept}
            digests |= {f"../{REJECTED}/{file.file}": file.sha256 for file in work.rejected}
        lines = [work.lines for work in made.corpora if work.lines is not None]
        total = reduce(add, [*lines, *(work.counts for work in made.corpora)], CleanCounts())
        again = sum(counts.pairs_out for counts in lines)
        total = replace(total, pairs_in=total.pairs_in - again, pairs_out=total.pairs_out - again)
        counts = Counts(
            total.pairs_in, total.pairs_out, total.dropped, {f"{fix}_fixed": n for fix, n in total.altered.items() if n}
        )
        overlap = {split.name: split.overlap for split in made.deduplicated if split.overlap is not None}
        if remark := preset_left_out(job.config):
            job.progress.event("preset_left_out", message=remark)
        observed = _observed(job, made)
        for warning in observed.mended:
            job.progress.event("mended", message=str(warning))
        known = {name: digest for name, digest in digests.items() if digest is not None}
        untranslated = _by_split(made.corpora, lambda work: work.lines)
        output = CleanOutput(parts, corpora, untranslated, _by_split(made.corpora, lambda work: work.texts), overlap)
        return Result(output, counts, sorted(digests), known, observed)


def _sample_rejects(job: Job, corpora: list[CorpusWork]) -> Rounds[None]:
    chosen = [work for work in corpora if work.of.rejects == "sample" and work.rejected]
    tasks = [
        RejectsTask(
            f"rejects-{work.key}",
            work.of,
            tuple(job.scratch / REJECTED / file.file for file in work.rejected),
            job.beside(REJECTED) / work.split / f"part-{work.corpus.index:03d}.parquet",
        )
        for work in chosen
    ]
    sampled = yield from REJECTS.run(tasks, sum(file.pairs for work in chosen for file in work.rejected))
    for work, result in zip(chosen, sampled, strict=True):
        work.rejected = [result]


def _observed(job: Job, made: Cleaned) -> CleanObserved:
    leaks = leaks_of(made.corpora)
    losses, bad = loss_warnings(made.corpora, made.explained), copy_warnings(made.corpora)
    warnings = (*left_out(job, made.corpora), *losses, *bad, *leak_warnings(leaks), *made.remaining)
    keys = effective_dedup(section_of(job.config)).keys
    return CleanObserved(
        warnings,
        _by_split(made.corpora, lambda work: work.facts.get("translation")),
        _by_split(made.corpora, lambda work: work.facts.get("adequacy")),
        leaks,
        _by_split(made.corpora, lambda work: work.notes),
        _by_split(made.corpora, lambda work: _rule_facts(build_cleaner(job.config, work.corpus), work)),
        {split.name: split.duplicates(keys) for split in made.deduplicated if split.overlap is not None},
        mended(job, made.remaining),
    )


def _by_split(corpora: list[CorpusWork], facts_of: Callable[[CorpusWork], Any]) -> dict[str, dict[str, Any]]:
    """Returns facts about the corpora by split and name, without corpora that have none."""
    facts: dict[str, dict[str, Any]] = {}
    for work in corpora:
        if (found := facts_of(work)) is not None:
            facts.setdefault(work.split, {})[work.of.corpus] = found
    return facts


def _rule_facts(cleaner: Cleaner, work: CorpusWork) -> dict[str, RuleFacts]:
    from nmt_prep.cleaning.rules import rule_options  # noqa: PLC0415  (loads all rules)

    bounds: Mapping[str, dict[str, RuleBounds]] = {
        rule.key: {column: RuleBounds.of(bounds) for column, bounds in zip(rule.columns, rule.bounds, strict=True)}
        for rule in cleaner.rules
    }
    specs = work.corpus.cleaning.rules | work.corpus.cleaning.corpus_rules
    facts = {}
    for key, columns in {**bounds, **work.bounds}.items():
        options = rule_options(key, specs[key])
        facts[key] = RuleFacts(columns, {} if options is None else options.model_dump(mode="json"))
    return facts
