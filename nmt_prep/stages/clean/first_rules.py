"""The pass of the rules that judge each pair by itself, and the check that it leaves enough pairs.

The parts with the first million pairs of each corpus come in a separate round, so that an error in the config that
drops all pairs is reported early. If there are no more other parts than first ones, all come in the same round, so that
no worker waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from nmt_prep.base.errors import CleaningError
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.corpus_rules import SHARES
from nmt_prep.cleaning.evaluation_segments import REASON
from nmt_prep.cleaning.health_warnings import drops_most, loss_warning, quoted
from nmt_prep.cleaning.leaks import LeakFinder, verdict_of
from nmt_prep.cleaning.rejects import EMPTY, CleanCounts, RejectNotes
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.parts import WORDS, scores_of
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import HealthWarning, Job
from nmt_prep.stages.clean.cleaned_corpora import CorpusWork, section_of
from nmt_prep.stages.clean.parts import REJECTED, CorpusTask, PartOutput, PartResult, PartTask, part_round
from nmt_prep.stages.drawing import LIMIT

if TYPE_CHECKING:
    from nmt_prep.cleaning.cleaner import Cleaner, Judged

_LOOKED_AT = 1000
_NEARLY_ALL = 0.9


def clean_part(task: PartTask, tick: Tick) -> PartResult:
    """Cleans one compiled part. Reports progress per pair."""
    from nmt_prep.cleaning.cleaner import Cleaner  # noqa: PLC0415  (loads all rules)

    finder = None if task.of.against is None else LeakFinder.of(task.of.against)
    cleaner = Cleaner(task.of.cleaning, task.of.context, task.of.name, cleaned=task.cleaned)
    return cleaned_part(task, cleaner, finder, tick)


def cleaned_part(task: PartTask, cleaner: Cleaner, finder: LeakFinder | None, tick: Tick) -> PartResult:
    """Writes the pairs of a part that a cleaner keeps. Reports progress per pair."""
    with PartOutput(task) as output:
        for batch in task.batches():
            if (refused := task.refused(batch)) is not None:
                batch = output.refuse(batch, refused)  # noqa: PLW2901
            rows = batch.column("row").to_numpy()
            text = {side: batch.column(side) for side in task.of.context.sides}
            words = {side: batch.column(name) for side, name in WORDS.items() if name in batch.schema.names}
            judged = cleaner.clean(text, scores_of(batch), partial(_pair_number, rows), words)
            fixed = _with_text(batch, judged, words=task.of.words)
            output.write(fixed, verdict_of(finder, judged, rows), judged)
            tick(len(batch))
    result = output.result(cleaner.counts if finder is None else cleaner.counts + finder.counts)
    notes = RejectNotes(repaired=cleaner.repaired if task.of.rejects != "none" else {})
    return replace(result, notes=result.notes + notes, leaks={} if finder is None else finder.leaks)


def _pair_number(rows: npt.NDArray[np.int64], pair: int) -> str:
    """Returns the number of a pair in its corpus, for messages, given its index in a batch. Pairs count from 1."""
    return f"pair {rows[pair] + 1}"


def _with_text(batch: pa.RecordBatch, judged: Judged, *, words: bool) -> pa.RecordBatch:
    """Returns a batch of a part with the fixed text, and with the words that were counted."""
    columns = [
        judged.text[name].cast(field.type) if name in judged.text else batch.column(name)
        for name, field in zip(batch.schema.names, batch.schema, strict=True)
    ]
    made = judged.words() if words else {}
    fields = [pa.field(WORDS[side], pa.large_string()) for side in made]
    return pa.record_batch([*columns, *made.values()], schema=pa.schema([*batch.schema, *fields]))


FIRST = part_round("clean-first", clean_part, "applying rules to the first pairs")
CLEAN = part_round("clean", clean_part, "applying rules")


@dataclass(frozen=True)
class CheckTask:
    """A corpus that lost most of its first pairs."""

    key: str
    of: CorpusTask  # the settings of the corpus
    counts: CleanCounts  # the counts of its first pairs
    whole: bool  # true if the corpus has no other pairs
    allowed: bool  # true if all of its pairs may be dropped
    part: Path  # the compiled file with its first pairs
    rejected: Path | None  # a file of rejected pairs; None if there is none


def check_corpus(task: CheckTask, tick: object) -> str:
    """Explains the loss of most first pairs in a corpus by a dropped pair, and by warnings about languages."""
    del tick
    counts, keys = task.counts, task.of.cleaning.keys
    failed = {EMPTY: counts.dropped[EMPTY], **{rule: row[rule] for rule, row in counts.failed.items()}}
    worst = max(failed, key=lambda rule: failed[rule])
    explained = "; ".join([*_example(task, worst), *_languages(task)])
    if counts.pairs_out or task.allowed:
        return explained
    which = f"all {counts.pairs_in:,} pairs" if task.whole else f"the first {counts.pairs_in:,} pairs"
    others = "".join(f", {rule} {count:,}" for rule, count in failed.items() if count and rule != worst)
    if worst.startswith(REASON):
        where, change = "clean.decontaminate", "remove the corpus or the test set from the config"
    else:
        where = "clean.fix" if worst == EMPTY else f"{keys[worst]}{worst}"
        change = f"change the rules for this corpus below clean.overrides.{task.of.corpus}"
    raise CleaningError(
        f"{where}: cleaning drops {which} of {task.of.name} (failed: {worst} {failed[worst]:,}{others}); {change}, or "
        f"pass --allow-empty to go on{f'; {explained}' if explained else ''}"
    )


def _example(task: CheckTask, reason: str) -> Iterator[str]:
    """Yields a pair that was dropped for a reason, in words, if such a pair was written."""
    if task.rejected is None:
        return
    for batch in pq.ParquetFile(task.rejected).iter_batches(columns=["row", "rule", *SIDES]):
        for pair in batch.to_pylist():
            if pair["rule"] == reason:
                sides = " and ".join(quoted(pair[side]) for side in task.of.context.sides)
                yield f"{reason} drops, for example, row {pair['row']:,}: {sides}"
                return


def _languages(task: CheckTask) -> Iterator[str]:
    """Yields findings, as ``nmt-prep check`` does, about the first pairs' languages, if a model is installed."""
    from nmt_prep.cleaning.health_warnings import (  # noqa: PLC0415  (loads numpy)
        facts_by_side,
        installed_identifier,
        language_warnings,
    )

    identified = installed_identifier()
    if identified is None:
        return
    sides = task.of.context.sides
    batch = next(iter_pairs(task.part, columns=sides))
    lines = {side: batch.column(side)[:_LOOKED_AT] for side in sides}
    by_advice: dict[str, list[str]] = {}
    for warning in language_warnings(facts_by_side(lines, identified[1], task.of.context.languages)):
        finding, _, advice = warning.rpartition("; ")
        by_advice.setdefault(advice, []).append(finding)
    for advice, findings in by_advice.items():
        yield f"{' and '.join(findings)}; {advice}"


