"""clean: repairs the text of pairs, and drops pairs by rules. It runs if the config has a section ``clean``.

The compiled parts of a split are cleaned one by one. The parts with the first million pairs of each corpus come in a
separate round, so that an error in the config that drops all pairs is reported early. The tasks of these rounds also
drop pairs that contain segments of evaluation sets; :mod:`~nmt_prep.stages.clean_leaks` gathers the segments first. The
rule ``top``, which needs the whole corpus, takes two more rounds. The rounds of :mod:`~nmt_prep.stages.clean_dedup`
drop duplicates, and those of :mod:`~nmt_prep.stages.clean_translation` pairs whose sides do not translate each other.
The last round samples the rejected pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, ClassVar

from _nmt_prep_core import KEYS_UNICODE_VERSION

from nmt_prep.cleaning.cleaning import cleaning_of
from nmt_prep.cleaning.counts import CleanCounts
from nmt_prep.cleaning.nearest import RejectNotes
from nmt_prep.cleaning.presets import effective_dedup
from nmt_prep.cleaning.top import TOP
from nmt_prep.cleaning.translation import TRANSLATION
from nmt_prep.cleaning.translation.threshold import THRESHOLD_VERSION
from nmt_prep.config import Config
from nmt_prep.errors import CleaningError
from nmt_prep.health.warning import HealthWarning
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, Job, Result, Stage
from nmt_prep.stages.alignment import LEARNING_VERSION
from nmt_prep.stages.clean_check import CHECK, check_first_pairs, loss_warnings
from nmt_prep.stages.clean_corpora import (
    build_cleaner,
    cleaned_corpora,
    differently_cleaned,
    model_files,
    scores_translation,
    section_of,
    sides_of,
    tops_translation,
    unknown_scores,
)
from nmt_prep.stages.clean_dedup import (
    DEDUP_ROUNDS,
    LIMIT,
    PLAN,
    DedupSplit,
    Overlap,
    dedup_rounds,
    deduplicate,
    plan_splits,
)
from nmt_prep.stages.clean_duplicates import observed_duplicates
from nmt_prep.stages.clean_health import HEALTH_ROUNDS, look_again, mended
from nmt_prep.stages.clean_leaks import (
    SEGMENTS,
    decontamination_settings,
    evaluation_files,
    evaluation_problems,
    gather,
    is_active,
    leak_warnings,
    leaks_of,
    preset_left_out,
)
from nmt_prep.stages.clean_near import NEAR_PLAN
from nmt_prep.stages.clean_observed import CleanObserved, RuleFacts, rule_facts
from nmt_prep.stages.clean_passes import drop_misaligned, keep_top, left_out, sample_rejects, share_out
from nmt_prep.stages.clean_tasks import BEST_ROUNDS, CLEAN, FIRST, REJECTS, TOP_ROUNDS
from nmt_prep.stages.clean_translation import TRANSLATION_ROUNDS, TranslationFacts
from nmt_prep.stages.clean_work import REJECTED, CorpusWork, work_on_corpora
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.extract import Extract


@dataclass(frozen=True)
class CleanedPart:
    """A Parquet file of cleaned pairs.

    Attributes:
        file: path of the file, relative to the stage's directory.
        pairs: number of pairs in the file.
        source_bytes: UTF-8 bytes of the source lines, with one byte for the end of each line.
        target_bytes: UTF-8 bytes of the target lines, with one byte for the end of each line.
        corpus: name of the corpus.
    """

    file: str
    pairs: int
    source_bytes: int
    target_bytes: int
    corpus: str

    @property
    def text_bytes(self) -> int:
        """UTF-8 bytes of both sides, without line ends."""
        return self.source_bytes + self.target_bytes - 2 * self.pairs


@dataclass(frozen=True)
class CleanOutput:
    """The cleaned pairs.

    Attributes:
        parts: Parquet files of each split that is cleaned, in order.
        corpora: counts by split and name of the corpus.
        overlap: by split, how many pairs of one corpus are in another, before duplicates are dropped; empty where pairs
            are not compared.
    """

    parts: dict[str, tuple[CleanedPart, ...]]
    corpora: dict[str, dict[str, CleanCounts]]
    overlap: dict[str, Overlap] = field(default_factory=dict)


@dataclass(frozen=True)
class Cleaned:
    """The results of the rounds.

    Attributes:
        corpora: the work on all corpora.
        deduplicated: the splits in which duplicates were dropped.
        remaining: warnings about what remains.
        explained: what explains the loss of most pairs, by the names of corpora.
    """

    corpora: list[CorpusWork]
    deduplicated: list[DedupSplit]
    remaining: tuple[HealthWarning, ...]
    explained: dict[str, str]


class Clean(Stage[CleanOutput, Cleaned]):
    """Writes ``cleaned/<split>/part-*.parquet``, each named after the compiled part that it comes from.

    Rejected pairs are in ``rejected/<split>/part-*.parquet``: all of them in a file per part and round, or a sample in
    a file per corpus.
    """

    name = "clean"
    version = 4
    directory = "cleaned"
    beside = (REJECTED,)
    reads = (Compile,)
    output = CleanOutput
    observed = CleanObserved
    rounds: ClassVar[tuple[Round[Any, Any], ...]] = (
        *(PLAN, NEAR_PLAN, SEGMENTS, FIRST, CHECK, CLEAN, *TOP_ROUNDS),
        *DEDUP_ROUNDS,
        *TRANSLATION_ROUNDS,
        *(*BEST_ROUNDS, LIMIT, REJECTS, *HEALTH_ROUNDS),
    )

    def applies(self, config: Config) -> bool:
        return config.clean is not None

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        return (*self.reads, Extract) if is_active(config) else self.reads

    def rounds_for(self, config: Config) -> tuple[Round[Any, Any], ...]:
        clean = section_of(config)
        cleaned = [
            (cleaning_of(clean, config.languages, corpus.name), corpus) for _, _, corpus in cleaned_corpora(config)
        ]
        best = BEST_ROUNDS if any(tops_translation(*each) for each in cleaned) else ()
        top = TOP_ROUNDS if any(each[0].top is not None and not tops_translation(*each) for each in cleaned) else ()
        translation = TRANSLATION_ROUNDS if any(scores_translation(*each) for each in cleaned) else ()
        dedup, limits = dedup_rounds(config)
        sample = (REJECTS,) if clean.rejects == "sample" else ()
        near = (NEAR_PLAN,) if effective_dedup(clean).pair == "near" else ()
        segments = (SEGMENTS,) if is_active(config) else ()
        later = (*top, *dedup, *translation, *best, *limits, *sample)
        return (PLAN, *near, *segments, FIRST, CHECK, CLEAN, *later, *HEALTH_ROUNDS)

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
        settings |= decontamination_settings(config)
        for split, _, corpus in cleaned_corpora(config):
            cleaning, key = cleaning_of(clean, config.languages, corpus.name), f"splits.{split}.{corpus.name}"
            settings[f"{key}.sides"] = [*sides_of(corpus)]
            settings[f"{key}.fix"] = [*cleaning.fix]
            settings[f"{key}.rules"] = [*cleaning.rules]
            settings |= {f"{key}.rules.{rule}": spec for rule, spec in cleaning.rules.items()}
            if cleaning.top is not None:
                settings[f"{key}.rules.{TOP}"] = cleaning.top
            if scores_translation(cleaning, corpus):
                settings[f"{key}.rules.{TRANSLATION}"] = cleaning.translation
                settings |= {"seed": config.seed, "clean.translation.version": [LEARNING_VERSION, THRESHOLD_VERSION]}
        return settings

    def check(self, config: Config, base_dir: Path) -> None:
        problems: list[str] = []
        for split, corpus in differently_cleaned(config):
            try:
                build_cleaner(config, split, corpus, base_dir)
            except CleaningError as error:
                problems.extend(str(error).splitlines())
        for split, _, corpus in cleaned_corpora(config):
            cleaning = cleaning_of(section_of(config), config.languages, corpus.name)
            ranked = scores_translation(cleaning, corpus) or len(sides_of(corpus)) == 1  # limits need two sides
            problems.extend(unknown_scores(effective_dedup(section_of(config)), split, corpus, scored=ranked))
        problems.extend(evaluation_problems(config, base_dir))
        if problems:
            raise CleaningError("\n".join(problems))

    def local_files(self, config: Config, base_dir: Path) -> dict[str, Path]:
        files = evaluation_files(config, base_dir)
        for split, corpus in differently_cleaned(config):
            for rule in build_cleaner(config, split, corpus, base_dir).rules:
                files |= rule.files
            files |= model_files(config, corpus, base_dir)
        return files

    def work(self, job: Job) -> Rounds[Cleaned]:
        plan = yield from plan_splits(job)
        against = yield from gather(job)
        corpora = list(work_on_corpora(job, plan.bits, against))
        firsts = yield from FIRST.run(
            [task for each in corpora for task in each.tasks[: each.first]],
            sum(pairs for each in corpora for pairs in each.pairs[: each.first]),
        )
        share_out(corpora, [each.first for each in corpora], firsts)
        explained = yield from check_first_pairs(job, corpora)
        rest = yield from CLEAN.run(
            [task for each in corpora for task in each.tasks[each.first :]],
            sum(pairs for each in corpora for pairs in each.pairs[each.first :]),
        )
        share_out(corpora, [len(each.tasks) - each.first for each in corpora], rest)
        yield from keep_top(job, corpora, "top")
        deduplicated = yield from deduplicate(job, corpora, plan, "dedup")
        yield from drop_misaligned(job, corpora)
        yield from keep_top(job, corpora, "best")
        yield from deduplicate(job, corpora, plan, "limits")
        yield from sample_rejects(job, corpora)
        remaining = yield from look_again(job, corpora)
        return Cleaned(corpora, deduplicated, remaining, explained)

    def finish(self, job: Job, made: Cleaned) -> Result[CleanOutput]:
        parts: dict[str, tuple[CleanedPart, ...]] = dict.fromkeys(section_of(job.config).splits, ())
        corpora: dict[str, dict[str, CleanCounts]] = {split: {} for split in parts}
        digests: dict[str, str] = {}
        for each in made.corpora:
            kept = [result.kept for result in each.results if result.kept is not None]
            parts[each.split] += tuple(
                CleanedPart(file.file, file.pairs, file.source_bytes, file.target_bytes, each.of.corpus)
                for file in kept
            )
            corpora[each.split][each.of.corpus] = each.counts
            digests |= {file.file: file.sha256 for file in kept}
            digests |= {f"../{REJECTED}/{file.file}": file.sha256 for file in each.rejected}
        total = reduce(add, (each.counts for each in made.corpora), CleanCounts())
        counts = Counts(
            total.pairs_in, total.pairs_out, total.dropped, {f"{fix}_fixed": n for fix, n in total.altered.items() if n}
        )
        overlap = {split.name: split.overlap for split in made.deduplicated if split.overlap is not None}
        output = CleanOutput(parts, corpora, overlap)
        if remark := preset_left_out(job.config):
            job.progress.event("preset_left_out", message=remark)
        observed = _observed(job, made)
        for warning in observed.mended:
            job.progress.event("mended", message=str(warning))
        return Result(output, counts, files=sorted(digests), digests=digests, observed=observed)


def _observed(job: Job, made: Cleaned) -> CleanObserved:
    """Returns what the report shows besides the counts."""
    configured = {(split, corpus.name): corpus for split, _, corpus in cleaned_corpora(job.config)}
    translation: dict[str, dict[str, TranslationFacts]] = {}
    rejected: dict[str, dict[str, RejectNotes]] = {}
    rules: dict[str, dict[str, dict[str, RuleFacts]]] = {}
    for each in made.corpora:
        name = each.of.corpus
        cleaner = build_cleaner(job.config, each.split, configured[each.split, name], job.base_dir)
        if each.translation is not None:
            translation.setdefault(each.split, {})[name] = each.translation
        rejected.setdefault(each.split, {})[name] = each.notes
        facts = rule_facts(cleaner.rules, each.of.cleaning, each.top_threshold, each.translation)
        rules.setdefault(each.split, {})[name] = facts
    leaks = leaks_of(made.corpora)
    losses = loss_warnings(made.corpora, made.explained)
    warnings = (*left_out(job, made.corpora), *losses, *leak_warnings(leaks), *made.remaining)
    duplicates = observed_duplicates(made.deduplicated, effective_dedup(section_of(job.config)).keys)
    return CleanObserved(warnings, translation, leaks, rejected, rules, duplicates, mended(job, made.remaining))
