"""The check that cleaning does not drop all of the first pairs of a corpus, or most of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from nmt_prep.cleaning.counts import EMPTY, CleanCounts
from nmt_prep.cleaning.decontamination.sets import REASON
from nmt_prep.cleaning.top import TOP
from nmt_prep.corpora import iter_pairs
from nmt_prep.errors import CleaningError
from nmt_prep.health.judging import drops_most, loss_warning, quoted
from nmt_prep.health.warning import HealthWarning
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.sides import SIDES
from nmt_prep.stages.clean_corpora import section_of
from nmt_prep.stages.clean_tasks import CorpusTask
from nmt_prep.stages.clean_work import REJECTED, CorpusWork

_LOOKED_AT = 1000
_NEARLY_ALL = 0.9


@dataclass(frozen=True)
class CheckTask:
    """A corpus most of whose first pairs were dropped.

    Attributes:
        key: names the task.
        of: the settings of the corpus.
        counts: the counts of its first pairs.
        whole: true if it has no other pairs.
        allowed: true if all of its pairs may be dropped.
        part: the compiled file with its first pairs.
        rejected: a file of rejected pairs; None if there is none.
    """

    key: str
    of: CorpusTask
    counts: CleanCounts
    whole: bool
    allowed: bool
    part: Path
    rejected: Path | None


@dataclass(frozen=True)
class Checked:
    """What explains the loss: a pair that was dropped, and what ``nmt-prep check`` says about the languages."""

    text: str


def check_corpus(task: CheckTask, tick: object) -> Checked:
    """Returns what explains the loss of most of the first pairs of a corpus.

    Raises:
        CleaningError: all were dropped; the message names the rule that most pairs fail, its key, and the corpus.
    """
    del tick
    counts, keys = task.counts, task.of.cleaning.keys
    failed = {EMPTY: counts.dropped[EMPTY], **{rule: row[rule] for rule, row in counts.failed.items()}}
    worst = max(failed, key=lambda rule: failed[rule])
    explained = "; ".join([*_example(task, worst), *_languages(task)])
    if counts.pairs_out or task.allowed:
        return Checked(explained)
    which = f"all {counts.pairs_in:,} pairs" if task.whole else f"the first {counts.pairs_in:,} pairs"
    others = "".join(f", {rule} {count:,}" for rule, count in failed.items() if count and rule != worst)
    more = f"; {explained}" if explained else ""
    if worst.startswith(REASON):
        raise CleaningError(
            f"clean.decontaminate: cleaning drops {which} of {task.of.name} (failed: {worst} {failed[worst]:,}"
            f"{others}); remove the corpus or the test set from the config, or pass --allow-empty to go on{more}"
        )
    where = "clean.fix" if worst == EMPTY else f"{keys[worst]}{worst}"
    raise CleaningError(
        f"{where}: cleaning drops {which} of {task.of.name} (failed: {worst} {failed[worst]:,}{others}); change the "
        f"rules for this corpus below clean.overrides.{task.of.corpus}, or pass --allow-empty to go on{more}"
    )


def _example(task: CheckTask, reason: str) -> Iterator[str]:
    """Yields a pair that was dropped for a reason, in words, if such a pair was written."""
    if task.rejected is None:
        return
    for batch in pq.ParquetFile(task.rejected).iter_batches(columns=["row", "rule", *SIDES]):
        for pair in batch.to_pylist():
            if pair["rule"] == reason:
                sides = " and ".join(quoted(pair[side]) for side in SIDES)
                yield f"{reason} drops, for example, row {pair['row']:,}: {sides}"
                return


def _languages(task: CheckTask) -> Iterator[str]:
    """Yields what ``nmt-prep check`` says about the languages of the first pairs, if a model of them is installed."""
    from nmt_prep.health.languages import (  # noqa: PLC0415  (loads numpy)
        facts_by_side,
        installed_identifier,
        language_warnings,
    )

    identified = installed_identifier()
    if identified is None:
        return
    sides = task.of.context.sides
    for batch in iter_pairs(task.part, columns=sides):
        lines = {side: batch.column(side)[:_LOOKED_AT] for side in sides}
        warnings = language_warnings(facts_by_side(lines, identified[1], task.of.context.languages))
        by_advice: dict[str, list[str]] = {}
        for finding, _, advice in (warning.rpartition("; ") for warning in warnings):
            by_advice.setdefault(advice, []).append(finding)
        for advice, findings in by_advice.items():
            yield f"{' and '.join(findings)}; {advice}"
        return


CHECK = Round("check-first", check_corpus, Checked, unit="corpora", by_all=True)


def check_first_pairs(job: Job, corpora: Sequence[CorpusWork]) -> Rounds[dict[str, str]]:
    """Yields the round that looks at the corpora most of whose first pairs were dropped.

    A corpus that loses nearly all of them and has more is reported at once.

    Returns:
        What explains the loss, by the names of such corpora.
    """
    refused = not section_of(job.config).allow_empty
    chosen = [
        each
        for each in corpora
        if drops_most(each.counts.pairs_in, _losses(each.counts))
        or (refused and each.counts.pairs_in and not each.counts.pairs_out)
    ]
    tasks = [_task(job, each) for each in chosen]
    checked = yield from CHECK.run(tasks, valid=lambda _: True)
    for each, task, result in zip(chosen, tasks, checked, strict=True):
        if not task.whole and drops_most(each.counts.pairs_in, _losses(each.counts), _NEARLY_ALL):
            warning = _warning(each, result.text, first=True)
            job.progress.event("most_dropped", message=str(warning))
    return {each.of.name: result.text for each, result in zip(chosen, checked, strict=True)}


def loss_warnings(corpora: Sequence[CorpusWork], explained: Mapping[str, str]) -> Iterator[HealthWarning]:
    """Yields a warning for each corpus of which cleaning drops most pairs, but for those that ``top`` drops."""
    for each in corpora:
        if drops_most(each.counts.pairs_in, _losses(each.counts)):
            yield _warning(each, explained.get(each.of.name, ""))


def _warning(each: CorpusWork, explained: str, *, first: bool = False) -> HealthWarning:
    return loss_warning(
        each.split, each.of.corpus, each.counts.pairs_in, _losses(each.counts), "cleaning", explained, first=first
    )


def _losses(counts: CleanCounts) -> dict[str, int]:
    """Returns the dropped pairs by reason, without those of ``top``, whose share the config asks for."""
    return {rule: count for rule, count in counts.dropped.items() if count and rule != TOP}


def _task(job: Job, each: CorpusWork) -> CheckTask:
    rejects = job.beside(REJECTED) if each.of.rejects == "all" else job.scratch / REJECTED
    return CheckTask(
        f"check-{each.split}-{each.index:03d}",
        each.of,
        each.counts,
        each.first == len(each.tasks),
        section_of(job.config).allow_empty,
        each.tasks[0].files.part,
        rejects / each.rejected[0].file if each.rejected else None,
    )