CHECK = Round("check-first", check_corpus, str, unit="corpora", by_all=True)


def apply_rules(job: Job, corpora: Sequence[CorpusWork]) -> Rounds[dict[str, str]]:
    """Yields the rounds that clean the parts; returns why corpora lost most pairs, by corpus name."""
    tasks = {work.name: work.tasks(job, "rules") for work in corpora}
    firsts = yield from FIRST.run_groups(
        {work.name: tasks[work.name][: work.early] for work in corpora},
        sum(part.pairs for work in corpora for part in work.compiled[: work.early]),
    )
    for work in corpora:
        work.add(firsts[work.name][: work.first])
    explained = yield from _check_first_pairs(job, corpora)
    others = yield from CLEAN.run_groups(
        {work.name: tasks[work.name][work.early :] for work in corpora},
        sum(part.pairs for work in corpora for part in work.compiled[work.early :]),
    )
    for work in corpora:
        work.add([*firsts[work.name][work.first :], *others[work.name]])
        work.end(job, "rules")
    return explained


def _check_first_pairs(job: Job, corpora: Sequence[CorpusWork]) -> Rounds[dict[str, str]]:
    """Yields the round that inspects corpora that lost most of their first pairs; returns explanations by name.

    A corpus that loses nearly all first pairs, and has more pairs, is reported at once.
    """
    refused = not section_of(job.config).allow_empty
    chosen = [
        work
        for work in corpora
        if drops_most(work.counts.pairs_in, _losses(work.counts))
        or (refused and work.counts.pairs_in and not work.counts.pairs_out)
    ]
    tasks = [_check_task(job, work) for work in chosen]
    checked = yield from CHECK.run(tasks, valid=lambda _: True)
    for work, task, result in zip(chosen, tasks, checked, strict=True):
        if not task.whole and drops_most(work.counts.pairs_in, _losses(work.counts), _NEARLY_ALL):
            job.progress.event("most_dropped", message=str(_warning(work, work.counts, result, first=True)))
    return {work.name: result for work, result in zip(chosen, checked, strict=True)}


def _check_task(job: Job, work: CorpusWork) -> CheckTask:
    rejects = job.beside(REJECTED) if work.of.rejects == "all" else job.scratch / REJECTED
    return CheckTask(
        f"check-{work.key}",
        work.of,
        work.counts,
        work.first == len(work.compiled),
        section_of(job.config).allow_empty,
        work.parts[0][0].path,
        rejects / work.rejected[0].file if work.rejected else None,
    )


def loss_warnings(corpora: Sequence[CorpusWork], explained: Mapping[str, str]) -> Iterator[HealthWarning]:
    """Yields a warning for each corpus that loses most pairs in cleaning, unless the config asks for that."""
    lines = [(work, work.lines) for work in corpora if work.lines is not None]
    for work, counts in (*lines, *((work, work.counts) for work in corpora)):
        if drops_most(counts.pairs_in, _losses(counts)):
            yield _warning(work, counts, explained.get(work.name, ""))


def _warning(work: CorpusWork, counts: CleanCounts, explained: str, *, first: bool = False) -> HealthWarning:
    return loss_warning(
        work.split, work.of.corpus, counts.pairs_in, _losses(counts), "cleaning", explained, first=first
    )


def _losses(counts: CleanCounts) -> dict[str, int]:
    """Returns the dropped pairs by reason, without reasons whose number of dropped pairs the config sets."""
    return {rule: count for rule, count in counts.dropped.items() if count and rule not in (*SHARES, LIMIT)}
