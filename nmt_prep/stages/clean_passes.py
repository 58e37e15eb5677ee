"""The passes of the stage clean that apply ``top`` and ``translation``, and the samples of rejected pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from nmt_prep.cleaning.top import top_options
from nmt_prep.cleaning.translation import TRANSLATION
from nmt_prep.cleaning.translation.options import translation_options
from nmt_prep.health.warning import HealthWarning
from nmt_prep.pipeline.rounds import Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.clean_tasks import (
    BEST_ROUNDS,
    REJECTS,
    TOP_ROUNDS,
    PartResult,
    RejectsTask,
    Threshold,
    ThresholdTask,
    TopTask,
)
from nmt_prep.stages.clean_translation import TranslationCorpus, TranslationPart, apply_translation
from nmt_prep.stages.clean_work import REJECTED, CorpusWork


def share_out(corpora: Sequence[CorpusWork], numbers: Sequence[int], results: Sequence[PartResult]) -> None:
    """Gives each corpus the results of its tasks.

    Args:
        corpora: the corpora.
        numbers: number of tasks of each corpus.
        results: the results of all tasks, in the order of the corpora.
    """
    rest = iter(results)
    for each, number in zip(corpora, numbers, strict=True):
        each.ended([next(rest) for _ in range(number)])


def keep_top(job: Job, corpora: Sequence[CorpusWork], this: Literal["top", "best"]) -> Rounds[None]:
    """Yields the rounds that apply the rule ``top``.

    Args:
        job: the job.
        corpora: all corpora.
        this: the pass: by scores that came with the corpus, or by that of the rule ``translation``.
    """
    chosen = [each for each in corpora if this in each.passes]
    find, keep = TOP_ROUNDS if this == "top" else BEST_ROUNDS
    files = [each.kept_files(job, this) for each in chosen]
    thresholds = yield from find.run(
        [
            ThresholdTask(
                f"{find.name}-{each.split}-{each.index:03d}",
                each.of,
                top_options(each.of.cleaning.top),
                tuple(file.part for file in own),
            )
            for each, own in zip(chosen, files, strict=True)
        ]
    )
    for each, found in zip(chosen, thresholds, strict=True):
        each.top_threshold = _lowest(each, found)
    tasks = [
        TopTask(
            f"{this}-{each.split}-{file.part.stem}",
            each.of,
            file,
            top_options(each.of.cleaning.top),
            each.top_threshold,
        )
        for each, own in zip(chosen, files, strict=True)
        for file in own
    ]
    results = iter((yield from keep.run(tasks, sum(kept.pairs for each in chosen for _, kept in each.kept()))))
    for each, own in zip(chosen, files, strict=True):
        each.passed([next(results) for _ in own])


def _lowest(corpus: CorpusWork, found: Threshold) -> float | None:
    """Returns the lowest score that ``top`` keeps; None if the pairs of the corpus could not be scored."""
    unscored = corpus.translation is not None and corpus.translation.compared is None
    return None if unscored and "best" in corpus.passes else found.score


def drop_misaligned(job: Job, corpora: Sequence[CorpusWork]) -> Rounds[None]:
    """Yields the rounds that apply the rule ``translation``."""
    chosen = [each for each in corpora if "translation" in each.passes]
    if not chosen:
        return
    applied = yield from apply_translation(
        job,
        [
            TranslationCorpus(
                each.split,
                each.of,
                translation_options(each.of.cleaning.translation),
                [
                    TranslationPart(f"{each.split}-{Path(kept.file).stem}", files, kept.pairs)
                    for (_, kept), files in zip(each.kept(), each.kept_files(job, "translation"), strict=True)
                ],
            )
            for each in chosen
        ],
    )
    for each, (results, facts) in zip(chosen, applied, strict=True):
        each.passed(results)
        each.translation = facts


def left_out(job: Job, corpora: Sequence[CorpusWork]) -> Iterator[HealthWarning]:
    """Reports the corpora that the rule ``translation`` was not applied to; yields a warning if the config names it."""
    for each in corpora:
        if each.translation is None or not each.translation.left_out:
            continue
        key = each.of.cleaning.keys[TRANSLATION]
        text = f"{key}{TRANSLATION} is left out: {each.translation.left_out}"
        if key.startswith("clean.preset"):
            job.progress.event("rule_left_out", corpus=each.of.name, message=text)
        else:
            yield HealthWarning("rule_left_out", text, each.of.corpus, each.split)


def sample_rejects(job: Job, corpora: Sequence[CorpusWork]) -> Rounds[None]:
    """Yields the round that samples rejected pairs."""
    chosen = [each for each in corpora if each.of.rejects == "sample" and each.rejected]
    tasks = [
        RejectsTask(
            f"rejects-{each.split}-{each.index:03d}",
            each.of,
            tuple(job.scratch / REJECTED / file.file for file in each.rejected),
            job.beside(REJECTED) / each.split / f"part-{each.index:03d}.parquet",
        )
        for each in chosen
    ]
    sampled = yield from REJECTS.run(tasks, sum(file.pairs for each in chosen for file in each.rejected))
    for each, result in zip(chosen, sampled, strict=True):
        each.rejected = [result.rejected]
